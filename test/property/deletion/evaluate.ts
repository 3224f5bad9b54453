import type { Dataclass, Entity, Relation } from './graph.js';

/** The expected result of a deletion: the entities afterwards, or the relations that forbid it. */
export type Outcome =
  | { readonly entities: readonly Entity[]; readonly changes: number }
  | { readonly restrictions: ReadonlyMap<string, number> };

/** Deletes entities exactly by the rules of the guide, without regard to speed. */
export function deletion(
  dataclasses: readonly Dataclass[],
  entities: readonly Entity[],
  chosen: ReadonlySet<Entity>,
  timestamp: string,
): Outcome {
  const doomed = new Set(chosen);
  const loses = (entity: Entity, relation: Relation, position: number): boolean =>
    [...doomed].some(
      (each) => each.dataclass === relation.target && each.key === entity.related[position],
    );
  for (let before = -1; before < doomed.size;) {
    before = doomed.size;
    for (const entity of entities) {
      const { relations } = dataclasses[entity.dataclass] as Dataclass;
      const isTaken = relations.some(
        (relation, position) =>
          relation.onDelete === 'cascade' && loses(entity, relation, position),
      );
      if (isTaken) doomed.add(entity);
    }
  }
  const restrictions = new Map<string, number>();
  let changes = doomed.size;
  const rest = entities
    .filter((each) => !doomed.has(each))
    .map((entity) => {
      const { name, relations } = dataclasses[entity.dataclass] as Dataclass;
      const related = [...entity.related];
      relations.forEach((relation, position) => {
        if (!loses(entity, relation, position)) return;
        if (relation.onDelete === 'setNull') related[position] = null;
        if (relation.onDelete !== 'restrict') return;
        const id = `${name}.${relation.name}`;
        restrictions.set(id, (restrictions.get(id) ?? 0) + 1);
      });
      const isChanged = related.some((key, position) => key !== entity.related[position]);
      if (!isChanged) return entity;
      changes += 1;
      return { ...entity, related, stamp: entity.stamp + 1, timestamp };
    });
  return restrictions.size > 0 ? { restrictions } : { entities: rest, changes };
}
