import fc from 'fast-check';
import { features } from '../../support/random-model/features.js';
import { allOf, type Filter } from '../memory/filter.js';
import { typeOf } from '../memory/matches.js';
import type { Store } from '../memory/store.js';
import { type EndPath } from './end-paths.js';
import { type PropertyPath, propertyPaths } from './property-paths.js';
import { propertyComparisons } from './random-comparison.js';

/**
 * Comparisons joined by AND with one letter behind an array: they concern one element (filters
 * F22).
 */
export function tiedFilters(store: Store, paths: readonly EndPath[]): fc.Arbitrary<Filter>[] {
  if (!features.elements || !features.objectProperties) return [];
  const groups = paths
    .filter(({ end }) => typeOf(store, end).type === 'object')
    .flatMap((path) => {
      const arrays = new Map<string, PropertyPath[]>();
      for (const property of propertyPaths(store, path.end)) {
        const at = property.moves.findIndex((each) => each.kind === 'element');
        if (at === -1) continue;
        const array = JSON.stringify(property.moves.slice(0, at));
        arrays.set(array, [...(arrays.get(array) ?? []), property]);
      }
      return [...arrays.values()].map((properties) => ({ path, properties }));
    });
  if (groups.length === 0) return [];
  const letters = fc.constantFrom('a', 'a', 'A', 'z');
  return [
    fc.constantFrom(...groups).chain(({ path, properties }) =>
      fc
        .array(
          fc
            .constantFrom(...properties)
            .chain((property) => propertyComparisons(store, path, property, letters)),
          { minLength: 2, maxLength: 3 },
        )
        .map(allOf),
    ),
  ];
}
