import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { column, From, keyColumn, selecting, type Source } from '../dataclass/source.js';
import type { Dialect, JsonPart, Sql } from '../dialect/dialect.js';
import type { PendingAnswer } from '../dialect/executor.js';
import { whenThere } from '../dialect/pending.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import type { StorageDefinition } from '../protocol/definition.js';
import type { AnyRow, Attributes, EntityQuery } from '../protocol/queries.js';
import { whenResolved } from './computed-requests.js';
import type { AnswerOptions, QueryContext } from './context.js';
import { type Counted, countingOf, ofBase } from './counts.js';
import {
  type EntityForm,
  entityText,
  page as pageJson,
  relatedCount,
  requestedForm,
} from './entity-json.js';
import type { OrderItem } from './order-by.js';
import { orderList, orderSql } from './order-sql.js';
import type { Parameters } from './parameters.js';
import { mostRelated, type Projection, projectionOf, refuseTooManyRelated } from './projection.js';
import { pageTop, type ReadingContext } from './reading-context.js';
import {
  orderOf,
  planFor,
  selectionRequest,
  type SelectionRequest,
  shapeName,
} from './selection-request.js';
import {
  baseSlot,
  chosenEntities,
  countSlot,
  ifBaseExists,
  planOf,
  queryContext,
  type Selection,
  type SelectionPlan,
  setSlot,
  skipSlot,
  topSlot,
} from './selection.js';
import { keyJson, keyNumber } from './value-json.js';

/** The source of the entities of a page. */
export type PageSource =
  | PageOfSelection
  /** The entities of a JSON list of keys, in its order, including those that no longer exist. */
  | { readonly kind: 'keys'; readonly dataclass: Dataclass };

/** `$skip` and `$top` of a selection in an order. */
interface PageOfSelection {
  readonly kind: 'selection';
  readonly selection: Selection;
  readonly order: readonly OrderItem[];
  readonly bounds: PageBounds;
}

/** `$top` and `$skip` as a statement has them. */
interface PageBounds {
  /** The same for pages whose statements have the same bounds. */
  readonly name: string | undefined;
  readonly top: Sql;
  readonly skip: Sql;
}

/** How to write the page of an answer. */
export interface PageForm {
  /** The same for requests whose pages are written alike, whatever their entities and their order. */
  readonly name: string;
  /** Whether the answer leaves out the number of all entities. */
  readonly isUncounted?: boolean;
  plan(source: PageSource): SelectionPlan;
}

type Paging = Pick<Parameters, 'skip' | 'top'>;

/**
 * Reads a page of a selection.
 * @returns no answer if the entity whose relation is read does not exist
 * @throws RequestError 400 for wrong lists of attributes, and for an answer that could be too large
 */
export function readPage(
  context: ReadingContext,
  unresolved: SelectionRequest,
  paging: Paging,
  form: PageForm,
): PendingAnswer {
  const { database, counts } = context;
  return whenResolved(context, unresolved, (request) => {
    const bounds = boundsOf(context, paging);
    const name = shapeName([form.name, request.orderBy, bounds.name]);
    const { statement, values } = planPage(context, request, name, paging, 0, (selection) =>
      form.plan({ kind: 'selection', selection, order: orderOf(request), bounds }),
    );
    if (form.isUncounted === true) return database.executor.read(statement, values);
    const counted = counts.prepare(request);
    if (counted.isInPage) return counts.readPage(counted, statement, values);
    return whenThere(counts.number(counted), (count) => {
      if (count === undefined) return undefined;
      values[countSlot.index] = count;
      return database.executor.read(statement, values);
    });
  });
}

/**
 * The bounds are values of the statement. Where its plan depends on them, the usual ones of a first page are written
 * into it: only a few, because each makes another statement, and connections keep a limited number of them.
 */
function boundsOf(context: ReadingContext, { skip = 0, top: given }: Paging): PageBounds {
  const { dialect } = context.database;
  const top = pageTop(context, given);
  const isUsual = top === context.options.pageSize || (top <= 100 && top % 10 === 0);
  if (dialect.plansByLimit && skip === 0 && isUsual) {
    return { name: `first ${top}`, top: sql.lit(top), skip: sql.lit(0) };
  }
  return { name: undefined, top: sql`${topSlot}`, skip: sql`${skipSlot}` };
}

const noTexts = { filter: undefined, params: undefined, orderby: undefined };

/** Reads a prepared page; gets the address of the set that the request made. */
export type ReadPreparedPage = (setUri?: string) => PendingAnswer;

/**
 * Prepares a page of an entity set. Errors of the request are refused here, before a set that it
 * makes exists.
 *
 * @param keys of the page's entities, as a JSON list
 * @param count of all members of the set
 * @throws RequestError as {@link readPage} does
 */
export function preparePageOfKeys(
  context: ReadingContext,
  dataclass: Dataclass,
  keys: string,
  count: number,
  paging: Paging,
  form: PageForm,
): ReadPreparedPage {
  const members = { kind: 'members' } as const;
  const request = selectionRequest(context.filters, dataclass, members, keys, noTexts);
  const name = shapeName([form.name]);
  const { statement, values } = planPage(context, request, name, paging, count, () =>
    form.plan({ kind: 'keys', dataclass }),
  );
  return (setUri) => {
    if (setUri !== undefined) values[setSlot.index] = setUri;
    return context.database.executor.read(statement, values);
  };
}

function planPage(
  context: ReadingContext,
  request: SelectionRequest,
  name: string,
  { skip = 0, top: given }: Paging,
  count: number,
  write: (selection: Selection) => SelectionPlan,
): { readonly statement: Statement; readonly values: SqlValue[] } {
  const top = pageTop(context, given);
  const fixed = { skip, top, count };
  const { plan, values } = planFor(context.plans.selections, request, name, fixed, write);
  refuseTooManyRelated(top * (plan.statement.page?.related ?? 0));
  return { statement: plan.statement, values };
}

/** What a collection is read from, which decides the fields before the entities (protocol P3.9). */
export type CollectionKind = 'selection' | 'set' | 'newSet';

/** A page as the ordinary collection; `attributes` is the list in the path. */
export function collectionForm(
  context: ReadingContext,
  dataclass: Dataclass,
  parameters: Parameters,
  attributes: string | undefined,
  kind: CollectionKind = 'selection',
): PageForm {
  const { database, options } = context;
  return {
    name: shapeName([kind, ...shapeOf(parameters, attributes)]),
    isUncounted: parameters.count === false,
    plan: (source) => {
      const projection = projectionOf(dataclass, attributes, parameters, context);
      return planCollection(database.dialect, options, kind, source, projection, parameters);
    },
  };
}

/** What decides how the entities of a page are written. */
function shapeOf(
  { attributes, expand, count }: Parameters,
  inPath: string | undefined,
): readonly (string | undefined)[] {
  return [inPath, attributes, expand, count === false ? 'uncounted' : undefined];
}

/** Writes the statement that answers a page as the JSON of the answer, expansions included. */
export function planCollection(
  dialect: Dialect,
  options: AnswerOptions,
  kind: CollectionKind,
  source: PageSource,
  projection: Projection,
  parameters: Pick<Parameters, 'count'>,
): SelectionPlan {
  const context = queryContext(dialect, options);
  const form = requestedForm(parameters);
  const name = JSON.stringify(dataclassOf(source).name);
  const head: JsonPart[] = ['{'];
  if (kind === 'newSet') head.push('"__ENTITYSET":', dialect.jsonText(sql`${setSlot}`), ',');
  if (kind !== 'selection') head.push(`"__DATACLASS":${name},`);
  const writeRow: WriteRow = (from, root, attributes) =>
    entityText(context, from, root, projection, form, attributes);
  const answer = pageQuery(context, source, writeRow, (rows, counted) => {
    const counting = parameters.count === false ? undefined : countingOf(context, counted);
    const { json, from } = pageJson(context, {
      head: [
        ...head,
        `"__entityModel":${name},"__GlobalStamp":`,
        context.dialect.globalStamp,
        ...(counting === undefined ? [] : [',"__COUNT":', counting.count]),
        ',',
      ],
      rows,
      first: dialect.integer(sql`${skipSlot}`),
    });
    const written = dialect.asBytes(json);
    return counting === undefined
      ? sql`select ${uncounted(context, source, written)} ${from}`
      : sql`${counting.prefix}select ${written}${counting.columns} ${from}`;
  });
  return pagePlan(context, answer, source, mostRelated(projection, options.pageSize));
}

/** Null if the entity whose relation is read does not exist. A page with a count learns this from the count. */
function uncounted(context: QueryContext, source: PageSource, json: Sql): Sql {
  return source.kind === 'keys' ? json : ifBaseExists(context, source.selection, json);
}

/** A page as a bare list of entities, for `$asArray=true`. */
export function arrayForm(
  context: ReadingContext,
  dataclass: Dataclass,
  parameters: Parameters,
  attributes: string | undefined,
): PageForm {
  const { database, options } = context;
  return {
    name: shapeName(['array', ...shapeOf(parameters, attributes)]),
    isUncounted: true,
    plan: (source) => {
      const projection = projectionOf(dataclass, attributes, parameters, context);
      const form = parameters.count === false ? uncountedArrayForm : arrayEntityForm;
      return planArray(database.dialect, options, source, projection, form);
    },
  };
}

/** Answers a page as a bare list (protocol P6.2); null if the entity whose relation is read does not exist. */
function planArray(
  dialect: Dialect,
  options: AnswerOptions,
  source: PageSource,
  projection: Projection,
  form: EntityForm,
): SelectionPlan {
  const context = queryContext(dialect, options);
  const writeRow: WriteRow = (from, root, attributes) =>
    entityText(context, from, root, projection, form, attributes);
  const query = pageQuery(context, source, writeRow, (rows) => {
    const alias = context.aliases.next();
    const entities = dialect.joinRows(sql`${sql.id(alias, 'json')}`);
    const json = dialect.asBytes(dialect.concat(['[', entities, ']']));
    return sql`select ${uncounted(context, source, json)} from ${rows} as ${sql.id(alias)}`;
  });
  return pagePlan(context, query, source, mostRelated(projection, options.pageSize));
}

/** Key and stamp under `__KEY`; a relation that is not expanded is a key, or a number (protocol P6.8). */
const arrayEntityForm: EntityForm = {
  begin: (context, source) => [
    '{"__KEY":{',
    ...namedKey(context, source.dataclass.key, keyColumn(source)),
    ',"__STAMP":',
    { integer: column(source, '__STAMP') },
    '}',
  ],
  relatedKey: (context, { key }, value) => ['{"__KEY":{', ...namedKey(context, key, value), '}}'],
  relatedEntities: (context, source, relation, ownerKey) => [
    '{"__COUNT":',
    relatedCount(context, source, relation, ownerKey),
    '}',
  ],
  page: (context, _source, _relation, _ownerKey, rows) => {
    const alias = context.aliases.next();
    const list = context.dialect.joinRows(sql`${sql.id(alias, 'json')}`);
    return ['[', sql`(select ${list} from ${rows} as ${sql.id(alias)})`, ']'];
  },
};

const uncountedArrayForm: EntityForm = { ...arrayEntityForm, relatedEntities: () => ['{}'] };

/** A key under its name, as a value of its type; as elsewhere under `__KEY` if its name is not shown. */
function namedKey(context: QueryContext, key: StorageDefinition, value: Sql): readonly JsonPart[] {
  if (key.exposed === false) return ['"__KEY":', ...keyJson(context, key, value)];
  const name = `${JSON.stringify(key.name)}:`;
  if (key.type === 'string') return [name, context.dialect.jsonText(value)];
  // Nothing in a uuid would be escaped.
  return key.type === 'uuid' ? [name, '"', value, '"'] : [name, keyNumber(context, key, value)];
}

/** Writes one entity of the page as a text. */
type WriteRow = (from: From, root: Source, attributes: Attributes<AnyRow>) => Sql;

/**
 * Writes the answer with a page.
 * @param rows a subquery that returns each entity as the text column `json`, in order
 * @param counted none for an entity set
 */
export type WriteAnswer = (rows: Sql, counted: Counted | undefined) => Sql;

/** An entity that was deleted after its set was made (protocol P9.5). */
const undefinedEntity = '{"__STAMP":0}';

function dataclassOf(source: PageSource): Dataclass {
  return source.kind === 'keys' ? source.dataclass : source.selection.dataclass;
}

/**
 * The plan of a page.
 * @param related how many related entities each entity of it brings along at most
 */
export function pagePlan(
  context: QueryContext,
  query: Sql,
  source: PageSource,
  related = 0,
): SelectionPlan {
  const plan = planOf(context, query);
  const page = { isOfAll: isOfAll(source, plan.statement), top: topSlot, related };
  return { ...plan, statement: { ...plan.statement, page } };
}

function isOfAll(source: PageSource, { restricted }: Statement): boolean {
  if (source.kind !== 'selection' || source.selection.base.kind !== 'all') return false;
  return source.selection.filter === undefined && restricted === undefined;
}

/** The statement that answers a page: the emitted query of a page with what a request adds. */
export function pageQuery(
  context: QueryContext,
  source: PageSource,
  writeRow: WriteRow,
  writeAnswer: WriteAnswer,
  missing: string = undefinedEntity,
): Sql {
  if (source.kind === 'keys') {
    return writeAnswer(rowsOfKeys(context, source.dataclass, writeRow, missing), undefined);
  }
  const { selection, bounds } = source;
  const { queries } = selection.dataclass;
  const from = new From(context.aliases, selection.dataclass, 'table');
  const { query, condition } = chosenEntities(context, from, selection);
  const entities = from.complete(query, condition);
  return queries.page(entities, bounds.top, bounds.skip, (page, attributes, count) => {
    const query = ofBase(context, selection, count);
    // Only tables that the count reads decide its version.
    const tables = new Set(context.aliases.tables);
    const write: WriteEntity = (of, root) => writeRow(of, root, attributes);
    const rows = pageRows(context, from, source, page, write);
    return writeAnswer(rows, { query, tables });
  });
}

type WriteEntity = (from: From, root: Source) => Sql;

/** @param page a query of `chosen`, without columns */
function pageRows(
  context: QueryContext,
  chosen: From,
  { selection, order }: PageOfSelection,
  page: EntityQuery,
  write: WriteEntity,
): Sql {
  const known = chosen.joinCount;
  const sorted = isOrdered(selection, order)
    ? selectionOrder(context, chosen, selection, order)
    : undefined;
  if (sorted === undefined) {
    const rows = unjoinedRows(context, chosen, page, write);
    if (rows !== undefined) return rows;
  }
  // Sorting moves only keys, an index that covers the order serves a deep page without reading the
  // table, and joins of the answer are not made for skipped rows.
  const ordered =
    sorted === undefined ? page : chosen.join(page, known).clearOrderBy().orderBy(sorted);
  const keys = sql`${selecting(ordered, sql`${keyColumn(chosen.root)} as "key"`)}`;
  const { dialect } = context;
  const from = new From(context.aliases, selection.dataclass, { rows: keys, dialect });
  const json = write(from, from.root);
  return sql`(select ${json} as "json" ${from.clause}${from.order})`;
}

/** The rows of a page in the order of their keys; none if an entity cannot be written without a join. */
function unjoinedRows(
  context: QueryContext,
  chosen: From,
  page: EntityQuery,
  write: WriteEntity,
): Sql | undefined {
  const { dataclass, alias } = chosen.root;
  const from = new From(context.aliases, dataclass, 'table');
  const json = write(from, from.root);
  return from.joinCount === 0 ? context.dialect.pageRows(page, alias, json) : undefined;
}

function rowsOfKeys(
  context: QueryContext,
  dataclass: Dataclass,
  write: WriteRow,
  missing: string,
): Sql {
  const from = new From(context.aliases, dataclass, {
    list: context.dialect.each(sql`${baseSlot}`, valueTypeOf(dataclass.key.type)),
  });
  const json = write(from, from.root, dataclass.queries.attributes);
  const isMissing = sql`${keyColumn(from.root)} is null`;
  const entity = sql`case when ${isMissing} then ${sql.lit(missing)} else ${json} end`;
  return sql`(select ${entity} as "json" ${from.clause}${from.order})`;
}

/** Whether a selection is read in another order than that of its keys. */
export function isOrdered({ base }: Pick<Selection, 'base'>, items: readonly OrderItem[]): boolean {
  return items.length > 0 || (base.kind === 'tree' && base.tree.isOrdered);
}

/** That of `items`, or else its own; written behind its condition. @throws RequestError 400 with 1810 */
export function selectionOrder(
  context: QueryContext,
  from: From,
  selection: Selection,
  items: readonly OrderItem[],
): Sql {
  const { base } = selection;
  return base.kind === 'tree' && items.length === 0
    ? orderList(base.tree.order(context, from, selection))
    : orderSql(context, from, items);
}
