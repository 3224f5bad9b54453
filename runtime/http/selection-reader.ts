import type { Dataclass } from '../dataclass/dataclasses.js';
import type { PendingAnswer } from '../dialect/executor.js';
import type { RelatedEntitiesDefinition } from '../protocol/definition.js';
import { answerForm } from '../query/answer-form.js';
import { ArrayReader } from '../query/array-reader.js';
import { beyond, CollectionReader } from '../query/collection-reader.js';
import type { Parameters } from '../query/parameters.js';
import { explainedAnswer } from '../query/query-plan.js';
import type { ReadingContext } from '../query/reading-context.js';
import {
  relatedRequest,
  selectionRequest,
  type SelectionRequest,
} from '../query/selection-request.js';
import { ReportReader } from '../report/report-reader.js';

/** Answers reads of the entities of one dataclass, in the form that each request asks for. */
export class SelectionReader {
  readonly #collections: CollectionReader;
  readonly #arrays: ArrayReader;
  readonly #reports: ReportReader;

  constructor(
    private readonly context: ReadingContext,
    private readonly dataclass: Dataclass,
  ) {
    this.#collections = new CollectionReader(context);
    this.#arrays = new ArrayReader(context);
    this.#reports = new ReportReader(context);
  }

  /** @param attributes the list in the path */
  read(parameters: Parameters, attributes: string | undefined): PendingAnswer {
    const { filters } = this.context;
    const request = selectionRequest(filters, this.dataclass, { kind: 'all' }, null, parameters);
    return this.#answer(request, parameters, attributes);
  }

  /** The entities that a to-many relation of one entity leads to; no answer when there is no such entity. */
  readRelated(
    relation: RelatedEntitiesDefinition,
    key: string | number,
    parameters: Parameters,
  ): PendingAnswer {
    const request = relatedRequest(this.context, this.dataclass, relation, key, parameters);
    const expand = beyond(relation.name, parameters.expand);
    return this.#answer(request, { ...parameters, expand }, undefined);
  }

  #answer(
    request: SelectionRequest,
    parameters: Parameters,
    attributes: string | undefined,
  ): PendingAnswer {
    switch (answerForm(parameters, this.context.options)) {
      case 'collection':
        return explainedAnswer(
          this.context,
          request,
          parameters,
          this.#collections.read(request, parameters, attributes),
        );
      case 'array':
        return this.#arrays.read(request, parameters, attributes);
      case 'report':
        return this.#reports.read(request, parameters, attributes);
    }
  }
}
