import type { Kysely } from 'kysely';
import type { Session } from '../access/session.js';
import type { WorkAfterCommit } from './after-commit.js';
import type { ClassHost } from './class-host.js';
import { datastoreKysely } from './datastore-kysely.js';

/** What the datastore is made by; opaque to class code. */
export type DatastoreState = ClassHost;

/**
 * The datastore of class code (architecture, "What class code looks like"): the emitted base class declares the dataclasses.
 * @typeParam Database the emitted types of the tables
 */
export abstract class Datastore<Database = unknown> {
  readonly #host: ClassHost;
  #kysely: Kysely<Database> | undefined;

  /** There is one in a server, which makes it. */
  constructor(state: DatastoreState) {
    this.#host = state;
  }

  /** As in the classes of dataclasses. */
  get ds(): this {
    return this;
  }

  get session(): Session {
    return this.#host.calls.current().session;
  }

  /**
   * The database itself: typed queries, that take part in the transaction that runs. Outside of one, a query that reads sees
   * what is committed, and one that changes something is a transaction. It knows tables and columns: no rule of the model, no
   * event and no stamp is kept by it, and no privilege limits it.
   */
  get kysely(): Kysely<Database> {
    this.#kysely ??= datastoreKysely<Database>(this.#host);
    return this.#kysely;
  }

  /**
   * Runs work in a transaction: all that its code stores, here and in what it calls, is stored when it ends, or nothing of it
   * when it throws. Inside another one it is a part of that, and is undone alone when it throws. No other request sees what is
   * not stored yet, or takes part.
   */
  transaction<R>(work: () => Promise<R>): Promise<R> {
    return this.#host.write(() => work());
  }

  /**
   * Runs work when the outermost transaction that this code is part of is stored, and never when what the code did is undone;
   * outside of any, at once. It runs behind the answer, outside of the transaction, with the session of this code. Works of one
   * transaction run one after the other, in order. What one throws is logged, and changes nothing.
   * @throws TransactionEndedError when the transaction of this code is over
   */
  afterCommit(work: WorkAfterCommit): void {
    this.#host.afterCommit.run(work);
  }
}
