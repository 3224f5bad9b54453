import { on } from 'node:events';
import { sql } from 'kysely';
import { type Dataclass, dataclassIn, linkDataclasses } from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import type { Transaction } from '../dialect/executor.js';
import { Slot, type Statement } from '../dialect/statement.js';
import { type CommandOptions, openForCommand } from '../http/database-plugin.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import {
  type LoadAnswer,
  type LoadBatch,
  type LoadRefusal,
  type LoadRequest,
  messageFormat,
  type Notes,
  type TargetDataclass,
} from '../protocol/load-messages.js';
import { TableLoader } from './table-loader.js';

/**
 * The process that `drs-gen import-data` starts: stores the rows that it gets as messages, in the
 * database that `DATABASE_URL` names. It answers each message with one. Events of class code do not
 * run.
 */
export async function loadData(options: CommandOptions): Promise<void> {
  if (process.send === undefined) {
    process.stderr.write('drs-gen import-data starts this program.\n');
    process.exitCode = 2;
    return;
  }
  const answer = (message: LoadAnswer): Promise<void> =>
    new Promise((resolve) => {
      // Sending fails when the importing process has ended; then this one ends, too.
      process.send?.(message, undefined, {}, () => {
        resolve();
      });
    });
  // Listen before the first message is awaited, so that neither a message nor the end is missed.
  const messages = on(process, 'message', { close: ['disconnect'] }) as AsyncIterator<
    readonly [LoadRequest],
    undefined
  >;
  const next = async (): Promise<LoadRequest | undefined> => (await messages.next()).value?.[0];
  const approve: Approve = async (refusals) => {
    await answer({ kind: 'checked', refusals });
    const request = await next();
    if (request?.kind !== 'commit') throw new Abandoned();
    return request.notes;
  };
  let database: Database | undefined;
  try {
    const log = (words: string): void => {
      process.stderr.write(`${words}\n`);
    };
    database = await openForCommand(options, log);
    const loader = new Loader(database, linkDataclasses(options.definitions));
    await answer(await loader.ready());
    for (let request = await next(); request !== undefined; request = await next()) {
      if (request.kind === 'end') break;
      await answer(await loader.answer(request, approve));
    }
  } catch (error) {
    if (error instanceof Abandoned) return;
    await answer({ kind: 'refused', reason: reasonOf(error) });
    process.exitCode = 1;
  } finally {
    await database?.executor.close();
    if (process.connected) process.disconnect();
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Sends what a batch refuses, and waits until it may be stored. */
type Approve = (refusals: readonly LoadRefusal[]) => Promise<Notes>;

/** A load cannot go on, for a reason that people can mend. */
class LoadRefused extends Error {}

/** The importing process has ended: the batch is rolled back. */
class Abandoned extends Error {}

/** The beginning of the names of numbers in `__datastore`. */
const prefix = 'import ';
const beginName = `${prefix}begin`;
const changesName = `${prefix}changes`;
const numberName = `${prefix}number`;

class Loader {
  readonly #tables = new Map<string, TableLoader>();
  readonly #number: Statement;
  readonly #numbers: Statement;
  readonly #note: Statement;
  readonly #forget: Statement;
  readonly #stamp: Statement;

  constructor(
    private readonly database: Database,
    private readonly dataclasses: ReadonlyMap<string, Dataclass>,
  ) {
    const { dialect } = database;
    const name = sql`${new Slot(0)}`;
    const value = sql.id('__datastore', 'value');
    this.#number = dialect.compile(sql`select "value" from "__datastore" where "name" = ${name}`);
    this.#numbers = dialect.compile(
      sql`select "name", "value" from "__datastore" where "name" like 'import %'`,
    );
    this.#note = dialect.compile(
      sql`insert into "__datastore" ("name", "value") values (${name}, ${dialect.integer(sql`${new Slot(1)}`)}) on conflict ("name") do update set "value" = "excluded"."value" where ${value} is distinct from "excluded"."value"`,
    );
    this.#forget = dialect.compile(sql`delete from "__datastore" where "name" like 'import %'`);
    this.#stamp = dialect.compile(sql`select ${dialect.globalStamp}`);
  }

  /** The program of an import that was killed may still be storing its last batch. */
  async ready(): Promise<LoadAnswer> {
    const rows = await this.database.executor.write(async (transaction) => {
      await this.#takeTurn(transaction);
      return transaction.rows(this.#numbers, []);
    });
    const notes = rows.map(([name, value]) => [String(name).slice(prefix.length), Number(value)]);
    return {
      kind: 'ready',
      format: messageFormat,
      notes: Object.fromEntries(notes) as Notes,
      dataclasses: [...this.dataclasses.values()].map(described),
    };
  }

  async answer(request: LoadRequest, approve: Approve): Promise<LoadAnswer> {
    const { executor } = this.database;
    try {
      switch (request.kind) {
        case 'begin':
          await this.#begin(request.restart, request.import);
          return { kind: 'begun' };
        case 'batch':
          await this.#store(request, approve);
          return { kind: 'stored' };
        case 'finish':
          await this.#finish();
          return { kind: 'finished' };
        case 'compare': {
          const table = this.#table(request.dataclass);
          const differences = await executor.write((each) => table.compare(each, request));
          return { kind: 'compared', differences };
        }
        case 'count': {
          const count = await executor.value(this.#table(request.dataclass).count, []);
          return { kind: 'counted', count: Number(count) };
        }
        case 'commit':
        case 'end':
          throw new Error(`No message ${request.kind} is expected here.`);
      }
    } catch (error) {
      if (!(error instanceof LoadRefused)) throw error;
      return { kind: 'refused', reason: error.message };
    }
  }

  /** Locks the row of the import until the transaction ends, if the database locks rows. */
  async #takeTurn(transaction: Transaction): Promise<void> {
    const begin = await transaction.value(this.#number, [beginName]);
    if (begin !== undefined) await transaction.run(this.#note, [beginName, begin]);
  }

  #table(name: string): TableLoader {
    return getOrInsertComputed(this.#tables, name, () => {
      const { database, dataclasses } = this;
      return new TableLoader(database, dataclassIn({ dataclasses }, name));
    });
  }

  /** Remembers how often the database had been changed, to tell later whether others have changed it. */
  async #begin(isRestart: boolean, number: number): Promise<void> {
    await this.database.executor.write(async (transaction) => {
      const stamp = Number(await transaction.value(this.#stamp, []));
      const begin = await transaction.value(this.#number, [beginName]);
      let removed = 0;
      if (begin === undefined) await this.#requireEmpty(transaction);
      else {
        if (!isRestart) throw new LoadRefused('an import into this database has begun already');
        if (!(await this.#isUnchanged(transaction))) {
          throw new LoadRefused(
            'others have changed the database since the import, so its tables are not emptied; use a new database',
          );
        }
        removed = await this.#empty(transaction);
      }
      await transaction.run(this.#forget, []);
      await transaction.run(this.#note, [beginName, stamp + removed]);
      await transaction.run(this.#note, [changesName, 0]);
      await transaction.run(this.#note, [numberName, number]);
      if (removed > 0) transaction.raiseStamp(removed);
    });
  }

  /** Whether imports alone have changed the database. */
  async #isUnchanged(transaction: Transaction): Promise<boolean> {
    const stamp = Number(await transaction.value(this.#stamp, []));
    const begin = await this.#noted(transaction, beginName);
    return stamp === begin + (await this.#noted(transaction, changesName));
  }

  async #noted(transaction: Transaction, name: string): Promise<number> {
    return Number((await transaction.value(this.#number, [name])) ?? 0);
  }

  async #requireEmpty(transaction: Transaction): Promise<void> {
    for (const name of this.dataclasses.keys()) {
      const count = Number(await transaction.value(this.#table(name).count, []));
      if (count === 0) continue;
      throw new LoadRefused(
        `the database holds ${String(count)} ${count === 1 ? 'entity' : 'entities'} of ${name} that no import has written; use an empty database`,
      );
    }
  }

  async #empty(transaction: Transaction): Promise<number> {
    const { dialect } = this.database;
    await transaction.run(dialect.compile(dialect.foreignKeyChecks('deferred')), []);
    let removed = 0;
    for (const { table } of this.dataclasses.values()) {
      const statement = dialect.compile(sql`delete from ${sql.id(table)}`);
      removed += (await transaction.run(statement, [])).changes;
    }
    return removed;
  }

  /** What is noted is stored together with the rows, so that no row is taken twice or left out. */
  async #store(batch: LoadBatch, approve: Approve): Promise<void> {
    const { phase, dataclass, rows, from, to } = batch;
    const name = `${prefix}${phase} ${dataclass}`;
    await this.database.executor.write(async (transaction) => {
      await this.#takeTurn(transaction);
      if ((await this.#noted(transaction, name)) !== from) {
        throw new LoadRefused('another import writes to the same database at the same time');
      }
      // Clients may have seen what is there, and changed it.
      if (phase === 'again' && rows.length > 0 && !(await this.#isUnchanged(transaction))) {
        throw new LoadRefused(
          'others have changed the database since the import; store these rows with npx drs-gen seed instead',
        );
      }
      const { refusals, changes } = await this.#table(dataclass).store(transaction, batch);
      const notes = await approve(refusals);
      const own = (await this.#noted(transaction, changesName)) + changes;
      const others = Object.entries(notes).map(([each, value]) => [prefix + each, value] as const);
      for (const note of [[name, to] as const, [changesName, own] as const, ...others]) {
        await transaction.run(this.#note, note);
      }
      if (changes > 0) transaction.raiseStamp(changes);
    });
  }

  /** Sequences go on behind the greatest number, and the database learns what its tables hold. */
  async #finish(): Promise<void> {
    const { executor, dialect } = this.database;
    for (const name of this.dataclasses.keys()) {
      await executor.write((transaction) => this.#table(name).raiseSequences(transaction));
    }
    await executor.write((transaction) => transaction.run(dialect.compile(sql`analyze`), []));
  }
}

function described({ name, renamedFrom = [], table, key, attributes }: Dataclass): TargetDataclass {
  return {
    name,
    renamedFrom,
    table,
    key: key.name,
    attributes: attributes.filter((each) => each.kind === 'storage'),
    relations: attributes.filter((each) => each.kind === 'relatedEntity'),
  };
}
