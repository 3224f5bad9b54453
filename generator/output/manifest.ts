import { Refusal } from './refusal.js';
import { compareCodePoints, isSafePath, manifestPath } from './paths.js';

/** What the last run wrote. */
export interface Manifest {
  readonly generator: string;
  /** Path of each of our files → SHA-256 of its text with plain line ends. */
  readonly files: ReadonlyMap<string, string>;
  /** Paths of files that were written once, and stay deleted if they are. */
  readonly writtenOnce: readonly string[];
}

const format = 1;

//  {
//    "format": 1,
//    "generator": "0.1.0",
//    "files": {
//      "src/generated/app.ts": "9f86d0…"
//    },
//    "writtenOnce": ["Dockerfile"]
//  }
export function printManifest(manifest: Manifest): string {
  const files = [...manifest.files].sort(([a], [b]) => compareCodePoints(a, b));
  const content = {
    format,
    generator: manifest.generator,
    files: Object.fromEntries(files),
    writtenOnce: manifest.writtenOnce,
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** Reads a manifest, which may have been edited, merged badly or forged: it decides what is deleted. */
export function parseManifest(text: string): Manifest {
  const content = parseJson(text);
  if (!isRecord(content)) throw unreadable('it is not a JSON object');
  if (typeof content['format'] !== 'number') throw unreadable('it has no format number');
  if (content['format'] > format) {
    throw new Refusal(
      `${manifestPath} was written by a newer drs-gen (${String(content['generator'])}): use that version.`,
    );
  }
  if (!isRecord(content['files'])) throw unreadable('it lists no files');
  const files = new Map<string, string>();
  for (const [path, hash] of Object.entries(content['files'])) {
    if (!isSafePath(path)) throw unreadable(`it lists the path ${JSON.stringify(path)}`);
    if (typeof hash !== 'string') throw unreadable(`the hash of ${path} is not a text`);
    files.set(path, hash);
  }
  // Earlier versions have no such list.
  const writtenOnce: unknown = content['writtenOnce'] ?? [];
  if (!isTexts(writtenOnce)) throw unreadable('its writtenOnce is not a list of paths');
  return { generator: String(content['generator']), files, writtenOnce };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable('it is not JSON');
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function unreadable(reason: string): Refusal {
  return new Refusal(
    `${manifestPath} cannot be used: ${reason}. Restore it from version control; or delete it, and every file that differs from the generated one is shown as a conflict.`,
  );
}
