import type { ClientBase } from 'pg';
import type { Fold } from '../../protocol/fold.js';
import type { SchemaDifference } from '../schema-mismatch.js';
import { quoted } from '../table-definition.js';
import { refusalOf } from './attempt.js';
import { type CatalogEntry, catalogOf } from './catalog.js';
import { fillDerivedColumns } from './derived-columns.js';
import { type MissingPart, schemaDifferences } from './schema-differences.js';
import { columnText, type WantedStatements } from './wanted-statements.js';

export interface Additions {
  /** What has been added, in words. */
  readonly added: readonly string[];
  /** What could not be. */
  readonly refused: readonly SchemaDifference[];
}

/** A database that is added to, in a transaction which is undone when anything differs still. */
export interface Growing {
  readonly client: ClientBase;
  /** Of PostgreSQL's schema that holds the tables. */
  readonly name: string;
  /** What the model wants to be in it. */
  readonly expected: readonly CatalogEntry[];
  readonly statements: WantedStatements;
  readonly fold: Fold;
}

/**
 * Adds what a database lacks, where PostgreSQL finds that no row that is there breaks: tables, columns that may be empty,
 * indexes, and the foreign keys of what is new. Nothing is removed or changed.
 */
export async function addMissing(growing: Growing): Promise<Additions> {
  const tables = await addAll('table', growing);
  const columns = await addAll('column', growing);
  const { filled, refused } = await fillDerivedColumns(
    growing.client,
    await wantedColumns(growing),
    growing.fold,
  );
  const indexes = await addAll('index', growing);
  const keys = await addForeignKeys(growing, [...tables.parts, ...columns.parts]);
  const parts = [...tables.parts, ...columns.parts, ...indexes.parts];
  return {
    added: [
      ...parts.map(({ what }) => what.replace(/missing$/, 'added')),
      ...filled,
      ...(tables.parts.length === 0 ? [] : await formerTables(growing)),
    ],
    refused: [...tables.refused, ...columns.refused, ...refused, ...indexes.refused, ...keys],
  };
}

interface Added {
  readonly parts: readonly MissingPart[];
  readonly refused: readonly SchemaDifference[];
}

/** A computed column needs others: what is missing is tried until nothing succeeds any more. */
async function addAll(kind: MissingPart['kind'], growing: Growing): Promise<Added> {
  const parts: MissingPart[] = [];
  for (;;) {
    const { parts: succeeded, refused } = await addOnce(kind, growing);
    parts.push(...succeeded);
    if (succeeded.length === 0 || refused.length === 0) return { parts, refused };
  }
}

async function addOnce(kind: MissingPart['kind'], growing: Growing): Promise<Added> {
  const { client, name, expected, statements } = growing;
  const parts: MissingPart[] = [];
  const refused: SchemaDifference[] = [];
  for (const each of schemaDifferences(expected, await catalogOf(client, name))) {
    if (!('kind' in each) || each.kind !== kind) continue;
    const sql = additionOf(each, statements);
    if (sql === undefined) continue;
    const reason = await refusalOf(client, () => client.query(sql));
    if (reason === undefined) parts.push(each);
    else refused.push({ what: `${each.what}, and cannot be added: ${reason}` });
  }
  return { parts, refused };
}

/** The statement that adds what is missing. */
export function additionOf(
  { kind, table, name }: MissingPart,
  { tables, indexes }: WantedStatements,
): string | undefined {
  if (kind === 'table') return tables.get(table);
  if (kind === 'index') return indexes.get(name);
  const text = columnText(tables.get(table) ?? '', name);
  return text === undefined ? undefined : `ALTER TABLE ${quoted(table)} ADD COLUMN ${text}`;
}

async function addForeignKeys(
  { client, statements }: Growing,
  added: readonly MissingPart[],
): Promise<SchemaDifference[]> {
  const refused: SchemaDifference[] = [];
  for (const { table, column, target, sql } of statements.foreignKeys) {
    const isNew = added.some(
      (each) =>
        (each.kind === 'table' && (each.table === table || each.table === target)) ||
        (each.kind === 'column' && each.table === table && each.name === column),
    );
    if (!isNew) continue;
    const reason = await refusalOf(client, () => client.query(sql));
    const what = `table "${table}": foreign key "${column}"`;
    if (reason !== undefined) refused.push({ what: `${what} cannot be added: ${reason}` });
  }
  return refused;
}

async function wantedColumns({ client, name, expected }: Growing): Promise<CatalogEntry[]> {
  const present = await catalogOf(client, name);
  return expected.filter(
    (each) =>
      each.kind === 'column' &&
      present.some(
        (other) =>
          other.kind === 'column' && other.table === each.table && other.name === each.name,
      ),
  );
}

/** The new table may be that of a dataclass with another name: what became of the old one must not be a riddle. */
async function formerTables({ client, name, expected }: Growing): Promise<string[]> {
  const wanted = new Set(expected.map(({ table }) => table));
  return (await catalogOf(client, name))
    .filter((each) => each.kind === 'column' && each.name === '__STAMP' && !wanted.has(each.table))
    .map(
      ({ table }) => `table "${table}" is kept as it is, and no dataclass of the model is in it`,
    );
}
