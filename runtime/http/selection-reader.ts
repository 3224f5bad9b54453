import type { Dataclass } from '../dataclass/dataclasses.js';
import type { PendingAnswer } from '../dialect/executor.js';
import type { RelatedEntitiesDefinition } from '../protocol/definition.js';
import { answerForm } from '../query/answer-form.js';
import { beyondRelation } from '../query/beyond-relation.js';
import { whenSettled } from '../query/computed-requests.js';
import { MadeOfParameters } from '../query/made-of-parameters.js';
import type { Parameters } from '../query/parameters.js';
import { explainedAnswer } from '../query/query-plan.js';
import { preparePage, type PreparedPage } from '../query/read-page.js';
import type { ReadingContext } from '../query/reading-context.js';
import {
  relatedRequest,
  selectionRequest,
  type SelectionRequest,
} from '../query/selection-request.js';
import { pageForms } from './page-forms.js';

/** Answers reads of the entities of one dataclass, in the form that each request asks for. */
export class SelectionReader {
  /** Of all entities of the dataclass, without a list of attributes in the path. */
  readonly #pages = new MadeOfParameters<PreparedPage>();

  constructor(
    private readonly context: ReadingContext,
    private readonly dataclass: Dataclass,
  ) {}

  /** @param attributes the list in the path */
  read(parameters: Parameters, attributes: string | undefined): PendingAnswer {
    const known = attributes === undefined ? this.#pages.get(parameters) : undefined;
    if (known !== undefined) return known.read();
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
    const expand = beyondRelation(relation.name, parameters.expand);
    return this.#answer(request, { ...parameters, expand }, undefined);
  }

  #answer(
    request: SelectionRequest,
    parameters: Parameters,
    attributes: string | undefined,
  ): PendingAnswer {
    const { context } = this;
    const name = answerForm(parameters, context.options);
    const form = pageForms[name](context, request.dataclass, parameters, attributes);
    const answer = whenSettled(context, request, (settled) => {
      const page = preparePage(context, settled, parameters, form);
      // What class code has a say in, it is asked about again.
      const isSame = settled === request && request.base.kind === 'all';
      if (isSame && attributes === undefined) this.#remember(parameters, page);
      return page.read();
    });
    return name === 'collection' ? explainedAnswer(context, request, parameters, answer) : answer;
  }

  #remember(parameters: Parameters, page: PreparedPage): void {
    const { queryplan, querypath } = parameters;
    if (!queryplan && !querypath) this.#pages.set(parameters, page, page.statement);
  }
}
