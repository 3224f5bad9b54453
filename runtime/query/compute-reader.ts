import type { PendingAnswer } from '../dialect/executor.js';
import { checkAggregate, computeKeyword } from './compute-keyword.js';
import { planCompute } from './compute.js';
import { whenSettled } from './computed-requests.js';
import type { ReadingContext } from './reading-context.js';
import { planFor, type SelectionRequest, shapeName } from './selection-request.js';
import { valuePath } from './value-path.js';

/** Computes with the values of one attribute of a selection (`$compute`); a statement is written once for each shape. */
export class ComputeReader {
  constructor(private readonly context: ReadingContext) {}

  /**
   * @param path from the selection's dataclass on
   * @param keyword the value of `$compute`
   * @param name what the answer to `$all` calls the attribute; the path when left out
   * @returns the JSON of a value, or of an object for `$all`; `undefined` when the entity does not exist whose relation is read
   * @throws RequestError for a path or a keyword that is not right
   */
  read(request: SelectionRequest, path: string, keyword: string, name?: string): PendingAnswer {
    return whenSettled(this.context, request, (settled) =>
      this.#read(settled, path, keyword, name),
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
