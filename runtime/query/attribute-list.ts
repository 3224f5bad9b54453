import { RequestError, refuse } from '../protocol/errors.js';
import { dottedPath, found, type LongNames, nameEnd, readName } from '../protocol/names.js';
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
  /** Offset behind the item, its options included. */
  readonly end: number;
  /** What stands in parentheses behind a relation of `$expand` (protocol P3.25). */
  readonly options?: ExpandOptions;
}

const optionNames = ['filter', 'orderby', 'top', 'skip', 'expand', 'attributes'] as const;

/** The options of one relation, as text. */
export type ExpandOptions = Readonly<Partial<Record<(typeof optionNames)[number], string>>>;

/**
 * Reads `name, employer.name, staff.*, *` (protocol P3.8). Spaces around items are allowed. In
 * `$expand`, which names relations, `*` alone is not, and options may stand behind a relation:
 * `staff($orderby=lastName;$top=3)`.
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
    const itemEnd = all ? star + 1 : pathEnd;
    let end = blanksEnd(text, itemEnd);
    if (kind === '$expand' && !all && text.charCodeAt(end) === 0x28) {
      const { options, end: optionsEnd } = readOptions(text, end);
      items.push({ path, all, start: at, end: optionsEnd, options });
      end = blanksEnd(text, optionsEnd);
    } else items.push({ path, all, start: at, end: itemEnd });
    if (end === text.length) return items;
    if (text.charCodeAt(end) !== 0x2c) {
      throw listError(kind, end, `expected a comma or the end, ${found(text, end)}`);
    }
    at = blanksEnd(text, end + 1);
  }
}

/** Reads `($filter="salary > 10";$top=3)`, in any case. @param open offset of the parenthesis */
function readOptions(
  text: string,
  open: number,
): { readonly options: ExpandOptions; readonly end: number } {
  const options: { -readonly [Name in keyof ExpandOptions]: string } = {};
  for (let at = open; ;) {
    const start = blanksEnd(text, at + 1);
    const end = text.charCodeAt(start) === 0x24 ? nameEnd(text, start + 1) : start;
    const written = text.slice(start + 1, end).toLowerCase();
    const name = optionNames.find((each) => each === written);
    if (name === undefined) {
      const names = optionNames.map((each) => `$${each}`).join(', ');
      throw listError('$expand', start, `expected one of ${names}, ${found(text, start)}`);
    }
    if (options[name] !== undefined) {
      throw listError('$expand', start, `$${name} is given more than once`);
    }
    const sign = blanksEnd(text, end);
    if (text.charCodeAt(sign) !== 0x3d) {
      throw listError('$expand', sign, `expected = behind $${name}, ${found(text, sign)}`);
    }
    const value = readOption(text, blanksEnd(text, sign + 1));
    options[name] = value.text;
    at = blanksEnd(text, value.end);
    const unit = text.charCodeAt(at);
    if (unit === 0x29) return { options, end: at + 1 };
    if (unit !== 0x3b) throw listError('$expand', at, `expected ; or ), ${found(text, at)}`);
  }
}

/** The value of an option: in quotes, or up to `;` or `)` outside of quotes and parentheses. */
function readOption(text: string, start: number): { readonly text: string; readonly end: number } {
  if (isQuote(text.charCodeAt(start))) {
    const end = quotedEnd(text, start);
    return { text: text.slice(start + 1, end - 1), end };
  }
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (depth === 0 && (unit === 0x3b || unit === 0x29)) break;
    if (unit === 0x28) depth += 1;
    else if (unit === 0x29) depth -= 1;
    at = isQuote(unit) ? quotedEnd(text, at) : at + 1;
  }
  const value = text.slice(start, at).trim();
  if (value === '') throw listError('$expand', at, `expected a value, ${found(text, at)}`);
  return { text: value, end: at };
}

function isQuote(unit: number): boolean {
  return unit === 0x22 || unit === 0x27;
}

/** Offset behind the quote that closes the one at `start`; a backslash escapes one, as in a filter. */
function quotedEnd(text: string, start: number): number {
  const quote = text.charCodeAt(start);
  for (let at = start + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === quote) return at + 1;
    if (unit === 0x5c) at += 1;
  }
  throw listError('$expand', start, 'the quote that begins here is not closed');
}

/** Names the relation in the errors of its options, whose characters are counted in each option. */
export function atRelation<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const errors = error.errors.map((each) =>
      /^(?:Character|\$)/.test(each.message)
        ? { ...each, message: `$expand, options of ${place}: ${each.message}` }
        : each,
    );
    throw new RequestError(error.status, errors);
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
