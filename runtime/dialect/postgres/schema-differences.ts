import type { CatalogEntry } from './catalog.js';

/**
 * What the schema `actual` lacks or has otherwise than `expected`; tables that the model does not know are let be, and so are
 * indexes that somebody has added: they change no answer.
 */
export function schemaDifferences(
  expected: readonly CatalogEntry[],
  actual: readonly CatalogEntry[],
): string[] {
  const found = byTable(actual);
  return [...byTable(expected)].flatMap(([table, wanted]) => {
    const present = found.get(table);
    if (present === undefined) return [`table "${table}" is missing`];
    return [
      ...namedDifferences(wanted, present, 'column', table),
      ...constraintDifferences(wanted, present, table),
      ...namedDifferences(wanted, present, 'index', table),
    ];
  });
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
): string[] {
  const wanted = expected.filter((each) => each.kind === kind);
  const present = new Map(
    actual.filter((each) => each.kind === kind).map(({ name, definition }) => [name, definition]),
  );
  const differences = wanted.flatMap(({ name, definition }) => {
    const is = present.get(name);
    present.delete(name);
    const what = `table "${table}": ${kind} "${name}"`;
    if (is === undefined) return [`${what} is missing`];
    return is === definition ? [] : [`${what} is ${is}, the model wants ${definition}`];
  });
  if (kind === 'index') return differences;
  const more = [...present.keys()].map(
    (name) => `table "${table}": column "${name}" is not in the model`,
  );
  return [...differences, ...more];
}

/** Constraints have names that PostgreSQL draws: what they say is compared. */
function constraintDifferences(
  expected: readonly CatalogEntry[],
  actual: readonly CatalogEntry[],
  table: string,
): string[] {
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
  ];
}
