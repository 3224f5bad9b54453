import { type Aggregate, aggregates } from '../protocol/aggregate.js';
import {
  bracketedName,
  dottedPath,
  found,
  type LongNames,
  nameEnd,
  readName,
} from '../protocol/names.js';
import type { ErrorName } from '../protocol/errors.js';
import { blanksEnd, type Cursor } from './lexer.js';

/** The parts of a date that make groups. */
export const dateParts = ['year', 'quarter', 'month', 'day'] as const;

export type DatePart = (typeof dateParts)[number];

/** A key of groups, or what is computed for each group: `city`, `hiredAt:month`, `count`, `sum(salary)`. */
export interface Term {
  /** Absent for a key. */
  readonly aggregate?: Aggregate;
  /** Empty if entities are counted. */
  readonly path: readonly string[];
  readonly part?: DatePart;
  /** The name of its member in an answer, which is one for all spellings of the term. */
  readonly name: string;
  /** Offset in the text. */
  readonly start: number;
}

/** Makes the error for a character of the text. */
export type TermError = (offset: number, problem: string, name?: ErrorName) => Error;

/**
 * Takes a term. `count` alone counts entities; in brackets it is an attribute of that name.
 * @param long names of the model that need no brackets
 */
export function takeTerm(cursor: Cursor, fail: TermError, long?: LongNames): Term {
  const { text } = cursor;
  const start = blanksEnd(text, cursor.at);
  const { path, end } = takeNames(text, start, fail, long);
  cursor.at = end;
  const mark = blanksEnd(text, end);
  const isWord = path.length === 1 && text.charCodeAt(start) !== 0x5b;
  if (isWord && text.charCodeAt(mark) === 0x28) {
    const aggregate = functionAt(text, start, end, fail);
    const inside = takeNames(text, blanksEnd(text, mark + 1), fail, long);
    const close = blanksEnd(text, inside.end);
    if (text.charCodeAt(close) !== 0x29) {
      throw fail(close, `expected a closing parenthesis, ${found(text, close)}`);
    }
    cursor.at = close + 1;
    return { aggregate, path: inside.path, name: `${aggregate}(${nameOf(inside.path)})`, start };
  }
  if (isWord && isCount(path)) return { aggregate: 'count', path: [], name: 'count', start };
  const name = isCount(path) ? `[${nameOf(path)}]` : nameOf(path);
  if (text.charCodeAt(end) !== 0x3a) return { path, name, start };
  cursor.at = nameEnd(text, end + 1);
  const word = text.slice(end + 1, cursor.at).toLowerCase();
  const part = dateParts.find((each) => each === word);
  if (part === undefined) {
    throw fail(end + 1, `expected ${dateParts.join(', ')}, ${found(text, end + 1)}`);
  }
  return { path, part, name: `${name}:${part}`, start };
}

function takeNames(
  text: string,
  start: number,
  fail: TermError,
  long: LongNames | undefined,
): ReturnType<typeof dottedPath> {
  const names = dottedPath(
    text,
    start,
    (at) => bracketedName(text, at) ?? readName(text, at, long),
  );
  const { path, end } = names;
  if (path.length === 0) {
    throw fail(
      start,
      `expected an attribute, or count, sum(...), average(...), min(...) or max(...), ${found(text, start)}`,
    );
  }
  if (text.charCodeAt(end) === 0x2e) {
    throw fail(end + 1, `expected a name after the dot, ${found(text, end + 1)}`);
  }
  return names;
}

function functionAt(text: string, start: number, end: number, fail: TermError): Aggregate {
  const word = text.slice(start, end).toLowerCase();
  if (word === 'eval') throw fail(start, 'formulas are not allowed', 'formulaNotAllowed');
  const aggregate = aggregates.find((each) => each === word);
  if (aggregate !== undefined) return aggregate;
  throw fail(start, `expected one of ${aggregates.join(', ')}, ${found(text, start)}`);
}

function isCount(path: readonly string[]): boolean {
  return path.length === 1 && path[0]?.toLowerCase() === 'count';
}

/** Names of a model hold no dots, parentheses or colons, so different terms have different names. */
function nameOf(path: readonly string[]): string {
  return path.join('.');
}
