import type Database from 'better-sqlite3';
import type { SchemaChange } from '../../schema/changes.js';
import { namedColumns, targetOf } from '../../schema/rules.js';
import type { SchemaShape, TableShape } from '../../schema/shape.js';
import type { Trial } from '../../schema/trial.js';
import type { SchemaDifference } from '../../schema-mismatch.js';
import { quoted, readTableDefinition } from '../../table-definition.js';
import { fillDerivedColumns } from './derived-columns.js';
import { missingBytes, type Rebuilt, rebuildTable } from './rebuild.js';
import { namesOf, statementOf } from './shape.js';
import { refusalOf } from '../errors.js';

export interface WantedDatabase {
  /** An empty database with the wanted schema. */
  readonly database: Database.Database;
  readonly shape: SchemaShape;
}

/** The changes to make. */
interface Planned {
  readonly actual: SchemaShape;
  readonly changes: readonly SchemaChange[];
  readonly trial: Trial | undefined;
}

interface Applied {
  /** The columns that were filled, except derived ones, in words. */
  readonly filled: readonly string[];
  /** Changes that the rows, or other objects of the database, prevent. */
  readonly refused: readonly SchemaDifference[];
}

/** Makes decided changes in an open transaction, without foreign keys; it is rolled back if something is refused. */
export function applyChanges(
  database: Database.Database,
  wanted: WantedDatabase,
  { actual, changes, trial }: Planned,
): Applied {
  const work = new Work(database, wanted, { actual, trial });
  const before = work.danglingReferences();
  work.dropIndexes(changes);
  work.addTables(changes);
  work.changeTables(changes);
  // A unique index over folded texts needs these to be filled first.
  const start = performance.now();
  const derived = fillDerivedColumns(wanted.database, database);
  if (derived.filled.length > 0) {
    trial?.part(derived.filled.join(', '), undefined, performance.now() - start);
  }
  work.addIndexes(changes);
  work.requireNoMore(before);
  return { filled: derived.filled, refused: [...work.refused, ...derived.refused] };
}

/** `ALTER TABLE … ADD COLUMN` with the definition of the wanted schema. */
export function columnAddition(wanted: WantedDatabase, table: string, column: string): string {
  const { parts } = readTableDefinition(statementOf(wanted.database, table));
  // Columns come before constraints, whose first word could be a column's name.
  const definition = parts.find(({ name }) => name === column)?.text ?? quoted(column);
  return `ALTER TABLE ${quoted(table)} ADD COLUMN ${definition}`;
}

/** Some changes need a new table, others do because SQLite, or an earlier version of it, has no statement for them. */
function needsRebuild(change: SchemaChange): boolean {
  const { kind } = change;
  if (kind === 'changeExpression') {
    return change.from.expression === undefined || change.to.expression === undefined;
  }
  return kind === 'dropCheck' || kind === 'addForeignKey' || kind === 'dropForeignKey';
}

class Work {
  readonly refused: SchemaDifference[] = [];
  readonly #actual: ReadonlyMap<string, TableShape>;
  readonly #wanted: ReadonlyMap<string, TableShape>;
  readonly #target: ReadonlyMap<string, TableShape>;
  #isRebuilt = false;

  constructor(
    private readonly database: Database.Database,
    private readonly wanted: WantedDatabase,
    private readonly planned: Omit<Planned, 'changes'>,
  ) {
    const { actual } = planned;
    const byName = ({ tables }: SchemaShape): ReadonlyMap<string, TableShape> =>
      new Map(tables.map((table) => [table.name, table]));
    this.#actual = byName(actual);
    this.#wanted = byName(wanted.shape);
    this.#target = byName(targetOf(actual, wanted.shape));
  }

  dropIndexes(changes: readonly SchemaChange[]): void {
    for (const change of changes) {
      if (change.kind === 'dropIndex' || change.kind === 'changeIndex') {
        this.database.exec(`DROP INDEX ${quoted(change.index.name)}`);
      }
    }
  }

  addTables(changes: readonly SchemaChange[]): void {
    for (const { kind, table } of changes) {
      if (kind !== 'addTable') continue;
      this.#attempt(`table "${table}" cannot be added`, () => {
        this.database.exec(statementOf(this.wanted.database, table));
        for (const index of namesOf(this.wanted.database, 'index', table)) {
          this.database.exec(statementOf(this.wanted.database, index));
        }
      });
    }
  }

  /** Rebuilds each table at most once, however many changes it has. */
  changeTables(changes: readonly SchemaChange[]): void {
    const tables = new Set(changes.map(({ table }) => table));
    const rebuilt: string[] = [];
    for (const table of tables) {
      const own = changes.filter((each) => each.table === table);
      const start = performance.now();
      if (own.some(needsRebuild) || !this.#isAltered(own)) rebuilt.push(table);
      else if (own.some((each) => this.#alterations(each).length > 0)) {
        this.#measured(`table "${table}" is altered`, table, start);
      }
    }
    const missing = missingBytes(this.database, rebuilt);
    if (missing !== undefined) {
      this.refused.push({
        what: `the tables ${rebuilt.map((each) => `"${each}"`).join(', ')} have to be rebuilt, which needs up to ${megabytes(missing.needed)} beside the database, and ${megabytes(missing.free)} are free`,
        remedy: 'Make room on that disk, or move the database to a larger one.',
      });
      return;
    }
    this.#isRebuilt = rebuilt.length > 0;
    for (const table of rebuilt) {
      const plan = this.#rebuilt(table);
      if (plan === undefined) continue;
      this.#attempt(`table "${table}" cannot be rebuilt`, () => {
        const start = performance.now();
        rebuildTable(this.database, plan);
        this.#measured(`table "${table}" is rebuilt`, table, start);
      });
    }
  }

  #rebuilt(table: string): Rebuilt | undefined {
    const actual = this.#actual.get(table);
    const target = this.#target.get(table);
    const shape = this.#wanted.get(table);
    if (actual === undefined || target === undefined) return undefined;
    const statement = shape === undefined ? '' : statementOf(this.wanted.database, table);
    return { actual, target, wanted: shape === undefined ? undefined : { shape, statement } };
  }

  /** Whether `ALTER TABLE` made all changes of a table, which may depend on each other; otherwise it makes none. */
  #isAltered(changes: readonly SchemaChange[]): boolean {
    const statements = changes.map((change) => this.#alterations(change));
    try {
      this.database.transaction(() => {
        let left = statements.filter((each) => each.length > 0);
        while (left.length > 0) {
          const failed = left.filter(
            (each) =>
              refusalOf(() => {
                this.#runTogether(each);
              }) !== undefined,
          );
          if (failed.length === left.length) throw new NotAltered();
          left = failed;
        }
      })();
      return true;
    } catch (error) {
      if (error instanceof NotAltered) return false;
      throw error;
    }
  }

  #runTogether(statements: readonly string[]): void {
    this.database.transaction(() => {
      for (const each of statements) this.database.exec(each);
    })();
  }

  #alterations(change: SchemaChange): readonly string[] {
    const { kind, table } = change;
    const altered = `ALTER TABLE ${quoted(table)}`;
    if (kind === 'addColumn') return [columnAddition(this.wanted, table, change.column.name)];
    if (kind === 'addCheck') return [`${altered} ADD CHECK (${change.check})`];
    if (kind === 'setMandatory' || kind === 'dropMandatory') {
      const verb = kind === 'setMandatory' ? 'SET' : 'DROP';
      return [`${altered} ALTER COLUMN ${quoted(change.to.name)} ${verb} NOT NULL`];
    }
    if (kind !== 'changeExpression') return [];
    const { name } = change.to;
    const indexes = this.#indexesOn(table, name);
    return [
      ...indexes.map((each) => `DROP INDEX ${quoted(each)}`),
      `${altered} DROP COLUMN ${quoted(name)}`,
      columnAddition(this.wanted, table, name),
      ...indexes.map((each) => statementOf(this.database, each)),
    ];
  }

  #indexesOn(table: string, column: string): readonly string[] {
    const present = new Set(namesOf(this.database, 'index', table));
    const indexes = this.#actual.get(table)?.indexes ?? [];
    return indexes
      .filter(
        ({ name, columns }) => present.has(name) && namedColumns(columns, [column]).length > 0,
      )
      .map(({ name }) => name);
  }

  addIndexes(changes: readonly SchemaChange[]): void {
    for (const change of changes) {
      if (change.kind !== 'addIndex' && change.kind !== 'changeIndex') continue;
      const { name } = change.index;
      this.#attempt(`table "${change.table}": index "${name}" cannot be created`, () => {
        const start = performance.now();
        this.database.exec(statementOf(this.wanted.database, name));
        this.#measured(`index "${name}" is made`, change.table, start);
      });
    }
  }

  /** The number of rows of each table that refer to a missing row: others may have written them. */
  danglingReferences(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    refusalOf(() => {
      const rows = this.database.prepare(
        'select "table", count(*) as "count" from pragma_foreign_key_check group by 1',
      );
      for (const row of rows.all() as { table: string; count: number }[]) {
        counts.set(row.table, row.count);
      }
    });
    return counts;
  }

  requireNoMore(before: ReadonlyMap<string, number>): void {
    if (!this.#isRebuilt) return;
    for (const [table, count] of this.danglingReferences()) {
      const former = before.get(table) ?? 0;
      if (count <= former) continue;
      this.refused.push({
        what: `table "${table}": ${count - former} rows would refer to nothing`,
        remedy: `PRAGMA foreign_key_check(${quoted(table)}); -- lists them`,
      });
    }
  }

  /** Reports to a trial how long something took since `start`. */
  #measured(what: string, table: string, start: number): void {
    const { trial } = this.planned;
    if (trial === undefined) return;
    const milliseconds = performance.now() - start;
    const rows = this.database
      .prepare(`SELECT count(*) FROM ${quoted(table)}`)
      .pluck()
      .get();
    trial.part(what, Number(rows), milliseconds);
  }

  #attempt(what: string, run: () => void): void {
    const reason = refusalOf(run);
    if (reason !== undefined) this.refused.push({ what: `${what}: ${reason}` });
  }
}

class NotAltered extends Error {}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1_000_000)} MB`;
}
