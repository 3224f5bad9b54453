import type { Source } from '../dataclass/dataclasses.js';
import { From, foreignKeyColumn, keyColumn, linkedColumn } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import type { FilterNode, ComputedNode } from './ast.js';
import {
  type FilterContext,
  all,
  any,
  not,
  Followed,
  type WritingContext,
  never,
  nested,
} from './context.js';
import { inputPositions, type PreparedFilter } from './prepared-filter.js';
import { type PendingComparison, resolve, type Hop } from './resolve.js';
import { sql } from 'kysely';
import { type ColumnDefinition, followAll } from '../dataclass/attribute-path.js';
import { objectDocument } from '../dataclass/comparable.js';
import type { RelatedEntitiesDefinition, RelatedEntityDefinition } from '../protocol/definition.js';
import { condition } from './condition.js';
import { elementConditions } from './elements.js';

/**
 * Writes a filter as a condition over a table (`filters.md`).
 * @param nesting conditions with tables of their own around the filter
 * @throws RequestError 400 with 1500, 1112 or 1162
 */
export function filterCondition(
  context: FilterContext,
  from: From,
  filter: FilterNode,
  nesting = 0,
): Sql {
  const followed = new Followed(context.followedByAll);
  const writing = { ...context, followed, nesting, within: writtenWithin };
  return conjunction(writing, from, from.root, filter);
}

/**
 * Writes a prepared filter as a condition over a table, as {@link filterCondition} does.
 * @param first position of its first value among the inputs of the statement
 */
export function preparedCondition(
  context: Omit<FilterContext, 'inputs' | 'nulls' | 'patterns' | 'mismatched'>,
  from: From,
  { filter, positions = inputPositions(filter) }: PreparedFilter,
  { nulls, patterns, mismatched }: DecidingInputs,
  first = 0,
): Sql {
  const inputs =
    first === 0 ? positions : new Map([...positions].map(([node, at]) => [node, first + at]));
  const deciding = {
    inputs,
    nulls: new Set(nulls),
    patterns: new Set(patterns),
    mismatched: new Set(mismatched),
  };
  return filterCondition({ ...context, ...deciding }, from, filter);
}

/** Positions of the inputs that decide a statement: see {@link FilterContext}. */
export interface DecidingInputs {
  readonly nulls: readonly number[];
  readonly patterns: readonly number[];
  readonly mismatched: readonly number[];
}

/** Comparisons of one AND chain over a to-many relation concern one related entity (filters F17). `EXCEPT` is AND NOT. */
function conjunction(context: WritingContext, from: From, source: Source, filter: FilterNode): Sql {
  const conditions: Sql[] = [];
  const pending: PendingComparison[] = [];
  for (const { node, negated } of conjuncts(filter)) {
    if (negated) conditions.push(not(conjunction(context, from, source, node)));
    else if (node.kind === 'comparison' || node.kind === 'computed') {
      pending.push(resolve(source.dataclass, node, context.names));
    } else if (node.kind === 'or') conditions.push(disjunction(context, from, source, node));
    else conditions.push(conjunction(context, from, source, node));
  }
  return all([...comparisons(context, from, source, pending), ...conditions]);
}

/** Writes what class code returned for a comparison; it may name what no client can. */
function writtenWithin(
  context: WritingContext,
  from: From,
  source: Source,
  filter: FilterNode,
): Sql {
  return conjunction({ ...context, names: 'granted' }, from, source, filter);
}

function disjunction(context: WritingContext, from: From, source: Source, filter: FilterNode): Sql {
  const alternatives: Sql[] = [];
  let node = filter;
  while (node.kind === 'or') {
    alternatives.unshift(conjunction(context, from, source, node.right));
    node = node.left;
  }
  alternatives.unshift(conjunction(context, from, source, node));
  return any(alternatives);
}

/** The members of a chain of AND and EXCEPT. Chains grow to the left, so only parentheses recurse. */
export function conjuncts(
  filter: FilterNode,
): { readonly node: FilterNode; readonly negated: boolean }[] {
  const members: { node: FilterNode; negated: boolean }[] = [];
  let node = filter;
  while (node.kind === 'and' || node.kind === 'except') {
    members.unshift({ node: node.right, negated: node.kind === 'except' });
    node = node.left;
  }
  if (node.kind === 'not') members.unshift({ node: node.operand, negated: true });
  else members.unshift({ node, negated: false });
  return members.flatMap((member) =>
    !member.negated &&
    (member.node.kind === 'and' || member.node.kind === 'except' || member.node.kind === 'not')
      ? conjuncts(member.node)
      : [member],
  );
}

/** Comparisons with values inside one object attribute of one entity. */
interface ObjectComparisons {
  readonly source: Source;
  readonly attribute: ColumnDefinition;
  readonly comparisons: PendingComparison[];
}

/** Conditions over `source` for comparisons that AND joins and whose paths begin there. */
function comparisons(
  context: WritingContext,
  from: From,
  source: Source,
  pending: readonly PendingComparison[],
): Sql[] {
  const conditions: Sql[] = [];
  const related = new Map<string, PendingComparison[]>();
  const inObjects = new Map<string, ObjectComparisons>();
  for (const each of pending) {
    const toMany = toManyAt(each);
    if (toMany === -1) {
      const end = follow(context, from, source, each, each.hops);
      if (each.computed !== undefined) conditions.push(computedCondition(context, from, end, each));
      else if (each.moves.length === 0) conditions.push(condition(context, end, each));
      else addInObject(inObjects, end, each);
    } else if (each.comparator === '!=') {
      // `!=` is always NOT (`=`): no related entity has the value.
      const positive: PendingComparison = { ...each, comparator: '=' };
      conditions.push(not(someRelated(context, from, source, [positive])));
    } else {
      const way = wayOf(each, toMany);
      related.set(way, [...(related.get(way) ?? []), each]);
    }
  }
  for (const group of related.values()) conditions.push(someRelated(context, from, source, group));
  for (const { source: owner, attribute, comparisons: group } of inObjects.values()) {
    const document = objectDocument(context.dialect, owner, attribute);
    conditions.push(...elementConditions(context, document, group));
  }
  return conditions;
}

/** What class code returned; without a related entity the value is null (filters F18). */
function computedCondition(
  context: WritingContext,
  from: From,
  end: Source,
  { computed, hops }: PendingComparison,
): Sql {
  const { filter, isNullWanted } = computed as ComputedNode;
  const condition = filter === undefined ? never : context.within(context, from, end, filter);
  if (hops.length === 0) return condition;
  const key = keyColumn(end);
  return isNullWanted
    ? sql`(${key} is null or ${condition})`
    : sql`(${key} is not null and ${condition})`;
}

function addInObject(
  inObjects: Map<string, ObjectComparisons>,
  source: Source,
  pending: PendingComparison,
): void {
  const attribute = pending.end as ColumnDefinition;
  const name = `${source.alias}.${attribute.name}`;
  const known = inObjects.get(name);
  if (known === undefined) inObjects.set(name, { source, attribute, comparisons: [pending] });
  else known.comparisons.push(pending);
}

function toManyAt({ hops }: Pick<PendingComparison, 'hops'>): number {
  return hops.findIndex(({ relation }) => relation.kind === 'relatedEntities');
}

/**
 * Comparisons with the same way concern the same related entity (filters F17). A number behind a
 * to-one relation also selects the entity that the relation starts from: `roles.actor{2}` is the
 * actor of another role than `roles.actor`.
 */
function wayOf({ hops, end, endOrdinal }: PendingComparison, toMany: number): string {
  const beyond: readonly Hop[] =
    end.kind === 'relatedEntity' ? [...hops, { relation: end, ordinal: endOrdinal }] : hops;
  const further = beyond.slice(toMany + 1);
  const next = toManyAt({ hops: further });
  const toOnes = next === -1 ? further : further.slice(0, next);
  const numbered = toOnes.findIndex(({ ordinal }) => ordinal !== 1);
  return beyond
    .slice(0, toMany + numbered + 2)
    .map(({ relation, ordinal }) => `${relation.name}{${ordinal}}`)
    .join('.');
}

function follow(
  context: WritingContext,
  from: From,
  source: Source,
  { node }: PendingComparison,
  hops: readonly Hop[],
): Source {
  const relations = hops.map(({ relation }) => relation as RelatedEntityDefinition);
  return context.followed.joined(from, node, () => followAll(from, source, relations));
}

/**
 * At least one entity at the other end of the first to-many relation fulfils all of `pending`,
 * whose first step is the same. Null if that is unknown.
 *
 * Inside of another such condition the database finds the owners once, and not again for each
 * entity around them: along a path that goes back and forth, `albums.artist.albums.artist`, that
 * would be once for each way.
 */
function someRelated(
  context: WritingContext,
  from: From,
  source: Source,
  pending: readonly PendingComparison[],
): Sql {
  const first = pending[0] as PendingComparison;
  const toMany = toManyAt(first);
  const owner = follow(context, from, source, first, first.hops.slice(0, toMany));
  const relation = (first.hops[toMany] as Hop).relation as RelatedEntitiesDefinition;
  context.followed.add(1, first.node);
  // A subquery with an offset is not turned into a join: PostgreSQL would plan very many joins for minutes.
  const most = sql.lit(Number.MAX_SAFE_INTEGER);
  const apart = context.followed.isMany ? sql` limit ${most} offset 0` : sql``;
  const target = owner.dataclass.target(relation);
  const inner = new From(context.aliases, target);
  const inverse = owner.dataclass.inverse(relation);
  const rest = pending.map((each) => ({ ...each, hops: each.hops.slice(toMany + 1) }));
  const within = nested(context, first.node);
  const condition = all(comparisons(within, inner, inner.root, rest));
  const foreignKey = foreignKeyColumn(inner.root, inverse);
  const referred = linkedColumn(owner, inverse);
  return context.nesting > 0
    ? sql`${referred} in (select ${foreignKey} ${inner.clause} where ${condition}${apart})`
    : sql`exists (select 1 ${inner.clause} where ${foreignKey} = ${referred} and ${condition}${apart})`;
}
