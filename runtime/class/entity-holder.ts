import type { EntityState } from './entity-state.js';

let stateWithin: (holder: object) => EntityState | undefined;

/** Holds what an entity object is made of, where nothing that lists its properties finds it. */
export abstract class EntityHolder {
  readonly #state: EntityState;

  static {
    stateWithin = (holder) => (#state in holder ? holder.#state : undefined);
  }

  constructor(state: EntityState) {
    this.#state = state;
  }
}

/** What an entity object holds; `undefined` for an object that is none. */
export function findState(object: object): EntityState | undefined {
  return stateWithin(object);
}

/** What an entity object holds. */
export function stateOf(entity: object): EntityState {
  const state = stateWithin(entity);
  if (state === undefined) throw new TypeError('This is no entity.');
  return state;
}
