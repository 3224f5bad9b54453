import type { Dataclass } from '../dataclass/dataclasses.js';
import type { PendingAnswer } from '../dialect/executor.js';
import type { RelatedEntitiesDefinition } from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import type { Parameters } from './parameters.js';
import { unknownAttribute } from './projection.js';
import { type ReadingContext, pageTop } from './reading-context.js';
import { relatedRequest, type SelectionRequest, planFor, shapeName } from './selection-request.js';
import { type Aggregation, notApplicable, valuePath } from './value-path.js';
import { planCompute, checkAggregate, computeKeyword } from './compute.js';
import { whenResolved } from './computed-requests.js';
import { planDistinct } from './distinct.js';

/** The path of `$compute` or `$distinct` behind a relation, and the relation. */
interface RelatedPath {
  readonly relation: RelatedEntitiesDefinition;
  readonly rest: string;
}

/** Whether a request has `$compute` or `$distinct`. */
export function aggregationOf({
  compute,
  distinct,
}: Pick<Parameters, 'compute' | 'distinct'>): Aggregation | undefined {
  if (compute !== undefined) return '$compute';
  return distinct ? '$distinct' : undefined;
}

/** Answers `$compute` and `$distinct` (protocol P5.1 to P5.11). */
export class AggregateReader {
  readonly #compute: ComputeReader;
  readonly #distinct: DistinctReader;

  constructor(private readonly context: ReadingContext) {
    this.#compute = new ComputeReader(context);
    this.#distinct = new DistinctReader(context);
  }

  /**
   * @param path what the address names behind the selection
   * @param name of the attribute in the answer to `$compute=$all`; the path if left out
   * @returns `undefined` if the entity whose relation is read does not exist
   * @throws RequestError 400 with 1806 for parameters that exclude each other; for others see
   * {@link ComputeReader} and {@link DistinctReader}
   */
  read(
    request: SelectionRequest,
    path: string | undefined,
    parameters: Parameters,
    name?: string,
  ): PendingAnswer {
    checkCompanions(parameters);
    return parameters.compute === undefined
      ? this.#distinct.read(request, path ?? '', parameters)
      : this.#compute.read(request, path ?? '', parameters.compute, name);
  }

  /**
   * The same for `/<dataClass>(<key>)/<relation>.<path>`: of the entities to which a to-many
   * relation of one entity leads.
   */
  readRelated(
    owner: Dataclass,
    key: string | number,
    path: string | undefined,
    parameters: Parameters,
  ): PendingAnswer {
    const { relation, rest } = relatedPath(owner, path ?? '', parameters);
    const request = relatedRequest(this.context, owner, relation, key, parameters);
    return this.read(request, rest, parameters, path);
  }
}

function relatedPath(owner: Dataclass, path: string, parameters: Parameters): RelatedPath {
  const [name = '', ...rest] = path.trim().split('.');
  const relation = owner.exposedAttributes.get(name);
  if (relation?.kind === 'relatedEntities' && rest.length > 0) {
    return { relation, rest: rest.join('.') };
  }
  if (name !== '' && !name.includes(',') && relation === undefined && !name.startsWith('__')) {
    throw unknownAttribute(owner, name, 'path');
  }
  const example = `/rest/${owner.name}(<key>)/<to-many relation>.<attribute>`;
  throw notApplicable(
    aggregationOf(parameters) ?? '$compute',
    `at one entity it is about the entities of a to-many relation: ${example}`,
  );
}

const neverBeside = [
  'expand',
  'attributes',
  'method',
  'orderby',
  'format',
  'asArray',
  'queryplan',
  'querypath',
] as const;

/**
 * Refuses parameters that have nothing to select, to order or to page here, instead of ignoring
 * them.
 */
function checkCompanions(parameters: Parameters): void {
  const { compute, distinct } = parameters;
  const aggregation = compute === undefined ? '$distinct' : '$compute';
  if (compute !== undefined && distinct) throw apart('$compute', '$distinct');
  const others = compute === undefined ? neverBeside : ([...neverBeside, 'skip', 'top'] as const);
  for (const name of others) {
    const value = parameters[name];
    if (value !== undefined && value !== false) throw apart(aggregation, `$${name}`);
  }
}

function apart(aggregation: Aggregation, other: string): Error {
  return refuse('malformedUrl', `${aggregation} and ${other} cannot be combined.`);
}

/** Computes with the values of one attribute of a selection (`$compute`); a statement is written once for each shape. */
class ComputeReader {
  constructor(private readonly context: ReadingContext) {}

  /**
   * @param path from the selection's dataclass on
   * @param keyword the value of `$compute`
   * @param name of the attribute in the answer to `$all`; the path if left out
   * @returns the JSON of a value, or of an object for `$all`; `undefined` if the entity whose
   * relation is read does not exist
   * @throws RequestError for a wrong path or keyword
   */
  read(request: SelectionRequest, path: string, keyword: string, name?: string): PendingAnswer {
    return whenResolved(this.context, request, (resolved) =>
      this.#read(resolved, path, keyword, name),
    );
  }

  #read(request: SelectionRequest, path: string, keyword: string, name?: string): PendingAnswer {
    const { database, plans, options } = this.context;
    const computed = computeKeyword(keyword);
    const text = path.trim();
    const shown = (name ?? path).trim();
    const shape = shapeName(['compute', text, computed, computed === '$all' ? shown : undefined]);
    const { plan, values } = planFor(plans.selections, request, shape, {}, (selection) => {
      const resolved = valuePath(selection.dataclass, text, '$compute');
      checkAggregate(computed, resolved, shown);
      return planCompute(database.dialect, options, selection, resolved, computed, shown);
    });
    return database.executor.read(plan.statement, values);
  }
}

/** Lists the different values of one attribute of a selection (`$distinct`); a statement is written once for each shape. */
class DistinctReader {
  constructor(private readonly context: ReadingContext) {}

  /**
   * @param path from the selection's dataclass on
   * @returns a JSON array; `undefined` if the entity whose relation is read does not exist
   * @throws RequestError for a wrong path, and for a `$top` above the server's limit
   */
  read(
    request: SelectionRequest,
    path: string,
    paging: Pick<Parameters, 'skip' | 'top'>,
  ): PendingAnswer {
    return whenResolved(this.context, request, (resolved) => this.#read(resolved, path, paging));
  }

  #read(
    request: SelectionRequest,
    path: string,
    { skip = 0, top }: Pick<Parameters, 'skip' | 'top'>,
  ): PendingAnswer {
    const { database, plans, options } = this.context;
    const text = path.trim();
    const isPaged = top !== undefined;
    const most = isPaged ? pageTop(this.context, top) : Number.MAX_SAFE_INTEGER;
    const shape = shapeName(['distinct', text, isPaged ? 'page' : undefined]);
    const { plan, values } = planFor(
      plans.selections,
      request,
      shape,
      { skip, top: most },
      (selection) => {
        const resolved = valuePath(selection.dataclass, text, '$distinct');
        return planDistinct(database.dialect, options, selection, resolved, isPaged);
      },
    );
    return database.executor.read(plan.statement, values);
  }
}
