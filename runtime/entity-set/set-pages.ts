import type { Dataclass } from '../dataclass/dataclasses.js';
import type { PendingAnswer } from '../dialect/executor.js';
import { planCollection } from '../query/collection.js';
import { pageTop } from '../query/page-size.js';
import type { Parameters } from '../query/parameters.js';
import { projectionOf } from '../query/projection-of.js';
import type { ReadingContext } from '../query/reading-context.js';
import { refuseTooManyRelated } from '../query/related-count.js';
import { planFor, selectionRequest, setPosition, shapeName } from '../query/selection-request.js';
import type { KeyList } from './key-list.js';

const noTexts = { filter: undefined, params: undefined, orderby: undefined };

/** Reads a page that is prepared; told the address of the set that the request made. */
export type ReadSetPage = (setUri?: string) => PendingAnswer;

/**
 * Prepares a page of a list of keys as a collection; it costs the same wherever it lies. What is wrong with the request is
 * refused here, so that there is no set yet when it is to make one.
 *
 * @param attributes the list in the path
 * @throws RequestError 400 for wrong lists of attributes, and for an answer that could be too large
 */
export function prepareSetPage(
  context: ReadingContext,
  dataclass: Dataclass,
  keys: KeyList,
  parameters: Parameters,
  attributes: string | undefined,
  kind: 'set' | 'newSet',
): ReadSetPage {
  const { database, options, plans, filters } = context;
  const { skip = 0 } = parameters;
  const top = pageTop(context, parameters.top);
  const page = keys.page(skip, skip + top);
  const request = selectionRequest(filters, dataclass, { kind: 'members' }, page, noTexts);
  const name = shapeName([kind, attributes, parameters.attributes, parameters.expand]);
  const fixed = { skip, top, count: keys.length };
  const { plan, values } = planFor(plans.selections, request, name, fixed, () => {
    const projection = projectionOf(dataclass, attributes, parameters, context);
    return planCollection(database.dialect, options, kind, { kind: 'keys', dataclass }, projection);
  });
  refuseTooManyRelated(top * plan.mostRelated);
  return (setUri) => {
    if (setUri !== undefined) values[setPosition] = setUri;
    return database.executor.read(plan.statement, values);
  };
}
