import { createHash, randomInt } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type {
  LoadedRow,
  LoadRefusal,
  Notes,
  Phase,
  Ready,
} from '../../runtime/protocol/load-messages.js';
import { type LoaderProcess, LoadStopped } from './loader.js';
import type { Plan, PlannedColumn, PlannedTable } from './plan.js';
import {
  type BrokenRule,
  changesOf,
  mendedOf,
  newOf,
  parsedJson,
  type Rejected,
  type RejectLine,
  Rejects,
  shownRow,
  withChanges,
} from './rejects.js';
import {
  jsonValue,
  madeKey,
  Odd,
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
  /** Takes the rows of `rejects/`, as somebody has mended them there. */
  readonly takesRejects: boolean;
  /** Ends at the first relation that leads to nothing. */
  readonly stopAtDangling: boolean;
  /** Makes {@link Odd} values null. */
  readonly makesOddNull: boolean;
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
  /** Rules of the model because of which rows are not stored. */
  readonly broken: readonly BrokenRule[];
}

const checkpointFile = '.drs-gen/import-data.json';

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

function jobOf(phase: Phase, table: PlannedTable): Job {
  return { name: `${phase} ${table.dataclass}`, phase, table };
}

function jobsOf({ tables }: Plan): readonly Job[] {
  return [
    ...tables.map((each) => jobOf('rows', each)),
    ...tables.filter(({ held }) => held.length > 0).map((each) => jobOf('links', each)),
    ...tables
      .filter(({ references }) => references.length > 0)
      .map((each) => jobOf('references', each)),
  ];
}

/** Names of notes: whether a job has taken all rows, and how long a file of rejects is. */
const doneOf = ({ name }: Job): string => `done ${name}`;
const lengthOf = (name: string): string => `length ${name}`;

/** The import to which the files of rejects belong. The database holds how far it has come. */
interface Checkpoint {
  readonly format: 2;
  readonly source: string;
  /** Identifies the plan. */
  readonly plan: string;
  /** The number of the import, which the database notes, too. */
  readonly import: number;
  readonly makesOddNull?: boolean;
}

class Run {
  #notes: Notes = {};
  /** Also of an import that goes on, because the comparison needs it. */
  #makesOddNull: boolean;
  readonly #rejects: Rejects;

  constructor(
    private readonly source: RowSource,
    private readonly plan: Plan,
    private readonly loader: LoaderProcess,
    private readonly options: RunOptions,
  ) {
    const dataclasses = plan.tables.map(({ dataclass }) => dataclass);
    this.#rejects = new Rejects(options.folder, dataclasses);
    this.#makesOddNull = options.makesOddNull;
  }

  /** Goes on where an earlier run has ended, or begins. */
  async begin({ notes }: Ready): Promise<void> {
    const { restart, takesRejects } = this.options;
    const { tables } = this.plan;
    this.#notes = notes;
    const fresh: Checkpoint = {
      format: 2,
      source: this.source.shown,
      plan: createHash('sha256').update(JSON.stringify(tables)).digest('hex'),
      import: randomInt(2 ** 47),
      makesOddNull: this.#makesOddNull,
    };
    const hasBegun = Object.keys(notes).length > 0;
    const earlier = await this.#read();
    const isComplete = jobsOf(this.plan).every((job) => {
      // After a rule was removed from the model, there may be jobs for relations that did not exist before.
      const isNew = takesRejects && job.phase !== 'rows' && this.#noted(job.name) === 0;
      return isNew || this.#noted(doneOf(job)) > 0;
    });
    if (takesRejects && !(earlier !== undefined && isComplete)) {
      throw new LoadStopped(
        '--rejects takes rows that a complete import has refused; run import-data without it first',
      );
    }
    if (restart || !hasBegun) {
      if (!restart) await this.#rejects.requireNone();
      await this.#write(fresh);
      await this.loader.ask(
        { kind: 'begin', restart: restart && hasBegun, import: fresh.import },
        'begun',
      );
      this.#notes = {};
    } else {
      if (earlier === undefined) {
        throw new LoadStopped(
          `an import into this database has begun, and ${checkpointFile} of it is missing; restore the file, set DATABASE_URL to another database, or begin again with --restart`,
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
      if (!takesRejects && tables.some((each) => this.#noted(jobOf('again', each).name) > 0)) {
        throw new LoadStopped('taking the rows of rejects was interrupted; go on with --rejects');
      }
      this.#makesOddNull ||= earlier.makesOddNull === true;
      await this.#write({ ...earlier, plan: fresh.plan, makesOddNull: this.#makesOddNull });
      const hasRows = Object.keys(notes).some((name) => name.includes(' '));
      if (!isComplete && hasRows) this.options.tell('Going on where the last import ended.');
    }
    await rename(this.#path('.new'), this.#path());
    // Remove the rejects of an earlier import only after the database has begun the new one.
    await this.#rejects.cut(
      (name) => this.#noted(lengthOf(name)),
      hasBegun && !restart && isComplete,
    );
  }

  #noted(name: string): number {
    return this.#notes[name] ?? 0;
  }

  async take(job: Job): Promise<void> {
    const { table, phase, name } = job;
    const { dataclass } = table;
    if (this.#noted(doneOf(job)) > 0) return;
    let unstored = await this.#unstoredTexts(table);
    let ahead = this.#page(table, phase, await this.#placeOf(table, this.#noted(name)));
    for (;;) {
      const rows = await ahead;
      const last = rows.at(-1);
      if (last === undefined) break;
      ahead = this.#page(table, phase, last.place);
      // Its error is reported when its turn comes.
      ahead.catch(() => undefined);
      const count = this.#noted(name);
      const loaded = rows.map((row) => withUnstored(this.#loaded(table, row, phase), unstored));
      const refusals = await this.#check(job, count + rows.length, loaded);
      this.#stopAtDangling(job, rows, refusals);
      const lines = refusals.map((each) => rejectLine(job, rows, each, count));
      await this.#commit(job, count + rows.length, await this.#written(dataclass, lines));
      // Later rows may lead to these.
      if (lines.length > 0 && table.textLinks.some(({ target }) => target === dataclass)) {
        unstored = await this.#unstoredTexts(table);
      }
    }
    await this.#check(job, this.#noted(name), []);
    await this.#commit(job, this.#noted(name), { [doneOf(job)]: 1 });
    if (phase === 'rows') this.options.tell(`${dataclass}: ${String(this.#noted(name))} rows`);
  }

  /** The position of the last one of so many rows. */
  async #placeOf(table: PlannedTable, count: number): Promise<Place | undefined> {
    let place: Place | undefined;
    for (let passed = 0; passed < count;) {
      const most = Math.min(this.options.batch, count - passed);
      const rows = await this.source.read(table.table, [], place, most);
      place = rows.at(-1)?.place;
      if (place === undefined) {
        throw new LoadStopped(
          `${this.source.tableName(table.table)} has fewer rows than were taken from it; begin again with --restart`,
        );
      }
      passed += rows.length;
    }
    return place;
  }

  /** @returns what the database refuses of rows that are about to be stored */
  async #check(
    { name, phase, table }: Job,
    to: number,
    rows: readonly LoadedRow[],
  ): Promise<readonly LoadRefusal[]> {
    const { dataclass } = table;
    const references = phase === 'references' || phase === 'again' ? table.references : [];
    const from = this.#noted(name);
    const { refusals } = await this.loader.ask(
      { kind: 'batch', phase, dataclass, from, to, rows, references },
      'checked',
    );
    return refusals;
  }

  /** The database stores the rows that it has checked. Their rejects are written. */
  async #commit({ name }: Job, to: number, notes: Notes): Promise<void> {
    await this.loader.ask({ kind: 'commit', notes }, 'stored');
    this.#notes = { ...this.#notes, ...notes, [name]: to };
  }

  /** @returns a note of how long the file of rejects is then */
  async #written(name: string, lines: Parameters<Rejects['add']>[2]): Promise<Notes> {
    const before = this.#noted(lengthOf(name));
    return { [lengthOf(name)]: await this.#rejects.add(name, before, lines) };
  }

  /**
   * Stores the rows of `rejects/<dataclass>.jsonl`. Those that are refused again are its new lines,
   * and what was mended in the others is kept, because the source lacks it.
   */
  async takeRejects(table: PlannedTable): Promise<void> {
    const { dataclass } = table;
    const job = jobOf('again', table);
    const after = this.#noted(job.name);
    const { rejected } = await this.#rejects.read(dataclass, partsOf(table));
    const numbers = new Set([...rejected.keys()].filter((number) => number > after));
    if (numbers.size === 0 && after === 0) return;
    const mended = await this.#rejects.mended(dataclass);
    const unstored = await this.#unstoredTexts(table);
    for await (const rows of this.#numbered(table, numbers)) {
      const given = rows.flatMap(({ number, row }): GivenRow[] => {
        const reject = rejected.get(number);
        if (reject === undefined) return [];
        const changes = { ...mended.get(number), ...changesOf(partsOf(table), row, reject.rows) };
        return [{ number, reject, changes, row: withChanges(partsOf(table), row, changes) }];
      });
      await this.#takeAgain(job, given, unstored);
    }
    await this.#rejects.replace(dataclass, this.#noted(lengthOf(newOf(dataclass))));
    await this.#check(job, 0, []);
    await this.#commit(job, 0, { [lengthOf(newOf(dataclass))]: 0 });
  }

  async #takeAgain(job: Job, given: readonly GivenRow[], unstored: TextsOf): Promise<void> {
    const { table } = job;
    const parts = partsOf(table);
    const loaded = given.map(({ reject, row }): LoadedRow => {
      const whole = withUnstored(this.#loaded(table, row), unstored);
      return reject.isStored ? { ...whole, isStored: true } : whole;
    });
    const to = given.at(-1)?.number ?? 0;
    const refusals = await this.#check(job, to, loaded);
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
    await this.#commit(job, to, {
      ...(await this.#written(newOf(table.dataclass), lines)),
      ...(await this.#written(mendedOf(table.dataclass), taken)),
    });
  }

  /**
   * The texts in the source of rows that are not stored, or not with these texts, by the foreign
   * keys that may have them.
   */
  async #unstoredTexts({ textLinks }: PlannedTable): Promise<TextsOf> {
    const all = new Map<string, ReadonlySet<unknown>>();
    for (const { attribute, target, by } of textLinks) {
      const table = this.plan.tables.find(({ dataclass }) => dataclass === target);
      const part = table?.columns.find((each) => each.attribute === by);
      if (table === undefined || part === undefined) continue;
      const { rejected } = await this.#rejects.read(target);
      const mended = await this.#rejects.mended(target);
      const numbers = new Set([
        ...[...rejected].flatMap(([number, { isStored, attributes }]) =>
          isStored && !attributes.has(by) ? [] : [number],
        ),
        ...[...mended].flatMap(([number, row]) =>
          Object.hasOwn(row, part.column) ? [number] : [],
        ),
      ]);
      const texts = new Set<unknown>();
      for await (const rows of this.#numbered(table, numbers, [part])) {
        for (const { row } of rows) texts.add(jsonValue(row.values[0], part));
      }
      all.set(attribute, texts);
    }
    return all;
  }

  /** The rows of the source with these numbers, which begin with 1. */
  async *#numbered(
    table: PlannedTable,
    numbers: ReadonlySet<number>,
    parts = partsOf(table),
  ): AsyncGenerator<readonly NumberedRow[], void> {
    const last = Math.max(0, ...numbers);
    let found: NumberedRow[] = [];
    let place: Place | undefined;
    for (let number = 0; number < last;) {
      const page = await this.source.read(table.table, parts, place, this.options.batch);
      place = page.at(-1)?.place;
      if (place === undefined) {
        throw new LoadStopped(
          `rejects/${table.dataclass}.jsonl names row ${String(last)}, and the source has ${String(number)}`,
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
      const { rejected, broken: rules } = await this.#rejects.read(dataclass);
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
        const page = await this.#page(table, undefined, place);
        const last = page.at(-1);
        if (last === undefined) break;
        ({ place } = last);
        const compared = page
          .map((row, at) => ({
            row: withChanges(partsOf(table), row, mended.get(rows + at + 1) ?? {}),
            reject: rejected.get(rows + at + 1),
          }))
          .filter(({ reject }) => reject?.isStored !== false);
        rows += page.length;
        const answer = await this.loader.ask(
          {
            kind: 'compare',
            dataclass,
            rows: compared.map(({ row, reject }) => withoutLost(this.#loaded(table, row), reject)),
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
      const rejectedRows = [...rejected.values()].filter(({ isStored }) => !isStored).length;
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
        incompleteRows: rejected.size - rejectedRows,
        differences,
      });
    }
    return { outcomes, differences: shown, broken };
  }

  /** @param phase none for all values; a row that is refused is shown with all of them, too */
  #page(
    table: PlannedTable,
    phase: Phase | undefined,
    place: Place | undefined,
  ): Promise<readonly SourceRow[]> {
    const parts = partsOf(table, phase === 'rows' ? undefined : phase);
    return this.source.read(table.table, parts, place, this.options.batch);
  }

  #loaded(table: PlannedTable, row: SourceRow, phase?: Phase): LoadedRow {
    const values: Record<string, unknown> = {};
    let faults: Record<string, string> | undefined;
    const later = phase === 'rows' ? [...table.held, ...referencesOf(table)] : [];
    for (const [at, part] of partsOf(table, phase).entries()) {
      if (later.includes(part.attribute)) continue;
      const value = jsonValue(row.values[at], part);
      const isNone = value === '' && part.isBlankNull === true && this.source.keepsBlanks === true;
      if (value instanceof Odd && this.#makesOddNull) values[part.attribute] = null;
      else if (value instanceof Unusable) (faults ??= {})[part.attribute] = value.message;
      else values[part.attribute] = isNone ? null : value;
    }
    if (table.isKeyMade) values[table.key] = madeKey(table.table, row.identity);
    // A later phase sets them.
    for (const name of later) values[name] = null;
    return faults === undefined ? { values } : { values, faults };
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

  /** The checkpoint of the import that the database notes: the next one, if the last run has ended before its time. */
  async #read(): Promise<Checkpoint | undefined> {
    for (const path of [this.#path('.new'), this.#path()]) {
      const text = await readFile(path, 'utf8').catch((error: unknown) => {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
        throw error;
      });
      if (text === undefined) continue;
      const content = parsedJson(text) as Partial<Checkpoint> | undefined;
      if (content?.format === 2) {
        if (content.import === this.#noted('number')) return content as Checkpoint;
      } else if (path === this.#path() && !this.options.restart) {
        const isOlder = typeof content?.format === 'number';
        throw new LoadStopped(
          isOlder
            ? `another version of drs-gen has written ${checkpointFile}; begin again with --restart`
            : `${checkpointFile} is not what an import has written; restore it, or begin again with --restart`,
        );
      }
    }
    return undefined;
  }

  /** Writes a checkpoint beside the earlier one, which it replaces when the database has begun. */
  async #write(checkpoint: Checkpoint): Promise<void> {
    await mkdir(dirname(this.#path()), { recursive: true });
    await writeFile(this.#path('.new'), `${JSON.stringify(checkpoint, null, 2)}\n`);
  }

  #path(end = ''): string {
    return join(this.options.folder, `${checkpointFile}${end}`);
  }
}

/** Differences that are shown. */
const mostShown = 20;

function referencesOf({ references }: PlannedTable): readonly string[] {
  return references.map(({ attribute }) => attribute);
}

/** What a phase stores, and the key; all values without one. */
function partsOf(table: PlannedTable, phase: Phase = 'again'): readonly PlannedColumn[] {
  const { columns, references, held, key } = table;
  switch (phase) {
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

/** Texts by foreign key. */
type TextsOf = ReadonlyMap<string, ReadonlySet<unknown>>;

function withUnstored(row: LoadedRow, texts: TextsOf): LoadedRow {
  const unstored = [...texts].flatMap(([name, held]) => (held.has(row.values[name]) ? [name] : []));
  return unstored.length === 0 ? row : { ...row, unstored };
}

function withoutLost({ values, faults }: LoadedRow, reject: Rejected | undefined): LoadedRow {
  if (reject === undefined) return faults === undefined ? { values } : { values, faults };
  const lost = [...reject.attributes].map((name): [string, null] => [name, null]);
  const others = Object.entries(faults ?? {}).filter(([name]) => !reject.attributes.has(name));
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

function rejectLine(
  { table, phase }: Job,
  rows: readonly SourceRow[],
  { index, isStored, reasons }: LoadRefusal,
  before: number,
): RejectLine {
  const row = rows[index];
  const parts = partsOf(table, phase === 'rows' ? undefined : phase);
  const shown = row === undefined ? {} : shownRow(parts, row);
  return { number: before + index + 1, isStored, reasons, row: shown };
}

/** A row of the source, counted from 1. */
interface NumberedRow {
  readonly number: number;
  readonly row: SourceRow;
}

/** A row of the source with the values that a person has corrected. */
interface GivenRow extends NumberedRow {
  readonly reject: Rejected;
  /** Values by column. */
  readonly changes: Readonly<Record<string, unknown>>;
}
