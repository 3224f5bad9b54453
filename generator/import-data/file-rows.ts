import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { readFile, realpath } from 'node:fs/promises';
import { SourceFiles } from '../import/files.js';
import { ImportStop } from '../import/messages.js';
import type { Draft } from '../import/render.js';
import { draftOf } from './plan.js';
import type { Identity } from '../import/source-model.js';
import {
  CommaNumber,
  csvRecords,
  jsonRecords,
  type Records,
  sqlRecords,
  SqlBytes,
  SqlFile,
} from './records.js';
import {
  mostBytes,
  type Place,
  type ReadColumn,
  type RowSource,
  sizeOf,
  type SourceRow,
  Unusable,
} from './rows.js';

interface FileSource {
  readonly rows: RowSource;
  readonly draft: Draft;
}

/**
 * The rows of a folder of exports: `JsonExport/<table>/Export1.json`, `SQLExport/<table>/Export1.sql`,
 * `<table>.json`, `<table>.csv`. Links are not followed.
 */
export async function fileRows(folder: string, shown: string): Promise<FileSource> {
  const files = await SourceFiles.open(folder);
  const tables = new Map<string, Table>();
  const paths = await files.find(/\.(?:json|csv|sql)$/i, /^\.|^node_modules$/);
  for (const path of paths.toSorted(byNumber)) {
    const plainName = basename(path, extname(path));
    const name = /^Export\d*$/i.test(plainName) ? basename(dirname(path)) : plainName;
    const table = tables.get(name) ?? { name, files: [], columns: new Set<string>(), count: 0 };
    tables.set(name, table);
    table.files.push(path);
    for await (const record of recordsOf(files.root, path, shown)) {
      table.count += 1;
      for (const column of record.keys()) table.columns.add(column);
    }
  }
  if (tables.size === 0) {
    throw new ImportStop('import/empty', shown, 'it holds no *.json, *.csv or *.sql of a table');
  }
  const described = [...tables.values()].map(({ name, columns }) => ({
    name,
    attributes: [...columns],
    relations: [],
  }));
  return { rows: new FileRows(files.root, shown, tables), draft: draftOf(described) };
}

interface Table {
  readonly name: string;
  readonly files: string[];
  /** The columns of all records. */
  readonly columns: Set<string>;
  count: number;
}

/** `Export2` comes before `Export10`. */
function byNumber(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

function recordsOf(root: string, path: string, shown: string): Records {
  const fail = (reason: string): never => {
    throw new ImportStop('import/unreadable', `${shown}/${path}`, reason);
  };
  const stream = textOf(createReadStream(join(root, path)), fail);
  switch (extname(path).toLowerCase()) {
    case '.json':
      return jsonRecords(stream, fail);
    case '.csv':
      return csvRecords(stream, fail);
    default:
      return sqlRecords(stream, fail);
  }
}

/** The text of a file in UTF-8, with or without a mark at its beginning. */
async function* textOf(
  chunks: AsyncIterable<Uint8Array>,
  fail: (reason: string) => never,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decoded = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      return fail('it is not in UTF-8; convert it, for example with iconv');
    }
  };
  for await (const chunk of chunks) yield decoded(chunk);
  yield decoded();
}

/** The position of a reader in the records of a table. */
interface Reader {
  /** Records that it has passed. */
  passed: number;
  readonly records: AsyncIterator<ReadonlyMap<string, unknown>, void>;
}

class FileRows implements RowSource {
  readonly keepsBlanks = true;
  readonly #readers = new Map<Identity, Reader>();

  constructor(
    private readonly root: string,
    readonly shown: string,
    private readonly tables: ReadonlyMap<string, Table>,
  ) {}

  tableName(table: Identity): string {
    return table.slice('table:'.length);
  }

  count(table: Identity): Promise<number> {
    return Promise.resolve(this.#table(table).count);
  }

  async read(
    table: Identity,
    columns: readonly ReadColumn[],
    after: Place | undefined,
    limit: number,
  ): Promise<readonly SourceRow[]> {
    const reader = await this.#readerAt(table, Number(after?.[0] ?? 0));
    const rows: SourceRow[] = [];
    let bytes = 0;
    while (rows.length < limit && bytes <= mostBytes) {
      const { value: record, done } = await reader.records.next();
      if (done === true) break;
      reader.passed += 1;
      const values = await Promise.all(
        columns.map((column) => this.#value(table, record.get(column.column), column)),
      );
      rows.push({ place: [reader.passed], identity: [reader.passed], values });
      bytes += values.reduce<number>((all, each) => all + sizeOf(each), 0);
    }
    return rows;
  }

  async close(): Promise<void> {
    for (const { records } of this.#readers.values()) await records.return?.();
  }

  #table(table: Identity): Table {
    const found = this.tables.get(this.tableName(table));
    if (found === undefined) throw new Error(`The source has no ${table}.`);
    return found;
  }

  /** Files are read from their beginning; the reader goes on where it stands. */
  async #readerAt(table: Identity, place: number): Promise<Reader> {
    const known = this.#readers.get(table);
    if (known?.passed === place) return known;
    await known?.records.return?.();
    const reader: Reader = { passed: 0, records: this.#recordsOf(table) };
    this.#readers.set(table, reader);
    while (reader.passed < place) {
      const { done } = await reader.records.next();
      if (done === true) break;
      reader.passed += 1;
    }
    return reader;
  }

  async *#recordsOf(table: Identity): AsyncGenerator<ReadonlyMap<string, unknown>, void> {
    for (const path of this.#table(table).files) yield* recordsOf(this.root, path, this.shown);
  }

  async #value(table: Identity, value: unknown, { type }: ReadColumn): Promise<unknown> {
    if (value instanceof SqlFile) return this.#file(table, value.path, type);
    if (value instanceof SqlBytes) return value.bytes;
    if (value instanceof CommaNumber) {
      const isDecimal = type === 'number' || type === 'decimal';
      return isDecimal ? value.text.trim().replace(',', '.') : value.text;
    }
    if (type === 'image' || type === 'blob') {
      if (typeof value === 'string') return value === '' ? null : this.#file(table, value, type);
      return bytesOf(value);
    }
    if (type === 'date' && typeof value === 'string') return dateOf(value);
    if (type === 'duration' && typeof value === 'string') return durationOf(value);
    return value;
  }

  /** A file that an export names: below the folder of its table or of the export. */
  async #file(table: Identity, path: string, type: string): Promise<unknown> {
    const plainPath = path.replaceAll('\\', '/');
    const folders = new Set(
      this.#table(table).files.flatMap((each) => [dirname(each), dirname(dirname(each)), '.']),
    );
    for (const folder of folders) {
      const full = join(this.root, folder, plainPath);
      const real = await realpath(full).catch(() => undefined);
      if (real !== full || !real.startsWith(join(this.root, '/'))) continue;
      const bytes = await readFile(full).catch(() => undefined);
      if (bytes === undefined) continue;
      if (type === 'image' || type === 'blob') return bytes;
      return isUtf8(bytes)
        ? bytes.toString()
        : new Unusable(`names a file that is no UTF-8: ${path}`);
    }
    return new Unusable(`names a file that is not there: ${path}`);
  }
}

function bytesOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('hex' in value)) return value;
  const { hex } = value;
  return typeof hex === 'string' && /^(?:[\da-f]{2})*$/i.test(hex)
    ? Buffer.from(hex, 'hex')
    : new Unusable('holds no bytes in hexadecimal digits');
}

const slashed = /^(\d{4})\/(\d\d)\/(\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:[:.](\d{1,9}))?)?$/;
const blank = /^(?:|0{1,2}!0{1,2}!0{1,4}|0000[-/]00[-/]00.*)$/;

/** Reads a date of an SQL export: `2024/02/29 10:00:00:000`. */
function dateOf(text: string): unknown {
  if (blank.test(text)) return null;
  const [, year, month, day, time = '00:00:00', fraction = '0'] = slashed.exec(text) ?? [];
  if (year === undefined || month === undefined || day === undefined) return text;
  return `${year}-${month}-${day}T${time}.${fraction}Z`;
}

/** Reads a duration of an SQL export: `days:hours:minutes:seconds:milliseconds`. */
function durationOf(text: string): unknown {
  const [, ...parts] = /^(\d+):(\d\d):(\d\d):(\d\d):(\d{1,3})$/.exec(text) ?? [];
  if (parts.length === 0) return text === '' ? null : text;
  const [days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0] = parts.map(Number);
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + milliseconds;
}
