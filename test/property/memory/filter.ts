import type {
  JsonValue,
  RelatedEntitiesAttribute,
  RelatedEntityAttribute,
  StorageType,
} from '../../../generator/model/model.js';
import { coerced, compareValues, folded, type Scalar } from './comparison.js';
import type { Entity, PathStep, Store } from './store.js';

export type Comparator = '=' | '!=' | '<' | '<=' | '>' | '>=' | 'begin';

export type Filter =
  | { readonly kind: 'and' | 'or' | 'except'; readonly left: Filter; readonly right: Filter }
  | { readonly kind: 'not'; readonly operand: Filter }
  | {
      readonly kind: 'comparison';
      readonly path: readonly string[];
      readonly comparator: Comparator;
      readonly value: Scalar | null;
      /** The value is sent in `$params`. */
      readonly isPlaceholder: boolean;
      /** Chooses among the spellings of the comparator and the value. */
      readonly spelling: number;
    };

interface Comparison {
  readonly steps: readonly PathStep[];
  readonly comparator: Comparator;
  readonly value: Scalar | null;
}

/** Whether an entity matches (protocol section 7, decisions 11, 12, 23, 24). */
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
      const { comparator, value } = member;
      comparisons.push({ steps: store.steps(entity.dataclass, member.path), comparator, value });
    }
  }
  return allHold(store, entity, comparisons);
}

/** What AND joins at one level; parentheses around an AND inside an AND say nothing, and EXCEPT is AND NOT. */
function members(filter: Filter): readonly Filter[] {
  if (filter.kind === 'and') return [...members(filter.left), ...members(filter.right)];
  if (filter.kind === 'except') {
    return [...members(filter.left), { kind: 'not', operand: filter.right }];
  }
  return [filter];
}

/** Whether comparisons hold together, those over the same to-many relation for the same related entity. */
function allHold(
  store: Store,
  entity: Entity | undefined,
  comparisons: readonly Comparison[],
): boolean {
  const groups = new Map<string, Comparison[]>();
  for (const comparison of comparisons) {
    const { steps, comparator } = comparison;
    const toMany = steps.findIndex((each) => each.kind === 'relatedEntities');
    if (toMany === -1) {
      if (!test(store, entity, comparison)) return false;
    } else if (comparator === '!=') {
      // `!=` is always NOT (`=`).
      if (allHold(store, entity, [{ ...comparison, comparator: '=' }])) return false;
    } else {
      const names = steps.slice(0, toMany + 1).map((each) => ('name' in each ? each.name : ''));
      const way = names.join('.');
      groups.set(way, [...(groups.get(way) ?? []), comparison]);
    }
  }
  return [...groups.values()].every((group) => holdsForOne(store, entity, group));
}

function holdsForOne(
  store: Store,
  entity: Entity | undefined,
  group: readonly Comparison[],
): boolean {
  const steps = group[0]?.steps ?? [];
  const toMany = steps.findIndex((each) => each.kind === 'relatedEntities');
  const owner = follow(store, entity, steps.slice(0, toMany));
  if (owner === undefined) return false;
  const rest = group.map((each) => ({ ...each, steps: each.steps.slice(toMany + 1) }));
  return store
    .many(owner, steps[toMany] as RelatedEntitiesAttribute)
    .some((each) => allHold(store, each, rest));
}

function follow(
  store: Store,
  entity: Entity | undefined,
  steps: readonly PathStep[],
): Entity | undefined {
  let here = entity;
  for (const step of steps) {
    if (here === undefined) return undefined;
    here = store.one(here, step as RelatedEntityAttribute);
  }
  return here;
}

/** A comparison at the end of to-one relations; a path over a missing one is null. */
function test(store: Store, entity: Entity | undefined, comparison: Comparison): boolean {
  const { steps, comparator, value } = comparison;
  const end = steps.at(-1) as PathStep;
  const owner = follow(store, entity, steps.slice(0, -1));
  const held = owner === undefined ? null : store.value(owner, end);
  if (comparator === '!=') return !test(store, entity, { ...comparison, comparator: '=' });
  if (value === null) return held === null;
  const { type, dateOnly } = typeOf(store, end);
  const wanted = coerced(type, dateOnly, value);
  if (wanted === undefined || held === null) return false;
  if (comparator === 'begin') return begins(held, wanted);
  const order = compareValues(held, wanted, type);
  switch (comparator) {
    case '=':
      return order === 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
  }
}

function begins(held: JsonValue, wanted: Scalar): boolean {
  return (
    typeof held === 'string' &&
    typeof wanted === 'string' &&
    folded(held).startsWith(folded(wanted))
  );
}

/** A to-one relation is compared by the key that it holds. */
export function typeOf(
  store: Store,
  step: PathStep,
): { readonly type: StorageType; readonly dateOnly: boolean } {
  if (step.kind === 'stamp') return { type: 'integer', dateOnly: false };
  if (step.kind === 'relatedEntity') return store.key(store.target(step));
  if (step.kind === 'relatedEntities') throw new Error('A to-many relation has no type.');
  return step;
}
