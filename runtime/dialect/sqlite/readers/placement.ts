import type { Database } from 'better-sqlite3';
import type { Statement } from '../../statement.js';

/** Milliseconds that a read may block the server, beside those that sending its result would cost. */
const slowMilliseconds = 10;

/** The cost of sending a byte of a result between processes. */
const millisecondsPerByte = 5e-6;

/** The number of last runs that count. */
const countedRuns = 20;

/** Scanning more rows takes longer than a read may. */
const largeRows = 20_000;
/** Writing more entities as JSON takes longer than a read may. */
const manyEntities = 2_500;

/** How long the size of a table is cached. */
const sizeMilliseconds = 60_000;

/** A read that takes longer does not get the last free process. */
const veryLongMilliseconds = 1_000;

/**
 * Decides which reads are offloaded to another process so that they do not block the server: a read
 * is offloaded if it may return more than 2,500 entities, and a table that it reads has as many rows;
 * if it scans a table of more than 20,000 rows; if it scans a part of such a table, and
 * has never run or one of its last 20 runs took more than 10 ms; or if two of its last 20 runs did.
 * With a statement timeout, the part counts as the whole table. A page in the order of an index ends
 * at its last row: if it is filtered, it scans a part of the table, otherwise nothing.
 */
export class Placements {
  /** By root page of the table or index. */
  #tables: ReadonlyMap<number, TableSize> = new Map();

  /** @param hasTimeout whether statements have a time limit: a statement in this process cannot be stopped */
  constructor(
    private readonly database: Database,
    private readonly hasTimeout = false,
  ) {}

  /** @returns `undefined` for a read that finds each row by a unique key and so never takes long */
  of(statement: Statement): Placement | undefined {
    const program = this.#programOf(statement);
    if (program === undefined) return new Placement([], []);
    if (!program.hasLoops) return undefined;
    const { of = 'others' } = statement.page ?? {};
    const read = this.#sizesOf(program.read);
    const endsEarly = of !== 'others' && !program.isSorted;
    if (endsEarly && of === 'all') return new Placement([], [], read);
    const looped = this.#sizesOf(program.looped);
    const scanned = endsEarly ? [] : this.#sizesOf(program.scanned);
    return new Placement(this.hasTimeout ? looped : scanned, looped, read);
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

  #sizesOf(roots: readonly number[]): readonly TableSize[] {
    if (roots.some((root) => !this.#tables.has(root))) {
      const rows = this.database
        .prepare('select "rootpage" as "root", "tbl_name" as "table" from sqlite_schema')
        .all() as readonly { readonly root: number; readonly table: string }[];
      const sizes = new Map<string, TableSize>();
      for (const { table } of rows) sizes.set(table, new TableSize(this.database, table));
      this.#tables = new Map(rows.map((each) => [each.root, sizes.get(each.table) as TableSize]));
    }
    return roots.flatMap((root) => this.#tables.get(root) ?? []);
  }
}

/** Where one statement runs. */
export class Placement {
  #runs = 0;
  /** The numbers of the last two slow runs. */
  #slowRuns: readonly [number, number] = [-Infinity, -Infinity];
  #last: number | undefined;

  /**
   * @param scanned tables of which the statement reads everything, or an index
   * @param looped those of which it reads more than one row by a unique key
   * @param read all of which it reads anything
   */
  constructor(
    private readonly scanned: readonly TableSize[],
    private readonly looped: readonly TableSize[],
    private readonly read: readonly TableSize[] = [],
  ) {}

  /**
   * @param now time of `performance.now()`
   * @param entities that it may return
   */
  isOffloaded(now: number, entities = 0): boolean {
    const isLarge = (table: TableSize): boolean => table.rows(now) > largeRows;
    const hasMany = (table: TableSize): boolean => table.rows(now) > manyEntities;
    if (entities > manyEntities && this.read.some(hasMany)) return true;
    const [previousSlow, lastSlow] = this.#slowRuns;
    if (this.#runs - previousSlow < countedRuns || this.scanned.some(isLarge)) return true;
    const mayBeSlow = this.#runs === 0 || this.#runs - lastSlow < countedRuns;
    return mayBeSlow && this.looped.some(isLarge);
  }

  /** Whether its last run, in any process, took less than a second. */
  get isShort(): boolean {
    return this.#last !== undefined && this.#last < veryLongMilliseconds;
  }

  /**
   * Records a run.
   * @param bytes of the result
   */
  record(milliseconds: number, bytes: number): void {
    this.#runs += 1;
    this.#last = milliseconds;
    const isSlow = milliseconds > slowMilliseconds + bytes * millisecondsPerByte;
    if (isSlow) this.#slowRuns = [this.#slowRuns[1], this.#runs];
  }

  /** Records a run that was stopped after this time: it would have taken longer. */
  recordStop(milliseconds: number): void {
    if (this.#last !== undefined && milliseconds > this.#last) this.record(milliseconds, 0);
  }
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
  readonly read: readonly number[];
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
  return {
    hasLoops,
    read: [...roots.values()],
    scanned: [...scanned],
    looped: [...looped],
    isSorted,
  };
}

/** The number of rows of a table, up to what makes it large; counted once a minute. */
class TableSize {
  #rows = 0;
  #knownAt = -Infinity;

  constructor(
    private readonly database: Database,
    private readonly table: string,
  ) {}

  rows(now: number): number {
    if (now - this.#knownAt > sizeMilliseconds) {
      this.#knownAt = now;
      const name = `"${this.table.replaceAll('"', '""')}"`;
      const sql = `select count(*) from (select 1 from ${name} limit ${largeRows + 1})`;
      this.#rows = this.database.prepare<[], number>(sql).pluck().get() ?? 0;
    }
    return this.#rows;
  }
}
