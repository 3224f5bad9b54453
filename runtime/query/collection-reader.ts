import type { PendingAnswer } from '../dialect/executor.js';
import { planCollection } from './collection.js';
import type { Parameters } from './parameters.js';
import { projectionOf } from './projection-of.js';
import { readPage } from './read-page.js';
import type { ReadingContext } from './reading-context.js';
import { type SelectionRequest, shapeName } from './selection-request.js';

/** Reads collections; a statement is written once for all requests that differ in values alone. */
export class CollectionReader {
  constructor(private readonly context: ReadingContext) {}

  /**
   * @param attributes the list in the path
   * @returns no answer when the entity does not exist whose relation is read
   */
  read(
    request: SelectionRequest,
    parameters: Parameters,
    attributes: string | undefined,
  ): PendingAnswer {
    const { database, options } = this.context;
    return readPage(this.context, request, parameters, {
      name: shapeName(['page', attributes, parameters.attributes, parameters.expand]),
      plan: (source) => {
        const projection = projectionOf(request.dataclass, attributes, parameters, this.context);
        return planCollection(database.dialect, options, 'selection', source, projection);
      },
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
