import { csvRow, guarded } from './csv.js';
import { memberOf } from './entity.js';
import {
  attributesAt,
  type ExplorerDataclass,
  type ExplorerModel,
  isValue,
  type ValueKind,
} from './model.js';
import type { SavedFile } from './saved-file.js';
import type { Row, Rows, Selection } from './server.js';

/** A column of an export. */
export interface ExportColumn {
  readonly name: string;
  /** What is read for it. */
  readonly path: string;
  readonly kind: ValueKind;
  readonly valueOf: (row: Row) => unknown;
}

/** Columns with the values at the ends of paths; what has no text, such as an image, gets none. */
export function columnsAt(
  model: ExplorerModel,
  dataclass: ExplorerDataclass,
  paths: readonly string[],
): readonly ExportColumn[] {
  return paths.flatMap((path) => {
    const names = path.split('.');
    const attribute = attributesAt(model, dataclass, names)?.at(-1);
    if (attribute === undefined || !isValue(attribute)) return [];
    const valueOf = (row: Row): unknown =>
      names.reduce<unknown>((owner, name) => memberOf(owner as Row | null | undefined, name), row);
    return [{ name: path, path, kind: attribute.kind, valueOf }];
  });
}

/** Columns with all that an import can set; relations are the keys of their entities. */
export function importableColumns(
  { dataclasses }: ExplorerModel,
  dataclass: ExplorerDataclass,
): readonly ExportColumn[] {
  return dataclass.attributes.flatMap((each): readonly ExportColumn[] => {
    const { name, kind, isReadOnly, target = '' } = each;
    if (isReadOnly) return [];
    if (isValue(each)) return [{ name, path: name, kind, valueOf: (row) => memberOf(row, name) }];
    const related = dataclasses.get(target);
    const read = related?.key ?? related?.attributes.find(isValue)?.name;
    if (kind !== 'one' || read === undefined) return [];
    const valueOf = (row: Row): unknown => (memberOf(row, name) as Row | null | undefined)?.key;
    return [{ name, path: `${name}.${read}`, kind, valueOf }];
  });
}

export const formats = {
  // Spreadsheets take a file without the mark for one of another encoding.
  csv: { type: 'text/csv', head: '\uFEFF', first: csvHead, row: csvLine, end: '' },
  json: { type: 'application/json', head: '[', first: () => '', row: jsonRow, end: '\n]\n' },
} as const;

export type Format = keyof typeof formats;

function csvHead(columns: readonly ExportColumn[]): string {
  return csvRow(columns.map(({ name }) => guarded(name)));
}

function csvLine(columns: readonly ExportColumn[], row: Row): string {
  return csvRow(columns.map(({ kind, valueOf }) => cellText(kind, valueOf(row))));
}

function jsonRow(columns: readonly ExportColumn[], row: Row, index: number): string {
  const values = columns.map(({ name, valueOf }) => [name, valueOf(row) ?? null] as const);
  return `${index === 0 ? '' : ','}\n${JSON.stringify(Object.fromEntries(values))}`;
}

/** A value as an import takes it: dates in ISO 8601, objects as JSON; empty for null. */
function cellText(kind: ValueKind, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  if (kind === 'object') return guarded(JSON.stringify(value));
  if (typeof value !== 'string') return JSON.stringify(value);
  return hasNoFormulas(kind) ? value : guarded(value);
}

/** Whether texts of a kind are no texts that somebody has written: the minus of a number is none. */
export function hasNoFormulas(kind: ValueKind): boolean {
  return ['number', 'decimal', 'duration', 'date', 'day', 'boolean'].includes(kind);
}

/** So much text is written at once. */
const partLength = 250_000;

/**
 * Writes all entities of a selection into a file, page by page.
 * @param written called with how many rows are written
 */
export async function exportRows(
  selection: Selection,
  columns: readonly ExportColumn[],
  format: Format,
  file: SavedFile,
  { signal, written }: { readonly signal: AbortSignal; readonly written: (rows: number) => void },
): Promise<void> {
  const { head, first, row: line, end } = formats[format];
  const rows = selection.select(...columns.map(({ path }) => path as never)) as unknown as Rows;
  let part = head + first(columns);
  let count = 0;
  // An entity set: behind a cursor, each page may have to order all that a filter finds.
  for await (const row of rows) {
    signal.throwIfAborted();
    part += line(columns, row, count);
    count += 1;
    if (part.length < partLength) continue;
    await file.write(part);
    part = '';
    written(count);
  }
  await file.write(part + end);
  await file.close();
  written(count);
}
