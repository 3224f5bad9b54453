import type { Dataclass } from '../dataclass/dataclasses.js';
import type { PendingAnswer } from '../dialect/executor.js';
import { whenThere } from '../dialect/pending.js';
import type { RelatedEntitiesDefinition } from '../protocol/definition.js';
import { planCollection } from './collection.js';
import { pageTop } from './page-size.js';
import type { Parameters } from './parameters.js';
import { projectionOf } from './projection-of.js';
import type { ReadingContext } from './reading-context.js';
import { refuseTooManyRelated } from './related-count.js';
import {
  countPosition,
  orderOf,
  planFor,
  relatedRequest,
  selectionRequest,
  type SelectionRequest,
  shapeName,
} from './selection-request.js';

/** Reads collections; a statement is written once for all requests that differ in values alone. */
export class CollectionReader {
  constructor(
    private readonly context: ReadingContext,
    private readonly dataclass: Dataclass,
  ) {}

  /** @param attributes the list in the path */
  read(parameters: Parameters, attributes: string | undefined): PendingAnswer {
    const { filters } = this.context;
    const request = selectionRequest(filters, this.dataclass, { kind: 'all' }, null, parameters);
    return this.#read(request, parameters, attributes);
  }

  /** The entities that a to-many relation of one entity leads to; no answer when there is no such entity. */
  readRelated(
    relation: RelatedEntitiesDefinition,
    key: string | number,
    parameters: Parameters,
  ): PendingAnswer {
    const request = relatedRequest(this.context, this.dataclass, relation, key, parameters);
    const expand = beyond(relation.name, parameters.expand);
    return this.#read(request, { ...parameters, expand }, undefined);
  }

  #read(
    request: SelectionRequest,
    parameters: Parameters,
    attributes: string | undefined,
  ): PendingAnswer {
    const { database, plans, options, counts } = this.context;
    const { skip = 0 } = parameters;
    const top = pageTop(this.context, parameters.top);
    const { orderBy } = request;
    const name = shapeName(['page', attributes, parameters.attributes, parameters.expand, orderBy]);
    const { plan, values } = planFor(plans.selections, request, name, { skip, top }, (selection) =>
      planCollection(
        database.dialect,
        options,
        'selection',
        { kind: 'selection', selection, order: orderOf(request) },
        projectionOf(request.dataclass, attributes, parameters, this.context),
      ),
    );
    refuseTooManyRelated(top * plan.mostRelated);
    return whenThere(counts.count(request), (count) => {
      if (count === undefined) return undefined;
      values[countPosition] = count;
      return database.executor.read(plan.statement, values);
    });
  }
}

/** What `$expand` of a relation's own read names beside the relation: `orders,orders.lines` expands `lines` of each order. */
export function beyond(relation: string, expand: string | undefined): string | undefined {
  if (expand === undefined) return undefined;
  const paths = expand
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== relation && path !== `${relation}.*`)
    .map((path) => (path.startsWith(`${relation}.`) ? path.slice(relation.length + 1) : path));
  return paths.length === 0 ? undefined : paths.join();
}
