import { createHash } from 'node:crypto';
import { leadsToMany } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { type Pending, whenThere } from '../dialect/pending.js';
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

/** The life of entity sets (protocol P9.8 to P9.11). */
export class EntitySets {
  constructor(
    private readonly context: ReadingContext,
    private readonly dataclasses: ReadonlyMap<string, Dataclass>,
    private readonly store: EntitySetStore,
    private readonly definitions: SetDefinitions,
    private readonly limits: SetLimits,
  ) {}

  /** The keys of a selection; `undefined` if the entity whose relation is read does not exist. */
  keysOf(request: SelectionRequest): Pending<KeyList | undefined> {
    return readKeys(this.context, request);
  }

  /**
   * Makes a set.
   * @param definition from which the set is made again after it is gone
   * @throws RequestError 429 if the session has as many sets as it may have (`access.md#sessions`)
   */
  create(
    dataclass: Dataclass,
    requester: SetRequester,
    keys: KeyList,
    isSorted: boolean,
    timeout: number | undefined,
    definition: SetDefinition | undefined,
  ): Pending<EntitySet> {
    // Refused before the set exists.
    if (definition !== undefined) definitionJson(definition);
    const wanted = timeout ?? requester.defaultTimeout ?? this.limits.entitySetTimeout;
    const created = whenThere(this.#counted(requester), (maker) =>
      this.#storing(() =>
        this.store.create({
          dataclass: dataclass.name,
          keys,
          owner: requester.owner,
          maker,
          timeout: this.#capped(requester, wanted),
          isSorted,
        }),
      ),
    );
    if (definition === undefined) return created;
    return whenThere(created, async (set) => {
      await this.definitions.keep(set.id, dataclass.name, requester.keeper, definition);
      return set;
    });
  }

  /** A set that is alive, or made again. @throws RequestError 404 with 1802, alike for unknown sets and those of others */
  find(
    dataclass: Dataclass,
    requester: SetRequester,
    id: string,
    parameters: Parameters,
  ): Pending<EntitySet> {
    const timeout =
      parameters.timeout === undefined ? undefined : this.#capped(requester, parameters.timeout);
    const known = this.lookUp(dataclass, requester, id, timeout);
    return whenThere(known, (set) => set ?? this.#recreate(dataclass, requester, id, parameters));
  }

  /** A set that is alive, or one with a saved definition; `undefined` if there is none. */
  lookUp(
    dataclass: Dataclass,
    requester: SetRequester,
    id: string,
    timeout?: number,
  ): Pending<EntitySet | undefined> {
    const claim = claimOf(requester.owner, dataclass);
    return whenThere(this.#alive(id, claim, timeout), (set) => {
      if (set !== undefined || !isSetId(id)) return set;
      const kept = this.definitions.find(id, namesOf(dataclass), requester.keeper);
      return whenThere(kept, (definition) =>
        definition === undefined ? undefined : this.#revive(dataclass, requester, id, definition),
      );
    });
  }

  release(
    dataclass: Dataclass | undefined,
    { owner }: Pick<SetRequester, 'owner'>,
    id: string,
  ): Pending<boolean> {
    const claim = claimOf(owner, dataclass);
    return whenThere(
      this.store.release(id, claim),
      (isReleased) => isReleased || this.store.release(ownId(id, owner), claim),
    );
  }

  #alive(id: string, claim: SetClaim, timeout?: number): Pending<EntitySet | undefined> {
    return whenThere(
      this.store.access(id, claim, timeout),
      (set) => set ?? this.store.access(ownId(id, claim.session), claim, timeout),
    );
  }

  /**
   * Makes a set from expressions that the client repeats (protocol P9.11). Another session may know
   * the ID: the set is for this session only, or for guests only, and never for a saved definition
   * of others.
   */
  #recreate(
    dataclass: Dataclass,
    requester: SetRequester,
    id: string,
    { savedfilter, savedorderby, params }: Parameters,
  ): Pending<EntitySet> {
    const filter = expressionOf(savedfilter);
    const orderby = expressionOf(savedorderby);
    if (!isSetId(id) || (filter === undefined && orderby === undefined)) throw missingSet(id);
    const request = selectionRequest(this.context.filters, dataclass, { kind: 'all' }, null, {
      filter,
      params,
      orderby,
    });
    const held = this.definitions.isHeldByAnother(id, namesOf(dataclass), requester.keeper);
    return whenThere(held, (isHeld) => {
      if (isHeld) throw missingSet(id);
      const keys = readKeys(this.context, request);
      const own = ownId(id, requester.owner);
      return whenThere(this.#recreated(dataclass, requester, id, request, keys, own), (set) => {
        if (set === undefined) throw missingSet(id);
        return set;
      });
    });
  }

  /**
   * Makes a set by its definition, which may name what the model no longer has. Each session of a
   * user has one of its own, and so do guests together.
   */
  #revive(
    dataclass: Dataclass,
    requester: SetRequester,
    id: string,
    definition: SetDefinition,
  ): Pending<EntitySet | undefined> {
    let request: SelectionRequest | undefined;
    let keys: Pending<KeyList | undefined>;
    try {
      request = this.#requestOf(dataclass, definition);
      if (request === undefined) return undefined;
      keys = readKeys(this.context, request);
    } catch (error) {
      if (error instanceof RequestError) return undefined;
      throw error;
    }
    return this.#recreated(dataclass, requester, ownId(id, requester.owner), request, keys);
  }

  #requestOf(dataclass: Dataclass, kept: SetDefinition): SelectionRequest | undefined {
    const { filters } = this.context;
    const renamed = withNewNames(this.dataclasses, filters, dataclass, kept);
    const { filter, params, orderby, related } = renamed;
    const texts = { filter, params, orderby };
    if (related === undefined) {
      return selectionRequest(filters, dataclass, { kind: 'all' }, null, texts);
    }
    const owner = this.dataclasses.get(related.dataclass);
    const relation = owner?.exposedAttributes.get(related.relation);
    if (owner === undefined || relation === undefined || !leadsToMany(relation)) {
      return undefined;
    }
    return relatedRequest(this.context, owner, relation, related.key, texts);
  }

  #recreated(
    dataclass: Dataclass,
    requester: SetRequester,
    id: string,
    request: SelectionRequest,
    read: Pending<KeyList | undefined>,
    storedAs = id,
  ): Pending<EntitySet | undefined> {
    return whenThere(read, (keys) => {
      if (keys === undefined) return undefined;
      return whenThere(this.#counted(requester), (maker) => {
        const set: NewEntitySet = {
          dataclass: dataclass.name,
          keys,
          owner: requester.owner,
          maker,
          timeout: this.#capped(requester, this.limits.recreatedEntitySetTimeout),
          isSorted: request.orderBy !== undefined,
        };
        return this.#storing(() => this.store.recreate(id, set, storedAs));
      });
    });
  }

  /** The session whose limit another set counts for; `undefined` for a guest without a limit. */
  #counted(requester: SetRequester): Pending<string | undefined> {
    const most = requester.maxSets ?? this.limits.maxEntitySetsPerSession;
    if (most === null) return requester.owner;
    const session = requester.counted();
    return whenThere(this.store.countOf(session), (count) => {
      if (count >= most) throw tooMany(most);
      return session;
    });
  }

  #capped({ maxTimeout }: SetRequester, seconds: number): number {
    return Math.min(seconds, maxTimeout ?? this.limits.maxEntitySetTimeout ?? seconds);
  }

  #storing<T>(store: () => Pending<T>): Pending<T> {
    try {
      return store();
    } catch (error) {
      throw error instanceof EntitySetTooLargeError ? tooLarge(error) : error;
    }
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
  const hash = createHash('sha256')
    .update(`${owner ?? ''} ${id}`)
    .digest('hex');
  return hash.slice(0, 32).toUpperCase();
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
function tooMany(most: number): RequestError {
  const message = `A session has at most ${most} entity sets at once. Release one with $method=release.`;
  return new RequestError(429, [protocolError('quotaExceeded', message)], { 'retry-after': '' });
}

function tooLarge({ bytes, maxBytes }: EntitySetTooLargeError): RequestError {
  return refuse(
    'entitySetTooLarge',
    `The entity set takes ${bytes} bytes; this server keeps at most ${maxBytes}.`,
  );
}
