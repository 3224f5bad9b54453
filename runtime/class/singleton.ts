import type { Session } from '../access/session.js';

/** What a singleton is made with. Its code has no use for it but to hand it on. */
export interface SingletonState {
  readonly datastore: object;
  /** Whose call runs. */
  readonly session: () => Session;
}

/**
 * What the emitted base classes of singletons extend. An instance is made by the first call of one of its functions, and lives
 * as long as its scope says: as the process, or as the session.
 */
export abstract class Singleton<DataStore extends object> {
  readonly #state: SingletonState;

  constructor(state: SingletonState) {
    this.#state = state;
  }

  get ds(): DataStore {
    return this.#state.datastore as DataStore;
  }

  /** Of the call that runs. */
  get session(): Session {
    return this.#state.session();
  }
}
