import type { ClientBase } from 'pg';
import type { SchemaShape, TableShape } from '../../schema/shape.js';
import type { Trial } from '../../schema/trial.js';
import { quoted } from '../../table-definition.js';
import { type LockWait, whenUnlocked } from './lock-wait.js';

/** The context of filling columns. */
interface Filling {
  readonly client: ClientBase;
  readonly lockWait: LockWait;
  readonly log: ((words: string) => void) | undefined;
  readonly trial: Trial | undefined;
}

/** A column with a derived value that comparisons use, such as a folded text. */
interface DerivedColumn {
  readonly table: TableShape;
  readonly source: string;
  readonly column: string;
}

/** The SQL functions that fold a text, by the prefix of the column name. */
const foldFunctions = { __folded_: 'drs_fold', __unaccented_: 'drs_fold_without_accents' };

const foldedPrefixes = Object.keys(foldFunctions);

const vectorPrefixes = ['__norm_'];

/** Batch size: writers of these rows wait until the batch is filled. */
const rowsAtOnce = 1_000;

/** Servers of an older model may insert rows without the column meanwhile, so several passes may be necessary. */
const mostPasses = 10;

/**
 * Fills the folded columns of texts that somebody else wrote, or that are new: without them, filters would find
 * nothing. Each batch is a transaction of its own.
 * @param shape whose columns all exist
 * @returns what was filled, in words
 */
export async function fillFoldedColumns(
  filling: Filling,
  shape: SchemaShape,
): Promise<readonly string[]> {
  const filled: string[] = [];
  for (const derived of derivedColumns(shape, foldedPrefixes)) {
    let rows = 0;
    filling.trial?.begin();
    for (let pass = 0; pass < mostPasses; pass += 1) {
      const found = await fillOnce(filling, derived);
      rows += found;
      if (found === 0) break;
    }
    if (rows === 0) continue;
    const { table, column } = derived;
    filled.push(`table "${table.name}": column "${column}" is filled for ${rows} rows`);
    filling.trial?.done(`fill ${quoted(table.name)}.${quoted(column)}`, rows);
  }
  return filled;
}

/** Finds vectors without a norm, which only the server can compute. */
export async function vectorsWithoutNorm(
  client: ClientBase,
  actual: SchemaShape,
  wanted: SchemaShape,
): Promise<readonly DerivedColumn[]> {
  const found: DerivedColumn[] = [];
  for (const derived of derivedColumns(wanted, vectorPrefixes)) {
    const { table, source, column } = derived;
    const present = actual.tables.find(({ name }) => name === table.name)?.columns ?? [];
    const has = (wantedName: string): boolean => present.some(({ name }) => name === wantedName);
    if (!has(source)) continue;
    const where = `${quoted(source)} is not null${has(column) ? ` and ${quoted(column)} is null` : ''}`;
    const { rows } = await client.query(`select from ${quoted(table.name)} where ${where} limit 1`);
    if (rows.length > 0) found.push(derived);
  }
  return found;
}

/** The folding function and the source of a folded column; `undefined` for other columns. */
export function foldOf(column: string): { source: string; functionName: string } | undefined {
  const found = Object.entries(foldFunctions).find(([prefix]) => column.startsWith(prefix));
  if (found === undefined) return undefined;
  const [prefix, functionName] = found;
  return { source: column.slice(prefix.length), functionName };
}

function derivedColumns(
  { tables }: SchemaShape,
  prefixes: readonly string[],
): readonly DerivedColumn[] {
  return tables.flatMap((table) =>
    table.columns.flatMap(({ name: column }) => {
      const prefix = prefixes.find((each) => column.startsWith(each));
      const source = prefix === undefined ? '' : column.slice(prefix.length);
      return table.columns.some(({ name }) => name === source) ? [{ table, source, column }] : [];
    }),
  );
}

/** Corrects the wrong rows in the order of the key; returns their number. */
async function fillOnce(filling: Filling, derived: DerivedColumn): Promise<number> {
  const { client, lockWait, log } = filling;
  const table = derived.table.name;
  const what = `fill the column ${quoted(derived.column)}`;
  let count = 0;
  let last: string | undefined;
  for (;;) {
    let batch: Batch = { rows: 0, last: null };
    const run = async (): Promise<void> => {
      batch = await fillBatch(client, derived, last);
    };
    await whenUnlocked(client, lockWait, { tables: [table], what, run, log });
    if (last === undefined && batch.rows === rowsAtOnce) {
      log?.(`In the database, table ${quoted(table)}: this takes a while: ${what}`);
    }
    count += batch.rows;
    if (batch.last === null || batch.rows < rowsAtOnce) return count;
    last = batch.last;
  }
}

interface Batch {
  readonly rows: number;
  /** The key of the last row. */
  readonly last: string | null;
}

/** Looks keys up with an array, which uses the index; a join might read the whole table each time. */
async function fillBatch(
  client: ClientBase,
  { table, source, column }: DerivedColumn,
  last: string | undefined,
): Promise<Batch> {
  const name = quoted(table.name);
  const key = quoted(table.columns.find(({ isKey }) => isKey)?.name ?? 'ctid');
  const value = `${foldOf(column)?.functionName ?? ''}(${quoted(source)})`;
  const { rows } = await client.query<{ rows: number; last: string | null }>(
    `with "batch" as (
      select ${key} as "key" from ${name}
      where ${quoted(column)} is distinct from ${value}${last === undefined ? '' : ` and ${key} > $1`}
      order by ${key} limit ${rowsAtOnce} for no key update),
    "filled" as (
      update ${name} set ${quoted(column)} = ${value}
      where ${key} = any (array(select "key" from "batch")))
    select count(*)::integer as "rows",
      (select b."key"::text from "batch" b order by b."key" desc limit 1) as "last" from "batch"`,
    last === undefined ? [] : [last],
  );
  return rows[0] ?? { rows: 0, last: null };
}
