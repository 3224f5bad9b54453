const letterOrDigit = /^[\p{L}\p{N}]$/u;

/**
 * The end of the name that begins at `start`: names consist of letters and digits of any script,
 * and underscores. Returns `start` if no name begins there. Offsets count UTF-16 code units.
 */
export function nameEnd(text: string, start: number): number {
  let at = start;
  for (;;) {
    const width = nameCharacterWidth(text, at);
    if (width === 0) return at;
    at += width;
  }
}

/** Each name of a path costs the database a table; no database allows more. */
export const maxPathLength = 64;

/** Finds the names of a model that hold more characters than {@link nameEnd} takes: `Item 58`. */
export type LongNames = RegExp;

/** The pattern for a model's long names; `undefined` if it has none. */
export function longNamesOf(names: readonly string[]): LongNames | undefined {
  const long = [...new Set(names)].filter((each) => nameEnd(each, 0) < each.length);
  if (long.length === 0) return undefined;
  // A name may begin with another one.
  const longestFirst = long.sort((a, b) => b.length - a.length);
  const escaped = longestFirst.map((each) => each.replaceAll(/[/\\^$*+?.()|[\]{}]/g, '\\$&'));
  return new RegExp(`(?:${escaped.join('|')})(?![\\p{L}\\p{N}_])`, 'uy');
}

/** A name in a path, and where it ends. */
export interface ReadName {
  readonly name: string;
  readonly end: number;
}

/** Reads the name that begins at `start`: one of the long names, or one that {@link nameEnd} takes. */
export function readName(text: string, start: number, long?: LongNames): ReadName | undefined {
  if (long !== undefined) {
    long.lastIndex = start;
    const name = long.exec(text)?.[0];
    if (name !== undefined) return { name, end: start + name.length };
  }
  const end = nameEnd(text, start);
  return end === start ? undefined : { name: text.slice(start, end), end };
}

/** Names joined by dots, up to the first character that is not part of them. */
interface DottedPath {
  /** Empty if no name stands there. */
  readonly path: readonly string[];
  /** Offset of the first character that belongs to no name; a dot without a name after it is one. */
  readonly end: number;
}

/** Reads `name.name.name` from `start`. */
export function dottedPath(
  text: string,
  start: number,
  nameAt: (start: number) => ReadName | undefined,
): DottedPath {
  const path: string[] = [];
  let end = start;
  let at = start;
  for (;;) {
    const next = nameAt(at);
    if (next === undefined) return { path, end };
    path.push(next.name);
    ({ end } = next);
    if (text.charCodeAt(end) !== 0x2e) return { path, end };
    at = end + 1;
  }
}

/** The characters that the names of a model may hold for clients. */
const bracketed = /\[([\p{L}\p{M}\p{N}_ #%&@°€£§-]+)\]/uy;

/** Reads a name in brackets, as `[Item 58]`. */
export function bracketedName(text: string, start: number): ReadName | undefined {
  bracketed.lastIndex = start;
  const [all = '', name] = bracketed.exec(text) ?? [];
  return name === undefined ? undefined : { name, end: start + all.length };
}

/** A name as it is written in a path. */
export function writtenName(name: string): string {
  if (nameEnd(name, 0) === name.length) return name;
  const inBrackets = `[${name}]`;
  return bracketedName(inBrackets, 0)?.end === inBrackets.length
    ? inBrackets
    : JSON.stringify(name);
}

/** Code units of the name character at `at`: 1 or 2, or 0 if there is none. */
export function nameCharacterWidth(text: string, at: number): 0 | 1 | 2 {
  const unit = text.charCodeAt(at);
  if (unit < 0x80) {
    const isAscii =
      (unit >= 0x61 && unit <= 0x7a) ||
      (unit >= 0x41 && unit <= 0x5a) ||
      (unit >= 0x30 && unit <= 0x39) ||
      unit === 0x5f;
    return isAscii ? 1 : 0;
  }
  const point = text.codePointAt(at);
  if (point === undefined || !letterOrDigit.test(String.fromCodePoint(point))) return 0;
  return point > 0xffff ? 2 : 1;
}

const longestQuotation = 24;

/** `found "foo"`, the name or the character at `offset`, or `found the end`: the last part of a message. */
export function found(text: string, offset: number): string {
  const point = text.codePointAt(offset);
  if (point === undefined) return 'found the end';
  const end =
    nameCharacterWidth(text, offset) === 0
      ? offset + String.fromCodePoint(point).length
      : nameEnd(text, offset);
  return `found ${JSON.stringify(shortened(text.slice(offset, end)))}`;
}

/** At most that many code units of a text that a client sent, in whole characters. */
export function shortened(text: string, longest = longestQuotation): string {
  if (text.length <= longest) return text;
  return `${Array.from(text.slice(0, longest + 1))
    .slice(0, -1)
    .join('')}...`;
}

const longestName = 40;

/**
 * The candidate that a misspelt name most likely means, if one is near: at most two edits away,
 * ignoring case.
 */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > longestName) return undefined;
  const wanted = name.toLowerCase();
  let nearest: string | undefined;
  let least = Math.min(2, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < least) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}

interface Named {
  readonly name: string;
}

/**
 * The new name that each removed part may have now: pairs of parts that are alike, those with the most similar names first,
 * each part once. The generator compares models by it, and a start its database with the model.
 */
export function successorsOf<T extends Named>(
  removed: readonly T[],
  added: readonly T[],
  isAlike: (removed: T, added: T) => boolean,
): ReadonlyMap<T, T> {
  const pairs = added.flatMap((part) =>
    removed
      .filter((each) => isAlike(each, part))
      .map((each) => ({ each, part, edits: editDistance(each.name, part.name) })),
  );
  const found = new Map<T, T>();
  const taken = new Set<T>();
  for (const { each, part } of pairs.sort((a, b) => a.edits - b.edits)) {
    if (found.has(each) || taken.has(part)) continue;
    found.set(each, part);
    taken.add(part);
  }
  return found;
}

/** The number of letters to add, drop, change or swap with the next one. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      let cost = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
      );
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && isSwapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
