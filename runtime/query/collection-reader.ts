import type { Dataclass } from '../dataclass/dataclasses.js';
import { BoundedCache } from '../dialect/bounded-cache.js';
import type { PendingAnswer } from '../dialect/executor.js';
import type { Database } from '../dialect/database.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import { type FilterInputs, filterInputs, type FilterParser } from '../filter/prepared-filter.js';
import type { RelatedEntitiesDefinition } from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import { type CollectionPlan, type CollectionShape, planCollection } from './collection.js';
import type { AnswerOptions } from './context.js';
import { parseOrderBy } from './order-by.js';
import type { Parameters } from './parameters.js';
import { project, type Projection, wholeEntity } from './projection.js';
import { refuseTooManyRelated } from './related-count.js';
import { projectionTree } from './projection-tree.js';

/** What readers of all dataclasses share. */
export interface ReadingContext {
  readonly database: Database;
  readonly options: AnswerOptions;
  readonly filters: FilterParser;
  readonly limits: { readonly maxPageSize: number | null; readonly expandDepth: number };
  readonly plans: Plans;
}

/** The statements of all dataclasses that were written lately, by what decides them. */
export interface Plans {
  readonly collections: BoundedCache<CollectionPlan>;
  readonly entities: BoundedCache<Statement>;
}

/** Of the plans of each kind. */
const maxPlanBytes = 16 * 1024 * 1024;

export function emptyPlans(): Plans {
  const weigh = ({ sql, bindings }: Statement): number => sql.length + bindings.length * 16;
  return {
    collections: new BoundedCache(maxPlanBytes, (plan) => weigh(plan.statement)),
    entities: new BoundedCache(maxPlanBytes, weigh),
  };
}

const noInputs: FilterInputs = { inputs: [], nulls: [], patterns: [] };

/** Reads collections; a statement is written once for all requests that differ in values alone. */
export class CollectionReader {
  constructor(
    private readonly context: ReadingContext,
    private readonly dataclass: Dataclass,
  ) {}

  /** @param attributes the list in the path */
  read(parameters: Parameters, attributes: string | undefined): PendingAnswer {
    return this.#read(parameters, attributes, undefined, null);
  }

  /** The entities that a to-many relation of one entity leads to; no answer when there is no such entity. */
  readRelated(
    relation: RelatedEntitiesDefinition,
    key: string | number,
    parameters: Parameters,
  ): PendingAnswer {
    const value =
      this.dataclass.key.type === 'string'
        ? this.context.database.dialect.foldText(String(key))
        : key;
    return this.#read(parameters, undefined, relation, value);
  }

  #read(
    parameters: Parameters,
    attributes: string | undefined,
    relation: RelatedEntitiesDefinition | undefined,
    ownerKey: SqlValue,
  ): PendingAnswer {
    const { database, limits, options } = this.context;
    const top = parameters.top ?? options.pageSize;
    if (limits.maxPageSize !== null && top > limits.maxPageSize) {
      throw refuse(
        'malformedUrl',
        `$top is ${top}; this server sends at most ${limits.maxPageSize} entities.`,
      );
    }
    const filter =
      parameters.filter === undefined
        ? undefined
        : this.context.filters.prepare(parameters.filter, parameters.params);
    const { inputs, nulls } =
      filter === undefined ? noInputs : filterInputs(filter, parameters.params);
    const name = shapeName([
      this.dataclass.name,
      relation?.name,
      attributes,
      parameters.attributes,
      parameters.expand,
      parameters.orderby,
      filter?.shape,
      nulls.length === 0 ? undefined : nulls.join(),
    ]);
    const plan = (mismatched: readonly number[]): CollectionPlan =>
      this.#plan(`${mismatched.join()}${name}`, () => ({
        ...this.#target(relation),
        filter,
        nulls,
        mismatched,
        order: parameters.orderby === undefined ? [] : parseOrderBy(parameters.orderby),
        projection: this.#projection(parameters, attributes, relation),
      }));
    const values: SqlValue[] = [ownerKey, parameters.skip ?? 0, top];
    let chosen = plan([]);
    refuseTooManyRelated(top * chosen.mostRelated);
    const mismatched = chosen.filterSlots.fill(inputs, values);
    if (mismatched.length > 0) {
      chosen = plan(mismatched);
      values.length = 3;
      chosen.filterSlots.fill(inputs, values);
    }
    return database.executor.read(chosen.statement, values);
  }

  #plan(name: string, shape: () => CollectionShape): CollectionPlan {
    const known = this.context.plans.collections.get(name);
    if (known !== undefined) return known;
    const { database, options } = this.context;
    const plan = planCollection(database.dialect, options, shape());
    this.context.plans.collections.set(name, plan);
    return plan;
  }

  #target(
    relation: RelatedEntitiesDefinition | undefined,
  ): Pick<CollectionShape, 'dataclass' | 'owner'> {
    return relation === undefined
      ? { dataclass: this.dataclass, owner: undefined }
      : {
          dataclass: this.dataclass.target(relation),
          owner: { dataclass: this.dataclass, relation },
        };
  }

  #projection(
    parameters: Parameters,
    attributes: string | undefined,
    relation: RelatedEntitiesDefinition | undefined,
  ): Projection {
    const { dataclass } = this.#target(relation);
    const expand =
      relation === undefined ? parameters.expand : beyond(relation.name, parameters.expand);
    return projectionOf(dataclass, attributes, { ...parameters, expand }, this.context);
  }
}

/** What `$expand` of a relation's own read names beside the relation: `orders,orders.lines` expands `lines` of each order. */
function beyond(relation: string, expand: string | undefined): string | undefined {
  const paths = (expand ?? '')
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== relation && path !== `${relation}.*`)
    .map((path) => (path.startsWith(`${relation}.`) ? path.slice(relation.length + 1) : path));
  return paths.length === 0 ? undefined : paths.join();
}

/** One name for the texts of a request that decide its statement; no two lists of texts have the same. */
export function shapeName(texts: readonly (string | undefined)[]): string {
  let name = '';
  for (const text of texts) name += text === undefined ? '|' : `|${text.length}:${text}`;
  return name;
}

/** What a request's attribute lists choose; everything, where there is none. */
export function projectionOf(
  dataclass: Dataclass,
  pathList: string | undefined,
  { attributes, expand }: Pick<Parameters, 'attributes' | 'expand'>,
  { limits }: Pick<ReadingContext, 'limits'>,
): Projection {
  const tree = projectionTree({ pathList, attributes, expand }, limits.expandDepth);
  if (tree === undefined) return wholeEntity(dataclass);
  const origin =
    attributes !== undefined ? 'attributes' : pathList !== undefined ? 'path' : 'expand';
  return project(dataclass, tree, origin);
}
