import type { PendingAnswer } from '../dialect/executor.js';
import { whenSettled } from './computed-requests.js';
import { planDistinct } from './distinct.js';
import { pageTop } from './page-size.js';
import type { Parameters } from './parameters.js';
import type { ReadingContext } from './reading-context.js';
import { planFor, type SelectionRequest, shapeName } from './selection-request.js';
import { valuePath } from './value-path.js';

/** Lists the different values of one attribute of a selection (`$distinct`); a statement is written once for each shape. */
export class DistinctReader {
  constructor(private readonly context: ReadingContext) {}

  /**
   * @param path from the selection's dataclass on
   * @returns a JSON array; `undefined` when the entity does not exist whose relation is read
   * @throws RequestError for a path that is not right, and for a `$top` above the server's limit
   */
  read(
    request: SelectionRequest,
    path: string,
    paging: Pick<Parameters, 'skip' | 'top'>,
  ): PendingAnswer {
    return whenSettled(this.context, request, (settled) => this.#read(settled, path, paging));
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
