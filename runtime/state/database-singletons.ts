import { setTimeout } from 'node:timers/promises';
import type { StateDatabase } from '../dialect/state-database.js';
import { newUuid } from '../protocol/uuid.js';
import { sessionEnded } from './database-lock-table.js';

/** The fields of `session` singletons, where several servers have them. */
export interface SingletonFields {
  /**
   * Waits until no server runs a call of the singleton for the session.
   * @throws RequestError if the session has ended
   */
  begin(session: string, name: string): Promise<SingletonTurn>;
}

export interface SingletonTurn {
  /** The fields as JSON; `undefined` before the first call. */
  readonly text: string | undefined;
  /** @param text the fields after the call; `undefined` if they stay as they were */
  readonly end: (text: string | undefined) => Promise<void>;
}

/** How long a server that does not respond keeps its turns, in milliseconds. */
const leaseMilliseconds = 20_000;
/** How often a call asks for its turn, at first and later. */
const shortestWait = 5;
const longestWait = 200;

/**
 * The fields of `session` singletons as JSON, one row for each singleton of a session. A call that
 * takes the row has its turn until it ends. A server renews its turns with each tick, so that the
 * turns of a dead server end.
 */
export class DatabaseSingletons implements SingletonFields {
  readonly #take: string;
  readonly #renew: string;
  /** The turns of this server, with the time at which each ends, by the clock of this process. */
  readonly #held = new Map<string, number>();

  /** @param stored makes sure that a row can refer to a session */
  constructor(
    private readonly state: StateDatabase,
    private readonly stored: (session: string) => Promise<void>,
  ) {
    const { now } = state;
    const until = `${now} + ${leaseMilliseconds}`;
    this.#take = `insert into drs_state.singleton (session, name, holder, until)
      select id, cast($2 as text), cast($3 as text), ${until} from drs_state.session where id = $1
      on conflict (session, name) do update set holder = excluded.holder, until = excluded.until
        where drs_state.singleton.holder is null or drs_state.singleton.until <= ${now}`;
    this.#renew = `update drs_state.singleton set until = ${until} where holder = $1`;
  }

  async begin(session: string, name: string): Promise<SingletonTurn> {
    await this.stored(session);
    const holder = newUuid();
    for (let wait = shortestWait; ; wait = Math.min(wait * 2, longestWait)) {
      const start = performance.now();
      const [row] = await this.state.run(
        [this.#take, session, name, holder],
        [
          'select holder, value from drs_state.singleton where session = $1 and name = $2',
          session,
          name,
        ],
      );
      if (row === undefined) throw sessionEnded();
      const [by, value] = row as readonly [string | null, string | null];
      if (by === holder) {
        this.#held.set(holder, start + leaseMilliseconds);
        return { text: value ?? undefined, end: (text) => this.#end(holder, name, text) };
      }
      await setTimeout(wait);
    }
  }

  async #end(holder: string, name: string, text: string | undefined): Promise<void> {
    const holds = this.#held.get(holder) ?? 0;
    this.#held.delete(holder);
    const kept = 'coalesce(cast($2 as text), value)';
    const [row] = await this.state.run([
      `update drs_state.singleton set holder = null, value = ${kept} where holder = $1 returning session`,
      holder,
      text ?? null,
    ]);
    // The row of a session that has ended is gone.
    if (row !== undefined || performance.now() < holds) return;
    throw new Error(
      `A call of the singleton ${name} is lost: this process did not respond for ${leaseMilliseconds / 1000} s, and another server has taken its turn.`,
    );
  }

  async tick(): Promise<void> {
    for (const holder of this.#held.keys()) {
      const start = performance.now();
      await this.state.run([this.#renew, holder]);
      if (this.#held.has(holder)) this.#held.set(holder, start + leaseMilliseconds);
    }
  }
}
