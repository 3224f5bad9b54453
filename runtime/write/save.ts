import { mayDo } from '../dataclass/permissions.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Cache } from '../dialect/bounded-cache.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { Statement } from '../dialect/statement.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import { errorCodes, isDenialStatus, PermissionError } from '../protocol/errors.js';
import type { Fold } from '../protocol/fold.js';
import { isWellFormed } from '../protocol/own-text.js';
import {
  type Address,
  addressOf,
  type Body,
  decodeBody,
  type Decoded,
  decodeStored,
  isSettable,
  noAddress,
  nothingReferred,
  type Received,
  type ReferredValues,
  relatedTo,
  type SentEntity,
} from './decode.js';
import type { FoundEntity } from './finder.js';
import { EventFailure, type EntityEvents, type LiveEntity } from './lifecycle.js';
import type { Refusal, Refusals } from './refusals.js';
import { lockStatement } from './statements.js';
import { EntityStore, undoneIfRefused } from './store.js';
import type { SaveContext, SaveResult, Surroundings } from './surroundings.js';

const saveEvents = ['init', 'validateSave', 'saving', 'afterSave'] as const;

/**
 * Creates or changes entities of one dataclass (protocol P7.1, P7.12), for clients and for class
 * code. The steps of a save are:
 *
 * 1. a client's body is decoded;
 * 2. if class code takes part, the entity becomes an object, which gets the values of the body. Its
 *    event validateSave runs, its lock and its stamp are checked, and its event saving runs. What is
 *    set in the object then is decoded;
 * 3. locks are checked, hidden relations are kept, related keys are resolved;
 * 4. one statement stores the values, if the stamp is right. If the database refuses it, further
 *    statements find the reasons;
 * 5. `restrict` decides about what is stored;
 * 6. the object takes over what is stored, and its event afterSave runs.
 *
 * A save to `validate` runs no event but validateSave; one to `preview` skips events, locks and
 * `restrict`. The caller rolls both back.
 */
export class EntitySaver {
  readonly store: EntityStore;
  /** Locks the entities of a list of keys; none if the database locks no rows. */
  readonly #lock: Statement | undefined;
  /** Names of attributes with setters of class code. */
  readonly #settable: readonly string[];
  /** Events and objects of class code; none if it takes no part in saves of this dataclass. */
  readonly #events: EntityEvents | undefined;
  /** Whether class code takes part in every save; else only in saves with a value for a setter. */
  readonly #hasEvents: boolean;

  /** @param statements the cache of statements that change entities */
  constructor(
    private readonly dialect: Dialect,
    readonly dataclass: Dataclass,
    statements: Cache<Statement>,
    private readonly surroundings: Surroundings = {},
  ) {
    const { lifecycle } = surroundings;
    this.store = new EntityStore(dialect, dataclass, statements, surroundings);
    this.#lock = lockStatement(dialect, dataclass);
    this.#settable = dataclass.attributes.filter(isSettable).map(({ name }) => name);
    const events = lifecycle?.eventsOf(dataclass.name);
    this.#hasEvents = saveEvents.some((each) => events?.has(each) === true);
    this.#events = this.#hasEvents || this.#settable.length > 0 ? events : undefined;
  }

  get fold(): Fold {
    return this.dialect.foldText;
  }

  get refusals(): Refusals {
    return this.store.refusals;
  }

  /**
   * Reads which entity a body names. An action that the session may not do with any entity of the
   * dataclass is refused before anything else is read.
   * @param mustExist whether it names an entity that exists, whatever its stamp is
   */
  sent(body: Body, mustExist = false): SentEntity {
    const { __KEY: key, __STAMP: stamp = null } = body;
    const denial = this.#denial(stamp === null && !mustExist ? 'create' : 'update');
    const address = denial ?? addressOf(this.dataclass, this.refusals, body);
    const isUnknown = mustExist && !('problems' in address) && address.key === undefined;
    return { body, address: isUnknown ? this.refusals.unknownKey(key) : address };
  }

  /**
   * Reads an entity that has no address before it is looked for.
   * @param by the unique attribute that finds it
   */
  sentToUpsert(body: Body, by: StorageDefinition): SentEntity {
    const { __KEY: key = null } = body;
    const isNamed = key === null && (body[by.name] ?? null) !== null;
    return { body, address: isNamed ? noAddress : this.refusals.notToUpsert(by, key !== null) };
  }

  /**
   * The address of an entity that was looked for by a unique attribute.
   * @param found none if there is no such entity
   */
  upserted(body: Body, found?: FoundEntity): Address | Refusal {
    const denial = this.#denial(found === undefined ? 'create' : 'update');
    if (denial !== undefined) return denial;
    if (found === undefined) return noAddress;
    const address = addressOf(this.dataclass, this.refusals, { ...body, __KEY: found.key });
    return 'problems' in address
      ? address
      : { key: found.key, stamp: address.stamp ?? found.stamp };
  }

  /** Values for entities that are chosen later. */
  sentToChosen(body: Body): SentEntity {
    return { body, address: this.#denial('update') ?? noAddress };
  }

  /** Finds the stamp of an entity, and locks it. */
  async existing(context: SaveContext, key: string | number): Promise<Address | Refusal> {
    const stamp = await this.store.lockedStampOf(context, key);
    return stamp === undefined ? this.refusals.unknownKey(key) : { key, stamp };
  }

  /**
   * Adds to an entity in the list of a to-many relation the entity that has the list.
   * @param relation the other side of that relation
   * @param owner key of the entity that has the list
   */
  related(sent: SentEntity, relation: RelatedEntityDefinition, owner: string | number): SentEntity {
    if ('problems' in sent.address) return sent;
    const target = this.dataclass.target(relation);
    const body = relatedTo(sent.body, relation, owner, target, this.dialect.foldText);
    if (body !== undefined) return { body, address: sent.address };
    return { body: sent.body, address: this.refusals.otherOwner(relation) };
  }

  /**
   * Locks the entities that a list changes, if the database can lock rows: two lists in opposite
   * orders would wait for each other.
   */
  async lock(context: SaveContext, entities: readonly SentEntity[]): Promise<void> {
    if (this.#lock === undefined) return;
    const keys = entities.flatMap(({ address }) => {
      if ('problems' in address || address.stamp === undefined) return [];
      const { key } = address;
      if (typeof key !== 'string' || this.dataclass.key.type !== 'string') return [key];
      // The database's JSON cannot contain such a text, and neither can a key.
      return isWellFormed(key) && !key.includes('\0') ? [this.dialect.foldText(key)] : [];
    });
    if (keys.length > 1) await context.transaction.run(this.#lock, [JSON.stringify(keys)]);
  }

  /** Whether class code takes part in the save of an entity. */
  runsCode(body: Body): boolean {
    return this.#events !== undefined && (this.#hasEvents || this.#isForSetter(body));
  }

  #isForSetter(body: Body): boolean {
    return this.#settable.some((name) => Object.hasOwn(body, name));
  }

  /**
   * Saves one entity of a client, or reports everything that is wrong with it; the transaction
   * continues either way. What events stored is rolled back if the entity is refused.
   */
  async save(context: SaveContext, { body, address, decoded }: SentEntity): Promise<SaveResult> {
    if ('problems' in address) return address;
    const events = this.#events;
    const hasEvents = this.#hasEvents && context.mode !== 'preview';
    if (events !== undefined && (hasEvents || this.#isForSetter(body))) {
      return this.#saveByCode(context, events, body, address);
    }
    if (decoded !== undefined) return this.store.save(context, address, decoded);
    const { relations } = this.store.constraints;
    const referred = await relations.referred(context.transaction, body);
    return this.store.save(context, address, this.#decoded(body, address, referred));
  }

  /**
   * Decodes a body before its save, if that takes no read. The save can then be repeated, and made
   * in several ways, without decoding the body again.
   */
  decode({ body, address }: SentEntity): Decoded | undefined {
    return 'problems' in address || this.store.constraints.relations.mustRefer(body)
      ? undefined
      : this.#decoded(body, address, nothingReferred);
  }

  #decoded(body: Body, { key, stamp }: Address, referred: ReferredValues): Decoded {
    return this.#received(body, stamp === undefined ? undefined : key, referred).checked();
  }

  /** @param key of an existing entity */
  #received(body: Body, key: string | number | undefined, referred: ReferredValues): Received {
    const existing = key === undefined ? undefined : { key, fold: this.dialect.foldText };
    return decodeBody(this.dataclass, body, existing, referred);
  }

  /**
   * Saves an object of class code, which takes over what is stored.
   * @throws whatever an event throws
   */
  async saveLive(context: SaveContext, entity: LiveEntity): Promise<SaveResult> {
    const denial = this.#denial(entity.isNew ? 'create' : 'update');
    if (denial !== undefined) return denial;
    if (!this.#hasEvents || this.#events === undefined) {
      const result = await this.#storeLive(context, entity);
      if (!('problems' in result)) await entity.takeOver(result.key);
      return result;
    }
    const events = this.#events;
    try {
      return await this.#within(context, (own) => this.#steps(own, events, entity));
    } catch (error) {
      throw error instanceof EventFailure ? error.thrown : error;
    }
  }

  #denial(action: 'create' | 'update'): Refusal | undefined {
    return mayDo(this.dataclass, action) ? undefined : this.refusals.denied(action);
  }

  /** Runs class code. A refused entity leaves nothing behind that events stored. */
  #within(
    context: SaveContext,
    save: (context: SaveContext) => Promise<SaveResult>,
  ): Promise<SaveResult> {
    const { lifecycle } = this.surroundings;
    if (lifecycle === undefined) throw new Error('There is no class code.');
    return undoneIfRefused(
      (work) => lifecycle.within(work, context.isAlone),
      (transaction: Transaction) => save({ ...context, transaction }),
    );
  }

  /** Saves the entity of a client's body with its class code. What an event throws is a refusal. */
  async #saveByCode(
    context: SaveContext,
    events: EntityEvents,
    body: Body,
    address: Address,
  ): Promise<SaveResult> {
    let existing: string | number | undefined;
    try {
      return await this.#within(context, async (own) => {
        const entity = await this.#live(own, events, body, address);
        if ('problems' in entity) return entity;
        existing = existingKey(entity);
        return this.#steps(own, events, entity, address);
      });
    } catch (error) {
      if (error instanceof EventFailure) return this.refusals.byFailure(error, existing);
      throw error;
    }
  }

  /**
   * The object of the entity that a client's body names, with the values of the body. What is wrong
   * with them is found before class code gets them.
   */
  async #live(
    context: SaveContext,
    events: EntityEvents,
    body: Body,
    address: Address,
  ): Promise<LiveEntity | Refusal> {
    const { key, stamp } = address;
    const store = this.store;
    const isVisible =
      key !== undefined &&
      (this.dataclass.restriction === undefined ||
        (await store.stampOf(context, key)) !== undefined);
    const found = isVisible ? await events.loadOne(key, context.session) : undefined;
    if (found === undefined && stamp !== undefined) return this.refusals.unknownKey(body['__KEY']);
    if (key !== undefined && found !== undefined && stamp === undefined) {
      // A session that may only create must not have class code run with an existing entity.
      const refusal = await store.outdated(context, key, stamp, found.stamp, found.lock);
      if (refusal !== undefined) return refusal;
    }
    const existing = found === undefined ? undefined : key;
    const referred = await store.constraints.relations.referred(context.transaction, body);
    const received = this.#received(body, existing, referred);
    const given = await store.withoutHidden(context, existing, received);
    const faulty = await store.refusedByValues(context, found, stamp, received, given);
    if (faulty !== undefined) return faulty;
    const computed = received.computed.filter(
      ({ attribute, value }) => found?.hasComputed(attribute, value) !== true,
    );
    const denials = computed.flatMap(({ denial }) => (denial === undefined ? [] : [denial]));
    if (denials.length > 0) return this.refusals.deniedValues(denials, key);
    const entity = found ?? events.create();
    entity.receive(given.values);
    for (const { attribute, value } of computed) entity.assignComputed(attribute, value);
    return entity;
  }

  /**
   * The steps of a save for which a dataclass declares events (`class-code.md#events`).
   * @param address of a client's body; none for an object that class code saves
   */
  async #steps(
    context: SaveContext,
    events: EntityEvents,
    entity: LiveEntity,
    address?: Address,
  ): Promise<SaveResult> {
    const { isNew, old } = entity;
    const { mode } = context;
    const key = existingKey(entity);
    const ask = async (kind: 'validateSave' | 'saving'): Promise<Refusal | undefined> => {
      if (!events.has(kind)) return undefined;
      const { touched } = entity;
      const event = { kind, dataClassName: this.dataclass.name, isNew, touched, old };
      const error = await events.run(entity, event);
      return error && this.refusals.byEvent(kind, error, key);
    };
    const invalid = mode === 'preview' ? undefined : await ask('validateSave');
    if (invalid !== undefined) return invalid;
    if (key !== undefined) {
      // What a client changes was just read, and the save itself compares the stamp again.
      const [stamp, current] =
        address === undefined
          ? [entity.stamp, await this.store.stampOf(context, key)]
          : [address.stamp, entity.stamp];
      const outdated = await this.store.outdated(context, key, stamp, current, entity.lock);
      if (outdated !== undefined) return outdated;
    }
    // If nothing is to be stored, only setters and validateSave run.
    const unsaved = mode === 'store' ? await ask('saving') : undefined;
    if (unsaved !== undefined) return unsaved;
    const { touched } = entity;
    // Nothing of a refused entity is stored when afterSave runs.
    const isAlone = !events.has('afterSave');
    const result = await this.#storeLive({ ...context, isAlone }, entity);
    const isRefused = 'problems' in result;
    if (mode === 'store') {
      const savedAttributes = isRefused ? [] : await entity.takeOver(result.key);
      const isUnchanged = !isRefused && result.outcome === 'unchanged';
      if (events.has('afterSave') && !isUnchanged) {
        await events.run(entity, {
          kind: 'afterSave',
          dataClassName: this.dataclass.name,
          isNew,
          touched,
          old,
          savedAttributes,
          saveStatus: isRefused ? 'failed' : 'success',
        });
      }
    }
    return isRefused ? this.#causedByEvent(result, isNew, address) : result;
  }

  /**
   * The refusal of what class code has set.
   * @throws EventFailure for what a client may not set: its own values were checked before any event
   */
  #causedByEvent(refusal: Refusal, isNew: boolean, address: Address | undefined): Refusal {
    const { problems, status } = refusal;
    const isOfRow = problems.some(({ errCode }) => errCode === errorCodes.rowDenied.code);
    if (address === undefined || isOfRow || !isDenialStatus(status)) return refusal;
    const { name } = this.dataclass;
    const texts = problems.map(({ message }) => message).join(' ');
    const what = `what an event sets in an entity of "${name}" (${texts})`;
    const denial = new PermissionError(isNew ? 'create' : 'update', what, status);
    throw new EventFailure(`An event of ${name}`, denial);
  }

  /** Stores what class code has set in its object. */
  #storeLive(context: SaveContext, entity: LiveEntity): Promise<SaveResult> {
    const { isNew, key, stamp, granted } = entity;
    const address = isNew ? { key: undefined, stamp: undefined } : { key, stamp };
    const existing = isNew || key === undefined ? undefined : { key, fold: this.dialect.foldText };
    const decoded = decodeStored(this.dataclass, entity.changes(), existing, granted).checked();
    return this.store.save(context, address, decoded);
  }
}

function existingKey({ isNew, key }: LiveEntity): string | number | undefined {
  return isNew ? undefined : key;
}
