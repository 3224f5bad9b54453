import { readable } from '../dataclass/permissions.js';
import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { column, From, keyColumn, selecting } from '../dataclass/source.js';
import { type SelectBuilder, subquery } from '../dialect/compile.js';
import type { JsonPart, ObjectJson, Sql } from '../dialect/dialect.js';
import type { JsonAnswer } from '../dialect/executor.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import { refuse } from '../protocol/errors.js';
import type { AnyRow, Attributes, EntityQuery } from '../protocol/queries.js';
import type { QueryContext } from './context.js';
import {
  type Beside,
  type Counted,
  countingOf,
  countIfBaseExists,
  selectAnswer,
} from './counts.js';
import {
  type EntityFormat,
  entityJson,
  page as pageJson,
  relatedCount,
  requestedFormat,
} from './entity-json.js';
import { type Expansions, expansionsOf, type ExpandedValues, withExpanded } from './expansions.js';
import type { OrderItem } from './order-by.js';
import { orderList, orderSql } from './order-sql.js';
import type { AnswerFormat, Parameters } from './parameters.js';
import { mostRelated, type Projection, projectionOf, refuseTooManyRelated } from './projection.js';
import type { PlanParameters } from './explanation.js';
import { pageTop, type ReadingContext } from './reading-context.js';
import { type ReportColumn, reportAnswer, reportColumns, reportRow } from './report.js';
import {
  orderOf,
  boundStatement,
  selectionRequest,
  type SelectionRequest,
  shapeName,
  resolved,
} from './selection-request.js';
import {
  answerStatement,
  baseSlot,
  chosenEntities,
  ifBaseExists,
  selectionStatement,
  queryContext,
  type Selection,
  type SelectionStatement,
  setSlot,
  skipSlot,
  topSlot,
} from './selection.js';
import {
  type AnswerRow,
  answerRow,
  jsonOf,
  type PreparedAnswer,
  type TaggedAnswer,
  type TaggedRead,
} from './tags.js';
import { keyJson, keyNumber } from './value-json.js';

/**
 * How an answer with a page is written. The collection of a set, and of a new one, has other fields before its entities
 * (protocol P3.9). One behind the first page of a cursor has no `__FIRST`.
 */
type PageFormat = AnswerFormat | 'set' | 'newSet' | 'cursor' | 'cursorAfter';

/** What a client wants to read of the entities of a page. */
export interface PageRequest {
  readonly format: PageFormat;
  readonly dataclass: Dataclass;
  readonly parameters: Parameters;
  /** The list of attributes in the path. */
  readonly attributes?: string | undefined;
}

/** A request whose `$expand` is read. */
interface ExpandedPageRequest extends PageRequest {
  readonly expansions?: Expansions | undefined;
}

/** What a cursor adds to a page (see `cursor.ts`). */
export interface CursorPage {
  /** Decides the statement, in addition to what decides that of any page. */
  readonly shape: string;
  /** Joins to `chosen` what the order needs. @throws RequestError 400 with 1810 */
  parts(context: QueryContext, chosen: From, order: readonly OrderItem[]): CursorParts;
}

interface CursorParts {
  /** The entities behind a position, in parts that follow each other. */
  readonly parts: readonly { readonly condition: Sql | undefined; readonly order: Sql }[];
  /** The values of the position of an entity. */
  readonly position: readonly Sql[];
}

/** `$skip` and `$top`. */
interface PageBounds {
  readonly skip: number;
  readonly top: number;
  /** Set if they are written into the statement: statements with other bounds have other names. */
  readonly name: string | undefined;
  /** A power of two that the place of the last row does not exceed; written into a statement with the other two as values. */
  readonly within: number | undefined;
}

/**
 * Reads a page of a selection.
 * @returns no answer if the entity whose relation is read does not exist
 * @throws RequestError 400 for wrong lists of attributes, and for an answer that could be too large
 */
export async function readPage(
  context: ReadingContext,
  request: SelectionRequest,
  page: PageRequest,
): Promise<JsonAnswer | undefined> {
  return jsonOf(await preparedPage(context, request, page));
}

/** Reads a page as {@link readPage} does, unless the client has it. */
export async function readTaggedPage(
  context: ReadingContext,
  request: SelectionRequest,
  page: PageRequest,
  tagged: TaggedRead,
): Promise<TaggedAnswer | JsonAnswer | undefined> {
  return context.tags.read(tagged, await preparedPage(context, request, page));
}

async function preparedPage(
  context: ReadingContext,
  unresolved: SelectionRequest,
  given: PageRequest,
): Promise<PreparedAnswer> {
  const page = expandedPage(context, given);
  const bounds = boundsOf(context, page.parameters);
  const shape = shapeOf(page, bounds.name);
  const request = await resolved(context, unresolved, ordered(shape, unresolved));
  const bound = boundPage(context, request, page, bounds);
  return { ...bound, isOfCode: request !== unresolved };
}

/** A page of a cursor. */
interface CursorAnswer {
  readonly json: JsonAnswer;
  /** The position of the last entity; none if no other entity follows. */
  readonly end: readonly SqlValue[] | undefined;
}

/**
 * Reads a page of a cursor.
 * @param request a resolved one, with the values of the beginning
 * @returns none if the entity whose relation is read does not exist
 */
export async function readCursorPage(
  context: ReadingContext,
  request: SelectionRequest,
  given: PageRequest,
  cursor: CursorPage,
): Promise<CursorAnswer | undefined> {
  const page = expandedPage(context, given);
  const bounds = boundsOf(context, page.parameters);
  const [json, ...columns] = await boundPage(context, request, page, bounds, cursor).row();
  if (json === undefined || json === null) return undefined;
  // See `countingOf` and `endOfPage`.
  const isCounted = !isUncounted(page) && context.database.dialect.tablesVersion !== undefined;
  const [found, ...position] = columns.slice(isCounted ? 2 : 0);
  return { json: json as JsonAnswer, end: Number(found) > 1 ? position : undefined };
}

function boundPage(
  context: ReadingContext,
  request: SelectionRequest,
  page: ExpandedPageRequest,
  bounds: PageBounds,
  cursor?: CursorPage,
): Omit<PreparedAnswer, 'isOfCode'> {
  const shape = shapeOf(page, bounds.name) + (cursor?.shape ?? '');
  const { statement, values } = boundStatement(
    context.statements,
    withExpanded(request, page.expansions),
    ordered(shape, request),
    bounds,
    (selection) => {
      const source = { selection, order: orderOf(request), bounds, cursor };
      return pageStatement(context, page, source, valuesBehind(request, selection));
    },
  );
  refuseTooManyRelated(bounds.top * (statement.page?.related ?? 0));
  const row = (): Promise<AnswerRow> =>
    isUncounted(page)
      ? answerRow(context.database, statement, values)
      : context.counts.readPage(request, { statement, values });
  return { statement, values, row };
}

/** Reads a prepared page; gets the address of the set that the request made. */
type ReadPreparedPage = (setUri?: string) => Promise<JsonAnswer | undefined>;

/** The keys of the members of an entity set. */
interface PagedKeys {
  readonly length: number;
  /** Some of them as a JSON list; it costs the same wherever they are. */
  page(start: number, end: number): string;
}

/**
 * Prepares a page of an entity set. Errors of the request are refused here, before a set that it
 * makes exists.
 * @throws RequestError as {@link readPage} does
 */
export function preparePageOfKeys(
  context: ReadingContext,
  keys: PagedKeys,
  given: PageRequest,
): ReadPreparedPage {
  const page = expandedPage(context, given);
  const { dataclass, parameters } = page;
  const { skip = 0 } = parameters;
  const top = pageTop(context, parameters.top);
  const list = keys.page(skip, skip + top);
  const members = { kind: 'members' } as const;
  const request = selectionRequest(context.filters, dataclass, members, list, noTexts);
  const fixed = { skip, top, count: keys.length };
  const { statement, values } = boundStatement(
    context.statements,
    withExpanded(request, page.expansions),
    shapeOf(page),
    fixed,
    (selection) => pageStatement(context, page, 'keys', valuesBehind(request, selection)),
  );
  refuseTooManyRelated(top * (statement.page?.related ?? 0));
  return (setUri) => {
    if (setUri !== undefined) values[setSlot.index] = setUri;
    return context.database.executor.read(statement, values);
  };
}

/**
 * Adds `__queryPlan` and `__queryPath` to an answer if the request has the parameters. Few requests
 * do, so what explains a request is loaded when one does.
 * @param answer a collection; if there is none, none is returned
 */
export async function explainedAnswer(
  context: ReadingContext,
  request: SelectionRequest,
  wanted: PlanParameters,
  answer: JsonAnswer | undefined,
): Promise<JsonAnswer | undefined> {
  if (answer === undefined || (!wanted.queryplan && !wanted.querypath)) return answer;
  const { explanation } = await import('./explanation.js');
  return withMember(answer, await explanation(context, request, wanted));
}

/** Adds a member to the end of a collection, so that the answer is not parsed. */
export function withMember(collection: JsonAnswer, member: string): JsonAnswer {
  const more = `,${member}}`;
  return typeof collection === 'string'
    ? `${collection.slice(0, -1)}${more}`
    : Buffer.concat([collection.subarray(0, -1), Buffer.from(more)]);
}

/** @throws RequestError 400 with 1806, and as {@link expansionsOf} does */
function expandedPage(context: ReadingContext, page: PageRequest): ExpandedPageRequest {
  const { format, parameters, dataclass } = page;
  if (parameters.expand === undefined) return page;
  if (format === 'report') {
    throw refuse('malformedUrl', 'A report expands nothing: it cannot be combined with $expand.');
  }
  return { ...page, expansions: expansionsOf(context, dataclass, parameters) };
}

/** The values of expansions come behind those of the request itself. */
function valuesBehind({ inputs }: SelectionRequest, selection: Selection): ExpandedValues {
  const { nulls, patterns, mismatched } = selection;
  return { first: inputs.inputs.length, nulls, patterns, mismatched };
}

const noTexts = { filter: undefined, params: undefined, orderby: undefined };

/**
 * The bounds are values of the statement. Where its plan depends on them, the usual ones of a first page are written
 * into it: only a few, because each makes another statement, and connections keep a limited number of them.
 */
function boundsOf(
  context: ReadingContext,
  { skip = 0, top: given }: Pick<Parameters, 'skip' | 'top'>,
): PageBounds {
  const top = pageTop(context, given);
  if (!context.database.dialect.plansByLimit)
    return { skip, top, name: undefined, within: undefined };
  const isUsual = top === context.options.pageSize || (top <= 100 && top % 10 === 0);
  if (skip === 0 && isUsual) return { skip, top, name: `first ${top}`, within: undefined };
  let within = 128;
  while (within < skip + top) within *= 2;
  return { skip, top, name: `within ${within}`, within };
}

/** What decides the statement of a page beside its entities and their order. */
function shapeOf(
  { format, parameters, attributes, expansions }: ExpandedPageRequest,
  bounds?: string,
): string {
  const { attributes: listed, count, filter } = parameters;
  const isFiltered = format === 'report' && filter !== undefined;
  const flags = isFiltered ? 'filtered' : count === false ? 'uncounted' : undefined;
  return shapeName([format, attributes, listed, expansions?.shape, flags, bounds]);
}

function ordered(shape: string, { orderBy }: SelectionRequest): string {
  return shape + shapeName([orderBy]);
}

/** Whether the answer leaves out the number of all entities. */
function isUncounted({ format, parameters }: PageRequest): boolean {
  return format === 'array' || parameters.count === false;
}

/** A page of a selection. */
interface PageOfSelection {
  readonly selection: Selection;
  readonly order: readonly OrderItem[];
  readonly bounds: PageBounds;
  readonly cursor?: CursorPage | undefined;
}

/**
 * The source of the entities of a page; `keys` for those of a JSON list of keys, in its order, including those that no
 * longer exist.
 */
type PageSource = PageOfSelection | 'keys';

/** What a page has of each entity. */
type Content =
  | { readonly kind: 'entity'; readonly projection: Projection; readonly format: EntityFormat }
  | { readonly kind: 'row'; readonly columns: readonly ReportColumn[] };

/**
 * Writes the statement that answers a page: the emitted query of a page with what a request adds.
 * @param expanded the values of expansions
 */
export function pageStatement(
  context: Pick<ReadingContext, 'limits' | 'options'> & {
    readonly database: Pick<ReadingContext['database'], 'dialect'>;
  },
  page: ExpandedPageRequest,
  source: PageSource,
  expanded?: ExpandedValues,
): SelectionStatement {
  const { database, options } = context;
  const content = contentOf(context, page);
  const query = queryContext(database.dialect, options, expanded);
  const answer =
    source === 'keys'
      ? answerWith(query, page, source, content, rowsOfKeys(query, page, content))
      : answerOfSelection(query, page, source, content);
  const isOfCursor = source !== 'keys' && source.cursor !== undefined;
  const written =
    source === 'keys' || isOfCursor
      ? selectionStatement(query, answer)
      : answerStatement(query, answer);
  const related = content.kind === 'entity' ? mostRelated(content.projection, options.pageSize) : 0;
  const isOfAll = isPageOfAll(source, written.statement);
  const statement = { ...written.statement, page: { isOfAll, top: topSlot, related } };
  return { ...written, statement: isOfCursor ? { ...statement, hasPosition: true } : statement };
}

function contentOf(
  context: Pick<ReadingContext, 'limits'>,
  { format, dataclass, parameters, attributes, expansions }: ExpandedPageRequest,
): Content {
  if (format === 'report') {
    const { expandDepth } = context.limits;
    const columns = reportColumns(dataclass, attributes, parameters, expandDepth);
    return { kind: 'row', columns };
  }
  const projection = projectionOf(dataclass, attributes, parameters, expansions, context);
  if (format !== 'array')
    return { kind: 'entity', projection, format: requestedFormat(parameters) };
  const isCounted = parameters.count !== false;
  return {
    kind: 'entity',
    projection,
    format: isCounted ? arrayEntityFormat : uncountedArrayFormat,
  };
}

/** One entity of the page. */
function contentJson(
  context: QueryContext,
  from: From,
  content: Content,
  attributes: Attributes<AnyRow>,
): ObjectJson {
  if (content.kind === 'row') return reportRow(context, from, content.columns);
  const { projection, format } = content;
  return entityJson(context, from, from.root, projection, format, attributes);
}

function isPageOfAll(source: PageSource, { restricted }: Statement): boolean {
  if (source === 'keys' || source.selection.base.kind !== 'all') return false;
  return source.selection.filter === undefined && restricted === undefined;
}

function answerOfSelection(
  context: QueryContext,
  page: PageRequest,
  source: PageOfSelection,
  content: Content,
): Sql {
  const { selection, order, bounds, cursor } = source;
  const { queries } = selection.dataclass;
  const chosen = new From(context.aliases, selection.dataclass, 'table');
  const { query, condition } = chosenEntities(context, chosen, selection);
  const entities = chosen.complete(query, condition);
  // Called before the rows are written: only tables that the count reads decide its version.
  const counted = (count: EntityQuery): Counted => ({
    query: countIfBaseExists(context, selection, count),
    tables: context.aliases.tables,
  });
  const { top, skip } = shownBounds(bounds);
  if (cursor === undefined) {
    return queries.page(entities, top, skip, (emitted, attributes, count) => {
      const all = counted(count);
      const rows = pageRows(context, chosen, source, emitted, content, attributes);
      return answerWith(context, page, source, content, rows, all);
    });
  }
  const all = counted(queries.count(entities));
  const { parts, position } = cursor.parts(context, chosen, order);
  const behind = parts.map((part) => ({
    ...part,
    query: chosen.complete(query, condition, part.condition),
  }));
  const next = endOfPage(context, behind, keyColumn(chosen.root), position, source);
  const [first] = behind;
  return queries.page(first?.query ?? entities, top, skip, (emitted, attributes) => {
    const rows = pageRows(context, chosen, source, emitted, content, attributes, next.keys);
    return answerWith(context, page, source, content, rows, all, next);
  });
}

/** A part of the entities of a cursor. */
interface PartOfCursor {
  readonly query: SelectBuilder;
  readonly order: Sql;
}

/**
 * The last entity of a page of a cursor and the one behind it, with their positions. In another order than that of their
 * keys, all entities of the page are found once: if no index serves the order, that costs the most. Subqueries hide limits
 * that are values, so that the plan does not depend on them; see `boundsOf`.
 * @returns the keys of the page too, if they have been found
 */
function endOfPage(
  { dialect }: QueryContext,
  parts: readonly PartOfCursor[],
  key: Sql,
  position: readonly Sql[],
  { selection, order, bounds: { name, within, top } }: PageOfSelection,
): Beside & { readonly keys: Sql | undefined } {
  const isWritten = name !== undefined && within === undefined;
  const shown = isWritten ? sql.lit(top) : dialect.integer(sql`${topSlot}`);
  const most = sql<number>`${within === undefined ? shown : sql.lit(within)} + 1`;
  const names = position.map((_value, index) => sql.id(`p${index}`));
  const columns = sql.join([
    sql`${key} as "key"`,
    ...position.map((value, index) => sql`${value} as ${names[index]}`),
  ]);
  const rows = parts.map(({ query, order }) => {
    const found = selecting(query.clearOrderBy().orderBy(order).limit(most), columns);
    return sql`select * from ${subquery(found)} as "__part"`;
  });
  const behind = sql.join(rows, sql` union all `);
  const isSorted = isOrdered(selection, order);
  const found = sql`"__behind" as materialized (${behind} limit (select ${shown} + 1))`;
  const all = isSorted ? sql`select * from "__behind"` : behind;
  const end = sql`"__end" as materialized (${all} limit 2 offset (select ${shown} - 1))`;
  return {
    keys: isSorted ? sql`(select "key" from "__behind" limit (select ${shown}))` : undefined,
    queries: isSorted ? [found, end] : [end],
    columns: [
      sql`(select count(*) from "__end")`,
      ...names.map((each) => sql`(select ${each} from "__end" limit 1)`),
    ],
  };
}

/**
 * @param page a query of `chosen`, without columns
 * @param ordered the keys of the page, if a cursor has found them
 */
function pageRows(
  context: QueryContext,
  chosen: From,
  { selection, order, bounds }: PageOfSelection,
  page: EntityQuery,
  content: Content,
  attributes: Attributes<AnyRow>,
  ordered?: Sql,
): Sql {
  if (!isOrdered(selection, order)) {
    const rows = unjoinedRows(context, chosen, page, content, attributes, bounds);
    if (rows !== undefined) return rows;
  }
  const keys = ordered ?? keysOfPage(context, chosen, selection, order, page);
  const { dialect } = context;
  const from = new From(context.aliases, selection.dataclass, { rows: keys, dialect });
  const json = contentJson(context, from, content, attributes);
  const rows = (columns: Sql): Sql => sql`select ${columns} ${from.clause}${from.order}`;
  return subquery(dialect.objects(json, rows, 'json'));
}

/**
 * The keys of a page in its order. Sorting moves only keys, an index that covers the order serves a deep page without
 * reading the table, and joins of the answer are not made for skipped rows.
 */
function keysOfPage(
  context: QueryContext,
  chosen: From,
  selection: Selection,
  order: readonly OrderItem[],
  page: EntityQuery,
): Sql {
  const key = sql`${keyColumn(chosen.root)} as "key"`;
  if (!isOrdered(selection, order)) return sql`${selecting(page, key)}`;
  const known = chosen.joinCount;
  const sorted = selectionOrder(context, chosen, selection, order);
  return sql`${selecting(chosen.join(page, known).clearOrderBy().orderBy(sorted), key)}`;
}

/** The rows of a page in the order of their keys; none if an entity cannot be written without a join. */
function unjoinedRows(
  context: QueryContext,
  chosen: From,
  query: EntityQuery,
  content: Content,
  attributes: Attributes<AnyRow>,
  bounds: PageBounds,
): Sql | undefined {
  const { dataclass, alias } = chosen.root;
  const from = new From(context.aliases, dataclass, 'table');
  const object = contentJson(context, from, content, attributes);
  if (from.joinCount > 0) return undefined;
  const [table, key] = [sql.id(alias), keyColumn(from.root)];
  const { top, skip } = shownBounds(bounds);
  const { within } = bounds;
  return context.dialect.pageRows({ query, table, key, object, within, top, skip });
}

function shownBounds({ name, within, top, skip }: PageBounds): {
  readonly top: Sql;
  readonly skip: Sql;
} {
  return name === undefined || within !== undefined
    ? { top: sql`${topSlot}`, skip: sql`${skipSlot}` }
    : { top: sql.lit(top), skip: sql.lit(skip) };
}

function rowsOfKeys(context: QueryContext, { dataclass }: PageRequest, content: Content): Sql {
  const from = new From(context.aliases, dataclass, {
    list: context.dialect.each(sql`${baseSlot}`, valueTypeOf(dataclass.key.type)),
  });
  const object = contentJson(context, from, content, dataclass.queries.attributes);
  const json = context.dialect.object(object);
  const isMissing = sql`${keyColumn(from.root)} is null`;
  const entity = sql`case when ${isMissing} then ${sql.lit(missingJson(content))} else ${json} end`;
  return sql`(select ${entity} as "json" ${from.clause}${from.order})`;
}

/** An entity that was deleted after its set was made (protocol P9.5, P6.7). */
function missingJson(content: Content): string {
  if (content.kind === 'entity') return '{"__STAMP":0}';
  return `{"values":[${content.columns.map(() => 'null').join()}]}`;
}

/** The query of the whole answer. */
function answerWith(
  context: QueryContext,
  page: PageRequest,
  source: PageSource,
  content: Content,
  rows: Sql,
  counted?: Counted,
  next?: Beside,
): Sql {
  if (content.kind === 'row') {
    const isFiltered = page.parameters.filter !== undefined;
    return reportAnswer(context, content.columns, rows, counted, isFiltered);
  }
  const { dialect } = context;
  if (page.format === 'array') {
    const alias = context.aliases.next();
    const entities = dialect.joinRows(sql`${sql.id(alias, 'json')}`);
    const json = dialect.asBytes(dialect.concat(['[', entities, ']']));
    return sql`select ${uncounted(context, source, json)} from ${rows} as ${sql.id(alias)}`;
  }
  const counting = isUncounted(page) ? undefined : countingOf(context, counted);
  const head = collectionHead(context, page, counting?.count);
  const first = page.format === 'cursorAfter' ? undefined : dialect.integer(sql`${skipSlot}`);
  const { json, from } = pageJson(context, { head, rows, first });
  const written = dialect.asBytes(json);
  const others = next === undefined ? [] : [next];
  return counting === undefined
    ? selectAnswer(uncounted(context, source, written), from, ...others)
    : selectAnswer(written, from, counting, ...others);
}

/** The fields of a collection before its entities (protocol P3.9). */
export function collectionHead(
  { dialect }: QueryContext,
  { format, dataclass }: Pick<PageRequest, 'format' | 'dataclass'>,
  count: Sql | undefined,
): readonly JsonPart[] {
  const name = JSON.stringify(dataclass.name);
  const head: JsonPart[] = ['{'];
  if (format === 'newSet') head.push('"__ENTITYSET":', dialect.jsonText(sql`${setSlot}`), ',');
  if (format === 'set' || format === 'newSet') head.push(`"__DATACLASS":${name},`);
  head.push(`"__entityModel":${name},"__GlobalStamp":`, dialect.globalStamp);
  if (count !== undefined) head.push(',"__COUNT":', count);
  return [...head, ','];
}

/** Null if the entity whose relation is read does not exist. A page with a count learns this from the count. */
function uncounted(context: QueryContext, source: PageSource, json: Sql): Sql {
  return source === 'keys' ? json : ifBaseExists(context, source.selection, json);
}

/** Key and stamp under `__KEY`; a relation that is not expanded is a key, or a number (protocol P6.8). */
const arrayEntityFormat: EntityFormat = {
  begin: (context, source) => {
    const key = namedKey(context, source.dataclass, keyColumn(source));
    const stamp = { integer: column(source, '__STAMP') };
    return [{ name: '__KEY', json: [{ short: ['{', ...key, ',"__STAMP":', stamp, '}'] }] }];
  },
  relatedKey: (context, target, value) => [
    { short: ['{"__KEY":{', ...namedKey(context, target, value), '}}'] },
  ],
  relatedEntities: (context, source, relation, ownerKey) => [
    { short: ['{"__COUNT":', relatedCount(context, source, relation, ownerKey), '}'] },
  ],
  page: (context, _source, _relation, _ownerKey, { rows }) => {
    const alias = context.aliases.next();
    const list = context.dialect.joinRows(sql`${sql.id(alias, 'json')}`);
    return ['[', sql`(select ${list} from ${rows} as ${sql.id(alias)})`, ']'];
  },
};

const uncountedArrayFormat: EntityFormat = {
  ...arrayEntityFormat,
  relatedEntities: () => [{ short: ['{}'] }],
};

/** A key under its name, as a value of its type; as elsewhere under `__KEY` if its name is not shown. */
function namedKey(context: QueryContext, dataclass: Dataclass, value: Sql): readonly JsonPart[] {
  const { key } = dataclass;
  if (readable(dataclass, key.name) === undefined)
    return ['"__KEY":', ...keyJson(context, key, value)];
  const name = `${JSON.stringify(key.name)}:`;
  if (key.type === 'string') return [name, context.dialect.jsonText(value)];
  // Nothing in a uuid would be escaped.
  return key.type === 'uuid' ? [name, '"', value, '"'] : [name, keyNumber(context, key, value)];
}

/** Whether a selection is read in another order than that of its keys. */
export function isOrdered({ base }: Pick<Selection, 'base'>, items: readonly OrderItem[]): boolean {
  return items.length > 0 || (base.kind === 'tree' && base.tree.isOrdered);
}

/** The order of `items`, or else that of the selection; written behind its condition. @throws RequestError 400 with 1810 */
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
