import type { Dataclass } from '../dataclass/dataclasses.js';
import { planCollection } from '../query/collection.js';
import { pageTop } from '../query/page-size.js';
import type { Parameters } from '../query/parameters.js';
import { projectionOf } from '../query/projection-of.js';
import { preparePageOfKeys, type ReadPreparedPage } from '../query/read-page.js';
import type { ReadingContext } from '../query/reading-context.js';
import { shapeName } from '../query/selection-request.js';
import type { KeyList } from './key-list.js';

/**
 * Prepares a page of a list of keys as a collection; it costs the same wherever it lies.
 *
 * @param attributes the list in the path
 * @throws RequestError as {@link preparePageOfKeys}
 */
export function prepareSetPage(
  context: ReadingContext,
  dataclass: Dataclass,
  keys: KeyList,
  parameters: Parameters,
  attributes: string | undefined,
  kind: 'set' | 'newSet',
): ReadPreparedPage {
  const { skip = 0 } = parameters;
  const page = keys.page(skip, skip + pageTop(context, parameters.top));
  return preparePageOfKeys(context, dataclass, page, keys.length, parameters, {
    name: shapeName([kind, attributes, parameters.attributes, parameters.expand]),
    plan: (source) => {
      const { database, options } = context;
      const projection = projectionOf(dataclass, attributes, parameters, context);
      return planCollection(database.dialect, options, kind, source, projection);
    },
  });
}
