import type { ClientBase } from 'pg';
import type { Fold } from '../../protocol/fold.js';
import type { SchemaDifference } from '../schema-mismatch.js';
import { quoted } from '../table-definition.js';
import { refusalOf } from './attempt.js';
import type { CatalogEntry } from './catalog.js';

export interface Filled {
  /** What has been filled, in words. */
  readonly filled: readonly string[];
  readonly refused: readonly SchemaDifference[];
}

interface TextRow {
  readonly row: string;
  readonly text: string;
}

const foldedPrefixes = ['__folded_', '__unaccented_'];

const vectorPrefixes = ['__norm_'];

const rowsAtOnce = 10_000;

/**
 * Fills the columns beside texts where a row has none though it has the text: without them, filters would find nothing. Vectors
 * without their norm are told instead.
 * @param columns that the model wants, and that are there; a transaction is open
 */
export async function fillDerivedColumns(
  client: ClientBase,
  columns: readonly CatalogEntry[],
  fold: Fold,
): Promise<Filled> {
  const filled: string[] = [];
  const refused: SchemaDifference[] = [];
  for (const { table, name: column } of columns) {
    const name = `table "${table}": column "${column}"`;
    const has = (source: string): boolean =>
      columns.some((each) => each.table === table && each.name === source);
    const text = sourceOf(column, foldedPrefixes);
    const vector = sourceOf(column, vectorPrefixes);
    if (text !== undefined && has(text)) {
      let rows = 0;
      const reason = await refusalOf(client, async () => {
        rows = await fill(client, { table, source: text, column }, fold);
      });
      if (rows > 0) filled.push(`${name} is filled for ${rows} rows`);
      if (reason !== undefined) refused.push({ what: `${name} cannot be filled: ${reason}` });
    } else if (vector !== undefined && has(vector)) {
      const where = lacking(vector, column);
      const { rows } = await client.query(`select from ${quoted(table)} where ${where} limit 1`);
      if (rows.length > 0) {
        refused.push({ what: `${name} is empty where "${vector}" is not` });
      }
    }
  }
  return { filled, refused };
}

function sourceOf(column: string, prefixes: readonly string[]): string | undefined {
  const prefix = prefixes.find((each) => column.startsWith(each));
  return prefix === undefined ? undefined : column.slice(prefix.length);
}

function lacking(source: string, column: string): string {
  return `${quoted(source)} is not null and ${quoted(column)} is null`;
}

/** @returns how many rows had no value */
async function fill(
  client: ClientBase,
  {
    table,
    source,
    column,
  }: { readonly table: string; readonly source: string; readonly column: string },
  fold: Fold,
): Promise<number> {
  await client.query(
    `declare "filling" no scroll cursor for select ctid::text as "row", ${quoted(source)} as "text"
      from ${quoted(table)} where ${lacking(source, column)}`,
  );
  let count = 0;
  for (;;) {
    const { rows } = await client.query<TextRow>(`fetch ${rowsAtOnce} from "filling"`);
    if (rows.length === 0) break;
    await client.query(
      `update ${quoted(table)} as "t" set ${quoted(column)} = "given"."text"
        from unnest(cast($1 as tid[]), cast($2 as text[])) as "given" ("row", "text") where "t".ctid = "given"."row"`,
      [rows.map(({ row }) => row), rows.map(({ text }) => fold(text))],
    );
    count += rows.length;
  }
  await client.query('close "filling"');
  return count;
}
