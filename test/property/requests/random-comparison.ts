import fc from 'fast-check';
import type { Comparison, WrittenStep } from '../memory/filter.js';
import { typeOf } from '../memory/matches.js';
import type { Move } from '../memory/property.js';
import type { Store } from '../memory/store.js';
import { features } from '../../support/random-model/features.js';
import { type EndPath, heldValues } from './end-paths.js';
import { type PropertyPath, propertyPaths, written } from './property-paths.js';
import { type Test, tests } from './random-operand.js';

/** Comparisons at the end of a path. */
export function comparisons(store: Store, endPath: EndPath): fc.Arbitrary<Comparison> {
  const { path, end } = endPath;
  const { type, dateOnly } = typeOf(store, end);
  const { wildcard } = store.model.protocol;
  const held = heldValues(store, end);
  if (type !== 'object') {
    return tests({ type, dateOnly, wildcard, held }).chain((test) => comparison(path, test));
  }
  const onlyNull = tests({ type: 'vector', dateOnly, wildcard, held }).chain((test) =>
    comparison(path, test),
  );
  if (!features.objectProperties) return onlyNull;
  const properties = fc
    .constantFrom(...propertyPaths(store, end))
    .chain((property) =>
      propertyComparisons(store, endPath, property, fc.constantFrom('', 'b', 'B')),
    );
  return fc.oneof({ weight: 1, arbitrary: onlyNull }, { weight: 8, arbitrary: properties });
}

/** Comparisons with a property of the object at the end of a path. */
export function propertyComparisons(
  store: Store,
  { path, isToOne }: EndPath,
  { moves, isOdd, values }: PropertyPath,
  letters: fc.Arbitrary<string>,
): fc.Arbitrary<Comparison> {
  const { wildcard } = store.model.protocol;
  const kind = { type: 'object', dateOnly: false, wildcard, held: values } as const;
  return fc.tuple(tests(kind), letters).chain(([test, letter]) => {
    // The combination of "at least one element differs" with a to-many relation is not specified.
    const isUnclear = !isToOne && (test.comparator === '!=' || test.comparator === '!==');
    const way = isUnclear ? moves : lettered(moves, letter);
    return comparison(written(path, way), test, isOdd);
  });
}

/** `list[].x` as `list[b].x`. */
function lettered(moves: readonly Move[], letter: string): readonly Move[] {
  const first = moves.findIndex((each) => each.kind === 'element');
  return moves.map((each, index) => (index === first ? { kind: 'element', letter } : each));
}

function comparison(
  path: readonly WrittenStep[],
  test: Test,
  isPathPlaceholder = false,
): fc.Arbitrary<Comparison> {
  const isOut = fc.integer({ min: 0, max: 9 }).map((each) => each === 0);
  return isOut.map((isChosen) => ({
    kind: 'comparison',
    path,
    ...test,
    isPathPlaceholder: isPathPlaceholder || (isChosen && features.pathPlaceholders),
  }));
}
