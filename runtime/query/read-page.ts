import type { Dataclass } from '../dataclass/dataclasses.js';
import type { PendingAnswer } from '../dialect/executor.js';
import { whenThere } from '../dialect/pending.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import { type CollectionKind, planCollection } from './collection.js';
import { whenResolved } from './computed-requests.js';
import type { CountedSelection } from './counts.js';
import { type PageSource, pagePlan, pageRows } from './page-rows.js';
import type { Parameters } from './parameters.js';
import { type ReadingContext, pageTop } from './reading-context.js';
import {
  countPosition,
  orderOf,
  planFor,
  selectionRequest,
  setPosition,
  type SelectionRequest,
  shapeName,
} from './selection-request.js';
import { type SelectionPlan, ifBaseExists, queryContext } from './selection.js';
import { refuseTooManyRelated, projectionOf, type Projection, mostRelated } from './projection.js';
import { sql } from 'kysely';
import type { Dialect, JsonPart, Sql } from '../dialect/dialect.js';
import type { AnswerOptions, QueryContext } from './context.js';
import { column, keyColumn } from '../dataclass/source.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { type EntityForm, entityText, relatedCount } from './entity-json.js';
import { keyJson, keyNumber } from './value-json.js';

/** How to write the page of an answer. */
export interface PageForm {
  /** The same for requests whose pages are written alike, whatever their entities and their order. */
  readonly name: string;
  /** Whether the answer leaves out the number of all entities. */
  readonly isUncounted?: boolean;
  plan(source: PageSource): SelectionPlan;
}

type Paging = Pick<Parameters, 'skip' | 'top'>;

/** @returns no answer if the entity whose relation is read does not exist */
export function readPage(
  context: ReadingContext,
  request: SelectionRequest,
  paging: Paging,
  form: PageForm,
): PendingAnswer {
  return whenResolved(context, request, (resolved) =>
    preparePage(context, resolved, paging, form).read(),
  );
}

/** A prepared page of a selection, which repeated requests read. */
class PreparedPage {
  /** @param counted what the answer counts; nothing if it leaves the number out */
  constructor(
    private readonly context: ReadingContext,
    readonly statement: Statement,
    private readonly values: readonly SqlValue[],
    private readonly counted: CountedSelection | undefined,
  ) {}

  /** @returns no answer if the entity whose relation is read does not exist */
  read(): PendingAnswer {
    const { statement, values, counted } = this;
    const { database, counts } = this.context;
    if (counted === undefined) return database.executor.read(statement, values);
    if (counted.isInPage) return counts.readPage(counted, statement, values);
    return whenThere(counts.number(counted), (count) => {
      if (count === undefined) return undefined;
      const own = [...values];
      own[countPosition] = count;
      return database.executor.read(statement, own);
    });
  }
}

/** Prepares a page of a resolved selection. @throws RequestError 400 for wrong lists, and for too large answers */
export function preparePage(
  context: ReadingContext,
  request: SelectionRequest,
  paging: Paging,
  form: PageForm,
): PreparedPage {
  const { plans, counts } = context;
  const top = pageTop(context, paging.top);
  const fixed = { skip: paging.skip ?? 0, top };
  const name = shapeName([form.name, request.orderBy]);
  const { plan, values } = planFor(plans.selections, request, name, fixed, (selection) =>
    form.plan({ kind: 'selection', selection, order: orderOf(request) }),
  );
  refuseTooManyRelated(top * plan.mostRelated);
  const counted = form.isUncounted === true ? undefined : counts.prepare(request);
  return new PreparedPage(context, plan.statement, values, counted);
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
 * @throws RequestError 400 for wrong lists of attributes, and for an answer that could be too large
 */
export function preparePageOfKeys(
  context: ReadingContext,
  dataclass: Dataclass,
  keys: string,
  count: number,
  paging: Paging,
  form: PageForm,
): ReadPreparedPage {
  const { database, plans, filters } = context;
  const top = pageTop(context, paging.top);
  const fixed = { skip: paging.skip ?? 0, top, count };
  const request = selectionRequest(filters, dataclass, { kind: 'members' }, keys, noTexts);
  const name = shapeName([form.name]);
  const { plan, values } = planFor(plans.selections, request, name, fixed, () =>
    form.plan({ kind: 'keys', dataclass }),
  );
  refuseTooManyRelated(top * plan.mostRelated);
  return (setUri) => {
    if (setUri !== undefined) values[setPosition] = setUri;
    return database.executor.read(plan.statement, values);
  };
}

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
  const rows = pageRows(context, source, (from, root) =>
    entityText(context, from, root, projection, form),
  );
  const alias = context.aliases.next();
  const entities = dialect.joinRows(sql`${sql.id(alias, 'json')}`);
  const json = dialect.asBytes(dialect.concat(['[', entities, ']']));
  const answer = source.kind === 'keys' ? json : ifBaseExists(context, source.selection, json);
  const query = sql`select ${answer} from ${rows} as ${sql.id(alias)}`;
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
  return key.type === 'uuid' ? [name, '"', value, '"'] : [name, keyNumber(key, value)];
}
