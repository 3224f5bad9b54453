import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Transaction } from '../dialect/executor.js';
import { errorCodes, isDenialStatus, PermissionError } from '../protocol/errors.js';
import { decodeBody, type Decoded } from './decode.js';
import { EventFailure, type LiveEntity } from './lifecycle.js';
import type { Refusal } from './refusals.js';
import type { EntitySaver } from './save.js';
import type {
  AddressedBody,
  EventedSaving,
  EntitySaveOptions,
  SaveResult,
} from './surroundings.js';
import type { ClassLifecycle, DataclassEvents } from '../class/hooks/events.js';

const saveEvents = ['init', 'validateSave', 'saving', 'afterSave'] as const;

function hasSaveEvents(events: DataclassEvents): boolean {
  return saveEvents.some((each) => events.has(each));
}

/** Ends the save of an entity, whose changes are rolled back. */
class RefusedSave extends Error {
  constructor(readonly refusal: Refusal) {
    super('refused');
  }
}

/**
 * The steps of a save for which a dataclass declares events (`class-code.md#events`): validateSave,
 * the check of locks and stamp, saving, the save itself, afterSave. A refused entity leaves nothing
 * behind: an entity of a list has a savepoint, else the caller rolls back.
 */
export class EventedSaver implements EventedSaving {
  readonly hasEvents: boolean;
  readonly #dataclass: Dataclass;

  /** @param events of the dataclass; without any, only its setters run */
  constructor(
    private readonly lifecycle: ClassLifecycle,
    private readonly events: DataclassEvents,
    private readonly saver: EntitySaver,
  ) {
    this.hasEvents = hasSaveEvents(events);
    this.#dataclass = saver.dataclass;
  }

  async saveBody(sent: AddressedBody, options: EntitySaveOptions): Promise<SaveResult> {
    let existing: string | number | undefined;
    try {
      return await this.lifecycle.within(async (transaction) => {
        const entity = await this.#received(transaction, sent, options);
        existing = existingKey(entity);
        return this.#save(transaction, entity, options, sent);
      }, options.isAlone);
    } catch (error) {
      if (error instanceof RefusedSave) return error.refusal;
      if (error instanceof EventFailure) return this.saver.refusals.byFailure(error, existing);
      throw error;
    }
  }

  async saveLive(entity: LiveEntity, options: EntitySaveOptions): Promise<SaveResult> {
    try {
      return await this.lifecycle.within(
        (transaction) => this.#save(transaction, entity, options),
        options.isAlone,
      );
    } catch (error) {
      if (error instanceof RefusedSave) return error.refusal;
      throw error instanceof EventFailure ? error.thrown : error;
    }
  }

  /** @param sent by a client; none for an object that class code saves */
  async #save(
    transaction: Transaction,
    entity: LiveEntity,
    options: EntitySaveOptions,
    sent?: AddressedBody,
  ): Promise<SaveResult> {
    const { isNew, old } = entity;
    const { mode } = options;
    if (mode !== 'preview') await this.#ask('validateSave', entity, old);
    await this.#check(transaction, entity, options, sent);
    // If nothing is saved, only the setters run, and no events.
    const isSave = mode === 'store';
    if (isSave) await this.#ask('saving', entity, old);
    const { touched } = entity;
    const result = await this.saver.storeLive(transaction, entity, {
      ...options,
      // Nothing of a refused entity is stored when afterSave runs.
      isAlone: !this.events.has('afterSave'),
    });
    const isRefused = 'problems' in result;
    if (!isSave || (!isRefused && result.outcome === 'unchanged')) {
      if (isRefused) throw this.#refused(result, sent, isNew);
      if (isSave) await entity.takeOver(result.key);
      return result;
    }
    const savedAttributes = isRefused ? [] : await entity.takeOver(result.key);
    if (this.events.has('afterSave')) {
      await this.events.run(entity, {
        kind: 'afterSave',
        dataClassName: this.#dataclass.name,
        isNew,
        touched,
        old,
        savedAttributes,
        saveStatus: isRefused ? 'failed' : 'success',
      });
    }
    if (isRefused) throw this.#refused(result, sent, isNew);
    return result;
  }

  /**
   * The client's own values are checked before any event; an event has set what is denied later.
   */
  #refused(refusal: Refusal, sent: AddressedBody | undefined, isNew: boolean): Error {
    const { problems, status } = refusal;
    const isOfRow = problems.some(({ errCode }) => errCode === errorCodes.rowDenied.code);
    if (sent === undefined || isOfRow || !isDenialStatus(status)) return new RefusedSave(refusal);
    const action = isNew ? 'create' : 'update';
    const denial = new PermissionError(action, setByEvent(this.#dataclass, problems), status);
    return new EventFailure(`An event of ${this.#dataclass.name}`, denial);
  }

  /** The entity that a client's body names, with the values of the body. */
  async #received(
    transaction: Transaction,
    sent: AddressedBody,
    options: EntitySaveOptions,
  ): Promise<LiveEntity> {
    const { body, address } = sent;
    const { refusals, updater } = this.saver;
    const { events } = this;
    const { key, stamp } = address;
    const isShown =
      key !== undefined &&
      (this.#dataclass.restriction === undefined ||
        (await updater.stampOf(transaction, key)) !== undefined);
    const found = isShown ? (await events.load([key]))[0] : undefined;
    if (found === undefined && stamp !== undefined) {
      throw new RefusedSave(refusals.unknownKey(body['__KEY']));
    }
    // Whoever may only create must not have class code run with an existing entity.
    if (found !== undefined && stamp === undefined) {
      await this.#check(transaction, found, options, sent);
    }
    const existing =
      found === undefined || key === undefined ? undefined : { key, fold: this.saver.fold };
    const referred = await this.saver.referred(transaction, body);
    const received = decodeBody(this.#dataclass, body, existing, referred);
    if (await this.#isFaulty(transaction, key, existing !== undefined, received)) {
      // The save without events refuses it, and reports everything that is wrong.
      const result = await this.saver.store(transaction, address, received.checked(), options);
      if ('problems' in result) throw new RefusedSave(result);
      throw new Error('A body that is wrong was stored.');
    }
    const computed = received.computed.filter(
      ({ attribute, value }) => found?.hasComputed(attribute, value) !== true,
    );
    const denials = computed.flatMap(({ denial }) => (denial === undefined ? [] : [denial]));
    if (denials.length > 0) throw new RefusedSave(refusals.deniedValues(denials, key));
    const entity = found ?? events.create();
    entity.receive(received.values);
    for (const { attribute, value } of computed) entity.assignComputed(attribute, value);
    return entity;
  }

  /** Whether no event has to run to know that the body cannot be saved. */
  async #isFaulty(
    transaction: Transaction,
    key: string | number | undefined,
    exists: boolean,
    received: Decoded,
  ): Promise<boolean> {
    const { updater } = this.saver;
    const isWrong = received.problems.length + received.unrelated.length > 0;
    if (key === undefined || !exists) return isWrong;
    const kept = await updater.changedReadOnly(transaction, key, received);
    await updater.keepHidden(transaction, key, received);
    const isRepeated = await updater.repeatsHidden(transaction, key, received.values);
    return isWrong || kept.length > 0 || isRepeated;
  }

  /** Checks that the entity is not locked, and unchanged since it was read. */
  async #check(
    transaction: Transaction,
    entity: LiveEntity,
    options: EntitySaveOptions,
    sent: AddressedBody | undefined,
  ): Promise<void> {
    const key = existingKey(entity);
    if (key === undefined) return;
    const { refusals, updater } = this.saver;
    const lock = await this.saver.lockOf(key, options, transaction);
    if (lock !== undefined) throw new RefusedSave(refusals.locked(key, lock));
    // What a client changes was just read, and the save itself compares the stamp again.
    const current = sent === undefined ? await updater.stampOf(transaction, key) : entity.stamp;
    if (current === undefined) throw new RefusedSave(refusals.unknownKey(key));
    const stamp = sent === undefined ? entity.stamp : sent.address.stamp;
    if (stamp !== current) throw new RefusedSave(refusals.stampChanged(key, stamp, current));
  }

  async #ask(
    kind: 'validateSave' | 'saving',
    entity: LiveEntity,
    old: LiveEntity['old'],
  ): Promise<void> {
    const { events } = this;
    const { refusals } = this.saver;
    if (!events.has(kind)) return;
    const { isNew, touched } = entity;
    const dataClassName = this.#dataclass.name;
    const error = await events.run(entity, { kind, dataClassName, isNew, touched, old });
    if (error === undefined) return;
    throw new RefusedSave(refusals.byEvent(kind, error, existingKey(entity)));
  }
}

function setByEvent({ name }: Dataclass, problems: Refusal['problems']): string {
  return `what an event sets in an entity of "${name}" (${problems.map((each) => each.message).join(' ')})`;
}

function existingKey({ isNew, key }: LiveEntity): string | number | undefined {
  return isNew ? undefined : key;
}
