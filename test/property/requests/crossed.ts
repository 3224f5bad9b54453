import fc from 'fast-check';
import type { Dataclass, RelatedEntitiesAttribute } from '../../../generator/model/model.js';
import type { Scalar } from '../memory/comparison.js';
import type { Filter } from '../memory/filter.js';
import type { Entity, Store } from '../memory/store.js';
import { isScalar } from '../model/values.js';

/**
 * Two comparisons over one to-many relation that hold for two related entities of one owner: together they hold only where
 * one related entity fulfils both (decision 23).
 */
export function crossedFilters(store: Store, dataclass: Dataclass): fc.Arbitrary<Filter>[] {
  const filters = dataclass.attributes.flatMap((relation) =>
    relation.kind === 'relatedEntities' && relation.exposed
      ? store.all(dataclass.name).flatMap((owner) => crossed(store, owner, relation))
      : [],
  );
  return filters.length === 0 ? [] : [fc.constantFrom(...filters)];
}

function crossed(store: Store, owner: Entity, relation: RelatedEntitiesAttribute): Filter[] {
  const [first, second] = store.many(owner, relation);
  if (first === undefined || second === undefined) return [];
  const leftSide = equalities(store, first, relation.name);
  const rightSide = equalities(store, second, relation.name);
  return leftSide.flatMap((left) =>
    rightSide
      .filter((right) => right.path.at(-1) !== left.path.at(-1))
      .map((right): Filter => ({ kind: 'and', left, right })),
  );
}

function equalities(
  store: Store,
  entity: Entity,
  relation: string,
): Extract<Filter, { kind: 'comparison' }>[] {
  return entity.dataclass.attributes.flatMap((attribute, spelling) => {
    if (!attribute.exposed || !isScalar(attribute)) return [];
    const value = store.value(entity, attribute);
    if (typeof value === 'object') return [];
    const path = [relation, attribute.name];
    const written: Scalar = value;
    return [
      { kind: 'comparison', path, comparator: '=', value: written, isPlaceholder: true, spelling },
    ];
  });
}
