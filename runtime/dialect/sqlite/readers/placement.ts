import type { Database, Statement as Prepared } from 'better-sqlite3';
import type { Statement } from '../../statement.js';

/** Milliseconds that a read may hold up everybody else. */
const slowMilliseconds = 10;

/** A run of so many milliseconds is slow whatever else the machine does; a shorter one counts when the next one is slow, too. */
const surelySlowMilliseconds = 100;

/** What it costs to send a byte of an answer from one process to another. */
const millisecondsPerByte = 5e-6;

/** How long a slow read stays in other processes, and how long the size of a table is believed. */
const memoryMilliseconds = 60_000;

/** To go through more rows takes longer than a read may. */
const largeRows = 20_000;

/** A database of so few pages is read in less time than it takes to ask another process. */
const fewPages = 512;

/** A read that takes longer does not get the last free process. */
const longMilliseconds = 1_000;

/**
 * Decides which reads run in another process, so that they hold up nobody: those that go through a whole table of more than
 * 20,000 rows, those that loop over a part of such a table until a run took less than 10 ms, and, for a minute, each whose last
 * runs took longer than that. Where the time of statements is limited, the second kind stays there, too. The page of all entities in the order of an index ends with its last row, however large the table.
 */
export class Placements {
  readonly #pages: Prepared;
  /** By the page where each table, or index, begins. */
  #tables: ReadonlyMap<number, TableSize> = new Map();

  /** @param hasTimeout whether a statement may run for a limited time: one that runs here cannot be stopped */
  constructor(
    private readonly database: Database,
    private readonly hasTimeout = false,
  ) {
    this.#pages = database.prepare('pragma page_count').pluck();
  }

  /** @returns `undefined` for a read that finds each row by a unique key: it never takes long */
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
      const operations = explained.all(...bindings.map(() => null)) as readonly Operation[];
      return programOf(operations);
    } catch {
      // What is wrong with a statement is reported when it runs.
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

/** What a read goes through that has more rows than may be read here. */
type Reach = 'nothing' | 'a part of one' | 'a large table';

/** Where one statement runs. Times are those of `performance.now()`. */
export class Placement {
  #reach: Reach = 'nothing';
  #reachKnownAt = -Infinity;
  #last: number | undefined;
  #wasSlow = false;
  #slowAt = -Infinity;

  constructor(private readonly reachAt: (now: number) => Reach) {}

  /** Whether it shall run in another process. */
  isElsewhere(now: number): boolean {
    if (now - this.#reachKnownAt > memoryMilliseconds) {
      this.#reachKnownAt = now;
      this.#reach = this.reachAt(now);
    }
    if (this.#reach === 'a large table') return true;
    if (this.#reach === 'a part of one' && this.#last === undefined) return true;
    return now - this.#slowAt < memoryMilliseconds;
  }

  /** Whether its last run, in whatever process, has ended soon. */
  get isShort(): boolean {
    return this.#last !== undefined && this.#last < longMilliseconds;
  }

  /**
   * Records a run.
   * @param milliseconds that it took
   * @param bytes of its answer
   */
  ran(milliseconds: number, bytes: number, now: number): void {
    const isSlow = milliseconds > slowMilliseconds + bytes * millisecondsPerByte;
    if (isSlow && (this.#wasSlow || milliseconds > surelySlowMilliseconds)) this.#slowAt = now;
    this.#wasSlow = isSlow;
    this.#last = milliseconds;
  }

  /** Records that a run was stopped after so long: it would have taken longer. */
  stopped(milliseconds: number, now: number): void {
    if (this.#last !== undefined && milliseconds > this.#last) this.ran(milliseconds, 0, now);
  }
}

/** A row of `explain`: an operation of the program that SQLite runs for a statement. */
interface Operation {
  readonly opcode: string;
  readonly p1: number;
  readonly p2: number;
}

/** What a program loops over; tables and indexes by the pages where they begin. */
interface Program {
  readonly hasLoops: boolean;
  /** From the first row to the last one. */
  readonly scanned: readonly number[];
  readonly looped: readonly number[];
  readonly isSorted: boolean;
}

function programOf(operations: readonly Operation[]): Program {
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

/** Whether a table has many rows; asked for once a minute. */
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
