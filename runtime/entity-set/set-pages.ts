import type { Dataclass } from '../dataclass/dataclasses.js';
import type { PendingAnswer } from '../dialect/executor.js';
import { planCollection } from '../query/collection.js';
import { pageTop } from '../query/page-size.js';
import type { Parameters } from '../query/parameters.js';
import { projectionOf } from '../query/projection-of.js';
import type { ReadingContext } from '../query/reading-context.js';
import { refuseTooManyRelated } from '../query/related-count.js';
import { planFor, selectionRequest, shapeName } from '../query/selection-request.js';
import type { KeyList } from './key-list.js';

const noTexts = { filter: undefined, params: undefined, orderby: undefined };

/**
 * Answers a page of a list of keys as a collection; it costs the same wherever it lies.
 * @param attributes the list in the path
 * @param setUri the address of the set that the request made
 */
export function setPage(
  context: ReadingContext,
  dataclass: Dataclass,
  keys: KeyList,
  parameters: Parameters,
  attributes: string | undefined,
  setUri: string | undefined,
): PendingAnswer {
  const { database, options, plans, filters } = context;
  const { skip = 0 } = parameters;
  const top = pageTop(context, parameters.top);
  const kind = setUri === undefined ? 'set' : 'newSet';
  const page = keys.page(skip, skip + top);
  const request = selectionRequest(filters, dataclass, { kind: 'members' }, page, noTexts);
  const name = shapeName([kind, attributes, parameters.attributes, parameters.expand]);
  const fixed = { skip, top, count: keys.length, ...(setUri === undefined ? {} : { set: setUri }) };
  const { plan, values } = planFor(plans.selections, request, name, fixed, () => {
    const projection = projectionOf(dataclass, attributes, parameters, context);
    return planCollection(database.dialect, options, kind, { kind: 'keys', dataclass }, projection);
  });
  refuseTooManyRelated(top * plan.mostRelated);
  return database.executor.read(plan.statement, values);
}
