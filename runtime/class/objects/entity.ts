import { inspect, type InspectOptions } from 'node:util';
import type { Session } from '../../access/session.js';
import type { EntityObject, EntityTypes } from './types.js';
import { leadsToMany } from '../../dataclass/attribute-path.js';
import { memberName } from '../../protocol/definition.js';
import { setMember } from '../../protocol/own-member.js';
import { holderOfSession } from '../../access/locks.js';
import { requireReadInCode } from '../../dataclass/permissions.js';
import { Refusals } from '../../write/refusals.js';
import { waitForWriters } from '../../write/statements.js';
import { type EntityState, EntityHolder, stateOf } from './entity-state.js';
import { AttributeError, SaveError } from './failure.js';
import { setMedia } from './media-handle.js';
import { setRelated } from './related-entity.js';

/**
 * An entity of class code (`class-code.md#reading-and-writing`). The emitted base class of its
 * dataclass declares the attributes: values are typed properties; a to-one relation is a {@link
 * RelatedEntity}, an image or BLOB a {@link Media}; a to-many relation is a selection.
 *
 * Code reads and writes what its session may, or more if it is promoted. A property that it may not
 * read throws a RestError (401 or 403 with 1556), unless its value was set and is not saved yet.
 *
 * Dataclasses make entities: `ds.Company.new()`. An object holds what was read, and what was set
 * since: two objects of one entity are independent, and if both are saved, the first one wins.
 */
export abstract class Entity<T extends EntityTypes> extends EntityHolder implements EntityObject {
  get ds(): T['ds'] {
    return stateOf(this).code.host.datastore;
  }

  get session(): Session {
    return stateOf(this).code.host.scopes.current().session;
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
   * Whether the value of an attribute differs from the one that was read; without a name, whether
   * any does. Images and BLOBs count from when they are set, whatever the bytes.
   * @throws AttributeError for a name that is no attribute with a value, and no to-one relation
   */
  touched(attribute?: keyof T['values'] & string): boolean {
    const state = stateOf(this);
    if (attribute === undefined) return state.touched.length > 0;
    return state.isTouched(state.code.layout.named(attribute));
  }

  /**
   * Creates the entity, or stores what was changed since it was read; without a change it does
   * nothing. It is one transaction, or part of the running one, and the object gets the values of
   * the database.
   * @throws SaveError if it is refused; nothing is stored then, and the object stays as it is
   */
  save(): Promise<void> {
    return stateOf(this).code.visible().writing.save(this);
  }

  /**
   * Deletes the entity, and applies the model's `onDelete` to those that refer to it.
   * @throws SaveError if it is refused, was changed since it was read, or does not exist
   */
  drop(): Promise<void> {
    return stateOf(this).code.visible().writing.drop(this);
  }

  /**
   * Reads the entity again; what was set and not saved is lost.
   * @throws SaveError if it no longer exists
   */
  async reload(): Promise<void> {
    const state = stateOf(this);
    const { code } = state;
    const key = keyAsRead(state);
    const refusals = new Refusals(code.dataclass);
    if (key === null) throw new SaveError(refusals.notSaved('reloaded'));
    const row = await code.readableRows().byKey(key);
    if (row === undefined) throw new SaveError(refusals.unknownKey(key));
    state.reload(row);
  }

  /**
   * Keeps other sessions from changing or deleting the entity, until this session ends or unlocks
   * it. A lock that is taken in a transaction is released if the transaction is rolled back.
   * @returns `false` if another session has locked it
   * @throws Error for an entity that is not saved
   */
  async lock(): Promise<boolean> {
    const state = stateOf(this);
    const { host, dataclass } = state.code;
    const { locks } = host;
    const key = storedKey(state, 'locked');
    requireReadInCode(state.code.visible().dataclass);
    const { transaction: scope, session } = host.scopes.current();
    const holder = holderOfSession(session);
    const { name } = dataclass;
    const isHeld = (await locks.holderOf(name, key)) !== undefined;
    if ((await locks.lock(name, key, holder)) !== true) return false;
    if (isHeld) return true;
    // A lock that cannot be released ends with its session.
    const release = (): Promise<unknown> =>
      locks.unlock(name, key, holder.session).catch(() => undefined);
    // The entity may not exist after a rollback, and another one may get its key.
    scope?.onOutcome((isKept) => {
      if (!isKept) void release();
    });
    try {
      const { dialect } = host.model.database;
      await host.write(async ({ transaction }) =>
        waitForWriters(transaction, dialect, dataclass, key),
      );
      return true;
    } catch (error) {
      await release();
      throw error;
    }
  }

  /** @returns `false` if another session has locked it */
  async unlock(): Promise<boolean> {
    const state = stateOf(this);
    const { host, dataclass } = state.code;
    const key = storedKey(state, 'unlocked');
    const { id } = host.scopes.current().session;
    return (await host.locks.unlock(dataclass.name, key, id)) === true;
  }

  /**
   * The values of all attributes that the code may read; a to-one relation is its key. Images,
   * BLOBs and to-many relations are left out.
   */
  toObject(): T['object'] {
    return plainObject(stateOf(this), this);
  }

  /**
   * Sets several attributes: values as for their properties, a key, an entity or null for a to-one
   * relation, bytes or null for an image or BLOB. `undefined` is ignored.
   * @throws AttributeError for what cannot be set; the attributes before it are set then
   */
  fromObject(values: T['values']): this {
    givenValues(stateOf(this), this, values);
    return this;
  }

  /** What a log shows of it: the values of the row; no code of the user runs. */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    const state = stateOf(this);
    const shown = state.code.layout.fields
      .filter((field) => !field.isMedia && state.isReadableField(field))
      .map((field) => [memberName(field.attribute), state.typed(field)] as const);
    return `${this.constructor.name} ${inspect(Object.fromEntries(shown), options)}`;
  }
}

function storedKey(state: EntityState, done: string): string | number {
  const key = keyAsRead(state);
  if (key !== null) return key;
  throw new Error(`An entity of ${state.code.dataclass.name} that is not saved cannot be ${done}.`);
}

function keyAsRead(state: EntityState): string | number | null {
  return state.isNew ? null : state.read(state.code.layout.key);
}

type PlainObject = Readonly<Record<string, unknown>>;

/** The attributes of an entity as a plain object (see `Entity.toObject`). */
function plainObject(state: EntityState, entity: object): PlainObject {
  const { dataclass, layout } = state.code;
  const members: Record<string, unknown> = {};
  for (const attribute of dataclass.attributes) {
    const { kind, name } = attribute;
    const member = memberName(attribute);
    if (kind === 'computed') {
      if (state.isReadable(name)) setMember(members, member, (entity as PlainObject)[member]);
    } else if (attribute.kind === 'relatedEntity') {
      if (!state.isReadable(name)) continue;
      setMember(members, member, state.typed(layout.field(attribute.foreignKey)));
    } else if (!leadsToMany(attribute)) {
      const field = layout.field(name);
      if (field.isMedia || !state.isReadableField(field)) continue;
      setMember(members, member, state.typed(field));
    }
  }
  return members;
}

/** Sets attributes from an object (see `Entity.fromObject`). */
export function givenValues(state: EntityState, entity: object, values: object): void {
  for (const [name, value] of Object.entries(values as PlainObject)) {
    if (value === undefined) continue;
    checkOnlyName(state, values, name);
    give(state, entity, name, value);
  }
}

/** The name for clients is accepted, too, but not beside the one for class code. */
function checkOnlyName(state: EntityState, values: object, name: string): void {
  const { dataclass } = state.code;
  const member = dataclass.attributesInCode.get(name)?.member;
  if (member === undefined || member === name) return;
  if ((values as PlainObject)[member] === undefined) return;
  throw new AttributeError(dataclass.name, member, `is given twice, as ${name} too`);
}

function give(state: EntityState, entity: object, name: string, value: unknown): void {
  const { dataclass, layout } = state.code;
  const attribute = dataclass.attributesInCode.get(name);
  if (attribute?.kind === 'relatedEntity') {
    setRelated(state, attribute, value);
  } else if (attribute?.kind === 'relationAlias') {
    throw new AttributeError(dataclass.name, name, 'is an alias, so it cannot be set');
  } else if (attribute?.kind === 'relatedEntities') {
    const predicate = 'is a relation to many: set the relation of each of them';
    throw new AttributeError(dataclass.name, name, predicate);
  } else if (attribute?.kind === 'computed') {
    if (!attribute.accessors.includes('set')) {
      throw new AttributeError(dataclass.name, name, 'is computed, so it cannot be set');
    }
    (entity as Record<string, unknown>)[memberName(attribute)] = value;
  } else {
    const field = layout.named(name);
    if (field.isMedia) setMedia(state, field, value);
    else state.set(field, value);
  }
}
