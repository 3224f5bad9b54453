import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { StorageType } from '../protocol/storage-type.js';
import { hasDecimalComma, separatorName } from '../protocol/csv-separator.js';
import { stringEnd, withRounded } from '../protocol/json-problem.js';
import { nearestName } from '../protocol/names.js';
import { CsvError, csvRecords } from './csv.js';

/** What is wrong with data files as a whole, so that nothing of them is stored. */
export class DataFileError extends Error {
  /** @param problems lines that begin with the file */
  constructor(...problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'DataFileError';
  }
}

/** @param place the file, with the line if it is known: `data/Company.csv:3` */
function wrong(place: string, what: string): DataFileError {
  return new DataFileError(`${place}: ${what}`);
}

/** One entity of a data file, as it is written there. */
export interface SeedRow {
  readonly dataclass: Dataclass;
  readonly file: string;
  /** The line of the row, counted from 1. */
  readonly line: number;
  /** Values in JSON form, by the names of attributes; a related entity is its key, or `{ name: value }`. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Why there are no values. */
  readonly problem?: string;
}

/** The entities of one dataclass in one file. */
export interface DataSource {
  readonly dataclass: Dataclass;
  rows(): AsyncIterable<SeedRow> | Iterable<SeedRow>;
}

type Dataclasses = ReadonlyMap<string, Dataclass>;

/**
 * Opens data files. JSON files are read as a whole. CSV files are checked from the beginning to the
 * end, and read again when their rows are.
 * @param paths of files and folders
 * @throws DataFileError
 */
export async function openDataFiles(
  paths: readonly string[],
  dataclasses: Dataclasses,
): Promise<readonly DataSource[]> {
  const sources: DataSource[] = [];
  const problems: string[] = [];
  for (const path of paths) {
    try {
      for (const file of await filesAt(path)) sources.push(...(await sourcesIn(file, dataclasses)));
    } catch (error) {
      if (!(error instanceof DataFileError)) throw error;
      problems.push(error.message);
    }
  }
  if (problems.length > 0) throw new DataFileError(...problems);
  return sources;
}

async function sourcesIn(file: string, dataclasses: Dataclasses): Promise<readonly DataSource[]> {
  const type = extname(file).toLowerCase();
  if (type === '.json') return jsonSources(file, dataclasses);
  if (type === '.csv') return [await csvSource(file, dataclasses)];
  throw wrong(file, 'the name of a data file ends with .json or .csv.');
}

async function filesAt(path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path)).filter((name) => /\.(?:json|csv)$/i.test(name));
    if (names.length === 0) throw wrong(path, 'this folder has no JSON or CSV file.');
    return names.sort().map((name) => join(path, name));
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(file: string, error: unknown): unknown {
  if (error instanceof CsvError) return wrong(`${file}:${error.line}`, error.message);
  if (!(error instanceof Error && 'code' in error)) return error;
  if (error.code === 'ENOENT') return wrong(file, 'there is no such file.');
  if (error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
    return wrong(file, 'the file is not UTF-8.');
  }
  return wrong(file, `it cannot be read: ${error.message}.`);
}

/** @param from where the name was found */
function dataclassNamed(
  name: string,
  dataclasses: Dataclasses,
  { file, from }: { readonly file: string; readonly from: string },
): Dataclass {
  const names = [...dataclasses.keys()];
  // The names of two dataclasses differ in more than case.
  const known = names.find((each) => each.toLowerCase() === name.toLowerCase());
  const dataclass = dataclasses.get(known ?? name);
  if (dataclass !== undefined) return dataclass;
  const near = nearestName(name, names);
  const hint = near === undefined ? `It has ${names.join(', ')}.` : `Did you mean ${near}?`;
  throw wrong(file, `the model has no dataclass ${name}, as ${from} says. ${hint}`);
}

function dataclassOfFile(file: string, dataclasses: Dataclasses): Dataclass {
  const name = basename(file, extname(file));
  return dataclassNamed(name, dataclasses, { file, from: 'the name of the file' });
}

/** A list of the entities of the dataclass that names the file, or an object of such lists. */
async function jsonSources(file: string, dataclasses: Dataclasses): Promise<readonly DataSource[]> {
  const text = await wholeText(file);
  const value = parsed(file, text);
  if (Array.isArray(value)) {
    const dataclass = dataclassOfFile(file, dataclasses);
    return [listSource(file, dataclass, value, linesOfItems(text, 1))];
  }
  if (typeof value !== 'object' || value === null) throw notLists(file);
  const lists = Object.entries(value).map(([name, list]): readonly [Dataclass, unknown[]] => {
    const dataclass = dataclassNamed(name, dataclasses, { file, from: 'a key of the file' });
    if (!Array.isArray(list)) throw notLists(file);
    return [dataclass, list];
  });
  const lines = linesOfItems(text, 2);
  if (lines.length !== lists.reduce((sum, [, list]) => sum + list.length, 0)) {
    throw wrong(file, 'it has the same key twice.');
  }
  let at = 0;
  return lists.map(([dataclass, list]) => {
    const own = lines.slice(at, at + list.length);
    at += list.length;
    return listSource(file, dataclass, list, own);
  });
}

function notLists(file: string): Error {
  const forms = '[{…}, …], or an object with a list for each dataclass: {"Company": [{…}, …]}';
  return wrong(file, `it must hold a list of entities: ${forms}.`);
}

async function wholeText(file: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (error) {
    throw unreadable(file, error);
  }
}

function parsed(file: string, text: string): unknown {
  try {
    return withRounded(text, JSON.parse(text), 'members');
  } catch (error) {
    // The message quotes the text around the place, and tells the place itself of some errors only.
    const message = error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : String(error);
    const offset = /position (\d+)/.exec(message)?.[1];
    const line = text.slice(0, Number(offset)).split('\n').length;
    throw wrong(offset === undefined ? file : `${file}:${line}`, `it is not JSON: ${message}.`);
  }
}

/**
 * The lines on which the items of lists begin.
 * @param text JSON
 * @param depth how many brackets are around an item
 */
function linesOfItems(text: string, depth: number): readonly number[] {
  const lines: number[] = [];
  let line = 1;
  let level = 0;
  let isNext = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '\n') line += 1;
    if (character <= ' ') continue;
    if (character === ']' || character === '}') {
      level -= 1;
      isNext = false;
      continue;
    }
    if (isNext && level === depth) lines.push(line);
    isNext = false;
    if (character === '"') at = stringEnd(text, at);
    else if (character === ',') isNext = level === depth;
    else if (character === '[' || character === '{') {
      level += 1;
      isNext = level === depth;
    }
  }
  return lines;
}

function listSource(
  file: string,
  dataclass: Dataclass,
  list: readonly unknown[],
  lines: readonly number[],
): DataSource {
  const row = (item: unknown, index: number): SeedRow => {
    const place = { dataclass, file, line: lines[index] ?? 1 };
    return typeof item === 'object' && item !== null && !Array.isArray(item)
      ? { ...place, values: item as SeedRow['values'] }
      : { ...place, values: {}, problem: 'an entity is an object: {"name": "Bolt"}.' };
  };
  return {
    dataclass,
    *rows() {
      for (const [index, item] of list.entries()) yield row(item, index);
    },
  };
}

/** A column of a CSV file: an attribute, or one of a related entity as in `employer.name`. */
interface Column {
  readonly name: string;
  readonly by: string | undefined;
  readonly type: StorageType;
}

/** One line for each entity of the dataclass that names the file; the first one has names. */
async function csvSource(file: string, dataclasses: Dataclasses): Promise<DataSource> {
  const dataclass = dataclassOfFile(file, dataclasses);
  let isEmpty = true;
  for await (const { cells } of recordsOf(file)) {
    if (isEmpty) columnsOf(file, dataclass, cells);
    isEmpty = false;
  }
  if (isEmpty) throw wrong(file, 'its first line must name attributes.');
  return { dataclass, rows: () => csvRows(file, dataclass) };
}

async function* csvRows(file: string, dataclass: Dataclass): AsyncGenerator<SeedRow> {
  let columns: readonly Column[] | undefined;
  for await (const { line, cells, separator } of recordsOf(file)) {
    if (columns === undefined) {
      columns = columnsOf(file, dataclass, cells);
      continue;
    }
    const place = { dataclass, file, line };
    if (cells.length === columns.length) {
      const values = columns.map(({ name, by, type }, index): [string, unknown] => {
        const cell = cells[index] ?? '';
        const isComma = isDecimal(type) && hasDecimalComma(cell, separator);
        const value = cellValue(isComma ? cell.replace(',', '.') : cell, type);
        return [name, by === undefined || value === null ? value : { [by]: value }];
      });
      yield { ...place, values: Object.fromEntries(values) };
    } else {
      const words = `cells separated by ${separatorName(separator)}`;
      const problem = `the first line has ${columns.length} ${words}, and this one has ${cells.length}.`;
      yield { ...place, values: {}, problem };
    }
  }
}

async function* recordsOf(file: string): ReturnType<typeof csvRecords> {
  try {
    yield* csvRecords(textOf(file));
  } catch (error) {
    throw unreadable(file, error);
  }
}

async function* textOf(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const bytes of createReadStream(file)) {
    yield decoder.decode(bytes as Uint8Array, { stream: true });
  }
  yield decoder.decode();
}

/** @throws DataFileError that lists what is wrong with the first line */
function columnsOf(
  file: string,
  dataclass: Dataclass,
  names: readonly string[],
): readonly Column[] {
  const columns = names.map((written): Column | string => {
    const [name = '', by, ...others] = written.trim().split('.');
    const attribute = dataclass.allAttributes.get(name);
    const end =
      attribute?.kind !== 'relatedEntity'
        ? attribute
        : by === undefined
          ? dataclass.target(attribute).key
          : dataclass.target(attribute).allAttributes.get(by);
    const isPath = by !== undefined && attribute?.kind !== 'relatedEntity';
    if (end === undefined || isPath || others.length > 0) return unknownName(dataclass, written);
    return { name, by, type: 'type' in end ? end.type : 'string' };
  });
  const seen = new Set<string>();
  const problems = columns.flatMap((each) => {
    if (typeof each === 'string') return [each];
    if (seen.has(each.name)) return [`two columns are for ${each.name}.`];
    seen.add(each.name);
    return [];
  });
  if (problems.length === 0) return columns.filter((each) => typeof each !== 'string');
  const [only = ''] = names;
  const isOther = names.length === 1 && only.includes('|');
  const forms = 'the cells must be separated by commas, semicolons or tabs, and not by "|".';
  throw wrong(`${file}:1`, isOther ? forms : problems.join(' '));
}

/** The sentence about a name that is no attribute. */
export function unknownName(dataclass: Dataclass, written: string): string {
  const near = nearestName(written, [...dataclass.allAttributes.keys()]);
  const hint = near === undefined ? '' : ` Did you mean ${near}?`;
  return `${dataclass.name} has no attribute ${JSON.stringify(written)}.${hint}`;
}

function isDecimal(type: StorageType): boolean {
  return type === 'number' || type === 'decimal';
}

/** A cell in JSON form. What is no value of the type stays a text, and is refused as one. */
function cellValue(text: string, type: StorageType): unknown {
  if (text === '') return null;
  const trimmed = text.trim();
  switch (type) {
    case 'string':
    case 'image':
    case 'blob':
      return text;
    case 'boolean':
      if (/^(?:true|1)$/i.test(trimmed)) return true;
      return /^(?:false|0)$/i.test(trimmed) ? false : text;
    case 'object':
    case 'vector':
      try {
        return withRounded(trimmed, JSON.parse(trimmed), 'members');
      } catch {
        return text;
      }
    case 'decimal':
    case 'number':
    case 'integer':
    case 'duration':
    case 'date':
    case 'uuid':
      return trimmed;
  }
}
