import Database from 'better-sqlite3';
import { Client } from 'pg';
import { seededRandom } from './random.js';
import { companyCount, companyRow, employeeRow, type Row } from './rows.js';

/** Raise this when the generated rows change: databases are kept between runs. */
export const dataVersion = 2;

/** Fills the empty tables that a generated server created, with the same rows in every run. */
export function fillDatabase(file: string, employeeCount: number): void {
  const random = seededRandom(20_240_229);
  const database = new Database(file);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = OFF');
  database.transaction(() => {
    insertRows(database, 'Company', companyCount, (id) => companyRow(id, random));
    insertRows(database, 'Employee', employeeCount, (id) => employeeRow(id, random));
    database
      .prepare(`update "__datastore" set "value" = ? where "name" = 'globalStamp'`)
      .run(companyCount + employeeCount);
  })();
  // One file without a write-ahead log, so that its copy is the whole database.
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
}

/** Fills a database of PostgreSQL. */
export async function fillPostgres(url: string, employeeCount: number): Promise<void> {
  const random = seededRandom(20_240_229);
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('begin');
  await sendRows(client, 'Company', companyCount, (id) => companyRow(id, random));
  await sendRows(client, 'Employee', employeeCount, (id) => employeeRow(id, random));
  await client.query(`update "__datastore" set "value" = $1 where "name" = 'globalStamp'`, [
    companyCount + employeeCount,
  ]);
  await client.query('commit');
  await client.query('vacuum analyze');
  await client.end();
}

const rowsOfStatement = 5_000;

async function sendRows(
  client: Client,
  table: string,
  count: number,
  row: (id: number) => Row,
): Promise<void> {
  for (let first = 1; first <= count; first += rowsOfStatement) {
    const size = Math.min(rowsOfStatement, count - first + 1);
    const rows = Array.from({ length: size }, (_, index) => row(first + index));
    await client.query(
      `insert into "${table}" select * from json_populate_recordset(null::"${table}", $1)`,
      [JSON.stringify(rows)],
    );
  }
  await client.query(`select setval(pg_get_serial_sequence('"${table}"', 'ID'), $1)`, [count]);
}

function insertRows(
  database: Database.Database,
  table: string,
  count: number,
  row: (id: number) => Row,
): void {
  let insert: Database.Statement | undefined;
  for (let id = 1; id <= count; id += 1) {
    const values = row(id);
    insert ??= database.prepare(
      `insert into "${table}" (${Object.keys(values)
        .map((each) => `"${each}"`)
        .join(', ')}) values (${Object.keys(values)
        .map(() => '?')
        .join(', ')})`,
    );
    insert.run(Object.values(values));
  }
}
