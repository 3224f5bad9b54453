import { type RequestError, refuse } from '../protocol/errors.js';
import { found, type LongNames, readName, type ReadName } from '../protocol/names.js';
import { blanksEnd } from '../filter/lexer.js';
/** Which list: of the path or `$attributes` (errors are 1804), or of `$expand` (1805). */
export type ListKind = 'path' | '$attributes' | '$expand';

/** One item of a list. */
export interface ListedPath {
  /** Empty for `*` alone. */
  readonly path: readonly string[];
  /** Whether it ends in `*`: every attribute of what the path leads to. */
  readonly all: boolean;
  /** Offset in the list, in UTF-16 code units. */
  readonly start: number;
}

/**
 * Reads `name, employer.name, staff.*, *` (protocol P3.8). Spaces around items are allowed. In
 * `$expand`, which names relations, `*` alone is not.
 *
 * @param long names of the model that need no brackets
 * @throws RequestError 400 with 1816 for an empty list, 1804 or 1805 for a malformed one; the
 * message names the character, counted from 1
 */
export function parseAttributeList(
  text: string,
  kind: ListKind,
  long?: LongNames,
): readonly ListedPath[] {
  const items: ListedPath[] = [];
  let at = blanksEnd(text, 0);
  if (at === text.length) throw refuse('emptyAttributeList', `${listName(kind)} is empty.`);
  for (;;) {
    const { path, end: pathEnd } = dottedPath(text, at, (start) => readName(text, start, long));
    const star = path.length === 0 ? at : text.charCodeAt(pathEnd) === 0x2e ? pathEnd + 1 : -1;
    const all = star !== -1 && text.charCodeAt(star) === 0x2a;
    if ((star !== -1 && !all) || (all && path.length === 0 && kind === '$expand')) {
      throw listError(kind, star, `expected a name, ${found(text, star)}`);
    }
    items.push({ path, all, start: at });
    const end = blanksEnd(text, all ? star + 1 : pathEnd);
    if (end === text.length) return items;
    if (text.charCodeAt(end) !== 0x2c) {
      throw listError(kind, end, `expected a comma or the end, ${found(text, end)}`);
    }
    at = blanksEnd(text, end + 1);
  }
}

/** Refuses a list at an item or a character of it. */
export function listError(kind: ListKind, offset: number, problem: string): RequestError {
  const message = `Character ${offset + 1} of ${listName(kind)}: ${problem}.`;
  return refuse(kind === '$expand' ? 'expandList' : 'attributeList', message);
}

function listName(kind: ListKind): string {
  return kind === 'path' ? 'the attribute list' : kind;
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
