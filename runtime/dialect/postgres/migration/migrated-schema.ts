import type { ClientBase } from 'pg';
import type {
  ColumnValue,
  Expansion,
  MigratedDatabase,
  MigrationRow,
  RenamedPart,
  UpdatedRow,
} from '../../schema/migration.js';
import { namedColumns } from '../../schema/rules.js';
import type { SchemaShape } from '../../schema/shape.js';
import type { Trial } from '../../schema/trial.js';
import { quoted } from '../../table-definition.js';
import { type SchemaCatalog, type CatalogTable, readCatalog } from '../catalog.js';
import {
  heldLocks,
  type TableLock,
  type LockWait,
  lockWords,
  oneAtATime,
  whenUnlocked,
} from './lock-wait.js';

interface MigratedParts {
  readonly client: ClientBase;
  /** The PostgreSQL schema of the tables. */
  readonly name: string;
  /** The schema that the model wants. */
  readonly wanted: () => Promise<SchemaShape>;
  readonly lockWait: LockWait;
  readonly log: ((words: string) => void) | undefined;
  readonly trial: Trial | undefined;
}

/** A PostgreSQL schema whose data are migrated. */
export class MigratedSchema implements MigratedDatabase {
  readonly kind = 'postgres';
  readonly forUpdate = 'FOR UPDATE';

  #shape: SchemaShape | undefined;
  #hasTold = false;

  constructor(private readonly parts: MigratedParts) {}

  async query(sql: string, values: readonly ColumnValue[] = []): Promise<readonly MigrationRow[]> {
    const { rows, fields } = await this.parts.client.query<Record<string, unknown>>(sql, [
      ...values,
    ]);
    const whole = fields.filter(({ dataTypeID }) => dataTypeID === bigint).map(({ name }) => name);
    return rows.map((row) => {
      const read = Object.fromEntries(whole.map((name) => [name, integerFrom(row[name])]));
      return { ...(row as MigrationRow), ...read };
    });
  }

  /** One statement for all rows; the row type of the table gives the types of the values. */
  async update(table: string, key: string, rows: readonly UpdatedRow[]): Promise<void> {
    const columns = Object.keys(rows[0]?.values ?? {});
    if (columns.length === 0) return;
    const sets = columns.map((each) => `${quoted(each)} = "given".${quoted(each)}`);
    // A table may have the name of a built-in type.
    const type = `${quoted(this.parts.name)}.${quoted(table)}`;
    const given = rows.map((row) => ({ ...row.values, [key]: row.key }));
    await this.parts.client.query(
      `UPDATE ${quoted(table)} AS "row" SET ${sets.join(', ')}, "__STAMP" = "row"."__STAMP" + 1
        FROM json_populate_recordset(null::${type}, $1) AS "given"
        WHERE "row".${quoted(key)} = "given".${quoted(key)}`,
      [JSON.stringify(given, jsonValue)],
    );
  }

  /** Servers that start at the same time share the steps: each runs those that the others have not run. */
  transaction<T>(work: () => Promise<T>, use?: 'rebuilding'): Promise<T> {
    const { client, name, lockWait, log } = this.parts;
    return oneAtATime(client, name, this.#tell, async () => {
      // Finding it takes a transaction that is rolled back, which would roll back this one, too.
      if (use === 'rebuilding') await this.wanted();
      const results: T[] = [];
      await whenUnlocked(client, lockWait, {
        tables: [],
        what: 'a step of a migration',
        run: async () => results.push(await this.#transaction(work)),
        log,
      });
      return results[0] as T;
    });
  }

  /** Logs once that it waits. */
  readonly #tell = (words: string): void => {
    if (!this.#hasTold) this.parts.log?.(words);
    this.#hasTold = true;
  };

  async #transaction<T>(work: () => Promise<T>): Promise<T> {
    const { client, trial } = this.parts;
    await client.query('BEGIN');
    const start = performance.now();
    try {
      const result = await work();
      const held = trial === undefined ? [] : (await client.query<TableLock>(heldLocks)).rows;
      await client.query('COMMIT');
      const milliseconds = performance.now() - start;
      for (const lock of lockWords(held)) trial?.locked(lock, milliseconds);
      return result;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    }
  }

  async hasTable(name: string): Promise<boolean> {
    const text = `SELECT to_regclass($1) IS NOT NULL AS "isThere"`;
    const path = `${quoted(this.parts.name)}.${quoted(name)}`;
    const { rows } = await this.parts.client.query<{ isThere: boolean }>(text, [path]);
    return rows[0]?.isThere === true;
  }

  present(): Promise<SchemaCatalog> {
    return readCatalog(this.parts.client, this.parts.name);
  }

  /** Needs a transaction of its own that is rolled back: in another one, everything would be rolled back. */
  async wanted(): Promise<SchemaShape> {
    const { client, name, wanted } = this.parts;
    return (this.#shape ??= await oneAtATime(client, name, this.#tell, wanted));
  }

  async expand(table: string, { added, loosened, dropped }: Expansion): Promise<void> {
    const actual = await this.#table(table);
    const constraints = actual?.constraints ?? [];
    const actions = [
      ...added.map(({ name, type }) => `ADD COLUMN ${quoted(name)} ${type}`),
      ...loosened.map((name) => `ALTER COLUMN ${quoted(name)} DROP NOT NULL`),
      ...constraints
        .filter(({ check }) => check !== undefined && dropped.includes(check))
        .map(({ name }) => `DROP CONSTRAINT ${quoted(name)}`),
    ];
    if (actions.length === 0) return;
    await this.parts.client.query(`ALTER TABLE ${quoted(table)} ${actions.join(', ')}`);
  }

  async renameColumn(table: string, from: string, to: string): Promise<void> {
    // A trigger that fills a derived column names both columns in its body; the start that follows creates it
    // again.
    await this.parts.client.query(
      `DROP TRIGGER IF EXISTS ${quoted(from)} ON ${quoted(table)};
       ALTER TABLE ${quoted(table)} RENAME COLUMN ${quoted(from)} TO ${quoted(to)}`,
    );
  }

  /** The trigger that records changes knows the name of its table, and is told those of columns. */
  async renameRecorded({ table, column, to }: RenamedPart): Promise<void> {
    if (!(await this.hasTable('__audit'))) return;
    const { client } = this.parts;
    if (column === undefined) {
      await client.query('UPDATE "__audit" SET "table" = $2 WHERE "table" = $1', [table, to]);
      return;
    }
    for (const values of ['"before"', '"after"']) {
      await client.query(
        `UPDATE "__audit" SET ${values} = ${values} - $2::text || jsonb_build_object($3::text, ${values} -> $2::text)
          WHERE "table" = $1 AND jsonb_exists(${values}, $2)`,
        [table, column, to],
      );
    }
    const audit = await this.#auditOf(table);
    if (audit === undefined) return;
    const named = (name: string): string => (name === column ? to : name);
    await client.query(
      auditTriggerText(table, {
        key: named(audit.key),
        columns: audit.columns.map(named),
        texts: audit.texts.map(named),
        unread: Object.fromEntries(Object.keys(audit.unread).map((each) => [named(each), null])),
      }),
    );
  }

  async #auditOf(table: string): Promise<AuditArguments | undefined> {
    const { rows } = await this.parts.client.query<{ given: string }>(
      `SELECT convert_from(substring(tgargs FOR octet_length(tgargs) - 1), getdatabaseencoding()) AS "given"
        FROM pg_trigger WHERE tgrelid = $1::regclass AND tgname = '__audit'`,
      [`${quoted(this.parts.name)}.${quoted(table)}`],
    );
    const [row] = rows;
    return row === undefined ? undefined : (JSON.parse(row.given) as AuditArguments);
  }

  /** Constraints and indexes go, too. Objects of others, such as a view, prevent it. */
  async dropColumns(table: string, columns: readonly string[]): Promise<void> {
    const actual = await this.#table(table);
    // The start that follows creates columns computed from these again if the model wants them.
    const computed = (actual?.columns ?? []).filter(
      ({ expression }) => expression !== undefined && namedColumns(expression, columns).length > 0,
    );
    // The trigger of a derived column has the column's name.
    const triggers = (actual?.triggers ?? []).filter((each) => columns.includes(each));
    for (const each of triggers) {
      await this.parts.client.query(`DROP TRIGGER ${quoted(each)} ON ${quoted(table)}`);
    }
    const drops = [...computed.map(({ name }) => name), ...columns].map(
      (each) => `DROP COLUMN ${quoted(each)}`,
    );
    await this.parts.client.query(`ALTER TABLE ${quoted(table)} ${drops.join(', ')}`);
  }

  async #table(table: string): Promise<CatalogTable | undefined> {
    return (await this.present()).tables.find(({ name }) => name === table);
  }
}

/** What the trigger that records changes is told (`generator/emit/schema/audit.ts`). */
interface AuditArguments {
  readonly key: string;
  readonly columns: readonly string[];
  readonly texts: readonly string[];
  readonly unread: Readonly<Record<string, null>>;
}

function auditTriggerText(table: string, given: AuditArguments): string {
  const text = JSON.stringify(given).replaceAll("'", "''");
  return `CREATE OR REPLACE TRIGGER "__audit" AFTER INSERT OR UPDATE OR DELETE ON ${quoted(table)} FOR EACH ROW EXECUTE FUNCTION drs_audit('${text}')`;
}

/** Numbers out of the range of JSON, and bytes, in PostgreSQL's text form; `value` of a Buffer is its `toJSON`. */
function jsonValue(this: Readonly<Record<string, unknown>>, name: string, value: unknown): unknown {
  const given = this[name];
  if (given instanceof Uint8Array) return `\\x${Buffer.from(given).toString('hex')}`;
  return typeof value === 'bigint' ? value.toString() : value;
}

/** The type's number in PostgreSQL's catalog. */
const bigint = 20;

/** pg returns such numbers as texts, because a JavaScript number cannot hold all of them. */
function integerFrom(value: unknown): number | bigint | null {
  if (value === null || value === undefined) return null;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value as string);
}
