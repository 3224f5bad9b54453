import { soundExpression, type ExpressionUse } from './computed.js';
import { fold } from '../../runtime/protocol/fold.js';
import type { Dataclass, RelatedEntityAttribute, StorageType } from '../model/model.js';
import type { Place } from '../source/tree.js';
import type { Context } from './context.js';
import { columnOf, type DataclassDraft, type World } from './world.js';
import { createRequire } from 'node:module';
import type { Database } from 'better-sqlite3';
import { sqliteTypes } from '../model/sqlite-types.js';
import { MissingDriver } from './missing-driver.js';
import { textsOf, withoutQuoted } from './expression-text.js';

/**
 * Tests every expression in a database in the form in which the server keeps it: as a generated column.
 * @returns those without a problem
 */
export function checkExpressions(
  { report, ...others }: Context,
  world: World,
  dataclasses: readonly Dataclass[],
): readonly ExpressionUse[] {
  const wrong = new Set<Place>();
  const context: Context = {
    ...others,
    report: (code, fill, at, help) => {
      wrong.add(at);
      report(code, fill, at, help);
    },
  };
  const tables = world.dataclasses
    .map((dataclass, index) => ({
      built: dataclasses[index],
      uses: usesOf(context, dataclass),
      stored: [...storedColumns(dataclasses[index]), ...unknownColumns(dataclass)],
    }))
    .filter(({ uses }) => uses.length > 0);
  if (tables.length === 0) return [];
  const probe = openProbe();
  try {
    for (const table of tables) checkTable(context, probe, table);
  } finally {
    probe.close();
  }
  return tables.flatMap(({ uses }) => uses.filter(({ at }) => !wrong.has(at)));
}

function usesOf(context: Context, dataclass: DataclassDraft): readonly ExpressionUse[] {
  return dataclass.attributes.flatMap((draft) => {
    const use = soundExpression(context, draft);
    return use === undefined ? [] : [use];
  });
}

interface ProbedTable {
  readonly built: Dataclass | undefined;
  readonly stored: readonly ProbeColumn[];
  readonly uses: readonly ExpressionUse[];
}

/**
 * Tests all expressions of a table together, because they can refer to each other; after a failure, each one alone,
 * to find the culprit.
 */
function checkTable(context: Context, probe: Probe, { built, stored, uses }: ProbedTable): void {
  for (const use of uses) {
    const reason = dependsOnTime(use.expression);
    if (reason !== undefined) notDeterministic(context, use, reason);
  }
  const refusal = probe.refusal(distinct([...uses.map(generatedColumn), ...stored]));
  if (refusal === undefined) return;
  const alone = uses.map((use): [ExpressionUse, string | undefined] => {
    const others = uses.filter((each) => each !== use).map(plainColumn);
    return [use, probe.refusal(distinct([generatedColumn(use), ...stored, ...others]))];
  });
  for (const [use, reason] of alone) if (reason !== undefined) tell(context, built, use, reason);
  if (alone.some(([, reason]) => reason !== undefined)) return;
  const culprit = uses.find(({ draft }) => refusal.includes(`"${columnOf(draft)}"`)) ?? uses[0];
  if (culprit !== undefined) tell(context, built, culprit, refusal);
}

function tell(
  context: Context,
  dataclass: Dataclass | undefined,
  use: ExpressionUse,
  refusal: string,
): void {
  const attribute = use.draft.label;
  if (/non-deterministic/i.test(refusal)) {
    // The check of its text may have reported the same.
    if (dependsOnTime(use.expression) === undefined) notDeterministic(context, use, refusal);
    return;
  }
  const decimal = namedDecimal(dataclass, refusal);
  if (decimal !== undefined) {
    const fill = { attribute, column: decimal };
    const hint = 'let class code compute the value: accessors: [get]';
    context.report('computed/expression-of-decimal', fill, use.at, hint);
    return;
  }
  const help = columnHint(context, dataclass, refusal);
  // A quoted name is always meant as a name.
  const reason = refusal.replace(/ - should this be a string literal in single-quotes\?$/u, '');
  context.report('computed/bad-expression', { attribute, reason }, use.at, help);
}

/** The column of a decimal that an expression names; the database that checks expressions lacks it. */
function namedDecimal(dataclass: Dataclass | undefined, refusal: string): string | undefined {
  const missing = missingColumn(refusal);
  if (missing === undefined) return undefined;
  const found = dataclass?.attributes.find(
    (each) => each.kind === 'storage' && isDecimal(each) && fold(each.column) === fold(missing),
  );
  return found?.kind === 'storage' ? found.column : undefined;
}

/** SQLite and PostgreSQL hold decimals in different forms. */
function isDecimal({ type }: { readonly type: StorageType }): boolean {
  return type === 'decimal';
}

/** Expressions use column names, which are the original names of attributes. */
function columnHint(
  { suggest }: Context,
  dataclass: Dataclass | undefined,
  refusal: string,
): string | undefined {
  const missing = missingColumn(refusal);
  if (missing === undefined || dataclass === undefined) return undefined;
  const { attributes } = dataclass;
  const isMeant = (name: string): boolean => fold(name) === fold(missing);
  const relation = attributes.find(
    (each): each is RelatedEntityAttribute =>
      each.kind === 'relatedEntity' && [each.name, ...(each.renamedFrom ?? [])].some(isMeant),
  );
  const kept = attributes.find(({ name, renamedFrom = [] }) =>
    relation === undefined ? [name, ...renamedFrom].some(isMeant) : name === relation.foreignKey,
  );
  const column = kept?.kind === 'storage' || kept?.kind === 'computed' ? kept.column : undefined;
  const columns = columnsOf(dataclass);
  if (column === undefined) return suggest(missing, columns) ?? columnList(columns);
  const label = `${dataclass.name}.${relation?.name ?? kept?.name ?? ''}`;
  return `${label} is stored in the column ${column}: write ${column}`;
}

/** SQLite prints a quoted name as it is written and may append more. */
function missingColumn(refusal: string): string | undefined {
  const [, quoted, plain] = /^no such column: (?:"((?:[^"]|"")+)"|(.+))/su.exec(refusal) ?? [];
  return quoted?.replaceAll('""', '"') ?? plain;
}

function notDeterministic({ report }: Context, use: ExpressionUse, reason: string): void {
  report('computed/not-deterministic', { attribute: use.draft.label, reason }, use.at);
}

function generatedColumn({ draft, type, expression }: ExpressionUse): ProbeColumn {
  return { name: columnOf(draft), type, expression };
}

function plainColumn({ draft, type }: ExpressionUse): ProbeColumn {
  return { name: columnOf(draft), type };
}

const mostListed = 10;

function columnList(columns: readonly string[]): string {
  const listed = columns.slice(0, mostListed).join(', ');
  return `an expression names columns: ${listed}${columns.length > mostListed ? ', …' : ''}`;
}

function columnsOf({ attributes }: Dataclass): readonly string[] {
  return attributes.flatMap((each) =>
    each.kind === 'storage' || each.kind === 'computed' ? (each.column ?? []) : [],
  );
}

function storedColumns(dataclass: Dataclass | undefined): readonly ProbeColumn[] {
  const stored = (dataclass?.attributes ?? []).filter((each) => each.kind === 'storage');
  return stored
    .filter((each) => !isDecimal(each))
    .map(({ column, type }) => ({ name: column, type }));
}

/** Attributes that are reported elsewhere, so that an expression over them is not reported, too. */
function unknownColumns({ attributes }: DataclassDraft): readonly ProbeColumn[] {
  return attributes
    .filter(({ kind, type }) => kind === undefined || (kind === 'storage' && type === undefined))
    .map((draft) => ({ name: columnOf(draft), type: 'string' }));
}

/** Conflicting columns are reported elsewhere and would hide errors of an expression. */
function distinct(columns: readonly ProbeColumn[]): readonly ProbeColumn[] {
  const seen = new Set<string>();
  return columns.filter(({ name }) => {
    const isNew = name !== '' && !name.includes('\0') && !seen.has(fold(name));
    seen.add(fold(name));
    return isNew;
  });
}

interface ProbeColumn {
  readonly name: string;
  readonly type: StorageType;
  /** The expression of a generated column. */
  readonly expression?: string;
}

/** An empty database that reports what is wrong with a table. */
interface Probe {
  /** The database's own message, or `undefined` if the table can be created and read. */
  readonly refusal: (columns: readonly ProbeColumn[]) => string | undefined;
  readonly close: () => void;
}

/**
 * Opens the database. Its driver is loaded here, because loading takes time and most models have no expression.
 * @param load loads the driver by the name of its package
 * @throws MissingDriver
 */
export function openProbe(load: (name: string) => unknown = createRequire(import.meta.url)): Probe {
  const database = opened(load);
  return {
    refusal: (columns) => refusal(database, columns),
    close: () => {
      database.close();
    },
  };
}

function opened(load: (name: string) => unknown): Database {
  try {
    const Constructor = load('better-sqlite3') as new (file: string) => Database;
    return new Constructor(':memory:');
  } catch (error) {
    throw new MissingDriver(error);
  }
}

function refusal(database: Database, columns: readonly ProbeColumn[]): string | undefined {
  database.exec('BEGIN');
  try {
    database.exec(`CREATE TABLE probe (${columns.map(columnSql).join(', ')})`);
    const strange = strangeTable(database, columns);
    if (strange !== undefined) return strange;
    // Some functions fail only when they are computed.
    database.exec('INSERT INTO probe DEFAULT VALUES');
    const names = columns.map(({ name }) => quoted(name)).join(', ');
    database.prepare(`SELECT ${names} FROM probe`).all();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    database.exec('ROLLBACK');
  }
}

/** Whether an expression has created anything in addition to its column. */
function strangeTable(database: Database, columns: readonly ProbeColumn[]): string | undefined {
  const objects = database.prepare('SELECT name FROM sqlite_schema').pluck().all();
  const found = database.prepare('SELECT name, hidden FROM pragma_table_xinfo(?)').all('probe');
  const wanted = columns.map(({ name, expression }) => ({
    name,
    hidden: expression === undefined ? 0 : 2,
  }));
  const isWanted = JSON.stringify([objects, found]) === JSON.stringify([['probe'], wanted]);
  return isWanted ? undefined : 'it does more than compute a value';
}

function columnSql({ name, type, expression }: ProbeColumn): string {
  const column = `${quoted(name)} ${sqliteTypes[type]}`;
  return expression === undefined
    ? column
    : `${column} GENERATED ALWAYS AS (${expression}) VIRTUAL`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Functions that return the current time for certain arguments, or without arguments. */
const timeFunction = /\b(?:date|time|datetime|julianday|unixepoch|strftime|timediff)\s*\(/i;
const withoutArgument = /\b(?:date|time|datetime|julianday|unixepoch)\s*\(\s*\)/i;
const timeKeyword = /\bcurrent_(?:date|time|timestamp)\b/i;

/**
 * Why the value of an expression depends on when or where it is read, judged by its text: the database fails only
 * when it computes such a value, and then every read would fail.
 */
function dependsOnTime(expression: string): string | undefined {
  const open = withoutQuoted(expression);
  if (timeKeyword.test(open)) return 'it uses the current time';
  if (!timeFunction.test(open)) return undefined;
  const words = textsOf(expression).map((each) => each.trim().toLowerCase());
  if (words.includes('now') || withoutArgument.test(expression)) {
    return 'it uses the current time';
  }
  const zone = words.find((each) => each === 'localtime' || each === 'utc');
  return zone === undefined ? undefined : 'it depends on the time zone of the server';
}
