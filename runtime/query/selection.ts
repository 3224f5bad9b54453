import { sql } from 'kysely';
import type { ToManyDefinition } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases } from '../dataclass/aliases.js';
import { From, keyColumn, linkedValue } from '../dataclass/source.js';
import { isIn, type Dialect, type Sql } from '../dialect/dialect.js';
import type { OrderTerm } from './order-sql.js';
import type { BuiltQuery } from '../dialect/compile.js';
import { Slot, type Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import { type Compared, Followed, Similarities } from '../filter/context.js';
import type { PreparedFilter } from '../filter/prepared-filter.js';
import { FilterSlots } from '../filter/slots.js';
import { type DecidingInputs, preparedCondition } from '../filter/to-sql.js';
import { type EntityQuery, queryOf } from '../protocol/queries.js';
import { type AnswerOptions, type QueryContext, compileAnswer, ComputedPlaces } from './context.js';
import { relatedTo } from './entity-json.js';
import type { ExpandedValues } from './expansions.js';

/** The entities of a request, without the values of each request. */
export interface Selection extends DecidingInputs {
  readonly dataclass: Dataclass;
  readonly base: SelectionBase;
  readonly filter: PreparedFilter | undefined;
}

/** The entities to which a filter is applied. */
export type SelectionBase =
  | { readonly kind: 'all' }
  /** The entities of a to-many relation or alias of one entity, whose key is the base's value. */
  | {
      readonly kind: 'related';
      readonly owner: Dataclass;
      readonly relation: ToManyDefinition;
    }
  /** Members of an entity set; the base's value is a JSON list of their keys. */
  | { readonly kind: 'members' }
  /** A combination of other selections by class code, which contains their filters. */
  | { readonly kind: 'tree'; readonly tree: SelectionTree };

/** A selection that writes itself; its values are inputs of the request. */
export interface SelectionTree {
  /** Equal for trees whose statements differ only in values. */
  readonly shape: string;
  /** Whether its entities come in another order than that of their keys. */
  readonly isOrdered: boolean;
  /** The condition that an entity belongs to it: see {@link selectionCondition}. */
  condition(context: QueryContext, from: From, selection: Selection): Sql | undefined;
  /** The order of the selection, the key last; written behind its condition. */
  order(context: QueryContext, from: From, selection: Selection): readonly OrderTerm[];
}

/** The values of a statement over a selection: these, then those of its filter. */
export const baseSlot = new Slot(0);
export const skipSlot = new Slot(1);
export const topSlot = new Slot(2);
/** The number of all entities of the selection, if the statement does not count them. */
export const countSlot = new Slot(3);
/** The address of the entity set that the request made. */
export const setSlot = new Slot(4);
/** The version of the data at which `countSlot` was the number; null if the statement has to count. */
export const versionSlot = new Slot(5);
/** The version of the data at which the client has read the answer; null if it has none. */
export const tagSlot = new Slot(6);
export const firstFilterSlot = 7;

/** A statement over a selection, and the values of its filter. */
export interface SelectionStatement {
  readonly statement: Statement;
  /** To be run with the same values if the statement fails because a number becomes too large. */
  readonly ifTooLarge?: Statement;
  readonly filterSlots: FilterSlots;
}

const noValues: ExpandedValues = { first: 0, nulls: [], patterns: [], mismatched: [] };

/** @param expanded left out if no expansion of the answer binds values */
export function queryContext(
  dialect: Dialect,
  options: AnswerOptions,
  expanded: ExpandedValues = noValues,
): QueryContext {
  return {
    expanded,
    dialect,
    aliases: new Aliases(),
    options,
    slots: new FilterSlots(firstFilterSlot),
    similarities: new Similarities(),
    followedByExpansions: new Followed(),
    computed: new ComputedPlaces(),
  };
}

/** The statement that was written in `context`. */
export function selectionStatement(
  context: QueryContext,
  query: Sql | BuiltQuery,
): SelectionStatement {
  return { statement: compileAnswer(context, query), filterSlots: context.slots };
}

/** The statement of an answer that has a tag (see `tags.ts`) unless class code computes values in it. */
export function answerStatement(
  context: QueryContext,
  query: Sql | BuiltQuery,
): SelectionStatement {
  const { dialect, aliases, computed } = context;
  if (computed.list.length > 0) return selectionStatement(context, query);
  const tagged = dialect.tagged?.(query, sql`${tagSlot}`, aliases.tables) ?? query;
  const { statement, filterSlots } = selectionStatement(context, tagged);
  return { statement: { ...statement, isTagged: true }, filterSlots };
}

/** How a statement selects the entities. */
interface Chosen {
  /** The emitted query. */
  readonly query: EntityQuery;
  /** The condition that a request adds. */
  readonly condition: Sql | undefined;
}

/**
 * The query of a selection's entities, and the condition that a request adds. {@link From.complete}
 * puts the condition into the query when every join is known.
 * @param from a `table`
 */
export function chosenEntities(context: QueryContext, from: From, selection: Selection): Chosen {
  const { base, dataclass } = selection;
  const { queries } = dataclass;
  const { db } = context.dialect;
  if (base.kind !== 'related' || base.relation.kind === 'relationAlias') {
    const condition = selectionCondition(context, from, selection);
    return { query: queries.entities(db), condition };
  }
  const relation = base.owner.inverse(base.relation);
  const related = queryOf(queries.of, relation.name);
  if (related === undefined) {
    throw new Error(`${dataclass.name} has no query for ${relation.name}.`);
  }
  const all: Selection = { ...selection, base: { kind: 'all' } };
  return {
    query: related(
      db,
      linkedValue(context.aliases, base.owner, relation, ownerKey(context, base.owner)),
    ),
    condition: selectionCondition(context, from, all),
  };
}

/** The condition that an entity of `from` belongs to the selection; none if all do. */
export function selectionCondition(
  context: QueryContext,
  from: From,
  selection: Selection,
  compared?: Compared,
): Sql | undefined {
  const { base, filter } = selection;
  if (base.kind === 'tree') return base.tree.condition(context, from, selection);
  const parts: Sql[] = [];
  if (base.kind === 'related') {
    const key = ownerKey(context, base.owner);
    parts.push(relatedTo(context, from.root, base.owner, base.relation, key));
  } else if (base.kind === 'members') {
    parts.push(
      isIn(
        context.dialect,
        keyColumn(from.root),
        sql`${baseSlot}`,
        valueTypeOf(from.root.dataclass.key.type),
      ),
    );
  }
  if (filter !== undefined) {
    const filterContext = compared === undefined ? context : { ...context, compared };
    parts.push(preparedCondition(filterContext, from, filter, selection));
  }
  return parts.length === 0 ? undefined : sql.join(parts, sql` and `);
}

/** The owner's key as it is stored: a client may write a text key in another case. */
function ownerKey(context: QueryContext, owner: Dataclass): Sql {
  if (owner.key.type !== 'string') return sql`${baseSlot}`;
  const from = new From(context.aliases, owner, 'table');
  const select = from.selecting(keyColumn(from.root));
  return sql`${owner.queries.byKey(context.dialect.db, sql`${baseSlot}`, select)}`;
}

/** `answer`, or null if the entity whose relation is read does not exist. */
export function ifBaseExists(context: QueryContext, { base }: Selection, answer: Sql): Sql {
  if (base.kind !== 'related') return answer;
  const { queries } = base.owner;
  const from = new From(context.aliases, base.owner, 'table');
  const owner = queries.byKey(context.dialect.db, sql`${baseSlot}`, from.selecting(sql.lit(1)));
  return sql`case when exists ${owner} then ${answer} end`;
}
