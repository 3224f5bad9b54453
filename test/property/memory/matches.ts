import type {
  Dataclass,
  RelatedEntitiesAttribute,
  RelatedEntityAttribute,
  StorageType,
} from '../../../generator/model/model.js';
import { coerced } from './comparison.js';
import { type Comparator, type Filter, members } from './filter.js';
import { isAsWanted, type Wanted } from './held.js';
import { propertiesHold, type PropertyComparison } from './property.js';
import type { Entity, PathStep, Relation, Store, Way } from './store.js';

/** A comparison from some entity onwards. */
interface Comparison {
  readonly way: Way;
  readonly comparator: Comparator;
  readonly wanted: Wanted;
}

/** Whether an entity matches (`filters.md`). */
export function matches(store: Store, entity: Entity, filter: Filter): boolean {
  if (filter.kind === 'or') {
    return matches(store, entity, filter.left) || matches(store, entity, filter.right);
  }
  if (filter.kind === 'not') return !matches(store, entity, filter.operand);
  const comparisons: Comparison[] = [];
  for (const member of members(filter)) {
    if (member.kind !== 'comparison') {
      if (!matches(store, entity, member)) return false;
    } else {
      const { comparator, operands, path } = member;
      const wanted = operands.map(({ value }) => value);
      comparisons.push({ way: store.way(entity.dataclass, path), comparator, wanted });
    }
  }
  return allHold(store, entity, comparisons);
}

/** Whether a filter has a value that cannot be read as one of its attribute's type (filters F34). */
export function isUnreadable(store: Store, dataclass: Dataclass, filter: Filter): boolean {
  if (filter.kind === 'not') return isUnreadable(store, dataclass, filter.operand);
  if (filter.kind !== 'comparison') {
    return [filter.left, filter.right].some((each) => isUnreadable(store, dataclass, each));
  }
  const { end, moves } = store.way(dataclass, filter.path);
  if (moves.length > 0) return false;
  const { type, dateOnly } = typeOf(store, end);
  return filter.operands.some(
    ({ value }) => value !== null && coerced(type, dateOnly, value) === undefined,
  );
}

/** Whether comparisons hold together: those over one to-many relation for one related entity, those with one letter for one element. */
function allHold(store: Store, entity: Entity, comparisons: readonly Comparison[]): boolean {
  const related = new Map<string, Comparison[]>();
  const inObjects = new Map<string, Comparison[]>();
  for (const comparison of comparisons) {
    const { way, comparator } = comparison;
    const toMany = toManyAt(way);
    if (toMany !== -1 && (comparator === '!=' || comparator === '!==')) {
      // `!=` is always NOT (`=`).
      const positive = comparator === '!=' ? '=' : '===';
      if (allHold(store, entity, [{ ...comparison, comparator: positive }])) return false;
    } else if (toMany !== -1) {
      addTo(related, relatedName(way), comparison);
    } else if (way.moves.length > 0) {
      const names = way.relations.map(({ attribute }) => attribute.name);
      addTo(inObjects, [...names, 'name' in way.end ? way.end.name : ''], comparison);
    } else if (!holds(store, entity, comparison)) {
      return false;
    }
  }
  return (
    [...inObjects.values()].every((group) => holdInObject(store, entity, group)) &&
    [...related.values()].every((group) => holdForOne(store, entity, group))
  );
}

function addTo<T>(groups: Map<string, T[]>, names: readonly string[], item: T): void {
  const name = JSON.stringify(names);
  groups.set(name, [...(groups.get(name) ?? []), item]);
}

function toManyAt({ relations }: Way): number {
  return relations.findIndex(({ attribute }) => attribute.kind === 'relatedEntities');
}

/**
 * The common part of comparisons about one related entity: the relations up to the first to-many
 * one. A number after a following to-one relation also distinguishes that entity: in
 * `roles.actor{2}.name` it is another role.
 */
function relatedName(way: Way): string[] {
  const { relations, end, endOrdinal } = way;
  const all = [...relations];
  if (end.kind === 'relatedEntity') all.push({ attribute: end, ordinal: endOrdinal });
  const next = toManyAt(way) + 1;
  const toMany = all.findIndex(
    ({ attribute }, index) => index >= next && attribute.kind === 'relatedEntities',
  );
  const toOne = all.slice(next, toMany === -1 ? undefined : toMany);
  const numbered = toOne.findIndex(({ ordinal }) => ordinal !== 1);
  return all
    .slice(0, next + numbered + 1)
    .map(({ attribute, ordinal }) => `${attribute.name}{${String(ordinal)}}`);
}

function holdForOne(store: Store, entity: Entity, group: readonly Comparison[]): boolean {
  const [{ way } = { way: undefined }] = group;
  if (way === undefined) return true;
  const toMany = toManyAt(way);
  const owner = follow(store, entity, way.relations.slice(0, toMany));
  if (owner === undefined) return false;
  const rest = group.map((each) => {
    const relations = each.way.relations.slice(toMany + 1);
    return { ...each, way: { ...each.way, relations } };
  });
  const relation = way.relations[toMany]?.attribute as RelatedEntitiesAttribute;
  return store.many(owner, relation).some((each) => allHold(store, each, rest));
}

function holdInObject(store: Store, entity: Entity, group: readonly Comparison[]): boolean {
  const [{ way } = { way: undefined }] = group;
  if (way === undefined) return true;
  const owner = follow(store, entity, way.relations);
  const held = owner === undefined ? null : store.value(owner, way.end);
  const comparisons = group.map(({ way: { moves }, comparator, wanted }): PropertyComparison => ({
    moves,
    comparator,
    wanted,
  }));
  return propertiesHold(held, comparisons, store.textRules);
}

/** The entity at the end of to-one relations. */
export function follow(
  store: Store,
  entity: Entity,
  relations: readonly Relation[],
): Entity | undefined {
  let here: Entity | undefined = entity;
  for (const { attribute } of relations) {
    if (here === undefined) return undefined;
    here = store.one(here, attribute as RelatedEntityAttribute);
  }
  return here;
}

/** A comparison at the end of to-one relations; a path over a missing one is null. */
function holds(store: Store, entity: Entity, { way, comparator, wanted }: Comparison): boolean {
  if (comparator === '!=') return !holds(store, entity, { way, comparator: '=', wanted });
  if (comparator === '!==') return !holds(store, entity, { way, comparator: '===', wanted });
  const owner = follow(store, entity, way.relations);
  const held = owner === undefined ? null : store.value(owner, way.end);
  return isAsWanted(held, comparator, wanted, typeOf(store, way.end), store.textRules);
}

/** A to-one relation is compared by its key. */
export function typeOf(
  store: Store,
  step: PathStep,
): { readonly type: StorageType; readonly dateOnly: boolean } {
  if (step.kind === 'stamp') return { type: 'integer', dateOnly: false };
  if (step.kind === 'relatedEntity') return store.key(store.target(step));
  if (step.kind === 'relatedEntities' || step.kind === 'relationAlias')
    throw new Error('A to-many relation has no type.');
  return step;
}
