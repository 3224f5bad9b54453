import { badKeys } from './bad-keys.js';
import { bytesOf, TextKeys } from './text-keys.js';

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;

/** @param bytes a JSON array of strings */
export function parseTexts(bytes: Uint8Array): TextKeys {
  return parseStandardTexts(bytes) ?? textsOf(parseAny(bytes));
}

export function textsOf(texts: readonly string[]): TextKeys {
  const pieces = texts.map((text) => `${JSON.stringify(text)},`);
  const starts = new Uint32Array(texts.length + 1);
  for (const [at, piece] of pieces.entries()) {
    starts[at + 1] = (starts[at] as number) + Buffer.byteLength(piece);
  }
  const bytes = bytesOf(starts[texts.length] as number);
  bytes.write(pieces.join(''));
  return new TextKeys(bytes, starts);
}

/** `undefined` if the array is not written as `JSON.stringify` would write it. */
function parseStandardTexts(bytes: Uint8Array): TextKeys | undefined {
  const length = bytes.length;
  if (bytes[0] !== 0x5b || bytes[length - 1] !== 0x5d || length === 2) return undefined;
  const copy = bytesOf(length - 1);
  copy.set(bytes.subarray(1));
  // The closing bracket of the array becomes the comma of the last key.
  copy[length - 2] = comma;
  const starts = new Uint32Array(Math.ceil(length / 3) + 1);
  let count = 0;
  for (let start = 0; start < copy.length; count += 1) {
    const end = endOfText(copy, start);
    if (end === -1 || copy[end] !== comma) return undefined;
    start = end + 1;
    starts[count + 1] = start;
  }
  return new TextKeys(copy, starts.slice(0, count + 1));
}

/**
 * The position behind the closing quote of the string that begins at `start`; -1 if it is not in
 * standard form.
 */
function endOfText(bytes: Buffer, start: number): number {
  if (bytes[start] !== quote) return -1;
  let isEscaped = false;
  for (let at = start + 1; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte < 0x20) return -1;
    if (byte === backslash) {
      isEscaped = true;
      at += 1;
    } else if (byte === quote) {
      return isEscaped && !isStandard(bytes.toString('utf8', start, at + 1)) ? -1 : at + 1;
    }
  }
  return -1;
}

function isStandard(json: string): boolean {
  return JSON.stringify(JSON.parse(json)) === json;
}

function parseAny(bytes: Uint8Array): readonly string[] {
  const keys: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string')) {
    throw badKeys('string', 'the value is no JSON array of strings');
  }
  return keys;
}
