import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type LoaderProcess,
  type LoadRefusal,
  type LoadedRow,
  LoadStopped,
  type Phase,
  type Ready,
} from './loader.js';
import type { Plan, PlannedColumn, PlannedTable } from './plan.js';
import {
  jsonValue,
  madeKey,
  type Place,
  plain,
  type RowSource,
  type SourceRow,
  Unusable,
} from './rows.js';

interface RunOptions {
  /** Holds `rejects/` and `.drs-gen/`. */
  readonly folder: string;
  /** Empties what an earlier import has filled, and begins again. */
  readonly restart: boolean;
  /** Rows that are stored together. */
  readonly batch: number;
  /** Ends at the first relation that leads to nothing. */
  readonly stopAtDangling: boolean;
  readonly tell: (words: string) => void;
}

/** What became of the rows of a dataclass. */
export interface Outcome {
  readonly dataclass: string;
  readonly table: string;
  /** Rows of the source. */
  readonly rows: number;
  /** Entities that the database holds. */
  readonly entities: number;
  readonly rejectedRows: number;
  /** Rows that are stored without a value of theirs. */
  readonly incompleteRows: number;
  readonly differences: number;
}

export interface RunResult {
  readonly outcomes: readonly Outcome[];
  /** The first ones, for people. */
  readonly differences: readonly string[];
}

const checkpointFile = '.drs-gen/import-data.json';
const rejectsFolder = 'rejects';

/** Copies the rows of a source into the database of a server, and compares them. */
export async function runImport(
  source: RowSource,
  plan: Plan,
  loader: LoaderProcess,
  ready: Ready,
  options: RunOptions,
): Promise<RunResult> {
  const run = new Run(source, plan, loader, options);
  await run.begin(ready);
  for (const job of jobsOf(plan)) await run.take(job);
  await run.finish();
  return run.verify();
}

interface Job {
  readonly name: string;
  readonly phase: Phase;
  readonly table: PlannedTable;
}

function jobsOf({ tables }: Plan): readonly Job[] {
  const job =
    (phase: Phase) =>
    (table: PlannedTable): Job => ({ name: `${phase} ${table.dataclass}`, phase, table });
  return [
    ...tables.map(job('rows')),
    ...tables.filter(({ held }) => held.length > 0).map(job('links')),
    ...tables.filter(({ references }) => references.length > 0).map(job('references')),
  ];
}

interface Progress {
  /** Rows that were taken. */
  readonly count: number;
  /** Of the last one. */
  readonly place?: Place;
  readonly isDone?: true;
}

interface Checkpoint {
  readonly format: 1;
  readonly source: string;
  /** Identifies the database. */
  readonly database: string;
  /** Identifies the plan. */
  readonly plan: string;
  /** `restart` and `begin` until the database knows of the import. */
  readonly state: 'restart' | 'begin' | 'running';
  readonly jobs: Readonly<Record<string, Progress>>;
  /** Bytes of `rejects/<dataclass>.jsonl`. */
  readonly rejects: Readonly<Record<string, number>>;
  /**
   * The batch that is about to be stored. The database counts the rows that it has taken together
   * with storing them, and so tells whether this batch is among them.
   */
  readonly next?: {
    readonly job: string;
    readonly progress: Progress;
    readonly dataclass: string;
    readonly rejected?: number | undefined;
  };
}

class Run {
  #checkpoint: Checkpoint;
  readonly #rejects: Rejects;

  constructor(
    private readonly source: RowSource,
    private readonly plan: Plan,
    private readonly loader: LoaderProcess,
    private readonly options: RunOptions,
  ) {
    this.#rejects = new Rejects(
      join(options.folder, rejectsFolder),
      plan.tables.map(({ dataclass }) => dataclass),
    );
    this.#checkpoint = {
      format: 1,
      source: source.shown,
      database: '',
      plan: hashOf(JSON.stringify(plan.tables)),
      state: options.restart ? 'restart' : 'begin',
      jobs: {},
      rejects: {},
    };
  }

  /** Goes on where an earlier run has ended, or begins. */
  async begin(ready: Ready): Promise<void> {
    const { restart } = this.options;
    const fresh = { ...this.#checkpoint, database: ready.uniqueId };
    const earlier = await this.#read();
    const isOurs = earlier?.database === ready.uniqueId;
    if (restart || earlier === undefined || (!isOurs && !ready.hasBegun)) {
      if (ready.hasBegun && !restart) {
        throw new LoadStopped(
          `an import into this database has begun, and ${checkpointFile} of it is missing; restore the file, or begin again with --restart`,
        );
      }
      if (!restart) await this.#rejects.requireNone();
      this.#checkpoint = fresh;
      await this.#save();
      await this.#openDatabase(restart && ready.hasBegun);
      return;
    }
    if (!isOurs) {
      throw new LoadStopped(
        `${checkpointFile} is of an import into another database; set DATABASE_URL to that one, or begin again with --restart`,
      );
    }
    if (earlier.source !== fresh.source || earlier.plan !== fresh.plan) {
      const what = earlier.source === fresh.source ? 'the model or the tables' : 'the source';
      throw new LoadStopped(
        `${what} changed since the import began (${earlier.source}); begin again with --restart`,
      );
    }
    this.#checkpoint = earlier;
    if (earlier.state !== 'running') {
      const isBegun = ready.hasBegun && Object.values(taken(ready)).every((count) => count === 0);
      if (isBegun) await this.#save({ state: 'running' });
      else await this.#openDatabase(earlier.state === 'restart' && ready.hasBegun);
      return;
    }
    await this.#settle(ready);
    await this.#rejects.cut(this.#checkpoint.rejects);
    if (Object.keys(this.#checkpoint.jobs).length > 0) {
      this.options.tell('Going on where the last import ended.');
    }
  }

  async #openDatabase(restart: boolean): Promise<void> {
    await this.#rejects.cut({});
    await this.loader.ask({ kind: 'begin', restart }, 'begun');
    await this.#save({ state: 'running' });
  }

  /** Finds out whether the last batch was stored. */
  async #settle(ready: Ready): Promise<void> {
    const { next, jobs, rejects } = this.#checkpoint;
    const counts = taken(ready);
    const stored = next === undefined ? undefined : (counts[next.job] ?? 0);
    if (next !== undefined && stored === next.progress.count) {
      const rejected = next.rejected === undefined ? {} : { [next.dataclass]: next.rejected };
      await this.#save({
        jobs: { ...jobs, [next.job]: next.progress },
        rejects: { ...rejects, ...rejected },
        next: undefined,
      });
    } else await this.#save({ next: undefined });
    for (const { name } of jobsOf(this.plan)) {
      const count = this.#checkpoint.jobs[name]?.count ?? 0;
      if ((counts[name] ?? 0) === count) continue;
      throw new LoadStopped(
        `the database has taken ${String(counts[name] ?? 0)} ${name}, and ${checkpointFile} says ${String(count)}: one of them is an older copy; begin again with --restart`,
      );
    }
  }

  async take(job: Job): Promise<void> {
    const { table, phase, name } = job;
    let progress: Progress = this.#checkpoint.jobs[name] ?? { count: 0 };
    if (progress.isDone === true) return;
    let ahead = this.#page(table, phase, progress.place);
    for (;;) {
      const rows = await ahead;
      const last = rows.at(-1);
      if (last === undefined) break;
      ahead = this.#page(table, phase, last.place);
      // Its error is reported when its turn comes.
      ahead.catch(() => undefined);
      const loaded = rows.map((row) => this.#loaded(table, row, phase));
      const { refusals } = await this.loader.ask(
        {
          kind: 'batch',
          phase,
          dataclass: table.dataclass,
          from: progress.count,
          rows: loaded,
          held: phase === 'rows' ? [...table.held, ...referencesOf(table)] : [],
          references: phase === 'references' ? table.references : [],
        },
        'checked',
      );
      this.#stopAtDangling(job, rows, refusals);
      const before = this.#checkpoint.rejects[table.dataclass] ?? 0;
      const lines = refusals.map((each) => rejectLine(job, rows, each, progress.count));
      const rejected = await this.#rejects.add(table.dataclass, before, lines);
      progress = { count: progress.count + rows.length, place: last.place };
      await this.#save({ next: { job: name, progress, dataclass: table.dataclass, rejected } });
      await this.loader.ask({ kind: 'commit' }, 'stored');
      const { jobs, rejects } = this.#checkpoint;
      this.#checkpoint = {
        ...this.#checkpoint,
        jobs: { ...jobs, [name]: progress },
        rejects: rejected === undefined ? rejects : { ...rejects, [table.dataclass]: rejected },
      };
    }
    await this.#save({
      jobs: { ...this.#checkpoint.jobs, [name]: { ...progress, isDone: true } },
      next: undefined,
    });
    if (phase === 'rows') this.options.tell(`${table.dataclass}: ${String(progress.count)} rows`);
  }

  async finish(): Promise<void> {
    await this.loader.ask({ kind: 'finish' }, 'finished');
  }

  /** Reads the source once more, and compares it with what the database holds, value by value. */
  async verify(): Promise<RunResult> {
    const shown: string[] = [];
    const outcomes: Outcome[] = [];
    for (const table of this.plan.tables) {
      const { dataclass } = table;
      const refused = await this.#rejects.of(dataclass);
      let rows = 0;
      let differences = 0;
      const tell = (words: string): void => {
        differences += 1;
        if (shown.length < mostShown) shown.push(words);
      };
      let place: Place | undefined;
      for (;;) {
        const page = await this.#page(table, 'all', place);
        const last = page.at(-1);
        if (last === undefined) break;
        ({ place } = last);
        const compared = page
          .map((row, at) => ({ row, refusal: refused.get(rows + at) }))
          .filter(({ refusal }) => refusal?.isStored !== false);
        rows += page.length;
        const answer = await this.loader.ask(
          {
            kind: 'compare',
            dataclass,
            rows: compared.map(({ row, refusal }) =>
              withoutLost(this.#loaded(table, row, 'all'), refusal),
            ),
            references: table.references,
          },
          'compared',
        );
        for (const { index, attribute, expected, found } of answer.differences) {
          const row = compared[index]?.row;
          const of = `${dataclass} ${row === undefined ? '' : identityText(row)}`;
          tell(
            attribute === undefined
              ? `${of} is missing`
              : `${of}, ${attribute}: ${shortText(expected)} became ${shortText(found)}`,
          );
        }
      }
      const counted = await this.source.count(table.table);
      if (counted !== rows) {
        tell(`${dataclass}: the source counts ${String(counted)} rows, and shows ${String(rows)}`);
      }
      const { count: entities } = await this.loader.ask({ kind: 'count', dataclass }, 'counted');
      const rejectedRows = [...refused.values()].filter(({ isStored }) => !isStored).length;
      if (entities !== rows - rejectedRows) {
        tell(
          `${dataclass}: ${String(entities)} entities of ${String(rows - rejectedRows)} accepted rows`,
        );
      }
      outcomes.push({
        dataclass,
        table: this.source.tableName(table.table),
        rows,
        entities,
        rejectedRows,
        incompleteRows: refused.size - rejectedRows,
        differences,
      });
    }
    return { outcomes, differences: shown };
  }

  #page(
    table: PlannedTable,
    phase: Phase | 'all',
    place: Place | undefined,
  ): Promise<readonly SourceRow[]> {
    return this.source.read(table.table, partsOf(table, phase), place, this.options.batch);
  }

  #loaded(table: PlannedTable, row: SourceRow, phase: Phase | 'all'): LoadedRow {
    return loadedRow(table, row, phase, this.source.keepsBlanks === true);
  }

  #stopAtDangling(
    { table }: Job,
    rows: readonly SourceRow[],
    refusals: readonly LoadRefusal[],
  ): void {
    if (!this.options.stopAtDangling) return;
    const links = new Set([...table.links, ...referencesOf(table)]);
    const first = refusals.find(({ reasons }) =>
      reasons.some(({ attribute }) => links.has(attribute)),
    );
    const row = first === undefined ? undefined : rows[first.index];
    if (first === undefined || row === undefined) return;
    const words = first.reasons
      .map(({ attribute, message }) => `${attribute} ${message}`)
      .join('; ');
    throw new LoadStopped(`${table.dataclass} ${identityText(row)}: ${words}`);
  }

  async #read(): Promise<Checkpoint | undefined> {
    let text: string;
    try {
      text = await readFile(join(this.options.folder, checkpointFile), 'utf8');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    }
    const content = parsed(text) as Partial<Checkpoint> | undefined;
    if (content?.format !== 1) {
      throw new LoadStopped(
        `${checkpointFile} is not what an import has written; restore it, or begin again with --restart`,
      );
    }
    return content as Checkpoint;
  }

  /** In one step, so that a run that ends meanwhile leaves the file as it was. */
  async #save(
    changes: { readonly [Key in keyof Checkpoint]?: Checkpoint[Key] | undefined } = {},
  ): Promise<void> {
    this.#checkpoint = { ...this.#checkpoint, ...changes } as Checkpoint;
    const path = join(this.options.folder, checkpointFile);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(`${path}.new`, `${JSON.stringify(this.#checkpoint, null, 2)}\n`);
    await rename(`${path}.new`, path);
  }
}

/** Differences that are shown. */
const mostShown = 20;

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The counts of the database, without those of the import as a whole. */
function taken({ done }: Ready): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(done).filter(([name]) => name.includes(' ')));
}

function referencesOf({ references }: PlannedTable): readonly string[] {
  return references.map(({ attribute }) => attribute);
}

/** What a phase reads: all that it stores, and the key. */
function partsOf(table: PlannedTable, phase: Phase | 'all'): readonly PlannedColumn[] {
  const { columns, references, held, key } = table;
  switch (phase) {
    case 'all':
      return [...columns, ...references];
    case 'rows':
      return columns;
    case 'links':
      return columns.filter(({ attribute }) => attribute === key || held.includes(attribute));
    case 'references':
      return [...columns.filter(({ attribute }) => attribute === key), ...references];
  }
}

function loadedRow(
  table: PlannedTable,
  row: SourceRow,
  phase: Phase | 'all',
  keepsBlanks: boolean,
): LoadedRow {
  const values: Record<string, unknown> = {};
  let faults: Record<string, string> | undefined;
  for (const [at, part] of partsOf(table, phase).entries()) {
    const value = jsonValue(row.values[at], part);
    if (value instanceof Unusable) (faults ??= {})[part.attribute] = value.message;
    else if (keepsBlanks && part.isBlankNull === true && value === '')
      values[part.attribute] = null;
    else values[part.attribute] = value;
  }
  if (table.isKeyMade) values[table.key] = madeKey(table.table, row.identity);
  return faults === undefined ? { values } : { values, faults };
}

function withoutLost({ values, faults }: LoadedRow, refused: Refused | undefined): LoadedRow {
  if (refused === undefined) return faults === undefined ? { values } : { values, faults };
  const lost = [...refused.attributes].map((name): [string, null] => [name, null]);
  const others = Object.entries(faults ?? {}).filter(([name]) => !refused.attributes.has(name));
  return {
    values: { ...values, ...Object.fromEntries(lost) },
    faults: Object.fromEntries(others),
  };
}

function identityText({ identity }: SourceRow): string {
  return identity.map((each) => String(plain(each))).join(', ');
}

function shortText(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(plain(value));
  return text.length > 80 ? `${Array.from(text).slice(0, 80).join('')}…` : text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A line of `rejects/<dataclass>.jsonl`. */
interface RejectLine {
  /** The number of the row among those of its table, from 1. */
  readonly number: number;
  readonly isStored: boolean;
  readonly reasons: LoadRefusal['reasons'];
  /** As the source has it, by column; of images and BLOBs, how many bytes they have. */
  readonly row: Readonly<Record<string, unknown>>;
}

function rejectLine(
  { table, phase }: Job,
  rows: readonly SourceRow[],
  { index, isStored, reasons }: LoadRefusal,
  before: number,
): RejectLine {
  const values = rows[index]?.values ?? [];
  const row = partsOf(table, phase).map(({ column }, at): [string, unknown] => [
    column,
    rejected(values[at]),
  ]);
  return { number: before + index + 1, isStored, reasons, row: Object.fromEntries(row) };
}

/** Without bytes, which may be too long for one text. */
function rejected(value: unknown): unknown {
  return value instanceof Uint8Array ? { bytes: value.length } : plain(value);
}

interface Refused {
  readonly isStored: boolean;
  /** Those whose values are not stored. */
  readonly attributes: ReadonlySet<string>;
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
class Rejects {
  constructor(
    private readonly folder: string,
    private readonly dataclasses: readonly string[],
  ) {}

  /** @returns how long the file is then; nothing if it stays as it is */
  async add(
    dataclass: string,
    before: number,
    lines: readonly RejectLine[],
  ): Promise<number | undefined> {
    if (lines.length === 0) return undefined;
    await mkdir(this.folder, { recursive: true });
    let length = before;
    const file = await open(this.#path(dataclass), before === 0 ? 'w' : 'r+');
    try {
      await file.truncate(before);
      for (const line of lines) {
        const text = Buffer.from(`${JSON.stringify(line)}\n`);
        await file.write(text, 0, text.length, length);
        length += text.length;
      }
    } finally {
      await file.close();
    }
    return length;
  }

  /** Removes what was written of a batch that was not stored. */
  async cut(bytes: Readonly<Record<string, number>>): Promise<void> {
    for (const dataclass of await this.#present()) {
      const length = bytes[dataclass] ?? 0;
      if (length === 0) await rm(this.#path(dataclass));
      else await truncate(this.#path(dataclass), length);
    }
  }

  async requireNone(): Promise<void> {
    const [first] = await this.#present();
    if (first === undefined) return;
    throw new LoadStopped(
      `${rejectsFolder}/${first}.jsonl holds rows of an earlier import; move ${rejectsFolder} away`,
    );
  }

  /** By the number of the row, from 0. */
  async of(dataclass: string): Promise<ReadonlyMap<number, Refused>> {
    const refused = new Map<number, Refused>();
    if (!(await this.#present()).includes(dataclass)) return refused;
    for await (const line of linesOf(this.#path(dataclass))) {
      const { number, isStored, reasons } = JSON.parse(line) as RejectLine;
      const before = refused.get(number - 1);
      refused.set(number - 1, {
        isStored: isStored && before?.isStored !== false,
        attributes: new Set([
          ...(before?.attributes ?? []),
          ...reasons.map(({ attribute }) => attribute),
        ]),
      });
    }
    return refused;
  }

  async #present(): Promise<readonly string[]> {
    const files = new Set(await readdir(this.folder).catch(() => []));
    return this.dataclasses.filter((each) => files.has(`${each}.jsonl`));
  }

  #path(dataclass: string): string {
    return join(this.folder, `${dataclass}.jsonl`);
  }
}
