import type { Database, Statement as Prepared } from 'better-sqlite3';
import type { Statement } from '../../statement.js';

/** Milliseconds that a read may block the server. */
const slowMilliseconds = 10;

/** After such a run the next one is offloaded; after a shorter one it runs here again. */
const longMilliseconds = 100;

/** The cost of sending a byte of a result between processes. */
const millisecondsPerByte = 5e-6;

/** How long a slow read stays offloaded at most, and how long the size of a table is cached. */
const memoryMilliseconds = 60_000;

/** After so many successive short runs, a read that was slow is no longer offloaded. */
const shortRunsThatProve = 20;

/** Scanning more rows takes longer than a read may. */
const largeRows = 20_000;

/** Reading a whole database of this size takes less time than calling another process. */
const fewPages = 512;

/** A read that takes longer does not get the last free process. */
const veryLongMilliseconds = 1_000;

/**
 * Decides which reads are offloaded to another process so that they do not block the server: those
 * that scan a table of more than 20,000 rows; those that loop over a part of such a table, until a
 * run took less than 10 ms; those of which the last run took longer than 100 ms; and, for a minute
 * or until 20 successive runs were short, those of which two successive runs took longer than
 * 10 ms. With a statement timeout, the second group stays offloaded. A page of all entities in the
 * order of an index ends at its last row, so it runs here however large the table is.
 */
export class Placements {
  readonly #pages: Prepared;
  /** By root page of the table or index. */
  #tables: ReadonlyMap<number, TableSize> = new Map();

  /** @param hasTimeout whether statements have a time limit: a statement in this process cannot be stopped */
  constructor(
    private readonly database: Database,
    private readonly hasTimeout = false,
  ) {
    this.#pages = database.prepare('pragma page_count').pluck();
  }

  /** @returns `undefined` for a read that finds each row by a unique key and so never takes long */
  of(statement: Statement): Placement | undefined {
    const program = this.#programOf(statement);
    if (program !== undefined && !program.hasLoops) return undefined;
    return new Placement((now) => {
      if (program === undefined || (this.#pages.get() as number) < fewPages) return 'nothing';
      const isLarge = (root: number): boolean => this.#table(root)?.isLarge(now) === true;
      const endsEarly = statement.isPage === true && !program.isSorted;
      if (!endsEarly && program.scanned.some(isLarge)) return 'a large table';
      if (endsEarly || !program.looped.some(isLarge)) return 'nothing';
      return this.hasTimeout ? 'a large table' : 'a part of one';
    });
  }

  #programOf({ sql, bindings }: Statement): Program | undefined {
    try {
      const explained = this.database.prepare(`explain ${sql}`);
      const operations = explained.all(...bindings.map(() => null)) as readonly Opcode[];
      return programOf(operations);
    } catch {
      // An invalid statement is reported when it runs.
      return undefined;
    }
  }

  #table(root: number): TableSize | undefined {
    if (!this.#tables.has(root)) {
      const rows = this.database
        .prepare('select "rootpage" as "root", "tbl_name" as "table" from sqlite_schema')
        .all() as readonly { readonly root: number; readonly table: string }[];
      const sizes = new Map<string, TableSize>();
      for (const { table } of rows) sizes.set(table, new TableSize(this.database, table));
      this.#tables = new Map(rows.map((each) => [each.root, sizes.get(each.table) as TableSize]));
    }
    return this.#tables.get(root);
  }
}

/** How much of a large table a read scans. */
type Reach = 'nothing' | 'a part of one' | 'a large table';

/** Where one statement runs. Times are those of `performance.now()`. */
export class Placement {
  #reach: Reach = 'nothing';
  #reachKnownAt = -Infinity;
  #last: number | undefined;
  /** The number of runs since the last slow one. */
  #shortRuns = 1;
  #slowAt = -Infinity;

  constructor(private readonly reachAt: (now: number) => Reach) {}

  /** Whether it runs in another process. */
  isElsewhere(now: number): boolean {
    if (now - this.#reachKnownAt > memoryMilliseconds) {
      this.#reachKnownAt = now;
      this.#reach = this.reachAt(now);
    }
    if (this.#reach === 'a large table') return true;
    if (this.#reach === 'a part of one' && this.#last === undefined) return true;
    return (this.#last ?? 0) > longMilliseconds || now - this.#slowAt < memoryMilliseconds;
  }

  /** Whether the next run decides that it is slow: then its processor time is measured. */
  get isInDoubt(): boolean {
    return this.#shortRuns === 0;
  }

  /** Whether its last run, in any process, was short. */
  get isShort(): boolean {
    return this.#last !== undefined && this.#last < veryLongMilliseconds;
  }

  /**
   * One run does not decide, however long it was: the machine may have been busy with something
   * else.
   * @param bytes of the result
   */
  ran(milliseconds: number, bytes: number, now: number): void {
    const isSlow = milliseconds > slowMilliseconds + bytes * millisecondsPerByte;
    if (isSlow && this.isInDoubt) this.#slowAt = now;
    this.#shortRuns = isSlow ? 0 : this.#shortRuns + 1;
    if (this.#shortRuns >= shortRunsThatProve) this.#slowAt = -Infinity;
    this.#last = milliseconds;
  }

  /** Records that a run was stopped after this time. */
  stopped(milliseconds: number, now: number): void {
    if (this.#last !== undefined && milliseconds > this.#last) this.ran(milliseconds, 0, now);
  }
}

/** How many times as long other programs may keep a statement from the processor; what is beyond is time of the disk. */
const mostBeside = 8;

/** Milliseconds of processor time that this process has used. */
export function processorMilliseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The duration without the time that other programs had the processor. */
export function ownDuration(milliseconds: number, used: number): number {
  const own = Math.max(processorMilliseconds() - used, milliseconds / mostBeside);
  return Math.min(milliseconds, own);
}

/** A row of `explain`: an operation of the bytecode of a statement. */
interface Opcode {
  readonly opcode: string;
  readonly p1: number;
  readonly p2: number;
}

/** The loops of a program; tables and indexes by root page. */
interface Program {
  readonly hasLoops: boolean;
  /** Scanned from the first row to the last. */
  readonly scanned: readonly number[];
  readonly looped: readonly number[];
  readonly isSorted: boolean;
}

function programOf(operations: readonly Opcode[]): Program {
  const roots = new Map<number, number>();
  const began = new Set<number>();
  const scanned = new Set<number>();
  const looped = new Set<number>();
  let hasLoops = false;
  let isSorted = false;
  for (const { opcode, p1, p2 } of operations) {
    switch (opcode) {
      case 'OpenRead':
        roots.set(p1, p2);
        break;
      case 'Rewind':
      case 'Last':
        began.add(p1);
        break;
      case 'Next':
      case 'Prev':
      case 'Count': {
        hasLoops = true;
        const root = roots.get(p1);
        if (root === undefined) break;
        looped.add(root);
        if (began.has(p1)) scanned.add(root);
        break;
      }
      case 'VNext':
        hasLoops = true;
        break;
      case 'Sort':
      case 'SorterSort':
        isSorted = true;
        break;
    }
  }
  return { hasLoops, scanned: [...scanned], looped: [...looped], isSorted };
}

/** Whether a table has many rows; checked once a minute. */
class TableSize {
  #isLarge = false;
  #knownAt = -Infinity;

  constructor(
    private readonly database: Database,
    private readonly table: string,
  ) {}

  isLarge(now: number): boolean {
    if (now - this.#knownAt > memoryMilliseconds) {
      this.#knownAt = now;
      this.#isLarge = this.#hasManyRows();
    }
    return this.#isLarge;
  }

  #hasManyRows(): boolean {
    const name = `"${this.table.replaceAll('"', '""')}"`;
    const sql = `select 1 from ${name} limit 1 offset ${largeRows}`;
    return this.database.prepare(sql).get() !== undefined;
  }
}
