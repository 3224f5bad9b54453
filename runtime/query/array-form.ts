import type { Dataclass } from '../dataclass/dataclasses.js';
import { planArray } from './array.js';
import type { Parameters } from './parameters.js';
import { projectionOf } from './projection-of.js';
import type { PageForm } from './read-page.js';
import type { ReadingContext } from './reading-context.js';
import { shapeName } from './selection-request.js';

/**
 * A page as a bare list of entities, for `$asArray=true`.
 * @param attributes the list in the path
 */
export function arrayForm(
  context: ReadingContext,
  dataclass: Dataclass,
  parameters: Parameters,
  attributes: string | undefined,
): PageForm {
  const { database, options } = context;
  return {
    name: shapeName(['array', attributes, parameters.attributes, parameters.expand]),
    isUncounted: true,
    plan: (source) => {
      const projection = projectionOf(dataclass, attributes, parameters, context);
      return planArray(database.dialect, options, source, projection);
    },
  };
}
