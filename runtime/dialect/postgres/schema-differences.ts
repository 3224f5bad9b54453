import { remedyOf } from '../column-remedy.js';
import type { SchemaDifference } from '../schema-mismatch.js';
import { quoted } from '../table-definition.js';
import type { CatalogEntry } from './catalog.js';

/** A difference that ends when something is added. */
export interface MissingPart extends SchemaDifference {
  readonly kind: 'table' | 'column' | 'index';
  readonly table: string;
  /** Of the table, the column or the index. */
  readonly name: string;
}

/**
 * What the schema `actual` lacks or has otherwise than `expected`; tables that the model does not know are let be, and so are
 * indexes that somebody has added: they change no answer.
 */
export function schemaDifferences(
  expected: readonly CatalogEntry[],
  actual: readonly CatalogEntry[],
): (SchemaDifference | MissingPart)[] {
  const found = byTable(actual);
  return [...byTable(expected)].flatMap(([table, wanted]) => {
    const present = found.get(table);
    if (present === undefined) return [missing('table', table, table)];
    return [
      ...namedDifferences(wanted, present, 'column', table),
      ...constraintDifferences(wanted, present, table),
      ...namedDifferences(wanted, present, 'index', table),
    ];
  });
}

function missing(kind: MissingPart['kind'], table: string, name: string): MissingPart {
  const what = kind === 'table' ? `table "${table}"` : `table "${table}": ${kind} "${name}"`;
  return { what: `${what} is missing`, kind, table, name };
}

function byTable(entries: readonly CatalogEntry[]): Map<string, CatalogEntry[]> {
  const tables = new Map<string, CatalogEntry[]>();
  for (const entry of entries) {
    if (entry.kind === 'function') continue;
    const known = tables.get(entry.table);
    if (known === undefined) tables.set(entry.table, [entry]);
    else known.push(entry);
  }
  return tables;
}

function namedDifferences(
  expected: readonly CatalogEntry[],
  actual: readonly CatalogEntry[],
  kind: 'column' | 'index',
  table: string,
): SchemaDifference[] {
  const wanted = expected.filter((each) => each.kind === kind);
  const present = new Map(
    actual.filter((each) => each.kind === kind).map(({ name, definition }) => [name, definition]),
  );
  const differences = wanted.flatMap(({ name, definition }): SchemaDifference[] => {
    const is = present.get(name);
    present.delete(name);
    const what = `table "${table}": ${kind} "${name}"`;
    if (is === undefined) return [missing(kind, table, name)];
    return is === definition ? [] : [{ what: `${what} is ${is}, the model wants ${definition}` }];
  });
  if (kind === 'index') return differences;
  const lacking = wanted.filter(({ name }) => !actual.some((each) => isColumn(each, name)));
  const more = [...present].map(([name, definition]) => {
    const alike = lacking.filter((each) => each.definition === definition);
    const names = alike.map((each) => each.name);
    const removal = `ALTER TABLE ${quoted(table)} DROP COLUMN ${quoted(name)};`;
    return {
      what: `table "${table}": column "${name}" is not in the model`,
      remedy: remedyOf(table, name, names, removal),
    };
  });
  return [...differences, ...more];
}

function isColumn({ kind, name }: CatalogEntry, column: string): boolean {
  return kind === 'column' && name === column;
}

/** Constraints have names that PostgreSQL draws: what they say is compared. */
function constraintDifferences(
  expected: readonly CatalogEntry[],
  actual: readonly CatalogEntry[],
  table: string,
): SchemaDifference[] {
  const constraints = (entries: readonly CatalogEntry[]): string[] =>
    entries.filter(({ kind }) => kind === 'constraint').map(({ definition }) => definition);
  const wanted = constraints(expected);
  const present = constraints(actual);
  return [
    ...wanted
      .filter((each) => !present.includes(each))
      .map((each) => `table "${table}": constraint ${each} is missing`),
    ...present
      .filter((each) => !wanted.includes(each))
      .map((each) => `table "${table}": constraint ${each} is not in the model`),
  ].map((what) => ({ what }));
}
