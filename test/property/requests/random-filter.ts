import fc from 'fast-check';
import { attributeNamed, leadsToMany } from '../../../generator/model/lookup.js';
import type { Dataclass } from '../../../generator/model/model.js';
import { features } from '../../support/random-model/features.js';
import { allOf, type Filter } from '../memory/filter.js';
import type { Store } from '../memory/store.js';
import { crossedFilters, numbered } from './crossed.js';
import { type EndPath, endPaths, somePath } from './end-paths.js';
import { comparisons } from './random-comparison.js';
import { remembered } from './remembered.js';
import { tiedFilters } from './tied.js';

/** Filters over the paths of a dataclass. */
export const filters = remembered(filtersOf);

function filtersOf(store: Store, dataclass: Dataclass): fc.Arbitrary<Filter> {
  const paths = endPaths(store, dataclass);
  const comparison = somePath(paths).chain((path) => comparisons(store, path));
  const together = [
    sharedWay(store, dataclass, paths),
    ...crossedFilters(store, dataclass),
    ...tiedFilters(store, paths),
  ];
  const { tree } = fc.letrec<{ tree: Filter; leaf: Filter }>((tie) => ({
    leaf: comparison,
    tree: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { weight: 4, arbitrary: tie('leaf') },
      { weight: 3, arbitrary: fc.oneof(...together) },
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constantFrom('and', 'or', 'except'),
          left: tie('tree'),
          right: tie('tree'),
          spelling: fc.nat(100),
        }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('not'), operand: tie('tree') }) },
    ),
  }));
  return tree;
}

/** Comparisons joined by AND over the same relations, which filters F17 is about. */
function sharedWay(
  store: Store,
  dataclass: Dataclass,
  paths: readonly EndPath[],
): fc.Arbitrary<Filter> {
  const ways = new Map<string, EndPath[]>();
  for (const each of paths) {
    if (each.relations === 0 || each.isToOne) continue;
    const way = each.path
      .slice(0, -1)
      .map(({ name }) => name)
      .join('.');
    ways.set(way, [...(ways.get(way) ?? []), each]);
  }
  if (ways.size === 0) return somePath(paths).chain((path) => comparisons(store, path));
  return fc.constantFrom(...ways.values()).chain((way) => {
    const comparison = fc
      .constantFrom(...way)
      .chain((path) =>
        fc
          .tuple(comparisons(store, path), ordinals(store, dataclass, path))
          .map(([each, [at, ordinal]]) => numbered(each, at, ordinal)),
      );
    return fc.array(comparison, { minLength: 2, maxLength: 3 }).map(allOf);
  });
}

/** A number for one of the to-many relations of a path, or for the to-one relation behind it. */
function ordinals(
  store: Store,
  dataclass: Dataclass,
  { path, end, relations }: EndPath,
): fc.Arbitrary<readonly [number, number | undefined]> {
  if (!features.ordinals) return fc.constant([0, undefined]);
  let here = dataclass;
  const kinds = path.slice(0, relations).map(({ name }) => {
    const relation = attributeNamed(here, name);
    if ('target' in relation) here = store.target(relation);
    return leadsToMany(relation) ? 'many' : 'one';
  });
  const last =
    path.length === relations + 1
      ? here.attributes.find((each) => each.name === path.at(-1)?.name)
      : undefined;
  const endsMany = last !== undefined && leadsToMany(last);
  if (end.kind === 'relatedEntity' && last !== undefined) kinds.push(endsMany ? 'many' : 'one');
  const toMany = kinds.indexOf('many');
  const places = kinds.flatMap((_, index) => (index >= toMany ? [index] : []));
  const ordinal = fc.constantFrom(undefined, undefined, 1, 2, 3);
  return fc.tuple(fc.constantFrom(...places), ordinal);
}
