import type { Dataclass } from '../dataclass/dataclasses.js';
import type { JsonAnswer } from '../dialect/executor.js';
import { and, except, intersect, type KeyList, or } from '../entity-set/key-list.js';
import { expressionOf, missingSet, notFound } from '../entity-set/entity-sets.js';
import type { EntitySet, SetRequester } from '../entity-set/entity-set-store.js';
import type { SetDefinition } from '../entity-set/set-definitions.js';
import { refuse } from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import { aggregationOf, readAggregate } from '../query/aggregate-reader.js';
import { explainedAnswer, preparePageOfKeys } from '../query/page.js';
import { answerFormat, type Parameters } from '../query/parameters.js';
import type { ServiceContext } from './service-context.js';
import type { SelectionRequest } from '../query/selection-request.js';
import { membersRequest, narrowed, readKeys } from '../entity-set/keys-reader.js';
import { checkParameters } from './parameter-rules.js';

/** What a request for entity sets says, and whose it is. */
interface SetRequest {
  readonly parameters: Parameters;
  /** In the path. */
  readonly attributes?: string | undefined;
  readonly requester: SetRequester;
}

/** Answers requests for the entity sets of one dataclass (protocol P9.1 to P9.7). */
export class EntitySetService {
  constructor(
    private readonly context: ServiceContext,
    private readonly dataclass: Dataclass,
  ) {}

  /**
   * Makes a set of a selection, and answers its first page.
   * @param related the relation through which the selection is read
   */
  async create(
    selection: SelectionRequest,
    request: SetRequest,
    related?: SetDefinition['related'],
  ): Promise<JsonAnswer | undefined> {
    const { context } = this;
    const { parameters } = request;
    answerFormat(parameters, context.options);
    const definition = definitionOf(parameters, related);
    const isSorted = selection.orderBy !== undefined;
    const keys = await readKeys(context, selection);
    if (keys === undefined) return undefined;
    const source = sourceOf(selection, parameters, related);
    const answer = await this.#created(keys, isSorted, request, definition, source);
    return explainedAnswer(context, selection, parameters, answer);
  }

  /** Answers a read of a set: a page of it, of a part of it, or of its combination with another one. */
  async read(id: string, request: SetRequest): Promise<JsonAnswer | undefined> {
    const { parameters, requester } = request;
    const { logicOperator, otherCollection } = parameters;
    if (logicOperator === undefined && otherCollection !== undefined) {
      throw refuse(
        'logicOperator',
        '$otherCollection needs $logicOperator=AND, OR, EXCEPT or INTERSECT.',
      );
    }
    const set = await this.#find(id, parameters, requester);
    return logicOperator === undefined
      ? this.#answer(set.keys, set.isSorted, request)
      : this.#combined(set, request);
  }

  /** The keys that a set holds and that match the filter of a request that changes or deletes them. */
  async keys(id: string, parameters: Parameters, requester: SetRequester): Promise<KeyList> {
    const { keys } = await this.#find(id, parameters, requester);
    const { filters } = this.context;
    const context = { ...this.context, filters: filters.strict };
    return narrowed(context, this.dataclass, keys, parameters);
  }

  /** @throws RequestError 404 with 1802 */
  async release(id: string, requester: SetRequester): Promise<string> {
    const isReleased = await this.context.sets.release(this.dataclass, requester, id.toUpperCase());
    if (!isReleased) throw missingSet(id);
    return '{"ok":true}';
  }

  #find(id: string, parameters: Parameters, requester: SetRequester): Promise<EntitySet> {
    // The lifetime in a request that makes a new set is that of the new one.
    const own =
      parameters.method === 'entityset' ? { ...parameters, timeout: undefined } : parameters;
    return this.context.sets.find(this.dataclass, requester, id.toUpperCase(), own);
  }

  async #answer(
    keys: KeyList,
    isSorted: boolean,
    request: SetRequest,
  ): Promise<JsonAnswer | undefined> {
    const { context, dataclass } = this;
    const { parameters, attributes } = request;
    if (aggregationOf(parameters) !== undefined) {
      const selection = membersRequest(context, dataclass, keys, parameters);
      return readAggregate(context, { selection, path: attributes, parameters });
    }
    const makesSet = parameters.method === 'entityset';
    const method = makesSet ? 'entityset' : undefined;
    const wanted = answerFormat({ ...parameters, method }, context.options);
    const format = wanted === 'collection' ? 'set' : wanted;
    if (makesSet) refuseDefinition(parameters);
    const rest = await narrowed(context, dataclass, keys, parameters);
    const answer = makesSet
      ? await this.#created(rest, isSorted || this.#isOrdered(parameters), request, undefined)
      : await preparePageOfKeys(context, rest, { format, dataclass, parameters, attributes })();
    if (!parameters.queryplan && !parameters.querypath) return answer;
    const members = membersRequest(context, dataclass, keys, parameters);
    return explainedAnswer(context, members, parameters, answer);
  }

  /** Whether the request has an order, be it inside its filter. */
  #isOrdered({ filter, params, orderby }: Parameters): boolean {
    if (orderby !== undefined || filter === undefined) return orderby !== undefined;
    return this.context.filters.prepare(filter, params).orderBy !== undefined;
  }

  async #created(
    keys: KeyList,
    isSorted: boolean,
    { parameters, attributes, requester }: SetRequest,
    definition: SetDefinition | undefined,
    source?: SetDefinition,
  ): Promise<JsonAnswer | undefined> {
    const { context, dataclass } = this;
    const { timeout } = parameters;
    const page = { format: 'newSet', dataclass, parameters, attributes } as const;
    const read = preparePageOfKeys(context, keys, page);
    const set = { keys, isSorted, timeout, definition, source };
    const { id } = await context.sets.create(dataclass, requester, set);
    return read(setUri(dataclass, id));
  }

  /** Combines two sets (protocol P9.4). */
  async #combined(set: EntitySet, request: SetRequest): Promise<JsonAnswer | undefined> {
    const { parameters, requester } = request;
    const operator = operatorOf(parameters.logicOperator ?? '');
    const other = await this.#other(parameters.otherCollection, requester);
    if (operator === 'INTERSECT') {
      return this.#intersect(set.keys, other.keys, parameters);
    }
    const keys = operations[operator](set.keys, other.keys);
    return this.#answer(keys, set.isSorted, request);
  }

  /** Whether an entity of both sets matches the filter. */
  async #intersect(keys: KeyList, others: KeyList, parameters: Parameters): Promise<string> {
    // The answer is true or false.
    checkParameters(parameters, '$logicOperator=INTERSECT', this.context.options);
    const { context, dataclass } = this;
    const { filter, clean } = parameters;
    if (filter === undefined && !clean) return String(intersect(keys, others));
    const unordered = { ...parameters, orderby: undefined };
    const { length } = await narrowed(context, dataclass, and(keys, others), unordered);
    return String(length > 0);
  }

  async #other(id: string | undefined, requester: SetRequester): Promise<EntitySet> {
    if (id === undefined || id === '') {
      throw refuse(
        'otherCollectionMissing',
        '$logicOperator needs $otherCollection=<entitySetID>.',
      );
    }
    const other = await this.context.sets.lookUp(this.dataclass, requester, id.toUpperCase());
    if (other !== undefined) return other;
    throw refuse('otherCollectionWrong', `$otherCollection: ${notFound(id)}`);
  }
}

const operations = { AND: and, OR: or, EXCEPT: except } as const;

type SetOperator = keyof typeof operations | 'INTERSECT';

function operatorOf(text: string): SetOperator {
  const operator = text.toUpperCase();
  if (Object.hasOwn(operations, operator) || operator === 'INTERSECT')
    return operator as SetOperator;
  throw refuse(
    'logicOperator',
    `$logicOperator must be AND, OR, EXCEPT or INTERSECT, not "${shortened(text)}".`,
  );
}

/**
 * The definition that `$savedfilter=true` and `$savedorderby=true` save; expressions that a client
 * will repeat are not saved. The filter is saved with an order, too: without it the set would come
 * back with all entities, and a deletion of the set would delete all.
 */
function definitionOf(
  { savedfilter, savedorderby, filter, params, orderby }: Parameters,
  related: SetDefinition['related'],
): SetDefinition | undefined {
  const keepsFilter = savedfilter !== undefined && expressionOf(savedfilter) === undefined;
  const keepsOrder = savedorderby !== undefined && expressionOf(savedorderby) === undefined;
  if (!keepsFilter && !keepsOrder) return undefined;
  return {
    ...(filter === undefined ? {} : { filter }),
    ...(params === undefined ? {} : { params }),
    ...(keepsOrder && orderby !== undefined ? { orderby } : {}),
    ...(related === undefined ? {} : { related }),
  };
}

/** What a client says of the selection that a set is made of; `undefined` for what a function returned. */
function sourceOf(
  { base }: SelectionRequest,
  { filter, params, orderby }: Parameters,
  related: SetDefinition['related'],
): SetDefinition | undefined {
  if (base.kind !== 'all' && base.kind !== 'related') return undefined;
  return {
    ...(filter === undefined ? {} : { filter }),
    ...(params === undefined ? {} : { params }),
    ...(orderby === undefined ? {} : { orderby }),
    ...(related === undefined ? {} : { related }),
  };
}

/** A set that is made of sets cannot be made again: they may be gone as well. */
function refuseDefinition(parameters: Parameters): void {
  if (definitionOf(parameters, undefined) === undefined) return;
  throw refuse(
    'malformedUrl',
    '$savedfilter=true and $savedorderby=true apply to a set that is made of a dataclass or of a relation, not of another set.',
  );
}

function setUri(dataclass: Dataclass, id: string): string {
  return `/rest/${encodeURIComponent(dataclass.name)}/$entityset/${id}`;
}
