import type { JsonValue, StorageType } from '../../../generator/model/model.js';
import { coerced, compareByCodePoint, compareValues, type Scalar } from './comparison.js';
import type { Comparator } from './filter.js';
import { begins, contains, hasWord, isLike, type TextRules } from './text-match.js';

/** A comparator that is no negation. */
export type Positive = Exclude<Comparator, '!=' | '!=='>;

export type Wanted = readonly (Scalar | null)[];

/** Whether a value of an attribute fulfils a comparison (filters F1 to F7). */
export function isAsWanted(
  held: JsonValue,
  comparator: Positive,
  wanted: Wanted,
  { type, dateOnly }: { readonly type: StorageType; readonly dateOnly: boolean },
  rules: TextRules,
): boolean {
  return wanted.some((each) => {
    if (each === null || held === null) return each === null && held === null;
    const value = coerced(type, dateOnly, each);
    if (value === undefined) throw new Error('A filter with such a value is refused.');
    if (type === 'string' && typeof held === 'string') {
      return isTextAsWanted(held, comparator, String(value), rules);
    }
    return isOrdered(comparator, compareValues(held, value, type, rules.fold));
  });
}

/**
 * Whether a value in an object fulfils a comparison: values of different JSON types have nothing in
 * common (filters F24).
 */
export function isPropertyAsWanted(
  held: JsonValue,
  comparator: Positive,
  wanted: Wanted,
  rules: TextRules,
): boolean {
  return wanted.some((each) => {
    if (each === null || held === null) return each === null && held === null;
    if (typeof held === 'string' && typeof each === 'string') {
      return isTextAsWanted(held, comparator, each, rules);
    }
    if (typeof held !== typeof each || isTextComparator(comparator)) return false;
    return isOrdered(comparator, Number(held) === Number(each) ? 0 : held < each ? -1 : 1);
  });
}

function isTextAsWanted(
  held: string,
  comparator: Positive,
  wanted: string,
  rules: TextRules,
): boolean {
  switch (comparator) {
    case '=':
    case 'in':
      return isLike(held, wanted, rules);
    case 'begin':
      return begins(held, wanted, rules);
    case 'contains':
      return contains(held, wanted, rules);
    case '%':
      return hasWord(held, wanted, rules);
    case '===':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return isOrdered(comparator, compareByCodePoint(rules.fold(held), rules.fold(wanted)));
  }
}

export function isTextComparator(comparator: Comparator): boolean {
  return comparator === 'begin' || comparator === 'contains' || comparator === '%';
}

function isOrdered(comparator: Positive, order: number): boolean {
  switch (comparator) {
    case '=':
    case '===':
    case 'in':
      return order === 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
    case 'begin':
    case 'contains':
    case '%':
      throw new Error(`${comparator} compares texts.`);
  }
}
