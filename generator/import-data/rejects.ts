import { createReadStream } from 'node:fs';
import { appendFile, mkdir, readdir, rename, rm, stat, truncate } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Reason } from '../../runtime/protocol/load-messages.js';
import { LoadStopped } from './loader.js';
import { plain, type ReadColumn, type SourceRow } from './rows.js';

const rejectsFolder = 'rejects';

/** A line of `rejects/<dataclass>.jsonl`. */
export interface RejectLine {
  /** The number of the row among those of its table, from 1. */
  readonly number: number;
  readonly isStored: boolean;
  readonly reasons: readonly Reason[];
  /** The values of the source by column; an image or BLOB is the number of its bytes. */
  readonly row: Readonly<Record<string, unknown>>;
}

type LineContent = Partial<Record<keyof RejectLine, unknown>>;

function isLine(content: LineContent): content is LineContent & RejectLine {
  const { number, isStored, reasons, row } = content;
  return (
    Number.isSafeInteger(number) &&
    Number(number) >= 1 &&
    typeof isStored === 'boolean' &&
    Array.isArray(reasons) &&
    (reasons as readonly unknown[]).every(isReason) &&
    typeof row === 'object' &&
    row !== null &&
    !Array.isArray(row)
  );
}

function isReason(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'attribute' in value &&
    typeof value.attribute === 'string'
  );
}

export function shownRow(parts: readonly ReadColumn[], { values }: SourceRow): RejectLine['row'] {
  return Object.fromEntries(parts.map(({ column }, at) => [column, rejected(values[at])]));
}

/** A value without bytes, which may be too long for one text. */
function rejected(value: unknown): unknown {
  return value instanceof Uint8Array ? { bytes: value.length } : plain(value);
}

/** What stands in a line in place of bytes. */
function isByteCount(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'bytes' in value;
}

/** Values by column. */
export type Changes = Readonly<Record<string, unknown>>;

/** All lines of one row. */
export interface Rejected {
  readonly isStored: boolean;
  /** Attributes whose values are not stored. */
  readonly attributes: ReadonlySet<string>;
  /** Empty if the lines were read without the columns of their table. */
  readonly rows: readonly Changes[];
}

export interface BrokenRule {
  readonly dataclass: string;
  readonly attribute: string;
  readonly rule: string;
  readonly rows: number;
}

/** What somebody has mended in the lines of a row. */
export function changesOf(
  parts: readonly ReadColumn[],
  { values }: SourceRow,
  rows: readonly Changes[],
): Changes {
  const changes: Record<string, unknown> = {};
  for (const [at, { column, type }] of parts.entries()) {
    const own = JSON.stringify(rejected(values[at]) ?? null);
    const holdsBytes = type === 'image' || type === 'blob';
    for (const row of rows) {
      if (!Object.hasOwn(row, column)) continue;
      if (holdsBytes && isByteCount(row[column])) continue;
      if (JSON.stringify(row[column] ?? null) !== own) changes[column] = row[column];
    }
  }
  return changes;
}

export function withChanges(
  parts: readonly ReadColumn[],
  row: SourceRow,
  changes: Changes,
): SourceRow {
  if (Object.keys(changes).length === 0) return row;
  const values = parts.map(({ column }, at) => {
    if (!Object.hasOwn(changes, column)) return row.values[at];
    const value = changes[column];
    const isBytes = typeof value === 'object' && value !== null && 'base64' in value;
    return isBytes ? Buffer.from(String(value.base64), 'base64') : value;
  });
  return { ...row, values };
}

const newEnd = '.new';

/** Names of files: lines that stay, and what was mended in rows that are stored. */
export function newOf(dataclass: string): string {
  return `${dataclass}${newEnd}`;
}

export function mendedOf(dataclass: string): string {
  return `mended/${dataclass}`;
}

/** The lines of a file that may be larger than a text can be. A text in JSON may hold other line ends. */
async function* linesOf(path: string): AsyncGenerator<string, void> {
  let rest = '';
  for await (const chunk of createReadStream(path, { encoding: 'utf8' }) as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** `rejects/<dataclass>.jsonl`: rows that are not stored, or not as they are in the source. */
export class Rejects {
  readonly #folder: string;

  /** @param folder of the model */
  constructor(
    folder: string,
    private readonly dataclasses: readonly string[],
  ) {
    this.#folder = join(folder, rejectsFolder);
  }

  /** @returns how long the file is then */
  async add(
    name: string,
    before: number,
    lines: readonly (RejectLine | Pick<RejectLine, 'number' | 'row'>)[],
  ): Promise<number> {
    if (lines.length === 0) return before;
    const path = this.#path(name);
    await mkdir(dirname(path), { recursive: true });
    await appendFile(path, lines.map((each) => `${JSON.stringify(each)}\n`).join(''));
    return (await stat(path)).size;
  }

  /**
   * Removes what was written of a batch that was not stored.
   * @param isComplete a complete file belongs to those who mend its rows
   */
  async cut(lengthOf: (name: string) => number, isComplete: boolean): Promise<void> {
    const present = await this.#present();
    for (const name of this.#names) {
      if (isComplete && this.dataclasses.includes(name)) continue;
      const path = this.#path(name);
      const length = lengthOf(name);
      const isThere = present.includes(name);
      // The run may have ended after the new lines replaced all, and before the database noted that.
      if (!isThere && name.endsWith(newEnd)) continue;
      if ((isThere ? (await stat(path)).size : 0) < length) {
        throw new LoadStopped(
          `${rejectsFolder}/${name}.jsonl is shorter than it was; restore the file, or begin again with --restart`,
        );
      }
      if (length > 0) await truncate(path, length);
      else if (isThere) await rm(path);
    }
  }

  async requireNone(): Promise<void> {
    const [first] = await this.#present();
    if (first === undefined) return;
    throw new LoadStopped(
      `${rejectsFolder}/${first}.jsonl holds rows of an earlier import; move ${rejectsFolder} away`,
    );
  }

  /** The lines that stay take the place of all. */
  async replace(dataclass: string, length: number): Promise<void> {
    const isThere = (await this.#present()).includes(newOf(dataclass));
    if (isThere) await rename(this.#path(newOf(dataclass)), this.#path(dataclass));
    else if (length === 0) await rm(this.#path(dataclass), { force: true });
  }

  /**
   * The rows that are not stored, or not with all their values, by their numbers, from 1.
   * @param parts the columns of the table, for those who need what the lines hold
   */
  async read(
    dataclass: string,
    parts?: readonly ReadColumn[],
  ): Promise<{
    readonly rejected: ReadonlyMap<number, Rejected>;
    readonly broken: readonly BrokenRule[];
  }> {
    const rejected = new Map<number, Rejected>();
    const broken = new Map<string, BrokenRule>();
    for await (const { number, isStored, reasons, row, place } of this.#lines(dataclass)) {
      const odd = Object.keys(row).find((name) => parts?.every(({ column }) => column !== name));
      if (odd !== undefined) {
        throw new LoadStopped(`${place}: the table has no column ${JSON.stringify(odd)}`);
      }
      const before = rejected.get(number);
      const attributes = reasons.map(({ attribute }) => attribute);
      rejected.set(number, {
        isStored: isStored && before?.isStored !== false,
        attributes: new Set([...(before?.attributes ?? []), ...attributes]),
        rows: parts === undefined ? [] : [...(before?.rows ?? []), row],
      });
      for (const { attribute, rule } of reasons) {
        if (rule === undefined) continue;
        const rows = broken.get(`${attribute} ${rule}`)?.rows ?? 0;
        broken.set(`${attribute} ${rule}`, { dataclass, attribute, rule, rows: rows + 1 });
      }
    }
    return { rejected, broken: [...broken.values()] };
  }

  /** What was mended in rows that are stored, by their numbers, from 1. */
  async mended(dataclass: string): Promise<ReadonlyMap<number, Changes>> {
    const found = new Map<number, Changes>();
    for await (const { number, row } of this.#lines(mendedOf(dataclass))) {
      found.set(number, { ...found.get(number), ...row });
    }
    return found;
  }

  async *#lines(name: string): AsyncGenerator<RejectLine & { readonly place: string }, void> {
    if (!(await this.#present()).includes(name)) return;
    let line = 0;
    for await (const text of linesOf(this.#path(name))) {
      line += 1;
      if (text.trim() === '') continue;
      const place = `${rejectsFolder}/${name}.jsonl:${String(line)}`;
      const found = parsedJson(text);
      // What was mended has no reasons any more.
      const content: LineContent = { isStored: true, reasons: [], ...(found as LineContent) };
      if (!isLine(content)) {
        throw new LoadStopped(
          `${place}: this is no line of an import; change only values of its "row"`,
        );
      }
      yield { ...content, place };
    }
  }

  get #names(): readonly string[] {
    return this.dataclasses.flatMap((each) => [each, newOf(each), mendedOf(each)]);
  }

  async #present(): Promise<readonly string[]> {
    const files = await readdir(this.#folder, { recursive: true }).catch((): string[] => []);
    return this.#names.filter((each) => files.includes(join(`${each}.jsonl`)));
  }

  #path(name: string): string {
    return join(this.#folder, `${name}.jsonl`);
  }
}

/** @returns nothing for what is no JSON */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
