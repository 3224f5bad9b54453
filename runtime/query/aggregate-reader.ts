import { readable } from '../dataclass/permissions.js';
import { leadsToMany, type ToManyDefinition } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { JsonAnswer } from '../dialect/executor.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import { refuse } from '../protocol/errors.js';
import { answerFormat, type Parameters } from './parameters.js';
import { unknownAttribute } from './projection.js';
import { pageTop, type ReadingContext } from './reading-context.js';
import {
  type BoundSelection,
  boundStatement,
  relatedRequest,
  type SelectionRequest,
  shapeName,
  resolved,
} from './selection-request.js';
import { type Aggregation, notApplicable, valuePath } from './value-path.js';
import { computeStatement, checkAggregate, computeKeyword, readComputed } from './compute.js';
import { distinctStatement } from './distinct.js';
import { boundGroups } from './group-request.js';
import { explainedAnswer } from './page.js';
import {
  type AnswerRow,
  answerRow,
  jsonOf,
  type PreparedAnswer,
  type TaggedAnswer,
  type TaggedRead,
} from './tags.js';

/** The path of `$compute` or `$distinct` behind a relation, and the relation. */
interface RelatedPath {
  readonly relation: ToManyDefinition;
  readonly rest: string;
}

/** Whether a request has `$groupby`, `$compute` or `$distinct`. */
export function aggregationOf({
  groupby,
  compute,
  distinct,
}: Pick<Parameters, 'groupby' | 'compute' | 'distinct'>): Aggregation | undefined {
  if (groupby !== undefined) return '$groupby';
  if (compute !== undefined) return '$compute';
  return distinct ? '$distinct' : undefined;
}

/** What a request computes of a selection. */
export interface AggregateRequest {
  readonly selection: SelectionRequest;
  readonly parameters: Parameters;
  /** What the address names behind the selection. */
  readonly path: string | undefined;
  /** The name of the attribute in the answer to `$compute=$all`; the path if left out. */
  readonly name?: string | undefined;
}

/**
 * Answers `$groupby`, `$compute` and `$distinct` (protocol P5.1 to P5.18).
 * @returns the JSON of a value, of an object for `$all` and groups, or of an array; `undefined` if the entity
 * whose relation is read does not exist
 * @throws RequestError for a wrong path or keyword, for a `$top` above the server's limit, and 400
 * with 1806 for parameters that exclude each other
 */
export async function readAggregate(
  context: ReadingContext,
  request: AggregateRequest,
): Promise<JsonAnswer | undefined> {
  const answer = await jsonOf(await preparedAggregate(context, request));
  const { selection, parameters } = request;
  return explainedAnswer(context, unordered(selection), parameters, answer);
}

/** Answers as {@link readAggregate} does, unless the client has the answer. */
export async function readTaggedAggregate(
  context: ReadingContext,
  request: AggregateRequest,
  tagged: TaggedRead,
): Promise<TaggedAnswer | JsonAnswer | undefined> {
  return context.tags.read(tagged, await preparedAggregate(context, request));
}

/** `/<dataClass>(<key>)/<relation>.<path>` */
export function relatedAggregate(
  context: ReadingContext,
  owner: Dataclass,
  key: string | number,
  path: string | undefined,
  parameters: Parameters,
): AggregateRequest {
  const { relation, rest } = relatedPath(owner, path ?? '', parameters);
  const selection = relatedRequest(context, owner, relation, key, parameters);
  return { selection, path: rest, parameters, name: path };
}

async function preparedAggregate(
  context: ReadingContext,
  { selection, path, parameters, name }: AggregateRequest,
): Promise<PreparedAnswer> {
  checkCompanions(parameters);
  const text = (path ?? '').trim();
  const { groupby, compute } = parameters;
  if (groupby !== undefined && text !== '') throw pathBesideGroups(selection.dataclass);
  const unresolved = groupby === undefined ? selection : unordered(selection);
  const request = await resolved(context, unresolved);
  const { database } = context;
  const read = (statement: Statement, given: readonly SqlValue[]): Promise<AnswerRow> =>
    answerRow(database, statement, given);
  const bound =
    groupby === undefined
      ? compute === undefined
        ? boundDistinct(context, request, text, parameters)
        : boundCompute(context, request, text, compute, (name ?? text).trim())
      : boundTerms(context, request, selection, parameters, groupby);
  return {
    ...bound,
    isOfCode: request !== unresolved,
    row: () => readComputed(read, bound),
  };
}

/** Terms of `$orderby` are not the paths of an order of entities. */
function unordered(selection: SelectionRequest): SelectionRequest {
  return { ...selection, orderBy: undefined };
}

function boundCompute(
  { database, statements, options }: ReadingContext,
  request: SelectionRequest,
  path: string,
  keyword: string,
  shown: string,
): BoundSelection {
  const computed = computeKeyword(keyword);
  const shape = shapeName(['compute', path, computed, computed === '$all' ? shown : undefined]);
  return boundStatement(statements, request, shape, {}, (selection) => {
    const resolved = valuePath(selection.dataclass, path, '$compute');
    checkAggregate(computed, resolved, shown);
    return computeStatement(database.dialect, options, selection, resolved, computed, shown);
  });
}

function boundDistinct(
  context: ReadingContext,
  request: SelectionRequest,
  path: string,
  { skip = 0, top }: Parameters,
): BoundSelection {
  const { database, statements, options } = context;
  const isPaged = top !== undefined;
  const most = isPaged ? pageTop(context, top) : Number.MAX_SAFE_INTEGER;
  const shape = shapeName(['distinct', path, isPaged ? 'page' : undefined]);
  const fixed = { skip, top: most };
  return boundStatement(statements, request, shape, fixed, (selection) => {
    const resolved = valuePath(selection.dataclass, path, '$distinct');
    return distinctStatement(database.dialect, options, selection, resolved, isPaged);
  });
}

/** The statement of `$groupby` (protocol P5.13). */
function boundTerms(
  context: ReadingContext,
  request: SelectionRequest,
  order: SelectionRequest,
  parameters: Parameters,
  groupby: string,
): BoundSelection {
  const { compute, filter, having, params, skip = 0, count, top } = parameters;
  const bounds = { skip, top: pageTop(context, top) };
  const isReport = answerFormat(parameters, context.options) === 'report';
  const isFiltered = filter !== undefined || having !== undefined;
  const report = isReport ? { isFiltered } : undefined;
  const groups = { groupby, compute, having, params, order, report, ...bounds };
  return boundGroups(context, request, { ...groups, isCounted: count !== false });
}

function relatedPath(owner: Dataclass, path: string, parameters: Parameters): RelatedPath {
  const [name = '', ...rest] = path.trim().split('.');
  const relation = readable(owner, name);
  const isAbout = parameters.groupby !== undefined || rest.length > 0;
  if (relation !== undefined && leadsToMany(relation) && isAbout) {
    return { relation, rest: rest.join('.') };
  }
  if (name !== '' && !name.includes(',') && relation === undefined && !name.startsWith('__')) {
    throw unknownAttribute(owner, name, 'path');
  }
  const aggregation = aggregationOf(parameters) ?? '$compute';
  const attribute = aggregation === '$groupby' ? '' : '.<attribute>';
  const example = `/rest/${owner.name}(<key>)/<to-many relation>${attribute}`;
  throw notApplicable(
    aggregation,
    `at one entity it is about the entities of a to-many relation: ${example}`,
  );
}

function pathBesideGroups({ name }: Dataclass): Error {
  const problem = 'The keys of groups are in $groupby, and the address names no attributes';
  return refuse('malformedUrl', `${problem}: /rest/${name}?$groupby=...`);
}

/** Parameters that have nothing to select, to order or to page beside an aggregation. */
const neverBeside = ['expand', 'attributes', 'method', 'asArray', 'cursor', 'after'] as const;
const besideValues = [...neverBeside, 'format', 'orderby', 'queryplan', 'querypath'] as const;
const apartFrom = {
  $groupby: ['distinct', ...neverBeside],
  $compute: ['distinct', ...besideValues, 'skip', 'top'],
  $distinct: besideValues,
} as const satisfies Readonly<Record<Aggregation, readonly (keyof Parameters)[]>>;

function checkCompanions(parameters: Parameters): void {
  const aggregation = aggregationOf(parameters) ?? '$distinct';
  for (const name of apartFrom[aggregation]) {
    const value = parameters[name];
    if (value === undefined || value === false) continue;
    throw refuse('malformedUrl', `${aggregation} and $${name} cannot be combined.`);
  }
}
