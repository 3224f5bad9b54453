import type { Dataclass } from '../dataclass/dataclasses.js';
import type { PendingAnswer } from '../dialect/executor.js';
import { planArray } from './array.js';
import type { Parameters } from './parameters.js';
import { projectionOf } from './projection-of.js';
import { type PageForm, readPage, preparePageOfKeys } from './read-page.js';
import type { ReadingContext } from './reading-context.js';
import { type SelectionRequest, shapeName } from './selection-request.js';

/** Answers reads as bare lists of entities, for `$asArray=true`. */
export class ArrayReader {
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
   * A page of an entity set.
   * @param keys of the page's entities, as a JSON list
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
    const { database, options } = this.context;
    return {
      name: shapeName(['array', attributes, parameters.attributes, parameters.expand]),
      isUncounted: true,
      plan: (source) => {
        const projection = projectionOf(dataclass, attributes, parameters, this.context);
        return planArray(database.dialect, options, source, projection);
      },
    };
  }
}
