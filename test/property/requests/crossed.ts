import fc from 'fast-check';
import type { Dataclass, RelatedEntitiesAttribute } from '../../../generator/model/model.js';
import { features } from '../../support/random-model/features.js';
import type { Comparison, Filter, WrittenStep } from '../memory/filter.js';
import type { Entity, Store } from '../memory/store.js';
import { isScalar } from '../../support/random-model/values.js';

/**
 * Two comparisons over one to-many relation that hold for two related entities of one owner:
 * together they hold only if one related entity fulfils both (filters F17), or if a number
 * distinguishes the entities.
 */
export function crossedFilters(store: Store, dataclass: Dataclass): fc.Arbitrary<Filter>[] {
  const filters = dataclass.attributes.flatMap((relation) =>
    relation.kind === 'relatedEntities' && relation.exposed
      ? store.all(dataclass.name).flatMap((owner) => crossed(store, owner, relation))
      : [],
  );
  if (filters.length === 0) return [];
  const crossing = fc.constantFrom(...filters);
  return [
    fc.tuple(crossing, ordinals, fc.boolean()).map(([[left, right], ordinal, isDeep]) => {
      const at = isDeep ? right.path.length - 2 : 0;
      return { kind: 'and', left, right: numbered(right, at, ordinal) };
    }),
  ];
}

const ordinals: fc.Arbitrary<number | undefined> = features.ordinals
  ? fc.constantFrom(undefined, 1, 2, 17)
  : fc.constant(undefined);

/** A comparison whose path has a number behind a relation, for instance `staff{2}.name`. */
export function numbered(
  comparison: Comparison,
  at: number,
  ordinal: number | undefined,
): Comparison {
  const path = comparison.path.map((step, index): WrittenStep =>
    index === at ? { ...step, ordinal } : step,
  );
  return { ...comparison, path };
}

function crossed(
  store: Store,
  owner: Entity,
  relation: RelatedEntitiesAttribute,
): [Comparison, Comparison][] {
  const [first, second] = store.many(owner, relation);
  if (first === undefined || second === undefined) return [];
  const leftSide = equalities(store, first, [relation.name]);
  const rightSide = equalities(store, second, [relation.name]);
  return leftSide.flatMap((left) =>
    rightSide.map((right): [Comparison, Comparison] => [left, right]),
  );
}

/** Comparisons that hold for an entity, and for those that it refers to. */
function equalities(store: Store, entity: Entity, way: readonly string[]): Comparison[] {
  return entity.dataclass.attributes.flatMap((attribute, spelling): Comparison[] => {
    if (!attribute.exposed) return [];
    if (attribute.kind === 'relatedEntity' && way.length === 1) {
      const referred = store.one(entity, attribute);
      return referred === undefined ? [] : equalities(store, referred, [...way, attribute.name]);
    }
    const value = isScalar(attribute) ? store.value(entity, attribute) : null;
    if (typeof value === 'object') return [];
    const path = [...way, attribute.name].map((name) => ({ name }));
    const operands = [{ value, writing: 'placeholder' as const }];
    return [{ kind: 'comparison', path, comparator: '===', operands, spelling }];
  });
}
