import {
  Kysely,
  type CompiledQuery,
  type DatabaseConnection,
  DummyDriver,
  type QueryResult,
} from 'kysely';
import type { Session } from '../../access/session.js';
import type { AfterCommit, WorkAfterCommit } from './after-commit.js';
import type { ClassContext } from './context.js';
import type { ExclusiveWork, ExclusiveWorks } from './exclusive.js';
import type { Table } from '../../dialect/executor.js';
import type { SqlValue, Statement } from '../../dialect/statement.js';
import { setMember } from '../../protocol/own-member.js';

/** The parts of the datastore; opaque to class code. */
export interface DatastoreState extends ClassContext {
  readonly afterCommit: AfterCommit;
  readonly exclusive: ExclusiveWorks;
}

/**
 * The datastore of class code (`class-code.md#reading-and-writing`). The emitted base class
 * declares the dataclasses.
 * @typeParam Database the emitted types of the tables
 */
export abstract class Datastore<Database = unknown> {
  readonly #host: DatastoreState;
  #kysely: Kysely<Database> | undefined;

  /** The server makes one. */
  constructor(state: DatastoreState) {
    this.#host = state;
  }

  /** As in the classes of dataclasses. */
  get ds(): this {
    return this;
  }

  get session(): Session {
    return this.#host.scopes.current().session;
  }

  /**
   * The database itself: typed queries that take part in the running transaction. Outside of one, a
   * query that reads sees what is committed, and one that changes something is a transaction. It
   * knows tables and columns only: it applies no rule of the model, runs no events, raises no
   * stamps, and checks no privileges.
   */
  get kysely(): Kysely<Database> {
    this.#kysely ??= datastoreKysely<Database>(this.#host);
    return this.#kysely;
  }

  /**
   * Runs work in a transaction: what its code stores, here and in what it calls, is stored when the
   * work ends, or none of it if the work throws. Inside another transaction it is a part of that
   * one, and is undone alone if it throws. Other requests do not see what is not stored yet, and do
   * not take part.
   */
  transaction<R>(work: () => Promise<R>): Promise<R> {
    return this.#host.write(() => work());
  }

  /**
   * Runs `work` under a name. Of all calls with one name, in all servers that use the database,
   * only one runs at a time. The others wait for their turn; with `ifFree` they return `undefined`
   * at once. The turn ends with the work, or when its process dies: see
   * `class-code.md#a-job-that-runs-once`.
   * @throws Error inside a transaction, and inside a call with the same name
   */
  exclusive<R>(name: string, work: ExclusiveWork<R>): Promise<R>;
  exclusive<R>(
    name: string,
    options: { readonly ifFree: boolean },
    work: ExclusiveWork<R>,
  ): Promise<R | undefined>;
  async exclusive<R>(
    name: string,
    given: ExclusiveWork<R> | { readonly ifFree: boolean },
    last?: ExclusiveWork<R>,
  ): Promise<R | undefined> {
    const work = typeof given === 'function' ? given : last;
    if (work === undefined) throw new TypeError('ds.exclusive needs a function to run.');
    const isWaiting = typeof given === 'function' || !given.ifFree;
    return this.#host.exclusive.run(name, work, isWaiting);
  }

  /**
   * Runs work after the outermost transaction of this code is committed, and never if what the code
   * did is rolled back; outside of any transaction, at once. It runs after the answer, outside of
   * the transaction, with the session of this code. Works of one transaction run one after the
   * other, in order. An error is logged, and has no other effect.
   * @throws TransactionEndedError if the transaction of this code is over
   */
  afterCommit(work: WorkAfterCommit): void {
    this.#host.afterCommit.run(work);
  }
}

/**
 * A Kysely instance on the server's own connections, which writes the SQL of the database in use:
 * its queries are part of the transaction of the code that runs them. `transaction()` of Kysely is
 * refused, because code that saves entities in its callback would wait for it for ever.
 */
function datastoreKysely<Database>(host: ClassContext): Kysely<Database> {
  return new Kysely<Database>({
    dialect: { ...host.model.database.dialect.kysely, createDriver: () => new HostDriver(host) },
  });
}

class HostDriver extends DummyDriver {
  readonly #connection: DatabaseConnection;

  constructor(host: ClassContext) {
    super();
    this.#connection = new HostConnection(host);
  }

  override acquireConnection(): Promise<DatabaseConnection> {
    return Promise.resolve(this.#connection);
  }

  override beginTransaction(): Promise<void> {
    return Promise.reject(noTransaction());
  }
}

class HostConnection implements DatabaseConnection {
  constructor(private readonly host: ClassContext) {}

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const statement: Statement = {
      sql: query.sql,
      bindings: query.parameters.map((value, index) => bindable(value, index)),
    };
    const table = isRead(query)
      ? await this.host.model.database.executor.table(statement, [])
      : await this.#change(statement);
    const rows = rowsOf(table) as Row[];
    if (table.result === undefined) return { rows };
    const { changes, insertedKey } = table.result;
    const numAffectedRows = BigInt(changes);
    // PostgreSQL returns a key only for `returning`.
    return insertedKey === 0
      ? { rows, numAffectedRows }
      : { rows, numAffectedRows, insertId: BigInt(insertedKey) };
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    // An open cursor would keep the connection from others.
    yield await this.executeQuery<Row>(query);
  }

  #change(statement: Statement): Promise<Table> {
    if (transactionWord.test(statement.sql)) throw noTransaction();
    if (sessionWord.test(statement.sql)) throw noSetting();
    return this.host.writeAlone(async ({ transaction }) => transaction.table(statement, []));
  }
}

/** Blanks, comments and empty statements before a statement's first word. */
const beginning = String.raw`^(?:[\s;]|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*`;

/** Statements that would end or begin transactions of the server. */
const transactionWord = new RegExp(
  `${beginning}(?:begin|start|commit|end|rollback|abort|savepoint|release|prepare|attach|detach)\\b`,
  'i',
);

/** Statements that would change the connection, which others use afterwards. */
const sessionWord = new RegExp(
  `${beginning}(?:set|reset|discard|listen|unlisten|deallocate|load)\\b`,
  'i',
);

const readingWord = new RegExp(`${beginning}(?:select|values)\\b`, 'i');

/**
 * SQL as text is a read if it begins like one; anything else might change something, and is a
 * transaction.
 */
function isRead({ query, sql }: CompiledQuery): boolean {
  if (query.kind === 'SelectQueryNode') return true;
  return query.kind === 'RawNode' && readingWord.test(sql);
}

function rowsOf({ columns, rows }: Table): readonly object[] {
  return rows.map((row) => {
    const object: Record<string, SqlValue> = {};
    for (const [index, name] of columns.entries()) setMember(object, name, row[index] ?? null);
    return object;
  });
}

/** The value that a query binds, in the form in which entities are stored. */
function bindable(value: unknown, index: number): SqlValue {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') {
    return value;
  }
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value === null || value instanceof Uint8Array) return value;
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  throw new TypeError(
    `The value ${index + 1} of the query cannot be bound: it must be a text, a number, a boolean, a Date, bytes or null. Objects and vectors are stored as JSON texts.`,
  );
}

function noSetting(): Error {
  return new Error(
    'ds.kysely changes no settings of its connection: other requests use it afterwards.',
  );
}

function noTransaction(): Error {
  return new Error(
    'ds.kysely does not begin or end transactions: use ds.transaction(async () => …), of which ds.kysely is a part.',
  );
}
