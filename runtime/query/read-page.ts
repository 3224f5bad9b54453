import type { Dataclass } from '../dataclass/dataclasses.js';
import type { PendingAnswer } from '../dialect/executor.js';
import { whenThere } from '../dialect/pending.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import { type CollectionKind, planCollection } from './collection.js';
import { whenResolved } from './computed-requests.js';
import type { CountedSelection } from './counts.js';
import type { PageSource } from './page-rows.js';
import type { Parameters } from './parameters.js';
import { type ReadingContext, pageTop } from './reading-context.js';
import {
  countPosition,
  orderOf,
  planFor,
  selectionRequest,
  setPosition,
  type SelectionRequest,
  shapeName,
} from './selection-request.js';
import type { SelectionPlan } from './selection.js';
import { refuseTooManyRelated, projectionOf } from './projection.js';

/** How to write the page of an answer. */
export interface PageForm {
  /**
   * The same for requests whose pages are written alike, whatever their entities and their order.
   */
  readonly name: string;
  /** Whether the answer leaves out the number of all entities. */
  readonly isUncounted?: boolean;
  plan(source: PageSource): SelectionPlan;
}

type Paging = Pick<Parameters, 'skip' | 'top'>;

/**
 * Reads a page of a selection.
 * @returns no answer if the entity whose relation is read does not exist
 */
export function readPage(
  context: ReadingContext,
  request: SelectionRequest,
  paging: Paging,
  form: PageForm,
): PendingAnswer {
  return whenResolved(context, request, (resolved) =>
    preparePage(context, resolved, paging, form).read(),
  );
}

/** A prepared page of a selection, which repeated requests read. */
export class PreparedPage {
  /** @param counted what the answer counts; nothing if it leaves the number out */
  constructor(
    private readonly context: ReadingContext,
    readonly statement: Statement,
    private readonly values: readonly SqlValue[],
    private readonly counted: CountedSelection | undefined,
  ) {}

  /** @returns no answer if the entity whose relation is read does not exist */
  read(): PendingAnswer {
    const { statement, values, counted } = this;
    const { database, counts } = this.context;
    if (counted === undefined) return database.executor.read(statement, values);
    if (counted.isInPage) return counts.readPage(counted, statement, values);
    return whenThere(counts.number(counted), (count) => {
      if (count === undefined) return undefined;
      const own = [...values];
      own[countPosition] = count;
      return database.executor.read(statement, own);
    });
  }
}

/**
 * Prepares a page of a selection that class code has resolved, and refuses errors of the request.
 * @throws RequestError 400 for wrong lists of attributes, and for an answer that could be too large
 */
export function preparePage(
  context: ReadingContext,
  request: SelectionRequest,
  paging: Paging,
  form: PageForm,
): PreparedPage {
  const { plans, counts } = context;
  const top = pageTop(context, paging.top);
  const fixed = { skip: paging.skip ?? 0, top };
  const name = shapeName([form.name, request.orderBy]);
  const { plan, values } = planFor(plans.selections, request, name, fixed, (selection) =>
    form.plan({ kind: 'selection', selection, order: orderOf(request) }),
  );
  refuseTooManyRelated(top * plan.mostRelated);
  const counted = form.isUncounted === true ? undefined : counts.prepare(request);
  return new PreparedPage(context, plan.statement, values, counted);
}

const noTexts = { filter: undefined, params: undefined, orderby: undefined };

/** Reads a prepared page; gets the address of the set that the request made. */
export type ReadPreparedPage = (setUri?: string) => PendingAnswer;

/**
 * Prepares a page of an entity set. Errors of the request are refused here, before a set that it
 * makes exists.
 *
 * @param keys of the page's entities, as a JSON list
 * @param count of all members of the set
 * @throws RequestError 400 for wrong lists of attributes, and for an answer that could be too large
 */
export function preparePageOfKeys(
  context: ReadingContext,
  dataclass: Dataclass,
  keys: string,
  count: number,
  paging: Paging,
  form: PageForm,
): ReadPreparedPage {
  const { database, plans, filters } = context;
  const top = pageTop(context, paging.top);
  const fixed = { skip: paging.skip ?? 0, top, count };
  const request = selectionRequest(filters, dataclass, { kind: 'members' }, keys, noTexts);
  const name = shapeName([form.name]);
  const { plan, values } = planFor(plans.selections, request, name, fixed, () =>
    form.plan({ kind: 'keys', dataclass }),
  );
  refuseTooManyRelated(top * plan.mostRelated);
  return (setUri) => {
    if (setUri !== undefined) values[setPosition] = setUri;
    return database.executor.read(plan.statement, values);
  };
}

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
