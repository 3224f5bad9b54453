import type { Dataclass } from '../dataclass/dataclasses.js';
import { refuse } from '../protocol/errors.js';
import type { Parameters } from '../query/parameters.js';
import type { PageForm } from '../query/read-page.js';
import type { ReadingContext } from '../query/reading-context.js';
import { shapeName } from '../query/selection-request.js';
import { reportColumns } from './columns.js';
import { planReport } from './report.js';

/**
 * A page in the report format (specification, "`$format`"); a member of an entity set that does not exist any more is a row
 * of nulls.
 *
 * @param attributes the list in the path
 * @throws RequestError 400 with 1806 for an `$expand`
 */
export function reportForm(
  context: ReadingContext,
  dataclass: Dataclass,
  parameters: Parameters,
  attributes: string | undefined,
): PageForm {
  const { database, options, limits } = context;
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
