import { existsSync, readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * Makes stacks name the lines of the user's TypeScript. The runtime's own files stay as they are:
 * they are readable, and their sources are not on the user's disk. Node's own
 * `--enable-source-maps` reads the maps of all files while it loads them, which costs time and
 * memory at each start; this reads them when a stack is formatted. If Node maps stacks itself, as
 * under `tsx`, nothing is changed: only Node has the maps of code that was compiled in memory.
 */
export function mapStacks(): void {
  if (process.sourceMapsEnabled) return;
  Error.prepareStackTrace = (error, frames) =>
    [headOf(error), ...frames.map((frame) => `    at ${mapped(frame as Shown)}`)].join('\n');
}

/** What every frame has, whatever its type says. */
interface Shown {
  toString(): string;
}

function headOf(error: Error): string {
  try {
    return String(error);
  } catch {
    // What code throws may throw again when it is inspected.
    return 'Error';
  }
}

/**
 * A frame as Node writes it, such as `read (file:///server/main.js:12:34)`, with the place in the
 * source instead.
 */
function mapped(frame: Shown): string {
  return frame
    .toString()
    .replace(/(file:\/\/[^\s()]+):(\d+):(\d+)/, (place, url: string, line, column) => {
      const source = sourceMapOf(url)?.findEntry(Number(line) - 1, Number(column) - 1);
      // If a line has nothing before the column, the entry is that of an earlier line.
      if (source === undefined || !('generatedLine' in source)) return place;
      if (source.generatedLine !== Number(line) - 1) return place;
      const file = resolve(fileURLToPath(new URL('.', url)), source.originalSource);
      return `${pathToFileURL(file).href}:${source.originalLine + 1}:${source.originalColumn + 1}`;
    });
}

/** The maps of the files that occurred in stacks, which are few. */
const known = new Map<string, SourceMap | undefined>();

const runtimeFolder = new URL('.', import.meta.url).href;

function sourceMapOf(url: string): SourceMap | undefined {
  if (url.startsWith(runtimeFolder)) return undefined;
  if (known.has(url)) return known.get(url);
  let map: SourceMap | undefined;
  try {
    const file = `${fileURLToPath(url)}.map`;
    if (existsSync(file)) {
      map = new SourceMap(JSON.parse(readFileSync(file, 'utf8')) as SourceMapPayload);
    }
  } catch {
    // A map that cannot be read leaves the stack unmapped.
  }
  known.set(url, map);
  return map;
}
