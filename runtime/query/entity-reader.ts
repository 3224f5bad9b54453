import { readable } from '../dataclass/permissions.js';
import {
  type Dataclass,
  isReadFromTarget,
  ownRelations,
  unrestricted,
  type Source,
} from '../dataclass/dataclasses.js';
import type { JsonAnswer } from '../dialect/executor.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import { comparisonValue } from '../protocol/comparison-value.js';
import { decimalAtScale } from '../protocol/decimal.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import type { Lookup } from '../protocol/key.js';
import type { ReadingContext } from './reading-context.js';
import { type Expansions, expansionsOf, withExpanded } from './expansions.js';
import { boundStatement, selectionRequest, shapeName } from './selection-request.js';
import type { Parameters } from './parameters.js';
import {
  unknownAttribute,
  mostRelated,
  refuseTooManyRelated,
  projectionOf,
  type Projection,
} from './projection.js';
import { sql, type SqlBool } from 'kysely';
import { boundValue, comparableColumn } from '../dataclass/comparable.js';
import { From, keyColumn, selecting } from '../dataclass/source.js';
import { type BuiltQuery, opened } from '../dialect/compile.js';
import type { Dialect, DirectChanges, JsonMember, ObjectJson, Sql } from '../dialect/dialect.js';
import { type AnyRow, queryOf, type Select } from '../protocol/queries.js';
import { queryContext } from './selection.js';
import { type AnswerOptions, compileAnswer, type QueryContext } from './context.js';
import { entityJson, protocolFormat, requestedFormat } from './entity-json.js';
import { keyOrder } from './order-sql.js';
import { entityUri, scaleOf } from './value-json.js';

/** The types of attributes whose values an address can contain. */
const lookupTypes: ReadonlySet<string> = new Set([
  'string',
  'uuid',
  'number',
  'integer',
  'decimal',
  'boolean',
  'date',
  'duration',
]);

/** Reads single entities, by key or by the value of another attribute. */
export class EntityReader {
  constructor(
    private readonly context: ReadingContext,
    private readonly dataclass: Dataclass,
  ) {}

  /** @returns `undefined` if no entity has the key */
  read(
    key: StorageDefinition,
    value: string | number,
    parameters: Parameters,
    attributes: string | undefined,
  ): Promise<JsonAnswer | undefined> {
    const { statement, values } = this.#statement(key, parameters, attributes);
    values[0] =
      key.type === 'string' ? this.context.database.dialect.foldText(String(value)) : value;
    return this.context.database.executor.read(statement, values);
  }

  /** @returns `undefined` if no entity has the value; the first in key order if several have it */
  async readByValue(
    { name, text }: Lookup,
    parameters: Parameters,
    attributes: string | undefined,
  ): Promise<JsonAnswer | undefined> {
    const attribute = readable(this.dataclass, name);
    if (attribute === undefined) throw unknownAttribute(this.dataclass, name, 'path');
    if (attribute.kind !== 'storage' || !lookupTypes.has(attribute.type)) {
      throw refuse('malformedUrl', `Entities cannot be looked up by "${name}".`);
    }
    const { statement, values } = this.#statement(attribute, parameters, attributes);
    const { foldText } = this.context.database.dialect;
    const given = comparisonValue(
      attribute.type,
      attribute.dateOnly === true,
      { value: text, text },
      foldText,
    );
    const value = columnValue(attribute, given);
    if (value === undefined) return undefined;
    values[0] = value;
    return this.context.database.executor.read(statement, values);
  }

  #statement(
    attribute: StorageDefinition,
    parameters: Parameters,
    attributes: string | undefined,
  ): BoundEntity {
    const { context, dataclass } = this;
    const expansions = expansionsOf(context, dataclass, parameters);
    const name = shapeName([
      this.dataclass.name,
      attribute.name,
      attributes,
      parameters.attributes,
      expansions?.shape,
      parameters.count === false ? 'uncounted' : undefined,
    ]);
    return boundEntity(context, dataclass, name, expansions, (query) => {
      const projection = projectionOf(dataclass, attributes, parameters, expansions, context);
      refuseTooManyRelated(mostRelated(projection, context.options.pageSize));
      const format = requestedFormat(parameters);
      return entityStatement(query, dataclass, attribute, projection, format);
    });
  }
}

/** A statement about one entity, and its values, of which the first is missing: it finds the entity. */
interface BoundEntity {
  readonly statement: Statement;
  readonly values: SqlValue[];
}

/**
 * The statement of an answer about one entity, with the values of its expansions. It is written once.
 * @param name of the statement, without what is visible
 */
export function boundEntity(
  { statements, database, options, filters }: ReadingContext,
  dataclass: Dataclass,
  name: string,
  expansions: Expansions | undefined,
  write: (query: QueryContext) => Statement,
): BoundEntity {
  const { dialect } = database;
  if (expansions === undefined || expansions.inputs.inputs.length === 0) {
    const statement = getOrInsertComputed(statements.unfiltered, name, () =>
      write(queryContext(dialect, options)),
    );
    return { statement, values: [null] };
  }
  const none = { filter: undefined, params: undefined, orderby: undefined };
  const entity = selectionRequest(filters, dataclass, { kind: 'all' }, null, none);
  const request = withExpanded(entity, expansions);
  return boundStatement(statements, request, name, {}, ({ nulls, patterns, mismatched }) => {
    const expanded = { first: 0, nulls, patterns, mismatched };
    const query = queryContext(dialect, options, expanded);
    return { statement: write(query), filterSlots: query.slots };
  });
}

/** A value as the column of an attribute may have it; `undefined` if no column has it. */
function columnValue(
  attribute: StorageDefinition,
  value: SqlValue | undefined,
): SqlValue | undefined {
  const { type } = attribute;
  if (type === 'decimal' && typeof value === 'string') {
    return decimalAtScale(value, scaleOf(attribute), 'exact');
  }
  const isWhole = type === 'integer' || type === 'duration';
  return isWhole && !isInteger(value) ? undefined : value;
}

function isInteger(value: SqlValue | undefined): boolean {
  return Number.isInteger(value) && Math.abs(Number(value)) < 9e18;
}

/** Reads one entity by a value, folded if it is a text: its only parameter. The first in key order, if several have it. */
export function entityStatement(
  context: QueryContext,
  dataclass: Dataclass,
  attribute: StorageDefinition,
  projection: Projection,
  format = protocolFormat,
): Statement {
  const { dialect } = context;
  const from = new From(context.aliases, dataclass, 'table');
  const head = [entityModel(dataclass)];
  // Not as bytes: Node sends a short text together with the headers.
  const select: Select<AnyRow> = (query, attributes) => {
    const json = entityJson(context, from, from.root, projection, format, attributes, head);
    return dialect.objects(json, (columns) => selecting(from.complete(query), columns));
  };
  const { queries, key } = dataclass;
  const query = attribute === key ? queries.byKey : queryOf(queries.by, attribute.name);
  const value = boundValue(dialect, attribute, new Slot(0));
  if (query !== undefined) return compileAnswer(context, query(dialect.db, value, select));
  const stored = comparableColumn(dialect, from.root, attribute);
  const isWanted = sql<SqlBool>`${stored} = ${value}`;
  const entities = opened(queries.entities(dialect.db)).where(isWanted);
  const first = entities.orderBy(keyOrder(context, from.root)).limit(sql.lit(1));
  return compileAnswer(context, select(first, queries.attributes));
}

/** Reads a saved entity by its key, as a member of the answer to `$method=update` (protocol P7.17). */
export function savedEntityStatement(
  context: QueryContext,
  dataclass: Dataclass,
  projection: Projection,
): Statement {
  const { dialect } = context;
  const from = new From(context.aliases, dataclass, 'table');
  const json = savedJson(context, from, projection);
  const select: Select<AnyRow> = (query) =>
    dialect.objects(json, (columns) => selecting(from.complete(query), columns));
  const saved = dataclass.queries.byKey(dialect.db, sql`${new Slot(0)}`, select);
  return compileAnswer(context, saved);
}

/**
 * Writes the statement that changes entities and answers with each of them, as {@link savedEntityStatement}
 * does; with what names it, if `restrict` hides it now. See `CompleteChange`.
 * @param change returns the columns of the entities, and changes no entity that is related to itself
 * @returns none if the answer needs more than these entities and what the statement leaves as it is
 */
export function directChangeStatement(
  dialect: Dialect,
  options: AnswerOptions,
  dataclass: Dataclass,
  projection: Projection,
  change: BuiltQuery | Sql,
  answer: 'one' | 'list',
): Statement | undefined {
  const { direct } = dialect;
  if (direct === undefined) return undefined;
  const context = queryContext(dialect, options);
  const from = new From(context.aliases, unrestricted(dataclass), { changed: direct.changed });
  const object = savedJson(context, from, projection);
  const hidden = hiddenJson(context, direct, dataclass, from.root);
  // The statement sees its table as it was before: there, the one changed entity is related to others only.
  const others = answer === 'one' ? ownRelated(dataclass, projection, from) : 0;
  if (context.aliases.readsOf(dataclass) > 1 + others) return undefined;
  // A join may lose the order of the rows.
  const isNumbered = answer === 'list' && from.joinCount > 0;
  const { root, clause } = from;
  const shown = { object, hidden, key: keyColumn(root), from: clause, alias: root.alias };
  const changed = {
    table: dataclass.table,
    isOne: answer === 'one',
    position: isNumbered ? positionColumn : undefined,
  };
  const whole = direct.answer(change, changed, shown);
  const statement = compileAnswer(context, whole);
  return statement.computed === undefined ? statement : undefined;
}

/** How often the answer reads entities of its own dataclass to which the entity itself is related. */
function ownRelated(dataclass: Dataclass, { fields }: Projection, from: From): number {
  const own = ownRelations(dataclass);
  const shown = fields.filter(
    ({ attribute, expanded }) =>
      attribute.kind === 'relatedEntity' &&
      own.includes(attribute) &&
      (expanded !== undefined || isReadFromTarget(dataclass, attribute)),
  );
  return shown.length + from.rootRelations.filter((each) => own.includes(each)).length;
}

/** How a changed entity is shown that is not visible. */
function hiddenJson(
  context: QueryContext,
  direct: DirectChanges,
  { restriction }: Dataclass,
  root: Source,
): { readonly isVisible: Sql; readonly json: Sql } | undefined {
  if (restriction === undefined) return undefined;
  const isVisible = restriction.condition(root.alias);
  if (restriction.restrictsWrites) return { isVisible, json: direct.refuseHidden };
  const named = protocolFormat.begin(context, root, { hasTimestamp: false, fields: [] });
  const object = { members: [uriMember(context, root), ...named], isLong: false };
  return { isVisible, json: sql`cast(${context.dialect.object(object)} as text)` };
}

/** No column of a model begins like this. */
const positionColumn = '__position';

function savedJson(context: QueryContext, from: From, projection: Projection): ObjectJson {
  const head: readonly JsonMember[] = [
    entityModel(from.root.dataclass),
    { name: '__STATUS', json: [{ short: ['{"success":true}'] }] },
    uriMember(context, from.root),
  ];
  const { root } = from;
  return entityJson(context, from, root, projection, protocolFormat, undefined, head);
}

function entityModel({ name }: Dataclass): JsonMember {
  return {
    name: '__entityModel',
    json: [{ value: sql.lit(name), type: 'text', json: [JSON.stringify(name)] }],
  };
}

function uriMember(context: QueryContext, source: Source): JsonMember {
  const uri = entityUri(context, source);
  return {
    name: 'uri',
    json: [{ value: context.dialect.concat(uri), type: 'text', json: ['"', ...uri, '"'] }],
  };
}
