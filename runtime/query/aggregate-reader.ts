import { leadsToMany, type ToManyDefinition } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { JsonAnswer, PendingAnswer } from '../dialect/executor.js';
import { awaited, type Steps } from '../dialect/pending.js';
import { refuse } from '../protocol/errors.js';
import type { Parameters } from './parameters.js';
import { unknownAttribute } from './projection.js';
import { pageTop, type ReadingContext } from './reading-context.js';
import {
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

/**
 * Answers `$groupby`, `$compute` and `$distinct` (protocol P5.1 to P5.18).
 * @param path what the address names behind the selection
 * @param name of the attribute in the answer to `$compute=$all`; the path if left out
 * @returns the JSON of a value, of an object for `$all` and groups, or of an array; `undefined` if the entity
 * whose relation is read does not exist
 * @throws RequestError for a wrong path or keyword, for a `$top` above the server's limit, and 400
 * with 1806 for parameters that exclude each other
 */
export function* readAggregate(
  context: ReadingContext,
  unresolved: SelectionRequest,
  path: string | undefined,
  parameters: Parameters,
  name?: string,
): Steps<JsonAnswer | undefined> {
  checkCompanions(parameters);
  const text = (path ?? '').trim();
  const { groupby } = parameters;
  if (groupby !== undefined) {
    if (text !== '') throw pathBesideGroups(unresolved.dataclass);
    return yield* readGroups(context, unresolved, parameters, groupby);
  }
  const request = yield* awaited(resolved(context, unresolved));
  const { compute } = parameters;
  return yield* awaited(
    compute === undefined
      ? readDistinct(context, request, text, parameters)
      : readCompute(context, request, text, compute, (name ?? text).trim()),
  );
}

/** Answers `/<dataClass>(<key>)/<relation>.<path>`, as {@link readAggregate} does. */
export function readRelatedAggregate(
  context: ReadingContext,
  owner: Dataclass,
  key: string | number,
  path: string | undefined,
  parameters: Parameters,
): Steps<JsonAnswer | undefined> {
  const { relation, rest } = relatedPath(owner, path ?? '', parameters);
  const request = relatedRequest(context, owner, relation, key, parameters);
  return readAggregate(context, request, rest, parameters, path);
}

function readCompute(
  { database, statements, options }: ReadingContext,
  request: SelectionRequest,
  path: string,
  keyword: string,
  shown: string,
): PendingAnswer {
  const computed = computeKeyword(keyword);
  const shape = shapeName(['compute', path, computed, computed === '$all' ? shown : undefined]);
  const bound = boundStatement(statements, request, shape, {}, (selection) => {
    const resolved = valuePath(selection.dataclass, path, '$compute');
    checkAggregate(computed, resolved, shown);
    return computeStatement(database.dialect, options, selection, resolved, computed, shown);
  });
  return readComputed(database.executor, bound);
}

function readDistinct(
  context: ReadingContext,
  request: SelectionRequest,
  path: string,
  { skip = 0, top }: Parameters,
): PendingAnswer {
  const { database, statements, options } = context;
  const isPaged = top !== undefined;
  const most = isPaged ? pageTop(context, top) : Number.MAX_SAFE_INTEGER;
  const shape = shapeName(['distinct', path, isPaged ? 'page' : undefined]);
  const fixed = { skip, top: most };
  const { statement, values } = boundStatement(statements, request, shape, fixed, (selection) => {
    const resolved = valuePath(selection.dataclass, path, '$distinct');
    return distinctStatement(database.dialect, options, selection, resolved, isPaged);
  });
  return database.executor.read(statement, values);
}

/** Answers `$groupby` (protocol P5.13). */
function* readGroups(
  context: ReadingContext,
  unresolved: SelectionRequest,
  parameters: Parameters,
  groupby: string,
): Steps<JsonAnswer | undefined> {
  const { compute, having, params, skip = 0, count } = parameters;
  const top = pageTop(context, parameters.top);
  // Terms are not the paths of an order of entities.
  const unordered = { ...unresolved, orderBy: undefined };
  const request = yield* awaited(resolved(context, unordered));
  const groups = { groupby, compute, having, params, order: unresolved, skip, top };
  const bound = boundGroups(context, request, { ...groups, isCounted: count !== false });
  const answer = context.database.executor.read(bound.statement, bound.values);
  return yield* awaited(explainedAnswer(context, unordered, parameters, answer));
}

function relatedPath(owner: Dataclass, path: string, parameters: Parameters): RelatedPath {
  const [name = '', ...rest] = path.trim().split('.');
  const relation = owner.exposedAttributes.get(name);
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
const neverBeside = [
  'expand',
  'attributes',
  'method',
  'format',
  'asArray',
  'cursor',
  'after',
] as const;
const apartFrom = {
  $groupby: ['distinct', ...neverBeside],
  $compute: ['distinct', ...neverBeside, 'orderby', 'queryplan', 'querypath', 'skip', 'top'],
  $distinct: [...neverBeside, 'orderby', 'queryplan', 'querypath'],
} as const satisfies Readonly<Record<Aggregation, readonly (keyof Parameters)[]>>;

function checkCompanions(parameters: Parameters): void {
  const aggregation = aggregationOf(parameters) ?? '$distinct';
  for (const name of apartFrom[aggregation]) {
    const value = parameters[name];
    if (value === undefined || value === false) continue;
    throw refuse('malformedUrl', `${aggregation} and $${name} cannot be combined.`);
  }
}
