import type { Dataclass } from '../dataclass/dataclasses.js';
import { type CollectionKind, planCollection } from './collection.js';
import type { Parameters } from './parameters.js';
import { projectionOf } from './projection-of.js';
import type { PageForm } from './read-page.js';
import type { ReadingContext } from './reading-context.js';
import { shapeName } from './selection-request.js';

/**
 * A page as the ordinary collection.
 * @param attributes the list in the path
 */
export function collectionForm(
  context: ReadingContext,
  dataclass: Dataclass,
  parameters: Parameters,
  attributes: string | undefined,
  kind: CollectionKind = 'selection',
): PageForm {
  const { database, options } = context;
  return {
    name: shapeName([kind, attributes, parameters.attributes, parameters.expand]),
    plan: (source) => {
      const projection = projectionOf(dataclass, attributes, parameters, context);
      return planCollection(database.dialect, options, kind, source, projection);
    },
  };
}
