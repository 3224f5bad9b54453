import { RestError } from '../client/errors.js';
import { CsvParser, unguarded } from './csv.js';
import { hasNoFormulas } from './export-rows.js';
import { type ExplorerAttribute, type ExplorerDataclass, isValue } from './model.js';
import type { ExplorerDatastore } from './server.js';
import { problemOf } from './store.js';
import { valueOf } from './written.js';

/** The head of the column in which a file of refused rows says why. */
export const reasonHead = '(reason)';

/** A column of a file. */
export interface ImportColumn {
  readonly head: string;
  /** The attribute that it sets; none for reasons. */
  readonly attribute?: ExplorerAttribute;
  /** Why it cannot be imported. */
  readonly problem?: string;
}

export function importColumns(
  { name, attributes }: ExplorerDataclass,
  heads: readonly string[],
): readonly ImportColumn[] {
  const trimmed = heads.map((text) => unguarded(text.trim()));
  return trimmed.map((head, at) => {
    const attribute = attributes.find((each) => each.name === head);
    if (attribute === undefined && head === reasonHead) return { head };
    if (attribute === undefined) return { head, problem: `${name} has no such attribute` };
    if (trimmed.indexOf(head) < at) return { head, problem: 'stands here twice' };
    if (attribute.isReadOnly) return { head, problem: 'cannot be set' };
    const isText = isValue(attribute) || attribute.kind === 'one';
    return isText ? { head, attribute } : { head, problem: 'is not written in a file' };
  });
}

/** A row of a file. */
export interface FileRow {
  /** As spreadsheets count: the heads are row 1. */
  readonly number: number;
  readonly cells: readonly string[];
}

/**
 * Reads the rows of a file, without empty ones.
 * @param read called with the number of bytes that are read
 * @throws Error if the file is no CSV in UTF-8
 */
export async function* rowsOf(
  file: Blob,
  read: (bytes: number) => void = () => undefined,
): AsyncGenerator<FileRow, void> {
  const parser = new CsvParser();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = file.stream().getReader();
  let number = 0;
  let bytes = 0;
  try {
    for (let isOver = false; !isOver;) {
      const { value, done } = await reader.read();
      isOver = done;
      bytes += value?.length ?? 0;
      read(bytes);
      const text = decoded(decoder, value);
      for (const cells of done ? [...parser.push(text), ...parser.end()] : parser.push(text)) {
        number += 1;
        if (cells.length > 1 || cells[0] !== '') yield { number, cells };
      }
    }
  } finally {
    await reader.cancel();
  }
}

function decoded(decoder: TextDecoder, bytes: Uint8Array | undefined): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch {
    throw new Error('The file is not in UTF-8: save it as "CSV UTF-8".');
  }
}

/** A row that was not stored, and why. */
export interface RefusedRow extends FileRow {
  readonly reason: string;
}

/** What an import has done. */
export interface Imported {
  stored: number;
  readonly refused: RefusedRow[];
  /** The row at which an import goes on: it was not sent, or its answer did not arrive. */
  stoppedAt?: number;
}

export interface ImportOptions {
  readonly datastore: ExplorerDatastore;
  readonly dataclass: ExplorerDataclass;
  readonly columns: readonly ImportColumn[];
  /** The attribute by whose values entities are found and changed; none to create all. */
  readonly match: string | undefined;
  /** Stops the import between two batches. */
  readonly signal: AbortSignal;
  /** Called after each batch. */
  readonly stored: () => void;
  /** The first row to store. */
  readonly from: number;
}

/** Rows that one request stores: all of them, or none. */
const batchSize = 100;

type Values = Readonly<Record<string, unknown>>;

interface ReadyRow extends FileRow {
  readonly values: Values;
}

/**
 * Stores the rows of a file through the rules of the model.
 * @param rows behind the heads
 * @param imported is kept up to date
 * @throws Error if the import cannot go on
 */
export async function importRows(
  rows: AsyncIterable<FileRow>,
  options: ImportOptions,
  imported: Imported,
): Promise<void> {
  let batch: ReadyRow[] = [];
  let last = 1;
  let read = 0;
  try {
    for await (const row of rows) {
      if (row.number < options.from) continue;
      last = row.number;
      read += 1;
      try {
        batch.push({ ...row, values: valuesOf(row, options.columns) });
      } catch (error) {
        imported.refused.push({ ...row, reason: problemOf(error) });
      }
      if (read < batchSize) continue;
      await storeAll(batch, options, imported);
      batch = [];
      read = 0;
      options.stored();
      if (options.signal.aborted) {
        imported.stoppedAt = last + 1;
        return;
      }
    }
  } catch (error) {
    imported.stoppedAt ??= batch[0]?.number ?? last + 1;
    throw error;
  }
  await storeAll(batch, options, imported);
}

/** @throws Error that says what is wrong */
function valuesOf({ cells }: FileRow, columns: readonly ImportColumn[]): Values {
  if (cells.length !== columns.length) {
    throw new Error(`The row has ${cells.length} values, and the heads are ${columns.length}.`);
  }
  const values = columns.flatMap(({ attribute }, at) => {
    if (attribute === undefined) return [];
    const text = cells[at] ?? '';
    try {
      const value = valueOf(attribute, hasNoFormulas(attribute.kind) ? text : unguarded(text));
      // The server makes the keys of new entities.
      if (value === null && attribute.isKey) return [];
      return [[attribute.name, value] as const];
    } catch (error) {
      throw new Error(`${attribute.name}: ${problemOf(error)}`, { cause: error });
    }
  });
  return Object.fromEntries(values);
}

async function storeAll(
  rows: readonly ReadyRow[],
  options: ImportOptions,
  imported: Imported,
): Promise<void> {
  const { match } = options;
  const isNew = ({ values }: ReadyRow): boolean =>
    match === undefined || (values[match] ?? null) === null;
  const changed = rows.filter((each) => !isNew(each));
  try {
    await storeList(changed, match, options, imported);
  } catch (error) {
    // What is changed can be sent again, and nothing was created.
    imported.stoppedAt = rows[0]?.number ?? options.from;
    throw error;
  }
  await storeList(rows.filter(isNew), undefined, options, imported);
}

/** Stores a list at once, or, if that is refused, its halves, until only wrong rows are left. */
async function storeList(
  rows: readonly ReadyRow[],
  match: string | undefined,
  options: ImportOptions,
  imported: Imported,
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  try {
    await save(rows, match, options);
    imported.stored += rows.length;
  } catch (error) {
    if (!isRefusal(error)) {
      imported.stoppedAt = first.number;
      throw error;
    }
    if (rows.length === 1) {
      imported.refused.push({ ...first, reason: reasonOf(error) });
      return;
    }
    const half = Math.ceil(rows.length / 2);
    await storeList(rows.slice(0, half), match, options, imported);
    await storeList(rows.slice(half), match, options, imported);
  }
}

async function save(
  rows: readonly ReadyRow[],
  match: string | undefined,
  { datastore, dataclass: { name } }: ImportOptions,
): Promise<void> {
  const dataclass = datastore.dataclass(name);
  const values = rows.map((each) => each.values);
  if (match !== undefined) await dataclass.upsert(match as never, values);
  else await datastore.atomic(values.map((each) => dataclass.new(each) as never));
}

/** Whether a request was refused because of its entities; other requests may succeed. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof RestError)) return error instanceof TypeError;
  const { status } = error;
  return status >= 400 && status < 500 && status !== 401 && status !== 429;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof RestError)) return problemOf(error);
  return [...new Set(error.errors.map(({ message }) => message))].join(' ');
}
