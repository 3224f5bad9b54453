import type { Session } from '../access/session.js';
import type { SingletonClass } from '../class/registry.js';
import type { SingletonState } from '../class/dataclass.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';

/** Reports sessions that end, each by its ID. */
export type OnSessionEnd = (listener: (session: string) => void) => void;
/** Reports guests who become users, each by the IDs of the ended session and of its successor. */
export type OnSessionMove = (listener: (from: string, to: string) => void) => void;

/** How singletons are made, and how long they live. */
export interface SingletonSurroundings {
  /** Runs a constructor with every privilege, for no session. */
  asServer(make: () => object): object;
  /** The same for the calling session. */
  inSession(make: () => object): object;
  readonly onSessionEnd: OnSessionEnd;
  readonly onSessionMove: OnSessionMove;
}

/** The instances of singletons: made at their first call, and kept as long as their scope says. */
export class Singletons {
  readonly #ofProcess = new Map<string, object>();
  readonly #ofSessions = new Map<string, Map<string, object>>();
  /** The last call of each `process` singleton, for which the next one waits. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(
    private readonly classes: Readonly<Record<string, SingletonClass>>,
    private readonly state: SingletonState,
    private readonly surroundings: SingletonSurroundings,
  ) {
    surroundings.onSessionEnd((session) => this.#ofSessions.delete(session));
    surroundings.onSessionMove((from, to) => {
      const moved = this.#ofSessions.get(from);
      if (moved === undefined) return;
      this.#ofSessions.delete(from);
      this.#ofSessions.set(to, moved);
    });
  }

  /**
   * Runs `work` with an instance. Calls of a `process` singleton run one after the other; those of
   * others run concurrently.
   * @throws Error for a name that no singleton has, and what the instance's constructor throws: the
   * next call tries again
   */
  async run<T>(
    name: string,
    session: Session,
    work: (instance: object) => T | Promise<T>,
  ): Promise<T> {
    const found = Object.hasOwn(this.classes, name) ? this.classes[name] : undefined;
    if (found === undefined) throw new Error(`There is no singleton ${name}.`);
    if (found.scope === 'session') {
      return work(this.#instance(this.#ofSession(session.keep()), name, found));
    }
    if (found.scope === 'shared') return work(this.#instance(this.#ofProcess, name, found));
    return this.#inTurn(name, () => work(this.#instance(this.#ofProcess, name, found)));
  }

  #ofSession(id: string): Map<string, object> {
    return getOrInsertComputed(this.#ofSessions, id, () => new Map<string, object>());
  }

  /** Constructors are synchronous, so two first calls cannot both make one. */
  #instance(
    instances: Map<string, object>,
    name: string,
    { singleton, scope }: SingletonClass,
  ): object {
    const make = (): object => new singleton(...([this.state] as never));
    const { surroundings } = this;
    return getOrInsertComputed(instances, name, () =>
      scope === 'session' ? surroundings.inSession(make) : surroundings.asServer(make),
    );
  }

  #inTurn<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const before = this.#turns.get(name) ?? Promise.resolve();
    const result = before.then(work);
    const turn = result.catch(() => undefined);
    this.#turns.set(name, turn);
    return result;
  }
}
