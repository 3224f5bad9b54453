import {
  Kysely,
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
} from 'kysely';
import type { Session } from '../access/session.js';
import type { WorkAfterCommit } from './after-commit.js';
import type { ClassHost } from './class-host.js';
import type { Table } from '../dialect/executor.js';
import type { SqlValue, Statement } from '../dialect/statement.js';

/** What the datastore is made by; opaque to class code. */
export type DatastoreState = ClassHost;

/**
 * The datastore of class code (`class-code.md#reading-and-writing`). The emitted base class
 * declares the dataclasses.
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

/**
 * A Kysely instance on the server's own connections, which writes the SQL of the database in use: what it runs is part of the
 * transaction of the code that runs it.
 * `transaction()` of Kysely is refused, since code that saves entities in its callback would wait for it for ever.
 */
function datastoreKysely<Database>(host: ClassHost): Kysely<Database> {
  return new Kysely<Database>({
    dialect: { ...host.context.database.dialect.kysely, createDriver: () => new HostDriver(host) },
  });
}

class HostDriver implements Driver {
  readonly #connection: DatabaseConnection;

  constructor(host: ClassHost) {
    this.#connection = new HostConnection(host);
  }

  init(): Promise<void> {
    return Promise.resolve();
  }

  acquireConnection(): Promise<DatabaseConnection> {
    return Promise.resolve(this.#connection);
  }

  beginTransaction(): Promise<void> {
    return Promise.reject(noTransaction());
  }

  commitTransaction(): Promise<void> {
    return Promise.reject(noTransaction());
  }

  rollbackTransaction(): Promise<void> {
    return Promise.reject(noTransaction());
  }

  releaseConnection(): Promise<void> {
    return Promise.resolve();
  }

  /** The database is the server's. */
  destroy(): Promise<void> {
    return Promise.resolve();
  }
}

class HostConnection implements DatabaseConnection {
  constructor(private readonly host: ClassHost) {}

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const statement: Statement = {
      sql: query.sql,
      bindings: query.parameters.map((value, index) => bindable(value, index)),
    };
    const table = isRead(query)
      ? await this.host.reading().table(statement, [])
      : await this.#change(statement);
    const rows = rowsOf(table) as Row[];
    if (table.result === undefined) return { rows };
    const { changes, insertedKey } = table.result;
    const numAffectedRows = BigInt(changes);
    // PostgreSQL tells a key only where `returning` asks for it.
    return insertedKey === 0
      ? { rows, numAffectedRows }
      : { rows, numAffectedRows, insertId: BigInt(insertedKey) };
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    // A cursor that stays open would keep the connection from others.
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

/** Statements that would end or begin what is not theirs. */
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

/** Text that was written by hand reads when it begins so; anything else might change something, and is a transaction. */
function isRead({ query, sql }: CompiledQuery): boolean {
  if (query.kind === 'SelectQueryNode') return true;
  return query.kind === 'RawNode' && readingWord.test(sql);
}

function rowsOf({ columns, rows }: Table): readonly object[] {
  return rows.map((row) => {
    const object: Record<string, SqlValue> = {};
    for (const [index, name] of columns.entries()) {
      // A plain assignment to `__proto__` would not make a member.
      if (name === '__proto__') define(object, name, row[index] ?? null);
      else object[name] = row[index] ?? null;
    }
    return object;
  });
}

function define(object: object, name: string, value: SqlValue): void {
  Object.defineProperty(object, name, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

/** What a query binds, in the form in which entities have it stored. */
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
