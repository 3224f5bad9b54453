import type { RequestScopes } from '../../access/request-scope.js';
import type { StateDatabase } from '../../dialect/state-database.js';
import type { Turns } from './turns.js';

/** @param signal aborts if the lock is lost: others may begin then */
export type ExclusiveWork<R> = (signal: AbortSignal) => R | Promise<R>;

/**
 * Runs work of class code of which one at a time runs in all servers: this process lets its own take
 * turns, and the first of them asks the database.
 */
export class ExclusiveWorks {
  /** @param state none if this process is the only server */
  constructor(
    private readonly scopes: RequestScopes,
    private readonly state: StateDatabase | undefined,
    private readonly turns: Turns,
  ) {}

  /** @returns `undefined` if others run such work, and this one does not wait */
  run<R>(name: string, work: ExclusiveWork<R>, isWaiting: boolean): Promise<R | undefined> {
    const { transaction, exclusive } = this.scopes.current();
    if (transaction !== undefined) {
      throw new Error(
        'ds.exclusive is not available inside a transaction, which would stay open while it waits: begin the transaction inside the work.',
      );
    }
    if (exclusive?.has(name) === true) {
      throw new Error(`The work ${JSON.stringify(name)} of ds.exclusive would wait for itself.`);
    }
    if (this.turns.isTaken(name) && !isWaiting) return Promise.resolve(undefined);
    const names = new Set([...(exclusive ?? []), name]);
    return this.turns.run(name, () =>
      this.#taken(name, isWaiting, (signal) =>
        this.scopes.with({ exclusive: names }, () => work(signal)),
      ),
    );
  }

  async #taken<R>(
    name: string,
    isWaiting: boolean,
    work: ExclusiveWork<R>,
  ): Promise<R | undefined> {
    const lost = new AbortController();
    if (this.state === undefined) return work(lost.signal);
    const release = await this.state.take(name, isWaiting, (error) => {
      lost.abort(error);
    });
    if (release === undefined) return undefined;
    try {
      return await work(lost.signal);
    } finally {
      await release();
    }
  }
}
