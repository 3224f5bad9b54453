import { inspect, type InspectOptions } from 'node:util';
import type { Session } from '../access/session.js';
import { givenValues, plainObject } from './entity-object.js';
import { isReadableField } from './readable.js';
import type { EntityObject, EntityTypes } from './types.js';
import { holderOfSession } from '../access/locks.js';
import { requireReadInCode } from '../dataclass/permissions.js';
import { Refusals } from '../entity/refusals.js';
import { type EntityState, EntityHolder, stateOf } from './entity-state.js';
import { SaveError } from './failure.js';

/**
 * An entity of class code (`class-code.md#reading-and-writing`). The emitted base class of its dataclass declares the
 * attributes: values are typed properties; a to-one relation is a {@link RelatedEntity}, an image or BLOB a {@link Media}; a
 * to-many relation is a selection.
 *
 * Code reads and writes what the session may that it runs for, or more where it is promoted. A property that it may not read
 * throws a RestError (401 or 403 with 1556), unless its value was set and is not saved yet.
 *
 * Entities are made by their dataclass: `ds.Company.new()`. An object is what was read, and what was set since: two of one entity know nothing of each other, and of two that are saved
 * the first one wins.
 */
export abstract class Entity<T extends EntityTypes> extends EntityHolder implements EntityObject {
  get ds(): T['ds'] {
    return stateOf(this).code.host.datastore;
  }

  get session(): Session {
    return stateOf(this).code.host.calls.current().session;
  }

  /** `null` for a new entity whose key is not set. */
  get key(): T['key'] | null {
    return stateOf(this).key;
  }

  /** Rises with each save; 0 for an entity that is not saved yet. */
  get stamp(): number {
    return stateOf(this).stamp;
  }

  /** Whether it was never saved. */
  get isNew(): boolean {
    return stateOf(this).isNew;
  }

  /**
   * Whether an attribute has another value than it was read with; without a name, whether any has. Images and BLOBs count from
   * when they are set, whatever the bytes.
   * @throws AttributeError for a name that is no attribute with a value, and no to-one relation
   */
  touched(attribute?: keyof T['values'] & string): boolean {
    const state = stateOf(this);
    if (attribute === undefined) return state.touched.length > 0;
    return state.isTouched(state.code.layout.named(attribute));
  }

  /**
   * Creates the entity, or stores what was changed since it was read; nothing where nothing was. It is one transaction, or part
   * of the one that runs, and the object has what the database made of it.
   * @throws SaveError when it is refused; nothing is stored then, and the object stays as it is
   */
  save(): Promise<void> {
    return stateOf(this).code.seen().writing.save(this);
  }

  /**
   * Deletes the entity, with what the model's `onDelete` says of those that refer to it.
   * @throws SaveError when it is refused, was changed since it was read, or does not exist
   */
  drop(): Promise<void> {
    return stateOf(this).code.seen().writing.drop(this);
  }

  /**
   * Reads the entity anew; what was set and not saved is gone.
   * @throws SaveError when it does not exist any more
   */
  reload(): Promise<void> {
    return reloadEntity(stateOf(this));
  }

  /**
   * Keeps other sessions from changing or deleting the entity, until this session ends or unlocks it. A lock that is taken in a
   * transaction ends with it when that is undone.
   * @returns `false` when another session has locked it
   * @throws Error for an entity that is not saved
   */
  lock(): Promise<boolean> {
    return lockEntity(stateOf(this));
  }

  /** @returns `false` when another session has locked it */
  unlock(): Promise<boolean> {
    return unlockEntity(stateOf(this));
  }

  /** The values of all attributes that the code may read; a to-one relation is the key that it leads to. Images, BLOBs and to-many relations are left out. */
  toObject(): T['object'] {
    return plainObject(stateOf(this), this);
  }

  /**
   * Sets several attributes: values as their properties take them, a key, an entity or null for a to-one relation, bytes or null
   * for an image or BLOB. What is `undefined` is passed over.
   * @throws AttributeError for what cannot be set; those before it are set then
   */
  fromObject(values: T['values']): this {
    givenValues(stateOf(this), this, values);
    return this;
  }

  /** What a log shows of it: the values that the row holds; no code of the user runs. */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    const state = stateOf(this);
    const shown = state.code.layout.fields
      .filter((field) => !field.isMedia && isReadableField(state, field))
      .map((field) => [field.attribute.name, state.get(field)] as const);
    return `${this.constructor.name} ${inspect(Object.fromEntries(shown), options)}`;
  }
}

/** @throws SaveError when the entity does not exist any more, or is not saved */
async function reloadEntity(state: EntityState): Promise<void> {
  const { code } = state;
  const key = keyAsRead(state);
  if (key === null) throw new SaveError(new Refusals(code.dataclass).notSaved('reloaded'));
  const row = await code.entities.readRow(key);
  if (row === undefined) throw new SaveError(new Refusals(code.dataclass).unknownKey(key));
  state.reload(row);
}

// Locks may be kept by a database one day, so that both are asynchronous.
function lockEntity(state: EntityState): Promise<boolean> {
  return later(() => {
    const { host, dataclass } = state.code;
    const key = storedKey(state, 'locked');
    requireReadInCode(state.code.seen().dataclass);
    const { scope, session } = host.calls.current();
    const holder = holderOfSession(session);
    const isHeld = host.locks.holderOf(dataclass.name, key) !== undefined;
    if (host.locks.lock(dataclass.name, key, holder) !== true) return false;
    // What the transaction made is gone then, and another entity may get its key.
    if (!isHeld) {
      scope?.whenSettled((isKept) => {
        if (!isKept) host.locks.unlock(dataclass.name, key, holder.session);
      });
    }
    return true;
  });
}

function unlockEntity(state: EntityState): Promise<boolean> {
  return later(() => {
    const { host, dataclass } = state.code;
    const key = storedKey(state, 'unlocked');
    return host.locks.unlock(dataclass.name, key, host.calls.current().session.id) === true;
  });
}

/** What work throws rejects the promise. */
function later<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => {
    resolve(work());
  });
}

function storedKey(state: EntityState, done: string): string | number {
  const key = keyAsRead(state);
  if (key !== null) return key;
  throw new Error(`An entity of ${state.code.dataclass.name} that is not saved cannot be ${done}.`);
}

function keyAsRead(state: EntityState): string | number | null {
  return state.isNew ? null : state.read(state.code.layout.key);
}
