import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Transaction } from '../dialect/executor.js';
import { isDenialStatus, PermissionError } from '../protocol/errors.js';
import { decodeReceived, addressOf } from '../entity/decode.js';
import type { Body } from '../entity/decoded.js';
import { EventFailure, type LiveEntity } from '../entity/lifecycle.js';
import type { Refusal } from '../entity/refusals.js';
import type { EventedSaving, SaveParts, SaveOptions, SaveResult } from '../entity/surroundings.js';
import type { DataclassEvents, ModelEvents } from './dataclass-events.js';

function hasSaveEvents(events: DataclassEvents): boolean {
  return events.has('validateSave') || events.has('saving') || events.has('afterSave');
}

/** Rolls back to the savepoint of an entity, and carries the refusal. */
class RefusedSave extends Error {
  constructor(readonly refusal: Refusal) {
    super('refused');
  }
}

/**
 * Saves entities of a dataclass whose class code has events for it (`class-code.md#events`):
 * validateSave, the check of locks and stamp, saving, the save itself, afterSave. Everything
 * happens in one savepoint, so that a refused entity leaves nothing behind.
 */
export class EventedSaver implements EventedSaving {
  readonly hasEvents: boolean;
  readonly #dataclass: Dataclass;

  /** @param events of the dataclass; without any, only its setters run */
  constructor(
    private readonly lifecycle: ModelEvents,
    private readonly events: DataclassEvents,
    private readonly parts: SaveParts,
  ) {
    this.hasEvents = hasSaveEvents(events);
    this.#dataclass = parts.dataclass;
  }

  /** @throws whatever an event throws if class code saves; for a client it is a refusal */
  async save(body: Body, options: SaveOptions): Promise<SaveResult> {
    const { refusals } = this.parts;
    let existing: string | number | undefined;
    try {
      return await this.lifecycle.within(async (transaction) => {
        const entity = options.live ?? (await this.#received(transaction, body, options));
        existing = existingKey(entity);
        return await this.#save(transaction, entity, body, options);
      });
    } catch (error) {
      if (error instanceof RefusedSave) return error.refusal;
      if (!(error instanceof EventFailure)) throw error;
      if (options.writer === 'code') throw error.thrown;
      return refusals.byFailure(error, existing);
    }
  }

  async #save(
    transaction: Transaction,
    entity: LiveEntity,
    body: Body,
    options: SaveOptions,
  ): Promise<SaveResult> {
    const { isNew } = entity;
    const { old } = entity;
    if (options.isKept) await this.#ask('validateSave', entity, old);
    await this.#check(transaction, entity, body, options);
    // If nothing is saved, only the setters run, and no events.
    const isSave = options.isValidation !== true && options.isKept;
    if (isSave) await this.#ask('saving', entity, old);
    const { touched } = entity;
    const sent = entity.body();
    const { granted } = entity;
    const result = await this.parts.store(transaction, sent, {
      ...options,
      writer: 'code',
      granted,
    });
    const isRefused = 'problems' in result;
    if (!isSave || (!isRefused && result.outcome === 'unchanged')) {
      if (isRefused) throw this.#refused(result, options, isNew);
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
    if (isRefused) throw this.#refused(result, options, isNew);
    return result;
  }

  /**
   * The client's own values are checked before any event; an event has set what is denied later.
   */
  #refused(refusal: Refusal, { writer }: SaveOptions, isNew: boolean): Error {
    const { problems, status } = refusal;
    if (writer === 'code' || !isDenialStatus(status)) return new RefusedSave(refusal);
    const action = isNew ? 'create' : 'update';
    const denial = new PermissionError(action, setByEvent(this.#dataclass, problems), status);
    return new EventFailure(`An event of ${this.#dataclass.name}`, denial);
  }

  /** The entity that a client's body names, with the values of the body. */
  async #received(transaction: Transaction, body: Body, options: SaveOptions): Promise<LiveEntity> {
    const { refusals, updater, store } = this.parts;
    const { events } = this;
    const address = addressOf(this.#dataclass, refusals, body);
    if ('problems' in address) throw new RefusedSave(address);
    const { key, stamp } = address;
    const isShown =
      key !== undefined &&
      (this.#dataclass.restriction === undefined ||
        (await updater.stampOf(transaction, key)) !== undefined);
    const found = isShown ? (await events.load([key]))[0] : undefined;
    if (found === undefined && stamp !== undefined) {
      throw new RefusedSave(refusals.unknownKey(body['__KEY']));
    }
    const existing =
      found === undefined || key === undefined ? undefined : { key, fold: this.parts.fold };
    const decoded = decodeReceived(this.#dataclass, body, existing);
    const isReadOnlyKept =
      key === undefined || (await updater.changedReadOnly(transaction, key, decoded)).length === 0;
    if (existing !== undefined) {
      await updater.keepHidden(transaction, existing.key, body, decoded.values);
    }
    const isRepeated =
      existing !== undefined &&
      (await updater.repeatsHidden(transaction, existing.key, decoded.values));
    if (decoded.problems.length > 0 || !isReadOnlyKept || isRepeated) {
      // The save without events refuses it, and reports everything that is wrong.
      const result = await store(transaction, body, options);
      if ('problems' in result) throw new RefusedSave(result);
      throw new Error('A body that is wrong was stored.');
    }
    const entity = found ?? events.create();
    const computed = decoded.computed.filter(
      ({ attribute, value }) => !entity.hasComputed(attribute, value),
    );
    const denials = computed.flatMap(({ denial }) => (denial === undefined ? [] : [denial]));
    if (denials.length > 0) throw new RefusedSave(refusals.deniedValues(denials, key));
    entity.receive(decoded.values);
    for (const { attribute, value } of computed) entity.assignComputed(attribute, value);
    return entity;
  }

  /** Checks that the entity is not locked, and unchanged since it was read. */
  async #check(
    transaction: Transaction,
    entity: LiveEntity,
    body: Body,
    options: SaveOptions,
  ): Promise<void> {
    const key = existingKey(entity);
    if (key === undefined) return;
    const { refusals, updater, lockOf } = this.parts;
    const lock = await lockOf(key, options, transaction);
    if (lock !== undefined) throw new RefusedSave(refusals.locked(key, lock));
    const current = await updater.stampOf(transaction, key);
    if (current === undefined) throw new RefusedSave(refusals.unknownKey(key));
    const address = addressOf(this.#dataclass, refusals, body);
    const sent =
      options.live === undefined && 'stamp' in address ? address.stamp : options.live?.stamp;
    if (sent === current) return;
    throw new RefusedSave(refusals.stampChanged(key, sent, current));
  }

  async #ask(
    kind: 'validateSave' | 'saving',
    entity: LiveEntity,
    old: LiveEntity['old'],
  ): Promise<void> {
    const { events } = this;
    const { refusals } = this.parts;
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
