import { isWellFormed } from '../protocol/well-formed.js';
import type { ComparisonNode, FilterNode } from './ast.js';
import { filterError } from './filter-error.js';
import { type Cursor, takeComparator, takeConnective, takeOpening, takePath } from './lexer.js';
import { takeValue } from './literal.js';

export interface FilterLimits {
  /** Greatest length of the text, in UTF-16 code units. */
  readonly filterLength: number;
  /** Greatest number of nested parentheses, those of `NOT ( )` included. */
  readonly filterDepth: number;
}

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
 * Reads a `$filter` (specification, "$filter"; protocol section 7 and decisions 12 and 24), without the quotes around it.
 * AND and EXCEPT bind tighter than OR, and each of them joins from left to right. Takes time linear in the length.
 *
 * In the place of an attribute every name is one, `and`, `begin`, `not` and `null` included; keywords are such only where
 * no attribute can stand. What cannot be written: a name with other characters than letters, digits and underscores.
 *
 * @example parseFilter("city = 'Paris' AND employer.name begin Nor", { filterLength: 16384, filterDepth: 64 })
 * @throws RequestError 400 with 1162, or 1278 for `eval(`; the message names the character, counted from 1
 */
export function parseFilter(text: string, limits: FilterLimits): FilterNode {
  checkText(text, limits);
  const cursor: Cursor = { text, at: 0 };
  const outer: Group[] = [];
  let group = newGroup(false, 0);
  for (;;) {
    const opening = takeOpening(cursor);
    if (opening !== undefined) {
      if (outer.length >= limits.filterDepth) throw tooDeep(cursor, limits);
      outer.push(group);
      group = newGroup(opening === 'not', cursor.at - 1);
      continue;
    }
    addTo(group, takeComparison(cursor));
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
    if (next === 'end') {
      if (outer.length > 0) throw filterError(group.start, 'this parenthesis is not closed');
      return whole(group);
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

function takeComparison(cursor: Cursor): ComparisonNode {
  const path = takePath(cursor);
  const comparator = takeComparator(cursor, path);
  return { kind: 'comparison', path, comparator, value: takeValue(cursor) };
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
