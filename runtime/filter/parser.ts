import { isWellFormed } from '../protocol/own-text.js';
import type { AttributePath, ComparisonNode, FilterNode, Comparator } from './ast.js';
import {
  type Cursor,
  takeConnective,
  takeOpening,
  blanksEnd,
  isWord,
  skipBlanks,
  filterError,
} from './lexer.js';
import { takePath } from './path.js';
import { takeValue } from './value.js';
import { found } from '../protocol/names.js';

export interface FilterLimits {
  /** Greatest length of the text, in UTF-16 code units. */
  readonly filterLength: number;
  /** Greatest number of nested parentheses, those of `NOT ( )` included. */
  readonly filterDepth: number;
}

/** All that bounds the work that a filter can cause. */
export interface SyntaxLimits extends FilterLimits {
  /** Greatest number of comparisons. */
  readonly conditions: number;
  /** Greatest number of values in the list behind an `IN`. */
  readonly listSize: number;
}

export interface ParsedFilter {
  readonly filter: FilterNode;
  /** The text behind `order by`, and where it begins (filters F9). */
  readonly orderBy: { readonly text: string; readonly start: number } | undefined;
}

/** Takes what stands before a comparator. @throws RequestError 400 with 1162 */
export type TakeCompared = (cursor: Cursor) => AttributePath;

/** The text between two parentheses, or all of it, as far as it is read. */
interface Group {
  readonly isNegated: boolean;
  /** Offset of the opening parenthesis. */
  readonly start: number;
  /** Terms joined by OR, all but the last. */
  alternatives: FilterNode | undefined;
  /** Comparisons joined by AND and EXCEPT. */
  term: FilterNode | undefined;
  link: 'and' | 'or' | 'except';
}

/**
 * Reads a `$filter` without the quotes around it (filters F1 to F14). Takes time linear in its
 * length.
 *
 * In the place of an attribute every name is one, `and`, `begin`, `not` and `null` included;
 * keywords are keywords only where no attribute can stand. A name with characters other than
 * letters, digits and underscores cannot be written; a placeholder can stand for a path that
 * contains one.
 *
 * @param takeCompared if left out, paths, and placeholders in their place
 * @example parseFilter("city = 'Paris' AND employer.name begin Nor", limits).filter
 * @throws RequestError 400 with 1162, or 1278 for `eval(`; the message names the character, counted
 * from 1
 */
export function parseFilter(
  text: string,
  limits: SyntaxLimits,
  takeCompared: TakeCompared = takePath,
): ParsedFilter {
  checkText(text, limits);
  const cursor: Cursor = { text, at: 0 };
  const outer: Group[] = [];
  let group = newGroup(false, 0);
  for (let conditions = 0; ;) {
    const opening = takeOpening(cursor);
    if (opening !== undefined) {
      if (outer.length >= limits.filterDepth) throw tooDeep(cursor, limits);
      outer.push(group);
      group = newGroup(opening === 'not', cursor.at - 1);
      continue;
    }
    if (conditions === limits.conditions) {
      throw filterError(cursor.at, `a filter has at most ${limits.conditions} conditions`);
    }
    conditions += 1;
    addTo(group, takeComparison(cursor, limits, takeCompared));
    let next = takeConnective(cursor);
    while (next === 'close') {
      const parent = outer.pop();
      if (parent === undefined) {
        throw filterError(cursor.at - 1, 'this parenthesis closes none that was opened');
      }
      addTo(parent, closed(group));
      group = parent;
      next = takeConnective(cursor);
    }
    if (next === 'end' || next === 'order by') {
      if (outer.length > 0) throw filterError(group.start, 'this parenthesis is not closed');
      const { at } = cursor;
      const orderBy = next === 'end' ? undefined : { text: text.slice(at), start: at };
      return { filter: whole(group), orderBy };
    }
    group.link = next;
  }
}

function checkText(text: string, { filterLength }: FilterLimits): void {
  if (text.length > filterLength) {
    throw filterError(filterLength, `a filter must not be longer than ${filterLength} characters`);
  }
  if (!isWellFormed(text)) {
    const offset = text.search(/\p{Surrogate}/u);
    throw filterError(offset, 'half of a surrogate pair is no character');
  }
}

function takeComparison(
  cursor: Cursor,
  { listSize }: SyntaxLimits,
  takeCompared: TakeCompared,
): ComparisonNode {
  const path = takeCompared(cursor);
  const comparator = takeComparator(cursor, path);
  const value = takeValue(cursor, comparator, listSize);
  return { kind: 'comparison', path, comparator, value };
}

function newGroup(isNegated: boolean, start: number): Group {
  return { isNegated, start, alternatives: undefined, term: undefined, link: 'or' };
}

function addTo(group: Group, operand: FilterNode): void {
  if (group.term === undefined) {
    group.term = operand;
  } else if (group.link === 'or') {
    group.alternatives = whole(group);
    group.term = operand;
  } else {
    group.term = { kind: group.link, left: group.term, right: operand };
  }
}

function whole({ alternatives, term }: Group): FilterNode {
  if (alternatives === undefined) return term as FilterNode;
  return { kind: 'or', left: alternatives, right: term as FilterNode };
}

function closed(group: Group): FilterNode {
  return group.isNegated ? { kind: 'not', operand: whole(group) } : whole(group);
}

function tooDeep(cursor: Cursor, { filterDepth }: FilterLimits): Error {
  const problem = `parentheses must not nest deeper than ${filterDepth} levels`;
  return filterError(cursor.at - 1, problem);
}

const comparatorsExpected =
  'expected a comparator (=, !=, <, <=, >, >=, begin, contains, %, IN, IS, IS NOT)';

const words = ['begin', 'contains', 'in'] as const;

const signs = /={1,3}|!={1,2}|<[=>]?|>=?|[#%]/y;

const synonyms: Readonly<Record<string, Comparator>> = { '==': '=', '#': '!=' };

/** Takes the comparator behind `path` and folds its synonyms. */
function takeComparator(cursor: Cursor, path: AttributePath): Comparator {
  skipBlanks(cursor);
  const { text, at } = cursor;
  signs.lastIndex = at;
  const sign = signs.exec(text)?.[0];
  if (sign === '<>') {
    throw filterError(at, `expected a comparator; what <> means elsewhere is != here`);
  }
  if (sign !== undefined) {
    cursor.at = at + sign.length;
    return synonyms[sign] ?? (sign as Comparator);
  }
  for (const word of words) {
    if (isWord(text, at, word)) {
      cursor.at = at + word.length;
      return word;
    }
  }
  if (!isWord(text, at, 'is')) throw notComparator(text, at, path);
  cursor.at = blanksEnd(text, at + 'is'.length);
  const isNegated = isWord(text, cursor.at, 'not');
  if (isNegated) cursor.at = blanksEnd(text, cursor.at + 'not'.length);
  const list = isWord(text, cursor.at, 'in') ? blanksEnd(text, cursor.at + 'in'.length) : -1;
  if (text.charCodeAt(list) === 0x5b) {
    throw filterError(
      at,
      isNegated ? negatedHint('IS NOT IN', 'IN') : 'expected IN alone, without IS',
    );
  }
  return isNegated ? '!==' : '===';
}

function notComparator(text: string, at: number, path: AttributePath): Error {
  const name = text.slice(path.start, path.end).toLowerCase();
  const isCall = text.charCodeAt(at) === 0x28;
  if (isCall && name === 'eval') {
    return filterError(path.start, 'formulas are not allowed', 'formulaNotAllowed');
  }
  if (name === 'order' && isWord(text, at, 'by')) {
    const problem = 'expected a comparison before order by; $orderby orders without a filter';
    return filterError(path.start, problem);
  }
  if (isWord(text, at, 'not')) {
    const next = blanksEnd(text, at + 'not'.length);
    const word = words.find((each) => isWord(text, next, each));
    if (word !== undefined) {
      const shown = word === 'in' ? 'IN' : word;
      return filterError(at, negatedHint(`NOT ${shown}`, shown));
    }
  }
  if (name === 'not') {
    return filterError(at, 'expected an opening parenthesis after NOT, ' + found(text, at));
  }
  return filterError(at, `${comparatorsExpected}, ${found(text, at)}`);
}

function negatedHint(wrong: string, comparator: string): string {
  const value = comparator === 'IN' ? '[...]' : '...';
  return `there is no comparator ${wrong}; write NOT (attribute ${comparator} ${value})`;
}
