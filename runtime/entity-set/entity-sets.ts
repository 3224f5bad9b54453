import { mayDo, readable } from '../dataclass/permissions.js';
import { hash } from 'node:crypto';
import { leadsToMany } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { protocolError, refuse, RequestError } from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import type { Parameters } from '../query/parameters.js';
import type { ReadingContext } from '../query/reading-context.js';
import {
  relatedRequest,
  type SelectionRequest,
  selectionRequest,
} from '../query/selection-request.js';
import {
  type EntitySet,
  type EntitySetStore,
  EntitySetTooLargeError,
  type NewEntitySet,
  type SetClaim,
  type SetRequester,
} from './entity-set-store.js';
import type { KeyList } from './key-list.js';
import { readKeys } from './keys-reader.js';
import {
  definitionJson,
  type SetDefinition,
  type SetDefinitions,
  withNewNames,
  written,
} from './set-definitions.js';

/** Lifetimes in seconds (protocol P9.1, P9.16, P9.25). */
interface SetLimits {
  readonly entitySetTimeout: number;
  readonly recreatedEntitySetTimeout: number;
  /** The longest lifetime; a larger `$timeout` is reduced to it. */
  readonly maxEntitySetTimeout: number | null;
  /** Sets of one session that are alive at once. */
  readonly maxEntitySetsPerSession: number | null;
}

/** A set as its request makes it. */
interface MadeSet {
  readonly keys: KeyList;
  readonly isSorted: boolean;
  /** Seconds; the session's or the server's if left out. */
  readonly timeout: number | undefined;
  /** From which the set is made again after it is gone. */
  readonly definition: SetDefinition | undefined;
  /** The selection that it is made of; none if its members are. */
  readonly source: SetDefinition | undefined;
}

/** The life of entity sets (protocol P9.8 to P9.11). */
export class EntitySets {
  constructor(
    private readonly context: ReadingContext,
    private readonly dataclasses: ReadonlyMap<string, Dataclass>,
    private readonly store: EntitySetStore,
    private readonly definitions: SetDefinitions,
    private readonly limits: SetLimits,
  ) {}

  /** Makes a set. @throws RequestError 429 if the session has as many sets as it may have (`access.md#sessions`) */
  async create(
    dataclass: Dataclass,
    requester: SetRequester,
    { keys, isSorted, timeout, definition, source }: MadeSet,
  ): Promise<EntitySet> {
    // Refused before the set exists.
    if (definition !== undefined) definitionJson(definition);
    const { owner, keeper, defaultTimeout } = requester;
    const { name } = dataclass;
    const counted = await this.#counted(requester);
    const wanted = timeout ?? defaultTimeout ?? this.limits.entitySetTimeout;
    const capped = this.#capped(requester, wanted);
    const set = {
      dataclass: name,
      keys,
      owner,
      ...counted,
      timeout: capped,
      isSorted,
      source: sourceOf(dataclass, source),
    };
    const created = await storing(this.store.create(set));
    if (definition !== undefined) {
      await this.definitions.keep(created.id, name, keeper, definition);
    }
    return created;
  }

  /** A set that is alive, or made again. @throws RequestError 404 with 1802, alike for unknown sets and those of others */
  async find(
    dataclass: Dataclass,
    requester: SetRequester,
    id: string,
    parameters: Parameters,
  ): Promise<EntitySet> {
    const timeout =
      parameters.timeout === undefined ? undefined : this.#capped(requester, parameters.timeout);
    const known = await this.lookUp(dataclass, requester, id, timeout);
    return known ?? this.#recreate(dataclass, requester, id, parameters);
  }

  /** A set that is alive, or one with a saved definition; `undefined` if there is none. */
  async lookUp(
    dataclass: Dataclass,
    requester: SetRequester,
    id: string,
    timeout?: number,
  ): Promise<EntitySet | undefined> {
    const set = await this.#alive(id, claimOf(requester.owner, dataclass), timeout);
    if (set !== undefined || !isSetId(id)) return set;
    const names = namesOf(dataclass);
    const definition = await this.definitions.find(id, names, requester.keeper);
    if (definition === undefined) return undefined;
    return this.#revive(dataclass, requester, id, definition);
  }

  async release(
    dataclass: Dataclass | undefined,
    { owner }: Pick<SetRequester, 'owner'>,
    id: string,
  ): Promise<boolean> {
    const claim = claimOf(owner, dataclass);
    const isReleased = await this.store.release(id, claim);
    return isReleased || this.store.release(ownId(id, owner), claim);
  }

  async #alive(id: string, claim: SetClaim, timeout?: number): Promise<EntitySet | undefined> {
    const set = await this.store.access(id, claim, timeout);
    if (set !== undefined) return set;
    return this.store.access(ownId(id, claim.session), claim, timeout);
  }

  /**
   * Makes a set from expressions that the client repeats (protocol P9.11). Another session may know
   * the ID: the set is for this session only, or for guests only, and never for a saved definition
   * of others.
   */
  async #recreate(
    dataclass: Dataclass,
    requester: SetRequester,
    id: string,
    { savedfilter, savedorderby, params }: Parameters,
  ): Promise<EntitySet> {
    const filter = expressionOf(savedfilter);
    const orderby = expressionOf(savedorderby);
    if (!isSetId(id) || (filter === undefined && orderby === undefined)) throw missingSet(id);
    const request = selectionRequest(this.context.filters, dataclass, { kind: 'all' }, null, {
      filter,
      params,
      orderby,
    });
    const { keeper, owner } = requester;
    const names = namesOf(dataclass);
    const isHeld = await this.definitions.isHeldByAnother(id, names, keeper);
    if (isHeld) throw missingSet(id);
    const keys = await readKeys(this.context, request);
    const own = ownId(id, owner);
    const source = sourceOf(dataclass, {
      ...(filter === undefined ? {} : { filter }),
      ...(params === undefined ? {} : { params }),
      ...(orderby === undefined ? {} : { orderby }),
    });
    const made = { request, source };
    const set = await this.#recreated(dataclass, requester, id, made, keys, own);
    if (set === undefined) throw missingSet(id);
    return set;
  }

  /**
   * Makes a set by its definition, which may name what the model no longer has. Each session of a
   * user has one of its own, and so do guests together.
   */
  async #revive(
    dataclass: Dataclass,
    requester: SetRequester,
    id: string,
    definition: SetDefinition,
  ): Promise<EntitySet | undefined> {
    let request: SelectionRequest | undefined;
    let keys: KeyList | undefined;
    try {
      request = this.requestOf(dataclass, definition);
      if (request === undefined) return undefined;
      keys = await readKeys(this.context, request);
    } catch (error) {
      // A refusal to read now says nothing about the set.
      if (error instanceof RequestError && error.status < 500) return undefined;
      throw error;
    }
    const own = ownId(id, requester.owner);
    const made = { request, source: sourceOf(dataclass, definition) };
    return this.#recreated(dataclass, requester, own, made, keys);
  }

  /**
   * The selection of a definition, which may name what the model no longer has.
   * @returns `undefined` if its relation is gone
   * @throws RequestError for texts that do not fit the model
   */
  requestOf(dataclass: Dataclass, kept: SetDefinition): SelectionRequest | undefined {
    const { filters } = this.context;
    const renamed = withNewNames(this.dataclasses, filters, dataclass, kept);
    const { filter, params, orderby, related } = renamed;
    const texts = { filter, params, orderby };
    if (related === undefined) {
      return selectionRequest(filters, dataclass, { kind: 'all' }, null, texts);
    }
    const owner = this.dataclasses.get(related.dataclass);
    // The address of the set is one of its entities' dataclass, whose route does not check the owner.
    if (owner === undefined || !mayDo(owner, 'read')) return undefined;
    const relation = readable(owner, related.relation);
    if (relation === undefined || !leadsToMany(relation)) return undefined;
    return relatedRequest(this.context, owner, relation, related.key, texts);
  }

  async #recreated(
    dataclass: Dataclass,
    requester: SetRequester,
    id: string,
    {
      request,
      source,
    }: { readonly request: SelectionRequest; readonly source: string | undefined },
    keys: KeyList | undefined,
    storedAs = id,
  ): Promise<EntitySet | undefined> {
    if (keys === undefined) return undefined;
    const counted = await this.#counted(requester);
    const set: NewEntitySet = {
      dataclass: dataclass.name,
      keys,
      owner: requester.owner,
      ...counted,
      timeout: this.#capped(requester, this.limits.recreatedEntitySetTimeout),
      isSorted: request.orderBy !== undefined,
      source,
    };
    return storing(this.store.recreate(id, set, storedAs));
  }

  /** The session whose limit another set counts for, and the limit; no session for a guest without a limit. */
  async #counted(requester: SetRequester): Promise<Pick<NewEntitySet, 'maker' | 'mostOfMaker'>> {
    const most = requester.maxSets ?? this.limits.maxEntitySetsPerSession;
    if (most === null) return { maker: requester.owner };
    const maker = requester.counted();
    const count = await this.store.countOf(maker);
    if (count >= most) throw tooMany(most);
    return { maker, mostOfMaker: most };
  }

  #capped({ maxTimeout }: SetRequester, seconds: number): number {
    return Math.min(seconds, maxTimeout ?? this.limits.maxEntitySetTimeout ?? seconds);
  }
}

/** Sets of other dataclasses have no changes that anybody could follow. */
function sourceOf({ isLive }: Dataclass, source: SetDefinition | undefined): string | undefined {
  return isLive === true && source !== undefined ? written(source) : undefined;
}

/** @throws RequestError if the set is too large */
async function storing<T>(stored: Promise<T>): Promise<T> {
  try {
    return await stored;
  } catch (error) {
    throw error instanceof EntitySetTooLargeError ? tooLarge(error) : error;
  }
}

function claimOf(session: string | undefined, dataclass: Dataclass | undefined): SetClaim {
  return { session, dataclass: dataclass?.name, formerNames: dataclass?.renamedFrom };
}

function namesOf({ name, renamedFrom = [] }: Dataclass): readonly string[] {
  return [name, ...renamedFrom];
}

/** An ID that a client sends must be 32 upper-case hexadecimal digits (protocol P9.12). */
function isSetId(id: string): boolean {
  return /^[0-9A-F]{32}$/.test(id);
}

/**
 * The ID under which a set is stored that a session has made again, by expressions or by its
 * definition, under an ID that the client named: requests of other sessions for that ID do not find
 * it.
 * @param owner `undefined` for guests
 */
function ownId(id: string, owner: string | undefined): string {
  return hash('sha256', `${owner ?? ''} ${id}`, 'hex')
    .slice(0, 32)
    .toUpperCase();
}

/** With `$savedfilter=true` the server saves the definition; any other value is the definition. */
export function expressionOf(saved: string | undefined): string | undefined {
  return saved === undefined || saved.toLowerCase() === 'true' ? undefined : saved;
}

export function missingSet(id: string): RequestError {
  return refuse('entitySetNotFound', notFound(id));
}

/** The message for an ID that no set has (protocol P9.12). */
export function notFound(id: string): string {
  return `EntitySet "${isSetId(id) ? id : shortened(id)}" cannot be found`;
}

/** The error when a session has too many sets. Nobody knows when there will be room, so `Retry-After` is empty. */
export function tooMany(most: number): RequestError {
  const message = `A session has at most ${most} entity sets at once. Release one with $method=release.`;
  return new RequestError(429, [protocolError('quotaExceeded', message)], { 'retry-after': '' });
}

function tooLarge({ bytes, maxBytes }: EntitySetTooLargeError): RequestError {
  return refuse(
    'entitySetTooLarge',
    `The entity set takes ${bytes} bytes; this server keeps at most ${maxBytes}.`,
  );
}
