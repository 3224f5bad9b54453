import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type LoaderProcess,
  type LoadRefusal,
  LoadRefused,
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
  type ReadColumn,
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
  /** Takes the rows of `rejects/`, as somebody has mended them there. */
  readonly takesRejects: boolean;
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
  /** Rules of the model that rows break which are not stored. */
  readonly broken: readonly BrokenRule[];
}

export interface BrokenRule {
  readonly dataclass: string;
  readonly attribute: string;
  readonly rule: string;
  readonly rows: number;
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
  if (options.takesRejects) for (const table of plan.tables) await run.takeRejects(table);
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
  /** Bytes of `rejects/<name>.jsonl`. */
  readonly rejects: Readonly<Record<string, number>>;
  /** What takes the place of this one if the database does not begin. */
  readonly before?: Checkpoint;
  /**
   * The batch that is about to be stored. The database counts the rows that it has taken together
   * with storing them, and so tells whether this batch is among them.
   */
  readonly next?: {
    readonly job: string;
    readonly progress: Progress;
    /** How long files of rejects are then. */
    readonly files: Readonly<Record<string, number>>;
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
    const { restart, takesRejects } = this.options;
    const fresh = { ...this.#checkpoint, database: ready.uniqueId };
    const earlier = await this.#read();
    const isOurs = earlier?.database === ready.uniqueId;
    if (takesRejects && !(isOurs && isComplete(earlier, this.plan))) {
      throw new LoadStopped(
        '--rejects takes rows that a complete import has refused; run import-data without it first',
      );
    }
    if (restart || earlier === undefined || (!isOurs && !ready.hasBegun)) {
      if (ready.hasBegun && !restart) {
        throw new LoadStopped(
          `an import into this database has begun, and ${checkpointFile} of it is missing; restore the file, or begin again with --restart`,
        );
      }
      if (!restart) await this.#rejects.requireNone();
      this.#checkpoint = fresh;
      await this.#save({ before: earlier?.before ?? earlier });
      await this.#openDatabase(restart && ready.hasBegun);
      return;
    }
    if (!isOurs) {
      throw new LoadStopped(
        `${checkpointFile} is of an import into another database; set DATABASE_URL to that one, or begin again with --restart`,
      );
    }
    // The model may have lost a rule since, so that its rows fit.
    const isOtherPlan = earlier.plan !== fresh.plan && !takesRejects;
    if (earlier.source !== fresh.source || isOtherPlan) {
      const what = earlier.source === fresh.source ? 'the model or the tables' : 'the source';
      throw new LoadStopped(
        `${what} changed since the import began (${earlier.source}); begin again with --restart`,
      );
    }
    if (!takesRejects && this.plan.tables.some((each) => isBegun(earlier.jobs[againName(each)]))) {
      throw new LoadStopped('taking the rows of rejects was interrupted; go on with --rejects');
    }
    this.#checkpoint = { ...earlier, plan: fresh.plan };
    if (earlier.state !== 'running') {
      const hasBegun = ready.hasBegun && Object.values(taken(ready)).every((count) => count === 0);
      if (hasBegun) await this.#begun();
      else await this.#openDatabase(earlier.state === 'restart' && ready.hasBegun);
      return;
    }
    await this.#settle(ready);
    const isDone = isComplete(this.#checkpoint, this.plan);
    // A complete file belongs to those who mend its rows.
    await this.#rejects.cut(this.#checkpoint.rejects, isDone);
    if (!isDone && Object.keys(this.#checkpoint.jobs).length > 0) {
      this.options.tell('Going on where the last import ended.');
    }
  }

  async #openDatabase(restart: boolean): Promise<void> {
    try {
      await this.loader.ask({ kind: 'begin', restart }, 'begun');
    } catch (error) {
      const { before } = this.#checkpoint;
      if (error instanceof LoadRefused && before !== undefined) {
        this.#checkpoint = before;
        await this.#save();
      }
      throw error;
    }
    await this.#begun();
  }

  /** What an earlier import has rejected goes when the database has begun, and not before. */
  async #begun(): Promise<void> {
    await this.#rejects.cut({}, false);
    await this.#save({ state: 'running', before: undefined });
  }

  /** Finds out whether the last batch was stored. */
  async #settle(ready: Ready): Promise<void> {
    const { next, jobs, rejects } = this.#checkpoint;
    const counts = taken(ready);
    const stored = next === undefined ? undefined : (counts[next.job] ?? 0);
    if (next !== undefined && stored === next.progress.count) {
      await this.#save({
        jobs: { ...jobs, [next.job]: next.progress },
        rejects: { ...rejects, ...next.files },
        next: undefined,
      });
    } else await this.#save({ next: undefined });
    const names = [
      ...jobsOf(this.plan).map(({ name }) => name),
      ...this.plan.tables.map(againName),
    ];
    for (const name of names) {
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
      const files = { [table.dataclass]: await this.#rejects.add(table.dataclass, before, lines) };
      progress = { count: progress.count + rows.length, place: last.place };
      await this.#commit(name, progress, files);
    }
    await this.#save({
      jobs: { ...this.#checkpoint.jobs, [name]: { ...progress, isDone: true } },
      next: undefined,
    });
    if (phase === 'rows') this.options.tell(`${table.dataclass}: ${String(progress.count)} rows`);
  }

  /** The database stores the batch, whose rejects are written. */
  async #commit(
    job: string,
    progress: Progress,
    files: Readonly<Record<string, number>>,
  ): Promise<void> {
    await this.#save({ next: { job, progress, files } });
    await this.loader.ask({ kind: 'commit' }, 'stored');
    const { jobs, rejects } = this.#checkpoint;
    this.#checkpoint = {
      ...this.#checkpoint,
      jobs: { ...jobs, [job]: progress },
      rejects: { ...rejects, ...files },
    };
  }

  /**
   * Stores the rows of `rejects/<dataclass>.jsonl`. Those that are refused again are its new lines,
   * and what was mended in the others is kept, because the source lacks it.
   */
  async takeRejects(table: PlannedTable): Promise<void> {
    const { dataclass } = table;
    const name = againName(table);
    let progress: Progress = this.#checkpoint.jobs[name] ?? { count: 0 };
    if (progress.isDone !== true) {
      const after = Number(progress.place?.[0] ?? 0);
      const groups = await this.#rejects.groups(dataclass, partsOf(table, 'all'));
      const numbers = [...groups.keys()].filter((number) => number > after);
      if (numbers.length === 0 && after === 0) return;
      for await (const rows of this.#numbered(table, new Set(numbers))) {
        progress = await this.#takeAgain(table, rows, groups, progress);
      }
      await this.#save({
        jobs: { ...this.#checkpoint.jobs, [name]: { count: progress.count, isDone: true } },
        next: undefined,
      });
    }
    await this.#rejects.replace(dataclass, this.#checkpoint.rejects[newOf(dataclass)] ?? 0);
    const rejects = { ...this.#checkpoint.rejects, [newOf(dataclass)]: 0 };
    await this.#save({
      jobs: { ...this.#checkpoint.jobs, [name]: { count: progress.count } },
      rejects,
    });
  }

  async #takeAgain(
    table: PlannedTable,
    rows: readonly NumberedRow[],
    groups: ReadonlyMap<number, RejectGroup>,
    { count }: Progress,
  ): Promise<Progress> {
    const { dataclass, references } = table;
    const parts = partsOf(table, 'all');
    const mended = await this.#rejects.mended(dataclass);
    const given = rows.flatMap(({ number, row }) => {
      const group = groups.get(number);
      if (group === undefined) return [];
      const changes = { ...mended.get(number), ...changesOf(parts, row, group.rows) };
      return { number, group, changes, row: withChanges(parts, row, changes) };
    });
    const loaded = given.map(({ group, changes, row }): LoadedRow => {
      const whole = this.#loaded(table, row, 'all');
      if (!group.isStored) return whole;
      const changed = parts.filter(({ column }) => Object.hasOwn(changes, column));
      const names = new Set([
        table.key,
        ...group.attributes,
        ...changed.map((each) => each.attribute),
      ]);
      return { ...only(whole, names), isStored: true };
    });
    const { refusals } = await this.loader.ask(
      { kind: 'batch', phase: 'again', dataclass, from: count, rows: loaded, held: [], references },
      'checked',
    );
    const lines = refusals.flatMap(({ index, isStored, reasons }): RejectLine[] => {
      const each = given[index];
      if (each === undefined) return [];
      // What somebody has written stays as it is, bytes too.
      const row = { ...shownRow(parts, each.row), ...each.changes };
      return [{ number: each.number, isStored, reasons, row }];
    });
    const refused = new Set(refusals.flatMap((each) => (each.isStored ? [] : [each.index])));
    const taken = given.flatMap(({ number, changes }, index) =>
      refused.has(index) || Object.keys(changes).length === 0 ? [] : [{ number, row: changes }],
    );
    const progress = { count: count + rows.length, place: [rows.at(-1)?.number ?? 0] };
    const { rejects } = this.#checkpoint;
    const [left, kept] = [newOf(dataclass), mendedOf(dataclass)];
    await this.#commit(againName(table), progress, {
      [left]: await this.#rejects.add(left, rejects[left] ?? 0, lines),
      [kept]: await this.#rejects.add(kept, rejects[kept] ?? 0, taken),
    });
    return progress;
  }

  /** The rows of the source with these numbers, which begin with 1. */
  async *#numbered(
    table: PlannedTable,
    numbers: ReadonlySet<number>,
  ): AsyncGenerator<readonly NumberedRow[], void> {
    const last = Math.max(0, ...numbers);
    let found: NumberedRow[] = [];
    let place: Place | undefined;
    for (let number = 0; number < last;) {
      const page = await this.#page(table, 'all', place);
      place = page.at(-1)?.place;
      if (place === undefined) {
        throw new LoadStopped(
          `${rejectsFolder}/${table.dataclass}.jsonl names row ${String(last)}, and the source has ${String(number)}`,
        );
      }
      for (const row of page) {
        number += 1;
        if (numbers.has(number)) found.push({ number, row });
      }
      if (found.length >= this.options.batch || (number >= last && found.length > 0)) {
        yield found;
        found = [];
      }
    }
  }

  async finish(): Promise<void> {
    await this.loader.ask({ kind: 'finish' }, 'finished');
  }

  /** Reads the source once more, and compares it with what the database holds, value by value. */
  async verify(): Promise<RunResult> {
    const shown: string[] = [];
    const outcomes: Outcome[] = [];
    const broken: BrokenRule[] = [];
    for (const table of this.plan.tables) {
      const { dataclass } = table;
      const { refused, rules } = await this.#rejects.of(dataclass);
      broken.push(...rules);
      const mended = await this.#rejects.mended(dataclass);
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
          .map((row, at) => ({
            row: withChanges(partsOf(table, 'all'), row, mended.get(rows + at + 1) ?? {}),
            refusal: refused.get(rows + at),
          }))
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
    return { outcomes, differences: shown, broken };
  }

  #page(
    table: PlannedTable,
    phase: Phase | 'all',
    place: Place | undefined,
  ): Promise<readonly SourceRow[]> {
    // A row that is refused is shown with all its values.
    const parts = partsOf(table, phase === 'rows' ? 'all' : phase);
    return this.source.read(table.table, parts, place, this.options.batch);
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
      if (this.options.restart) return undefined;
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

/** What a phase stores, and the key. */
function partsOf(table: PlannedTable, phase: Phase | 'all'): readonly PlannedColumn[] {
  const { columns, references, held, key } = table;
  switch (phase) {
    case 'all':
    case 'again':
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

function isLine(content: object | undefined): content is RejectLine {
  if (content === undefined || !('number' in content && 'isStored' in content)) return false;
  if (!('reasons' in content && 'row' in content)) return false;
  const { number, isStored, reasons, row } = content;
  return (
    Number.isSafeInteger(number) &&
    Number(number) >= 1 &&
    typeof isStored === 'boolean' &&
    Array.isArray(reasons) &&
    reasons.every(isReason) &&
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

function rejectLine(
  { table, phase }: Job,
  rows: readonly SourceRow[],
  { index, isStored, reasons }: LoadRefusal,
  before: number,
): RejectLine {
  const row = rows[index];
  const parts = partsOf(table, phase === 'rows' ? 'all' : phase);
  const shown = row === undefined ? {} : shownRow(parts, row);
  return { number: before + index + 1, isStored, reasons, row: shown };
}

function shownRow(parts: readonly ReadColumn[], { values }: SourceRow): RejectLine['row'] {
  return Object.fromEntries(parts.map(({ column }, at) => [column, rejected(values[at])]));
}

/** Without bytes, which may be too long for one text. */
function rejected(value: unknown): unknown {
  return value instanceof Uint8Array ? { bytes: value.length } : plain(value);
}

/** What stands in a line in place of bytes. */
function isByteCount(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'bytes' in value;
}

/** A row of the source, counted from 1. */
interface NumberedRow {
  readonly number: number;
  readonly row: SourceRow;
}

/** Values by column. */
type Changes = Readonly<Record<string, unknown>>;

/** All lines of one row. */
interface RejectGroup {
  readonly isStored: boolean;
  readonly attributes: ReadonlySet<string>;
  readonly rows: readonly Changes[];
}

/** What somebody has mended in the lines of a row. */
function changesOf(
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

function withChanges(parts: readonly ReadColumn[], row: SourceRow, changes: Changes): SourceRow {
  if (Object.keys(changes).length === 0) return row;
  const values = parts.map(({ column }, at) => {
    if (!Object.hasOwn(changes, column)) return row.values[at];
    const value = changes[column];
    const isBytes = typeof value === 'object' && value !== null && 'base64' in value;
    return isBytes ? Buffer.from(String(value.base64), 'base64') : value;
  });
  return { ...row, values };
}

function only({ values, faults = {} }: LoadedRow, names: ReadonlySet<string>): LoadedRow {
  const those = <Value>(of: Readonly<Record<string, Value>>): Record<string, Value> =>
    Object.fromEntries(Object.entries(of).filter(([name]) => names.has(name)));
  return { values: those(values), faults: those(faults) };
}

function againName({ dataclass }: PlannedTable): string {
  return `again ${dataclass}`;
}

/** Whether a job has stored rows, and has not ended. */
function isBegun(progress: Progress | undefined): boolean {
  return progress?.place !== undefined || progress?.isDone === true;
}

/** Whether an import has read all rows of its source. */
function isComplete(checkpoint: Checkpoint | undefined, { tables }: Plan): boolean {
  return (
    checkpoint?.state === 'running' &&
    tables.every(({ dataclass }) => checkpoint.jobs[`rows ${dataclass}`]?.isDone === true) &&
    Object.entries(checkpoint.jobs).every(
      ([name, { isDone }]) => name.startsWith('again ') || isDone === true,
    )
  );
}

/** Names of files: lines that stay, and what was mended in rows that are stored. */
function newOf(dataclass: string): string {
  return `${dataclass}.new`;
}

function mendedOf(dataclass: string): string {
  return `mended/${dataclass}`;
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

  /** @returns how long the file is then */
  async add(
    name: string,
    before: number,
    lines: readonly (RejectLine | Pick<RejectLine, 'number' | 'row'>)[],
  ): Promise<number> {
    if (lines.length === 0) return before;
    await mkdir(dirname(this.#path(name)), { recursive: true });
    let length = before;
    const file = await open(this.#path(name), before === 0 ? 'w' : 'r+');
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
  async cut(bytes: Readonly<Record<string, number>>, isComplete: boolean): Promise<void> {
    for (const name of await this.#present()) {
      const length = bytes[name] ?? 0;
      if (isComplete && this.dataclasses.includes(name)) continue;
      if (length === 0) await rm(this.#path(name));
      else await truncate(this.#path(name), length);
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

  /** By the number of the row, from 0. */
  async of(dataclass: string): Promise<{
    readonly refused: ReadonlyMap<number, Refused>;
    readonly rules: readonly BrokenRule[];
  }> {
    const refused = new Map<number, Refused>();
    const counts = new Map<string, BrokenRule>();
    for await (const { number, isStored, reasons } of this.#lines(dataclass)) {
      const before = refused.get(number - 1);
      refused.set(number - 1, {
        isStored: isStored && before?.isStored !== false,
        attributes: new Set([
          ...(before?.attributes ?? []),
          ...reasons.map(({ attribute }) => attribute),
        ]),
      });
      for (const { attribute, rule } of reasons) {
        if (rule === undefined) continue;
        const rows = counts.get(`${attribute} ${rule}`)?.rows ?? 0;
        counts.set(`${attribute} ${rule}`, { dataclass, attribute, rule, rows: rows + 1 });
      }
    }
    return { refused, rules: [...counts.values()] };
  }

  /** By the number of the row, from 1. */
  async groups(
    dataclass: string,
    parts: readonly ReadColumn[],
  ): Promise<ReadonlyMap<number, RejectGroup>> {
    const groups = new Map<number, RejectGroup>();
    for await (const { number, isStored, reasons, row, place } of this.#lines(dataclass)) {
      const odd = Object.keys(row).find((name) => !parts.some(({ column }) => column === name));
      if (odd !== undefined) {
        throw new LoadStopped(`${place}: the table has no column ${JSON.stringify(odd)}`);
      }
      const before = groups.get(number);
      groups.set(number, {
        isStored: isStored && before?.isStored !== false,
        attributes: new Set([
          ...(before?.attributes ?? []),
          ...reasons.map(({ attribute }) => attribute),
        ]),
        rows: [...(before?.rows ?? []), row],
      });
    }
    return groups;
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
      const found = parsed(text);
      // What was mended has no reasons any more.
      const content =
        typeof found === 'object' && found !== null
          ? { isStored: true, reasons: [], ...found }
          : undefined;
      if (!isLine(content)) {
        throw new LoadStopped(
          `${place}: this is no line of an import; change only values of its "row"`,
        );
      }
      yield { ...content, place };
    }
  }

  async #present(): Promise<readonly string[]> {
    const files = new Set([
      ...(await readdir(this.folder).catch(() => [])),
      ...(await readdir(join(this.folder, 'mended')).catch(() => [])).map(
        (each) => `mended/${each}`,
      ),
    ]);
    return this.dataclasses
      .flatMap((each) => [each, newOf(each), mendedOf(each)])
      .filter((each) => files.has(`${each}.jsonl`));
  }

  #path(name: string): string {
    return join(this.folder, `${name}.jsonl`);
  }
}
