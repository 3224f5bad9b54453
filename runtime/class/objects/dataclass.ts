import type { Session } from '../../access/session.js';
import { decodeKey } from '../../protocol/key.js';
import type { DataclassContext } from './context.js';
import { givenValues } from './entity.js';
import { stateOf } from './entity-state.js';
import { type EntitySelection, queried } from './selection.js';
import { allOf, HeldEntities, ofKeys } from './selection-node.js';
import type { EntityTypes } from './types.js';
import { upserted } from './upsert.js';

/** The parts of a dataclass object; opaque to class code. */
export type DataclassState = DataclassContext;

/** `groupBy()` of the selections of a dataclass. */
type GroupBy<T extends EntityTypes> = T['selection'] extends { readonly groupBy: infer Call }
  ? Call
  : object;

/** A dataclass of class code: `ds.Company` (`class-code.md#reading-and-writing`). */
export abstract class DataclassObject<T extends EntityTypes> {
  readonly #code: DataclassContext;

  /** The server makes one of each dataclass. */
  constructor(state: DataclassState) {
    this.#code = state;
  }

  get ds(): T['ds'] {
    return this.#code.host.datastore;
  }

  get session(): Session {
    return this.#code.host.scopes.current().session;
  }

  /** All entities, as a selection that is read when it is used. */
  all(): T['selection'] {
    return this.#code.select(allOf(this.#code.dataclass));
  }

  /** @returns `null` if no entity has the key; a text is compared without regard to case */
  async get(key: T['key']): Promise<T['entity'] | null> {
    return (await this.#code.load(key)) ?? null;
  }

  /**
   * The entities that match a filter, as a selection that is read when it is used.
   * @param filter in the language of `$filter`: `city = :1 and staff.salary > :2 order by name`
   * @param values of its placeholders
   * @throws RequestError for a wrong filter
   */
  query(filter: string, ...values: readonly unknown[]): T['selection'] {
    const all = allOf(this.#code.dataclass);
    return this.#code.select(queried(this.#code, all, filter, values));
  }

  /** Groups all entities, as `groupBy()` of a selection does. */
  get groupBy(): GroupBy<T> {
    const all = this.all() as EntitySelection<T>;
    return all.groupBy.bind(all) as GroupBy<T>;
  }

  /**
   * A new entity, with the defaults of the model; `save()` stores it.
   * @param values as for `fromObject`
   * @throws AttributeError for what cannot be set
   */
  new(values?: T['values']): T['entity'] {
    const entity = this.#code.create();
    if (values !== undefined) givenValues(stateOf(entity), entity, values);
    return entity;
  }

  /** The entities of some keys, in that order, each once; ignores keys that no entity has. */
  fromKeys(keys: Iterable<T['key']>): T['selection'] {
    const { dataclass } = this.#code;
    const stored = [...keys].flatMap((key) => decodeKey(dataclass.key.type, String(key)) ?? []);
    return this.#code.select(ofKeys(dataclass, stored));
  }

  /**
   * Changes the entity that has the same value of a unique attribute, or creates one; of a list all
   * are saved, or none. It is one transaction, or part of the running one.
   * @param attribute the unique attribute, or the key
   * @param values as for `fromObject`, with a value of that attribute
   * @throws SaveError if an entity is refused, TypeError for an attribute that is not unique
   */
  upsert(attribute: keyof T['values'] & string, values: T['values']): Promise<T['entity']>;
  upsert(
    attribute: keyof T['values'] & string,
    values: readonly T['values'][],
  ): Promise<T['entity'][]>;
  async upsert(
    attribute: keyof T['values'] & string,
    values: T['values'] | readonly T['values'][],
  ): Promise<T['entity'] | T['entity'][]> {
    if (isList(values)) return upserted(this.#code, attribute, values);
    const [entity] = await upserted(this.#code, attribute, [values]);
    return entity as T['entity'];
  }

  /** A list in memory, without entities: `add()` fills it. */
  newSelection(): T['selection'] {
    return this.#code.select(new HeldEntities(this.#code.dataclass));
  }
}

function isList(values: object): values is readonly object[] {
  return Array.isArray(values);
}

/** The argument of a singleton's constructor. Its code only passes it on. */
export interface SingletonState {
  readonly datastore: object;
  /** Whose call runs. */
  readonly session: () => Session;
}

/**
 * The base class of the emitted base classes of singletons. The first call of one of its functions
 * makes the instance, which lives as long as its scope says: as the process, or as the session.
 */
export abstract class Singleton<DataStore extends object> {
  readonly #state: SingletonState;

  constructor(state: SingletonState) {
    this.#state = state;
  }

  get ds(): DataStore {
    return this.#state.datastore as DataStore;
  }

  /** The session of the running call. */
  get session(): Session {
    return this.#state.session();
  }
}
