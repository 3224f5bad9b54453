import type { Dataclass } from '../dataclass/dataclasses.js';
import type { PendingAnswer } from '../dialect/executor.js';
import { refuse } from '../protocol/errors.js';
import type { Parameters } from '../query/parameters.js';
import { type PageForm, readPage, preparePageOfKeys } from '../query/read-page.js';
import type { ReadingContext } from '../query/reading-context.js';
import { type SelectionRequest, shapeName } from '../query/selection-request.js';
import { reportColumns } from './columns.js';
import { planReport } from './report.js';

/** Answers reads in the report format (specification, "`$format`"). */
export class ReportReader {
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
    const form = this.#form(request.dataclass, parameters, attributes);
    return readPage(this.context, request, parameters, form);
  }

  /**
   * A page of an entity set; a member that does not exist any more is a row of nulls.
   * @param keys of the page's entities, as a JSON list
   * @param count of all members of the set
   */
  readKeys(
    dataclass: Dataclass,
    keys: string,
    count: number,
    parameters: Parameters,
    attributes: string | undefined,
  ): PendingAnswer {
    const form = this.#form(dataclass, parameters, attributes);
    return preparePageOfKeys(this.context, dataclass, keys, count, parameters, form)();
  }

  #form(dataclass: Dataclass, parameters: Parameters, attributes: string | undefined): PageForm {
    const { database, options, limits } = this.context;
    const { filter, expand } = parameters;
    if (expand !== undefined) {
      throw refuse('malformedUrl', 'A report expands nothing: $expand and it do not go together.');
    }
    const filtersApplied = filter !== undefined;
    const applied = filtersApplied ? '' : undefined;
    return {
      name: shapeName(['report', attributes, parameters.attributes, applied]),
      plan: (source) => {
        const columns = reportColumns(dataclass, attributes, parameters, limits.expandDepth);
        return planReport(database.dialect, options, source, columns, filtersApplied);
      },
    };
  }
}
