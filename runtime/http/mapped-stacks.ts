import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * From here on, stacks name the lines of the user's TypeScript. The runtime's own files stay as they are: they are readable,
 * and the sources that they were made of are on no disk of the user's. Node's own `--enable-source-maps` reads the maps of all
 * files while it loads them, which costs time and memory at each start; these are read when a stack is looked at.
 * Where Node does it all the same, as under `tsx`, nobody else may: code that was compiled in memory has its map there alone.
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
    // What code throws may throw again when it is looked at.
    return 'Error';
  }
}

/** A frame as Node writes it, `read (file:///server/main.js:12:34)` for one, with the place in the source instead. */
function mapped(frame: Shown): string {
  return frame
    .toString()
    .replace(/(file:\/\/[^\s()]+):(\d+):(\d+)/, (place, url: string, line, column) => {
      const lines = linesOf(url);
      const source = lines?.find(Number(line) - 1, Number(column) - 1);
      if (source === undefined) return place;
      const file = resolve(fileURLToPath(new URL('.', url)), source.file);
      return `${pathToFileURL(file).href}:${source.line + 1}:${source.column + 1}`;
    });
}

/** Those of files that were looked at; there are few files. */
const known = new Map<string, SourceLines | undefined>();

const runtimeFolder = new URL('.', import.meta.url).href;

function linesOf(url: string): SourceLines | undefined {
  if (url.startsWith(runtimeFolder)) return undefined;
  if (known.has(url)) return known.get(url);
  let lines: SourceLines | undefined;
  try {
    const file = `${fileURLToPath(url)}.map`;
    if (existsSync(file)) lines = new SourceLines(readFileSync(file, 'utf8'));
  } catch {
    // A map that cannot be read makes a stack no worse than none.
  }
  known.set(url, lines);
  return lines;
}

/** A place in a file; numbers begin with 0. */
interface SourcePlace {
  /** Relative to the map. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The part of a source map (ECMA-426) that is read here. */
interface SourceMap {
  readonly sources: readonly string[];
  readonly mappings: string;
}

/** How far a reader has come in the mappings; what each segment holds is told from the one before it. */
interface Reader {
  at: number;
  line: number;
  source: number;
  sourceLine: number;
  sourceColumn: number;
}

/** Lines between two places from which reading goes on. */
const stride = 256;

/**
 * Looks up places in a source map. Only what was asked for is decoded: as objects, the mappings of a server would take more
 * memory than the server.
 */
export class SourceLines {
  readonly #sources: readonly string[];
  readonly #mappings: string;
  /** Where each 256th line begins, as far as was read. */
  readonly #starts: Readonly<Reader>[] = [
    { at: 0, line: 0, source: 0, sourceLine: 0, sourceColumn: 0 },
  ];

  /**
   * @param text a source map, as JSON
   * @throws SyntaxError when it is no JSON
   */
  constructor(text: string) {
    const { sources, mappings } = JSON.parse(text) as SourceMap;
    this.#sources = sources;
    this.#mappings = mappings;
  }

  /** The source of what stands at a place of the file; `undefined` where there is none. */
  find(line: number, column: number): SourcePlace | undefined {
    const start = this.#starts[Math.min(Math.floor(line / stride), this.#starts.length - 1)];
    const reader = { ...start } as Reader;
    while (reader.line < line && reader.at < this.#mappings.length) {
      this.#readLine(reader, Infinity);
      reader.at += 1;
      reader.line += 1;
      if (reader.line === this.#starts.length * stride) this.#starts.push({ ...reader });
    }
    if (reader.line !== line || !this.#readLine(reader, column)) return undefined;
    const file = this.#sources[reader.source];
    if (file === undefined) return undefined;
    return { file, line: reader.sourceLine, column: reader.sourceColumn };
  }

  /**
   * Reads segments up to the end of a line, or up to those behind a column.
   * @returns whether the last of them has a source
   */
  #readLine(reader: Reader, column: number): boolean {
    let from = 0;
    let hasSource = false;
    for (let code = this.#code(reader); !isEndOfLine(code); code = this.#code(reader)) {
      if (code === comma) {
        reader.at += 1;
        continue;
      }
      from += this.#number(reader);
      if (from > column) return hasSource;
      hasSource = !isEndOfSegment(this.#code(reader));
      if (!hasSource) continue;
      reader.source += this.#number(reader);
      reader.sourceLine += this.#number(reader);
      reader.sourceColumn += this.#number(reader);
      // The name that something had is not asked for.
      while (!isEndOfSegment(this.#code(reader))) this.#number(reader);
    }
    return hasSource;
  }

  #code({ at }: Reader): number {
    return this.#mappings.charCodeAt(at);
  }

  /** A number in base 64, five bits a character, the lowest first; the lowest of all is the sign. */
  #number(reader: Reader): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 5) {
      const digit = digits[this.#code(reader)] ?? 0;
      reader.at += 1;
      value += (digit & 31) * 2 ** shift;
      if (digit < 32) break;
    }
    const size = Math.floor(value / 2);
    return value % 2 === 1 ? -size : size;
  }
}

const comma = 44;
const semicolon = 59;

/** Also behind the last character. */
function isEndOfLine(code: number): boolean {
  return code === semicolon || Number.isNaN(code);
}

function isEndOfSegment(code: number): boolean {
  return code === comma || isEndOfLine(code);
}

/** What the characters of base 64 stand for, by their codes. */
const digits: readonly number[] = Array.from({ length: 123 }, (_, code) =>
  Math.max(
    'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.indexOf(
      String.fromCharCode(code),
    ),
    0,
  ),
);
