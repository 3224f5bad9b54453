import type { JsonValue } from '../../../generator/model/model.js';
import type { WrittenStep } from './filter.js';
import { isPropertyAsWanted, type Positive, type Wanted } from './held.js';
import type { Comparator } from './filter.js';
import type { TextRules } from './text-match.js';

/** A step inside an object: to a property, or to elements of an array; a letter ties elements to each other. */
export type Move =
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'element'; readonly letter: string };

/** A comparison from some value of an object onwards. */
export interface PropertyComparison {
  readonly moves: readonly Move[];
  readonly comparator: Comparator;
  readonly wanted: Wanted;
}

export function movesOf(steps: readonly WrittenStep[]): Move[] {
  return steps.flatMap(({ name, element }) => [
    { kind: 'property' as const, name },
    ...elementMove(element),
  ]);
}

export function elementMove(element: string | undefined): Move[] {
  return element === undefined ? [] : [{ kind: 'element', letter: element.toLowerCase() }];
}

/** Whether comparisons that AND joins hold for a value: those with the same letter behind an array for one of its elements. */
export function propertiesHold(
  value: JsonValue,
  comparisons: readonly PropertyComparison[],
  rules: TextRules,
): boolean {
  const tied = new Map<string, PropertyComparison[]>();
  for (const comparison of comparisons) {
    const at = letterAt(comparison);
    if (at === -1) {
      if (!holds(value, comparison, rules)) return false;
    } else {
      const way = JSON.stringify(comparison.moves.slice(0, at + 1));
      tied.set(way, [...(tied.get(way) ?? []), comparison]);
    }
  }
  return [...tied.values()].every((group) => {
    const at = letterAt(group[0] as PropertyComparison);
    const way = group[0]?.moves.slice(0, at + 1) ?? [];
    const rest = group.map((each) => ({ ...each, moves: each.moves.slice(at + 1) }));
    return valuesAt(value, way).some((element) => propertiesHold(element, rest, rules));
  });
}

function letterAt({ moves }: PropertyComparison): number {
  return moves.findIndex((each) => each.kind === 'element' && each.letter !== '');
}

/** `!=` is NOT (`=`): behind `list[]` no element equals, and a property that is missing differs. */
function holds(
  value: JsonValue,
  { moves, comparator, wanted }: PropertyComparison,
  rules: TextRules,
): boolean {
  if (comparator === '!=' || comparator === '!==') {
    const positive = comparator === '!=' ? '=' : '===';
    return !holds(value, { moves, comparator: positive, wanted }, rules);
  }
  return valuesAt(value, moves).some((each) =>
    isPropertyAsWanted(each, comparator satisfies Positive, wanted, rules),
  );
}

/**
 * The values at the end of a path: one, null if it is missing, or one for each element on the way.
 */
export function valuesAt(value: JsonValue, moves: readonly Move[]): readonly JsonValue[] {
  const [move, ...rest] = moves;
  if (move === undefined) return [value];
  if (move.kind === 'property') return valuesAt(propertyOf(value, move.name), rest);
  return Array.isArray(value) ? value.flatMap((each: JsonValue) => valuesAt(each, rest)) : [];
}

function propertyOf(value: JsonValue, name: string): JsonValue {
  if (value === null || typeof value !== 'object') return null;
  if (Array.isArray(value)) return name === 'length' ? value.length : null;
  const members = value as Readonly<Record<string, JsonValue>>;
  return Object.hasOwn(members, name) ? (members[name] ?? null) : null;
}
