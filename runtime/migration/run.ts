import {
  type ColumnValue,
  type ConvertStep,
  type DropStep,
  type FillStep,
  isContract,
  type MigratedDatabase,
  type Migration,
  type MigrationOptions,
  type Migrations,
  type MigrationStep,
  type RenameStep,
  type MigrationRow,
  type RowValues,
  type SqlText,
  stepWords,
  type UpdatedRow,
} from '../dialect/schema/migration.js';
import { requireNoOthers } from '../dialect/presence.js';
import { counted } from '../dialect/schema/rules.js';
import type { ColumnShape, SchemaShape, TableShape } from '../dialect/schema/shape.js';
import { MigrationError } from '../dialect/schema-mismatch.js';
import { quoted } from '../dialect/table-definition.js';
import type { Fold } from '../protocol/fold.js';
import { nowText } from '../protocol/dates.js';

/**
 * Marks a place where a person has to decide; the migration stops at the first row that reaches it. Migrations that were
 * written earlier also give the row.
 */
export const decide: (what: string, row?: object) => never = (what) => {
  throw new Error(`no value has been decided for ${what}.`);
};

/** The migrations of a server by name, in order. */
export function plannedMigrations(byName: Readonly<Record<string, Migration>>): Migrations {
  const steps = Object.entries(byName).flatMap(([migration, { steps: list }]) =>
    list.map((step, index): NamedStep => ({ migration, index, step })),
  );
  return {
    names: Object.keys(byName),
    run: async (database, options) => {
      const waiting: string[] = [];
      for (const each of await openSteps(database, steps)) {
        const words = await new StepRun(database, each, options).run();
        if (words !== undefined) waiting.push(words);
      }
      return waiting;
    },
    plan: async (database, options) => {
      const words: string[] = [];
      for (const { each, needless } of await expected(database, steps)) {
        words.push(await new StepRun(database, each, options).plan(needless));
      }
      return words;
    },
    pending: async (database) =>
      (await expected(database, steps)).flatMap(({ each, needless }) =>
        each.step.kind === 'drop' || needless !== undefined
          ? []
          : [`${each.migration}: ${stepWords(each.step)}`],
      ),
    skip: async (database) => {
      for (const each of steps) await finish(database, each);
    },
  };
}

/** A step with its identifier in the journal. */
interface NamedStep {
  readonly migration: string;
  readonly index: number;
  readonly step: MigrationStep;
}

/** A step that has not run. */
interface OpenStep extends NamedStep {
  /** The open steps behind it, in order. */
  readonly later: readonly MigrationStep[];
}

/** The steps that have not run. A drop has the present names if a later step renamed its table or column. */
async function openSteps(
  database: MigratedDatabase,
  steps: readonly NamedStep[],
): Promise<readonly OpenStep[]> {
  const noted: (NamedStep & Noted)[] = [];
  for (const each of steps) noted.push({ ...each, ...(await journalOf(database, each)) });
  return noted.flatMap(({ done, migration, index, step }, place): readonly OpenStep[] => {
    if (done !== undefined) return [];
    const after = noted.slice(place + 1);
    const ran = after.filter((each) => each.done !== undefined && !each.isSkipped);
    const later = after.filter((each) => each.done === undefined).map((each) => each.step);
    const now = step.kind === 'drop' ? { ...step, ...renamedBy(stepsIn(ran), step) } : step;
    return [{ migration, index, step: now, later }];
  });
}

function stepsIn(steps: readonly NamedStep[]): readonly MigrationStep[] {
  return steps.map(({ step }) => step);
}

/** The open steps, and why one is needless when those before it have run. */
async function expected(
  database: MigratedDatabase,
  steps: readonly NamedStep[],
): Promise<readonly { readonly each: OpenStep; readonly needless: string | undefined }[]> {
  const open = await openSteps(database, steps);
  if (open.length === 0) return [];
  const wanted = await database.wanted();
  const parts = new Parts(await database.present());
  return open.map((each) => {
    const needless = needlessness(each, parts, wanted);
    if (needless === undefined) parts.change(each, wanted);
    return { each, needless };
  });
}

/** A table, or a column of it. */
interface Part {
  readonly table: string;
  readonly column?: string;
}

/** Whether a step gives a part the name that those behind it know it by; with `mayExist`, they know its successor. */
function namesAnew(step: MigrationStep): step is RenameStep {
  return step.kind === 'rename' && step.mayExist !== true;
}

/** The name of a part when these steps have run. */
function renamedBy(steps: readonly MigrationStep[], { table, column }: Part): Part {
  let now: Part = column === undefined ? { table } : { table, column };
  for (const step of steps) {
    if (!namesAnew(step) || step.table !== now.table) continue;
    if (step.column === undefined) now = { ...now, table: step.to };
    else if (step.column === now.column) now = { ...now, column: step.to };
  }
  return now;
}

/** The name that a part has before these steps, if they bring it to this one. */
function originOf(steps: readonly MigrationStep[], { table, column }: Part): Part {
  let then: Part = column === undefined ? { table } : { table, column };
  for (const step of steps.toReversed()) {
    if (!namesAnew(step)) continue;
    if (step.column === undefined) {
      if (step.to === then.table) then = { ...then, table: step.table };
    } else if (step.table === then.table && step.to === then.column) {
      then = { ...then, column: step.column };
    }
  }
  return then;
}

/** Whether the model uses a part when these steps have run. */
function isUsed(part: Part, later: readonly MigrationStep[], wanted: SchemaShape): boolean {
  return wanted.tables.some((shape) => {
    const table = { table: shape.name };
    if (part.column === undefined) return isSamePart(originOf(later, table), part);
    return stored(shape).some(({ name }) =>
      isSamePart(originOf(later, { ...table, column: name }), part),
    );
  });
}

/** The tables and columns that a database has when some of the open steps have run. */
class Parts {
  readonly #tables: Map<string, Set<string>>;

  constructor({ tables }: SchemaShape) {
    this.#tables = new Map(
      tables.map((table) => [table.name, new Set(stored(table).map(({ name }) => name))]),
    );
  }

  has({ table, column }: Part): boolean {
    const columns = this.#tables.get(table);
    return columns !== undefined && (column === undefined || columns.has(column));
  }

  /** Carries out a step. */
  change({ step, later }: OpenStep, wanted: SchemaShape): void {
    const columns = this.#tables.get(step.table);
    if (columns === undefined) return;
    if (step.kind === 'fill') {
      const present = [...columns];
      for (const { name } of addedBy(step.table, later, present, wanted)) columns.add(name);
    } else if (step.kind !== 'convert' && !(step.kind === 'rename' && this.has(targetOf(step)))) {
      if (step.column === undefined) this.#tables.delete(step.table);
      else columns.delete(step.column);
      if (step.kind === 'rename' && step.column === undefined) this.#tables.set(step.to, columns);
      else if (step.kind === 'rename') columns.add(step.to);
    }
  }
}

function targetOf({ table, column, to }: RenameStep): Part {
  return column === undefined ? { table: to } : { table, column: to };
}

/**
 * Why a step has nothing to do: the database has skipped the models that the step is for, or the model uses again what
 * the step drops.
 */
function needlessness(
  { step, later }: OpenStep,
  parts: Parts,
  wanted: SchemaShape,
): string | undefined {
  const { table, column } = step;
  const noun = column === undefined || step.kind === 'fill' ? 'table' : 'column';
  const isThere = parts.has(step.kind === 'fill' ? { table } : step);
  const isWanted = isUsed(step, later, wanted);
  const missing = `unnecessary, because the database has no ${noun} "${noun === 'table' ? table : (column ?? '')}"`;
  switch (step.kind) {
    case 'drop':
      if (isWanted) return `skipped, because the model uses the ${noun}.`;
      return isThere ? undefined : `${missing}.`;
    case 'rename': {
      if (isThere) return undefined;
      return parts.has(targetOf(step))
        ? `${missing}, and has "${step.to}" already.`
        : `${missing}.`;
    }
    case 'convert':
      if (!isThere) return `${missing}.`;
      return isWanted
        ? undefined
        : `unnecessary, because the model no longer has the column, which stays as it is.`;
    case 'fill':
      if (!isThere) return `${missing}.`;
      if (column === undefined) return undefined;
      if (!isWanted) {
        return parts.has(step)
          ? `unnecessary, because the model no longer has the column "${column}", which stays as it is.`
          : `unnecessary, because neither the database nor the model has a column "${column}".`;
      }
      if (parts.has(step)) return undefined;
      return addedBy(table, later, [], wanted).some(({ name }) => name === column)
        ? undefined
        : `unnecessary, because the start adds the column "${column}" with its default.`;
  }
}

/**
 * The columns that a table lacks for a fill step, under the names that they have before the steps behind it. The start
 * adds those with a default, and derived ones, with their values.
 */
function addedBy(
  table: string,
  later: readonly MigrationStep[],
  present: readonly string[],
  wanted: SchemaShape,
): readonly ColumnShape[] {
  const shape = tableOf(wanted, renamedBy(later, { table }).table);
  if (shape === undefined) return [];
  return stored(shape).flatMap((column) => {
    if (column.default !== undefined || isDerived(column.name)) return [];
    const names = formerNames(table, later, column.name);
    if (names.some((each) => present.includes(each))) return [];
    const name = names.at(-1) ?? column.name;
    return { ...column, name };
  });
}

/** The names of a column of the model before each of the steps that rename it: the newest one first. */
function formerNames(
  table: string,
  later: readonly MigrationStep[],
  column: string,
): readonly string[] {
  const names = [column];
  for (const [place, step] of [...later.entries()].reverse()) {
    const isOfTable = renamedBy(later.slice(0, place), { table }).table === step.table;
    if (!namesAnew(step) || step.column === undefined || !isOfTable) continue;
    if (step.to === names.at(-1)) names.push(step.column);
  }
  return names;
}

/** Rows filled in one transaction; writers wait for this long. */
const batchSize = 500;

/** One step on one database. */
class StepRun {
  constructor(
    private readonly database: MigratedDatabase,
    private readonly named: OpenStep,
    private readonly options: MigrationOptions,
  ) {}

  /** @returns what the step waits for, in words; `undefined` if it is done */
  async run(): Promise<string | undefined> {
    const { migration, step } = this.named;
    const { database } = this;
    const what = `Migration ${migration}: ${stepWords(step)}`;
    const needless = await database.transaction(() => this.#passOver());
    if (needless !== undefined) {
      if (needless !== '') this.options.tell(`${what}: ${needless}`);
      return undefined;
    }
    if (isContract(step) && !this.options.withContracts) {
      if (step.kind === 'drop') return `${what}: waits for node dist/src/migrate.js.`;
      throw new MigrationError(
        `The migration ${migration} has to ${stepWords(step)} before this server can start. Stop the servers of the older model, then run: node dist/src/migrate.js`,
      );
    }
    const { tell, trial } = this.options;
    try {
      trial?.begin();
      const { rows, waits } = await this.#carryOut();
      if (waits !== undefined) return `${what}: waits. ${waits}`;
      if (trial !== undefined) trial.done(what, rows);
      else tell(`${what}: done${step.kind === 'fill' ? `, ${counted(rows ?? 0, 'row')}` : ''}.`);
      return undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new MigrationError(
        `The migration ${migration} stopped at step ${this.named.index + 1} (${stepWords(step)}): ${reason} Earlier changes stay; the next run continues here.`,
        { cause: error },
      );
    }
  }

  /** @returns why the step is needless; an empty text if another run has done it; `undefined` if it has to run */
  async #passOver(): Promise<string | undefined> {
    const { database } = this;
    if ((await journalOf(database, this.named)).done !== undefined) return '';
    const parts = new Parts(await database.present());
    const wanted = await database.wanted();
    const { step, later } = this.named;
    const needless = needlessness(this.named, parts, wanted);
    // The next model may name the part again: a start with this one may be refused. But a drop that is skipped, or what
    // has no part in this database, is over: what gets the name from now on is not what the step was written for.
    const isUnnamed = step.kind !== 'drop' && !isUsed(step, later, wanted);
    const isOver = !isUnnamed || step.kind === 'rename' || !parts.has({ table: step.table });
    if (needless !== undefined && isOver) {
      await note(database, this.named, { position: skipped, done: nowText() });
    }
    return needless;
  }

  /** Describes the step, with the number of rows if it is known. */
  async plan(needless: string | undefined): Promise<string> {
    const { migration, step } = this.named;
    if (needless !== undefined) return `Migration ${migration}: ${stepWords(step)}: ${needless}`;
    const counted = await this.#concerned(step).catch(
      () => 'its rows can be counted when the steps before it are done',
    );
    return `Migration ${migration}: ${stepWords(step)}: ${counted.replace(/\.$/, '')}.`;
  }

  async #concerned(step: MigrationStep): Promise<string> {
    switch (step.kind) {
      case 'fill': {
        const condition = step.where === undefined ? '1 = 1' : this.#sql(step.where);
        return counted(await this.#count(step.table, condition), 'row');
      }
      case 'rename': {
        const moving = await this.#moving(step);
        if (moving === undefined) return 'no row is changed';
        return moving.conflict ?? `${counted(moving.values, 'value')} would be moved`;
      }
      case 'convert': {
        const all = await this.#count(step.table, `${quoted(step.column)} IS NOT NULL`);
        const lost = await this.#count(step.table, this.#lostBy(step));
        return `${counted(all, 'value')}, of which ${lost} would be lost or changed`;
      }
      case 'drop':
        return `${(await this.#dropped(step)).words} would be lost`;
    }
  }

  /** The step removes something that an older server needs. */
  #requireNoOthers(): Promise<void> {
    return requireNoOthers(this.database, this.options.hash);
  }

  async #carryOut(): Promise<StepResult> {
    const { step } = this.named;
    switch (step.kind) {
      case 'fill':
        return { rows: await this.#fill(step) };
      case 'rename': {
        const moving = await this.#moving(step);
        if (moving?.conflict !== undefined) throw new Error(moving.conflict);
        if (moving !== undefined) return { rows: await this.#move(step) };
        await this.#once(() => this.#rename(step));
        return {};
      }
      case 'convert':
        return (await this.#once(() => this.#convert(step))) ?? {};
      case 'drop':
        return (await this.#once(() => this.#drop(step))) ?? {};
    }
  }

  /** Checks first that no other run has done the step: values must not be converted twice. */
  #once<T>(work: () => Promise<T>): Promise<T | undefined> {
    return this.database.transaction(async () => {
      const { done } = await journalOf(this.database, this.named);
      return done === undefined ? work() : undefined;
    }, 'rebuilding');
  }

  /** @returns how many rows this run filled */
  async #fill(step: FillStep): Promise<number> {
    await this.#columns(step.table);
    await this.database.transaction(() => this.#expand(step.table), 'rebuilding');
    const columns = await this.#columns(step.table);
    const key = columns.find(({ isKey }) => isKey)?.name;
    if (key === undefined) throw new Error('the table has no primary key.');
    const filled: FilledStep = {
      step,
      key,
      columns,
      names: new Set(columns.map(({ name }) => name)),
    };
    let rows = 0;
    for (;;) {
      const done = await this.database.transaction(() => this.#fillBatch(filled));
      rows += done.rows;
      if (done.isLast) return rows;
    }
  }

  async #expand(table: string): Promise<void> {
    const { database } = this;
    const { later } = this.named;
    const wanted = await database.wanted();
    const actual = tableOf(await database.present(), table);
    const shape = tableOf(wanted, renamedBy(later, { table }).table);
    if (actual === undefined || shape === undefined) return;
    const present = new Map(actual.columns.map((each) => [each.name, each]));
    const missing = addedBy(table, later, [...present.keys()], wanted);
    await database.expand(table, {
      added: missing.map((each) => this.#beforeConversion(table, each)),
      loosened: shape.columns
        .filter(({ isMandatory }) => !isMandatory)
        .flatMap(({ name }) => formerNames(table, later, name))
        .filter((name) => present.get(name)?.isMandatory === true),
      dropped: actual.checks.filter((each) => !shape.checks.includes(each)),
    });
  }

  /** A column that a later step converts has its former type until then. */
  #beforeConversion(table: string, column: ColumnShape): ColumnShape {
    const { later } = this.named;
    const converted = later.find(
      (each, place): each is ConvertStep =>
        each.kind === 'convert' &&
        isSamePart(renamedBy(later.slice(0, place), { table, column: column.name }), each),
    );
    if (converted?.was === undefined) return column;
    return { ...column, type: this.#sql(converted.was) };
  }

  async #fillBatch({ step, key, columns, names }: FilledStep): Promise<{
    readonly rows: number;
    readonly isLast: boolean;
  }> {
    const { database } = this;
    // Another server may have continued meanwhile.
    const { done, position } = await journalOf(database, this.named);
    if (done !== undefined) return { rows: 0, isLast: true };
    const { set, table } = step;
    const isFunction = typeof set === 'function';
    const read = isFunction
      ? columns
          .filter(({ type, name }) => !/^(?:BLOB|bytea)$/.test(type) && !isDerived(name))
          .map(({ name }) => quoted(name))
      : Object.entries(set).map(([name, sql]) => `${this.#sql(sql)} AS ${quoted(name)}`);
    const conditions = [
      ...(position === undefined ? [] : [`${quoted(key)} > $1`]),
      ...(step.where === undefined ? [] : [`(${this.#sql(step.where)})`]),
    ];
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
    const batch = await database.query(
      `SELECT ${quoted(key)} AS "__key", ${read.join(', ')} FROM ${quoted(table)} ${where}
        ORDER BY ${quoted(key)} LIMIT ${batchSize} ${database.forUpdate}`,
      position === undefined ? [] : [position],
    );
    // The migration file declares the parameter type of the function.
    const compute = set as (row: unknown) => RowValues | PromiseLike<RowValues>;
    const rows: UpdatedRow[] = [];
    for (const { __key = null, ...row } of batch) {
      try {
        const values = isFunction ? await compute(row) : row;
        rows.push({ key: __key, values: completed(values, names, this.options.fold) });
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`${reason} The row: ${rowText(row)}.`, { cause: error });
      }
    }
    await updateRows(database, table, key, rows);
    if (batch.length > 0) {
      await raiseGlobalStamp(database, batch.length);
    }
    const isLast = batch.length < batchSize;
    if (isLast) await finish(database, this.named);
    else await note(database, this.named, { position: JSON.stringify(batch.at(-1)?.__key) });
    return { rows: batch.length, isLast };
  }

  /** What a rename moves; `undefined` if the database does not have both parts, so that nothing moves. */
  async #moving(step: RenameStep): Promise<Moving | undefined> {
    const { table, column, to, mayExist } = step;
    const parts = new Parts(await this.database.present());
    if (mayExist !== true || !parts.has(targetOf(step))) return undefined;
    if (column === undefined) {
      const rows = await this.#count(table, '1 = 1');
      if (rows === 0) return { values: 0 };
      const conflict = `table ${quoted(table)} has ${counted(rows, 'row')}, and there is a table ${quoted(to)}. Move its rows there by hand and delete them, or take this step out of the migration: then they stay, unused.`;
      return { values: 0, conflict };
    }
    const [old, now] = [quoted(column), quoted(to)];
    // PostgreSQL does not compare JSON; SQLite rounds numbers that become texts.
    const differ =
      this.database.kind === 'sqlite'
        ? `${old} <> ${now}`
        : `CAST(${old} AS text) <> CAST(${now} AS text)`;
    const rows = await this.#count(table, differ);
    if (rows === 0) return { values: await this.#count(table, isToMove(column, to)) };
    const conflict = `${old} and ${now} have different values in ${counted(rows, 'row')}. This finds them: SELECT * FROM ${quoted(table)} WHERE ${differ}. Set the one that is wrong to null, or take this step out of the migration: then the values of ${old} stay there, unused.`;
    return { values: 0, conflict };
  }

  async #move(step: RenameStep): Promise<number> {
    const { table, column, to } = step;
    await this.#requireNoOthers();
    if (column !== undefined) {
      const where = isToMove(column, to);
      const set = { [to]: quoted(column) };
      const rows = await this.#fill({ kind: 'fill', table, column: to, where, set });
      await this.database.transaction(async () => {
        await this.#dropWithDerived(table, column);
        await this.database.renameRecorded(step);
      }, 'rebuilding');
      return rows;
    }
    await this.database.transaction(() => finish(this.database, this.named));
    return 0;
  }

  async #rename(step: RenameStep): Promise<void> {
    const { database } = this;
    const { table, column, to } = step;
    await this.#requireNoOthers();
    const names = new Set((await this.#columns(table)).map(({ name }) => name));
    if (column === undefined ? await database.hasTable(to) : names.has(to)) {
      throw new Error(
        `there is a ${column === undefined ? 'table' : 'column'} "${to}" already. Drop the one that is not needed, or take this step out of the migration.`,
      );
    }
    if (column === undefined) {
      await database.query(`ALTER TABLE ${quoted(table)} RENAME TO ${quoted(to)}`);
      await database.query('DELETE FROM "__form" WHERE "table" = $1', [to]);
      await database.query('UPDATE "__form" SET "table" = $2 WHERE "table" = $1', [table, to]);
    } else {
      const targets = withDerived(to);
      for (const [index, from] of withDerived(column).entries()) {
        if (index > 0 && !names.has(from)) continue;
        await database.renameColumn(table, from, targets[index] ?? to);
      }
      const form = 'WHERE "table" = $1 AND "column" = $2';
      await database.query(`DELETE FROM "__form" ${form}`, [table, to]);
      await database.query(`UPDATE "__form" SET "column" = $3 ${form}`, [table, column, to]);
    }
    await database.renameRecorded(step);
    await finish(database, this.named);
  }

  /** Writes the new values into a separate column, which then replaces the old one. */
  async #convert(step: ConvertStep): Promise<StepResult> {
    const { database } = this;
    const { table, column, atMost = 0 } = step;
    await this.#requireNoOthers();
    const now = renamedBy(this.named.later, { table, column });
    const shape = tableOf(await database.wanted(), now.table);
    const wanted = shape && stored(shape).find(({ name }) => name === now.column);
    if (wanted === undefined) throw new Error('the model has no such column.');
    const { type } = this.#beforeConversion(table, { ...wanted, name: column });
    const [old, made] = [quoted(column), quoted(`__converted_${column}`)];
    const text = this.#sql(step.value);
    const condition = this.#lostBy(step);
    const lost = await this.#count(table, condition);
    if (lost > atMost) {
      throw new Error(
        `${counted(lost, 'value')} would be lost or changed, and ${allowedWords(step)}. This finds them: SELECT * FROM ${quoted(table)} WHERE ${condition}. Write atMost: ${lost} into the step to allow it.`,
      );
    }
    await database.query(`ALTER TABLE ${quoted(table)} ADD COLUMN ${made} ${type}`);
    const all = await this.#count(table, `${old} IS NOT NULL`);
    // Clients see another value, so the stamp of the entity increases.
    await database.query(
      `UPDATE ${quoted(table)} SET ${made} = ${text}, "__STAMP" = "__STAMP" + 1, "__TIMESTAMP" = $1
        WHERE ${old} IS NOT NULL`,
      [nowText()],
    );
    await raiseGlobalStamp(database, all);
    await this.#dropWithDerived(table, column);
    await database.query(`ALTER TABLE ${quoted(table)} RENAME COLUMN ${made} TO ${old}`);
    await finish(database, this.named);
    return { rows: all };
  }

  /** SQL that finds the rows whose value is not preserved. */
  #lostBy({ column, value, loses }: ConvertStep): string {
    const losing = [
      `(${this.#sql(value)}) IS NULL`,
      ...(loses === undefined ? [] : [`(${this.#sql(loses)})`]),
    ];
    return `${quoted(column)} IS NOT NULL AND (${losing.join(' OR ')})`;
  }

  async #drop(step: DropStep): Promise<StepResult> {
    const { database } = this;
    const { table, column, atMost } = step;
    const present = tableOf(await database.present(), table);
    let rows = 0;
    const isThere = ({ name }: ColumnShape): boolean => column === undefined || name === column;
    if (present !== undefined && stored(present).some(isThere)) {
      const { lost, words } = await this.#dropped(step);
      if (atMost === undefined) {
        return {
          waits: `${words} would be lost: write atMost: ${lost} into the step to allow it.`,
        };
      }
      rows = lost;
      if (lost > atMost) throw new Error(`${words} would be lost, and ${allowedWords(step)}.`);
      const referring = column === undefined ? await this.#referring(table) : [];
      if (referring.length > 0) {
        return {
          waits: `columns of ${referring.join(', ')} refer to it: drop these columns first.`,
        };
      }
      await this.#requireNoOthers();
      if (column === undefined) await this.#dropTable(table);
      else await this.#dropWithDerived(table, column);
    }
    await finish(database, this.named);
    return { rows };
  }

  async #dropped({
    table,
    column,
  }: DropStep): Promise<{ readonly lost: number; readonly words: string }> {
    const condition = column === undefined ? '1 = 1' : `${quoted(column)} IS NOT NULL`;
    const lost = await this.#count(table, condition);
    return { lost, words: counted(lost, column === undefined ? 'row' : 'value') };
  }

  /** The tables with foreign keys to a table. */
  async #referring(table: string): Promise<readonly string[]> {
    const { tables } = await this.database.present();
    return tables
      .filter(
        ({ name, foreignKeys }) =>
          name !== table && foreignKeys.some(({ target }) => target === table),
      )
      .map(({ name }) => quoted(name));
  }

  async #dropTable(table: string): Promise<void> {
    await this.database.query(`DROP TABLE ${quoted(table)}`);
    await this.database.query('DELETE FROM "__form" WHERE "table" = $1', [table]);
  }

  async #dropWithDerived(table: string, column: string): Promise<void> {
    const names = new Set((await this.#columns(table)).map(({ name }) => name));
    const columns = withDerived(column).filter((each) => names.has(each));
    await this.database.dropColumns(table, columns);
    // A column of this name that is added later may have another form.
    const form = 'DELETE FROM "__form" WHERE "table" = $1 AND "column" = $2';
    await this.database.query(form, [table, column]);
  }

  /** The columns of a table that are not generated. */
  async #columns(table: string): Promise<readonly ColumnShape[]> {
    const present = tableOf(await this.database.present(), table);
    if (present === undefined) throw new Error(`the database has no table "${table}".`);
    return stored(present);
  }

  async #count(table: string, condition: string): Promise<number> {
    const text = `SELECT count(*) AS "count" FROM ${quoted(table)} WHERE ${condition}`;
    const [row] = await this.database.query(text);
    return Number(row?.count ?? 0);
  }

  #sql(sql: SqlText): string {
    const { kind } = this.database;
    const text = typeof sql === 'string' ? sql : sql[kind];
    if (text === undefined) throw new Error(`the step has no SQL for ${kind}.`);
    return text;
  }
}

/** SQL that finds the rows whose value moves to the other column. */
function isToMove(column: string, to: string): string {
  return `${quoted(column)} IS NOT NULL AND ${quoted(to)} IS NULL`;
}

function isSamePart(one: Part, other: Part): boolean {
  return one.table === other.table && one.column === other.column;
}

function tableOf({ tables }: SchemaShape, table: string): TableShape | undefined {
  return tables.find(({ name }) => name === table);
}

function stored({ columns }: TableShape): readonly ColumnShape[] {
  return columns.filter(({ expression }) => expression === undefined);
}

function allowedWords({ atMost = 0 }: ConvertStep | DropStep): string {
  return `atMost allows ${atMost}`;
}

interface Moving {
  readonly values: number;
  /** Why they cannot move. */
  readonly conflict?: string;
}

/** The result of a step. */
interface StepResult {
  /** How many rows were filled, or how many values were converted or dropped. */
  readonly rows?: number;
  /** Why it waits. */
  readonly waits?: string;
}

interface FilledStep {
  readonly step: FillStep;
  readonly key: string;
  readonly columns: readonly ColumnShape[];
  readonly names: ReadonlySet<string>;
}

async function raiseGlobalStamp(database: MigratedDatabase, changes: number): Promise<void> {
  await database.query(
    `UPDATE "__datastore" SET "value" = "value" + ${changes} WHERE "name" = 'globalStamp'`,
  );
}

function rowText(row: MigrationRow): string {
  return JSON.stringify(row, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

/** Adds what a save would write: derived columns of texts, and the time. */
function completed(values: RowValues, names: ReadonlySet<string>, fold: Fold): RowValues {
  const all: Record<string, ColumnValue> = {};
  for (const [column, value] of Object.entries(values)) {
    if (!names.has(column)) throw new Error(`the table has no column "${column}".`);
    for (const each of withDerived(column).filter((name) => names.has(name))) {
      const isFolded = each.startsWith('__folded_') || each.startsWith('__unaccented_');
      if (each === column) all[each] = value;
      // The start that follows fills the derived columns of vectors.
      else all[each] = isFolded && typeof value === 'string' ? fold(value) : null;
    }
  }
  if (names.has('__TIMESTAMP')) all['__TIMESTAMP'] = nowText();
  return all;
}

/** A function may return different columns for each row. */
async function updateRows(
  database: MigratedDatabase,
  table: string,
  key: string,
  rows: readonly UpdatedRow[],
): Promise<void> {
  const groups = new Map<string, UpdatedRow[]>();
  for (const row of rows) {
    const columns = JSON.stringify(Object.keys(row.values));
    const group = groups.get(columns);
    if (group === undefined) groups.set(columns, [row]);
    else group.push(row);
  }
  for (const group of groups.values()) await database.update(table, key, group);
}

const derivedPrefixes = ['__folded_', '__unaccented_', '__norm_', '__unit_'];

/** A column and its possible derived columns. */
function withDerived(column: string): readonly string[] {
  return [column, ...derivedPrefixes.map((prefix) => `${prefix}${column}`)];
}

function isDerived(column: string): boolean {
  return derivedPrefixes.some((prefix) => column.startsWith(prefix));
}

interface Noted {
  /** The time. */
  readonly done: string | undefined;
  /** Whether it was unnecessary. */
  readonly isSkipped: boolean;
  /** The key of the last filled row. */
  readonly position: ColumnValue | undefined;
}

async function journalOf(
  database: MigratedDatabase,
  { migration, index }: NamedStep,
): Promise<Noted> {
  const [row] = await database.query(
    `SELECT "position", "done" FROM "__migration" WHERE "name" = $1 AND "step" = $2`,
    [migration, index],
  );
  const { position, done }: MigrationRow = row ?? {};
  return {
    done: typeof done === 'string' ? done : undefined,
    isSkipped: position === skipped && typeof done === 'string',
    position: typeof position === 'string' ? (JSON.parse(position) as ColumnValue) : undefined,
  };
}

/** Replaces the position of a skipped step. */
const skipped = '"skipped"';

async function finish(database: MigratedDatabase, named: NamedStep): Promise<void> {
  await note(database, named, { done: nowText() });
}

async function note(
  database: MigratedDatabase,
  { migration, index }: NamedStep,
  { position, done }: { readonly position?: string; readonly done?: string },
): Promise<void> {
  await database.query(
    `INSERT INTO "__migration" ("name", "step", "position", "done") VALUES ($1, $2, $3, $4)
      ON CONFLICT ("name", "step") DO UPDATE SET "position" = excluded."position", "done" = excluded."done"`,
    [migration, index, position ?? null, done ?? null],
  );
  // Removes the stamp, so that the start that follows compares the schema and fills derived columns of vectors.
  await database.query(`DELETE FROM "__datastore" WHERE "name" = 'schema'`);
}
