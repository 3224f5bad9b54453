import { nearestName, successorsOf } from '../../protocol/names.js';
import { quoted, wordsOf } from '../table-definition.js';
import { type SchemaChange, schemaChanges } from './changes.js';
import type { ColumnShape, ForeignKeyShape, IndexShape, SchemaShape, TableShape } from './shape.js';

/** What a start does about one change. */
export type Outcome =
  | { readonly kind: 'apply'; readonly words: string }
  /** Nothing has to be done; `words` are logged once. */
  | { readonly kind: 'keep'; readonly words: string }
  | { readonly kind: 'refuse'; readonly what: string; readonly remedy: string };

interface Decision {
  readonly change: SchemaChange;
  /** SQL that returns a number on which the outcome depends; absent if it depends on nothing. */
  readonly count?: string;
  readonly outcome: (count: number) => Outcome;
}

/** What the rules need to know about a database in addition to the two shapes. */
interface RuleOptions {
  /** Unused tables that, by the setting, are not a former name of a new table. */
  readonly keep: ReadonlySet<string>;
  /** SQL of a derived column such as `__folded_name`, if the database can compute it. */
  readonly derived?: (column: string, source: string) => string;
}

/** Columns with derived values that comparisons use. */
const derivedPrefix = /^__(?:folded|unaccented|norm|unit)_/;

/** The column from which a derived one is computed. */
function sourceOf(column: string): string | undefined {
  const prefix = derivedPrefix.exec(column)?.[0];
  return prefix === undefined ? undefined : column.slice(prefix.length);
}

/** The wanted schema, and the unused parts of the present one in a form that blocks nothing. */
export function targetOf(actual: SchemaShape, wanted: SchemaShape): SchemaShape {
  const present = new Map(actual.tables.map((table) => [table.name, table]));
  const used = new Set(wanted.tables.map(({ name }) => name));
  // The model may drop the unique index of another column.
  const isToKey = ({ target, targetColumn }: ForeignKeyShape): boolean =>
    present.get(target)?.columns.some(({ name, isKey }) => isKey && name === targetColumn) === true;
  return {
    tables: [
      ...wanted.tables.map((table) => withUnused(table, present.get(table.name), isToKey)),
      ...actual.tables
        .filter(({ name }) => !used.has(name))
        .map((table) => (isOurs(table) ? relaxedTable(table, used, isToKey) : table)),
    ],
  };
}

/** Whether a table belongs to a dataclass and was not created by somebody else. */
export function isOurs({ columns }: TableShape): boolean {
  return columns.some(({ name }) => name === '__STAMP');
}

/** The columns of a table that the model does not use, with their constraints. */
function withUnused(
  wanted: TableShape,
  actual: TableShape | undefined,
  isToKey: (foreignKey: ForeignKeyShape) => boolean,
): TableShape {
  if (actual === undefined) return wanted;
  const used = new Set(wanted.columns.map(({ name }) => name));
  const unused = actual.columns.filter(({ name }) => !used.has(name));
  if (unused.length === 0) return wanted;
  const names = new Set(unused.map(({ name }) => name));
  const present = actual.columns.map(({ name }) => name);
  const isUnusedAlone = (text: string): boolean => {
    const columns = namedColumns(text, present);
    return columns.length > 0 && columns.every((each) => names.has(each));
  };
  const foreignKeys = actual.foreignKeys.filter((each) => names.has(each.column) && isToKey(each));
  const referring = new Set(foreignKeys.map(({ column }) => column));
  const hasDefault = (text: string): boolean =>
    unused.some((each) => each.default !== undefined && namedColumns(text, [each.name]).length > 0);
  // An attribute that is no longer indexed or unique is still used.
  const gone = [...names].filter((each) => !used.has(sourceOf(each) ?? each));
  const isKept = (index: IndexShape): boolean =>
    !wanted.indexes.some(({ name }) => name === index.name) &&
    namedColumns(index.columns, gone).length > 0 &&
    (!index.isUnique || (isUnusedAlone(index.columns) && !hasDefault(index.columns)));
  return {
    ...wanted,
    columns: [...wanted.columns, ...unused.map((each) => relaxedColumn(each, referring))],
    checks: [...wanted.checks, ...actual.checks.filter(isUnusedAlone)],
    foreignKeys: [...wanted.foreignKeys, ...foreignKeys.map(relaxedForeignKey)],
    indexes: [...wanted.indexes, ...actual.indexes.filter(isKept)],
  };
}

/** New rows do not set the column, and rows that it refers to may be deleted. */
function relaxedColumn(column: ColumnShape, referring: ReadonlySet<string>): ColumnShape {
  const isFree = column.isKey || column.expression !== undefined;
  const isWritten = column.default !== undefined && !referring.has(column.name);
  return isFree || isWritten ? column : { ...column, isMandatory: false };
}

function relaxedForeignKey(foreignKey: ForeignKeyShape): ForeignKeyShape {
  const { options } = foreignKey;
  if (options.includes('ON DELETE SET NULL')) return foreignKey;
  const others = options.replace(/ON DELETE (?:NO ACTION|RESTRICT|CASCADE|SET DEFAULT)/, '');
  return { ...foreignKey, options: `ON DELETE SET NULL ${others.trim()}`.trim() };
}

function relaxedTable(
  table: TableShape,
  used: ReadonlySet<string>,
  isToKey: (foreignKey: ForeignKeyShape) => boolean,
): TableShape {
  const keys = new Set(table.columns.filter(({ isKey }) => isKey).map(({ name }) => name));
  const isRelaxed = ({ target }: ForeignKeyShape): boolean => used.has(target);
  // A key cannot become null, so its foreign key is dropped.
  const foreignKeys = table.foreignKeys.filter(
    (each) => !isRelaxed(each) || (!keys.has(each.column) && isToKey(each)),
  );
  const referring = new Set(foreignKeys.filter(isRelaxed).map(({ column }) => column));
  return {
    ...table,
    columns: table.columns.map((each) =>
      referring.has(each.name) ? relaxedColumn(each, referring) : each,
    ),
    foreignKeys: foreignKeys.map((each) => (isRelaxed(each) ? relaxedForeignKey(each) : each)),
  };
}

/** The columns that an SQL text in the spelling of a shape names. */
export function namedColumns(text: string, columns: readonly string[]): readonly string[] {
  const words = new Set(wordsOf(text));
  return columns.filter((each) => words.has(each));
}

/** Decides every change to {@link targetOf}, and reports what is unused. A change without a decision is part of another. */
export function decide(
  actual: SchemaShape,
  wanted: SchemaShape,
  options: RuleOptions,
): readonly Decision[] {
  const changes = schemaChanges(actual, targetOf(actual, wanted));
  const unused = schemaChanges(actual, wanted).filter(
    ({ kind }) => kind === 'unusedTable' || kind === 'unusedColumn',
  );
  const context: Context = {
    ...options,
    actual: byName(actual),
    wanted: byName(wanted),
    changes,
    successors: successorTables(actual, wanted),
  };
  // Possible renames come first, because they may explain the rest.
  return [...unused, ...changes].flatMap((change) => decisionOf(change, context) ?? []);
}

interface Context extends RuleOptions {
  readonly actual: ReadonlyMap<string, TableShape>;
  readonly wanted: ReadonlyMap<string, TableShape>;
  readonly changes: readonly SchemaChange[];
  /** The new table that each unused table may be called now. */
  readonly successors: ReadonlyMap<string, string>;
}

type Of<Kind extends SchemaChange['kind']> = OfKind<SchemaChange, Kind>;
type OfKind<Change, Kind> = Change extends { readonly kind: infer Own }
  ? [Kind & Own] extends [never]
    ? never
    : Change
  : never;

function byName({ tables }: SchemaShape): ReadonlyMap<string, TableShape> {
  return new Map(tables.map((table) => [table.name, table]));
}

function decisionOf(change: SchemaChange, context: Context): Decision | undefined {
  const name = `table "${change.table}"`;
  switch (change.kind) {
    case 'addTable':
      return applied(change, `${name} is added`);
    case 'unusedTable':
      return unusedTable(change, context);
    case 'addColumn':
      return addColumn(change);
    case 'unusedColumn':
      return unusedColumn(change, context);
    case 'changeType':
      return changeType(change, context);
    case 'changeKey':
    case 'changeIdentity':
      return changeKey(change);
    case 'changeDefault':
      return applied(change, `${name}: column "${change.to.name}" has another default`);
    case 'changeExpression':
      return changeExpression(change);
    case 'setMandatory':
      return setMandatory(change, context);
    case 'dropMandatory':
      return applied(change, `${name}: column "${change.to.name}" may be empty`);
    case 'addCheck':
      return addCheck(change, context);
    case 'dropCheck':
      return applied(change, `${name}: the rule ${change.check} is dropped`);
    case 'addForeignKey':
      return addForeignKey(change, context);
    case 'dropForeignKey':
      return applied(change, `${name}: the foreign key ${referenceOf(change)} is dropped`);
    case 'addIndex':
    case 'changeIndex':
      return addIndex(change, context);
    case 'dropIndex':
      return applied(change, `${name}: index "${change.index.name}" is dropped`);
  }
}

function applied(change: SchemaChange, words: string): Decision {
  return { change, outcome: () => ({ kind: 'apply', words }) };
}

function refused(change: SchemaChange, what: string, remedy: string): Decision {
  return { change, outcome: () => ({ kind: 'refuse', what, remedy }) };
}

function addColumn(change: Of<'addColumn'>): Decision {
  const { table, column } = change;
  const name = `table "${table}": column "${column.name}"`;
  const value = sourceOf(column.name) === undefined ? column.default : undefined;
  const added = `${name} is added${value === undefined ? '' : `, with ${value} in each row`}`;
  return isNeeded(column)
    ? { change, count: countOf(table), outcome: (rows) => neededColumn(name, added, rows) }
    : applied(change, added);
}

function neededColumn(name: string, words: string, rows: number): Outcome {
  if (rows === 0) return { kind: 'apply', words };
  return {
    kind: 'refuse',
    what: `${name} is mandatory, and ${counted(rows, 'row')} would have no value`,
    remedy:
      'Give the attribute a "default" in the model: these rows get it. Or run "npx drs-gen migrate <model> -o <server>", which writes a migration that gives each row a value.',
  };
}

/** Whether a row cannot be inserted without the column. */
function isNeeded(column: ColumnShape): boolean {
  const { isMandatory, isKey, expression } = column;
  return isMandatory && !isKey && expression === undefined && column.default === undefined;
}

function unusedColumn(change: Of<'unusedColumn'>, context: Context): Decision | undefined {
  const { table, column } = change;
  // Computed columns hold no data of their own.
  if (column.expression !== undefined || sourceOf(column.name) !== undefined) return undefined;
  const now = successorColumns(table, context).get(column.name);
  return {
    change,
    count: `SELECT count(${quoted(column.name)}) FROM ${quoted(table)}`,
    outcome: (values) => ({
      kind: 'keep',
      words: `table "${table}": column "${column.name}" is kept with ${counted(values, 'value')}, and no attribute of the model uses it${
        now === undefined || values === 0
          ? ''
          : `. If the attribute of the new column "${now}" has its values, add this line to it in the model: renamedFrom: ${column.name}`
      }`,
    }),
  };
}

function unusedTable(change: Of<'unusedTable'>, context: Context): Decision | undefined {
  const { table } = change;
  const shape = context.actual.get(table);
  if (shape === undefined || !isOurs(shape)) return undefined;
  const successor = context.successors.get(table);
  return {
    change,
    count: countOf(table),
    outcome: (rows) =>
      rows === 0 || successor === undefined || context.keep.has(table)
        ? {
            kind: 'keep',
            words: `table "${table}" is kept with ${counted(rows, 'row')}, and no dataclass of the model uses it`,
          }
        : {
            kind: 'refuse',
            what: `table "${table}" has ${counted(rows, 'row')} and no dataclass of the model, and table "${successor}", which would be new and empty, is similar`,
            remedy: `If the dataclass has a new name, add this line to it in the model: renamedFrom: ${table}\nIf the model has this line and names the new table, ${renameRemedy}\nIf it is a different dataclass, set MIGRATE_KEEP=${table} in the environment for one start, which keeps table "${table}" unused.`,
          },
  };
}

/** The new table that each unused one may be called now. */
function successorTables(actual: SchemaShape, wanted: SchemaShape): ReadonlyMap<string, string> {
  const [present, used] = [byName(actual), byName(wanted)];
  const unused = actual.tables.filter((each) => !used.has(each.name) && isOurs(each));
  const added = wanted.tables.filter(({ name }) => !present.has(name));
  return namesOf(successorsOf(unused, added, isAlike));
}

/** The new column of a table that each of its unused ones may be called now. */
function successorColumns(table: string, { actual, wanted }: Context): ReadonlyMap<string, string> {
  const columns = (of: TableShape | undefined, without: TableShape | undefined): ColumnShape[] =>
    stored(of).filter(({ name }) => stored(without).every((each) => each.name !== name));
  const [present, model] = [actual.get(table), wanted.get(table)];
  const isOfType = (a: ColumnShape, b: ColumnShape): boolean => a.type === b.type;
  return namesOf(successorsOf(columns(present, model), columns(model, present), isOfType));
}

function stored(table: TableShape | undefined): readonly ColumnShape[] {
  return (table?.columns ?? []).filter(({ name }) => sourceOf(name) === undefined);
}

function namesOf(
  pairs: ReadonlyMap<{ readonly name: string }, { readonly name: string }>,
): ReadonlyMap<string, string> {
  return new Map([...pairs].map(([removed, added]) => [removed.name, added.name]));
}

/**
 * Whether a new table has the same key as an unused one and at least half of its columns. If their names are similar, half
 * of its own are enough: the unused one may have columns that later models have lost.
 */
function isAlike(former: TableShape, added: TableShape): boolean {
  if (keyOf(former).join() !== keyOf(added).join()) return false;
  const columns = ownColumns(former);
  const known = new Set(ownColumns(added));
  const common = columns.filter((each) => known.has(each)).length;
  // Every table has a key, so a table of nothing else is similar to those of nothing else only.
  if (columns.length === 0) return known.size === 0;
  if (common === 0) return false;
  const isNear = nearestName(added.name, [former.name]) !== undefined;
  return common * 2 >= (isNear ? Math.min(columns.length, known.size) : columns.length);
}

function keyOf({ columns }: TableShape): readonly string[] {
  return columns.filter(({ isKey }) => isKey).map(({ name }) => quoted(name));
}

/** The columns that not every table has. */
function ownColumns({ columns }: TableShape): readonly string[] {
  return columns
    .filter(({ name, isKey }) => !isKey && !name.startsWith('__'))
    .map(({ name }) => name);
}

/** A rename in the model keeps the table, unless the model names another one. */
const renameRemedy =
  'run "npx drs-gen migrate <model> -o <server>", which writes a migration that renames the table.';

export const conversionRemedy =
  'Run "npx drs-gen migrate <model> -o <server>", which writes a migration that converts the values. Or give the attribute its former type.';

export const keyRemedy =
  'No migration changes a key. Give the model its former key, or make a new dataclass with the new one and fill it.';

function changeType(change: Of<'changeType'>, { wanted }: Context): Decision {
  const { table, from, to } = change;
  const isForeignKey = wanted.get(table)?.foreignKeys.some(({ column }) => column === to.name);
  return refused(
    change,
    `table "${table}": column "${to.name}" is ${from.type}, the model wants ${to.type}`,
    to.isKey || isForeignKey === true ? keyRemedy : conversionRemedy,
  );
}

function changeKey(change: Of<'changeKey' | 'changeIdentity'>): Decision {
  const { table, from, to } = change;
  const text = ({ isKey }: ColumnShape): string =>
    isKey ? 'the primary key' : 'not the primary key';
  return refused(
    change,
    change.kind === 'changeKey'
      ? `table "${table}": column "${to.name}" is ${text(from)}, the model wants it to be ${text(to)}`
      : `table "${table}": the values of the key "${to.name}" are ${drawn(from)}, the model wants them to be ${drawn(to)}`,
    keyRemedy,
  );
}

function drawn({ identity }: ColumnShape): string {
  return identity === undefined ? 'sent by clients' : 'generated by the database';
}

function changeExpression(change: Of<'changeExpression'>): Decision {
  const { table, from, to } = change;
  const name = `table "${table}": column "${to.name}"`;
  // A column with its own values becomes a computed one: its values would be lost.
  if (from.expression === undefined) {
    return {
      change,
      count: `SELECT count(${quoted(from.name)}) FROM ${quoted(table)}`,
      outcome: (values) =>
        values === 0
          ? { kind: 'apply', words: `${name} is computed` }
          : {
              kind: 'refuse',
              what: `${name} holds ${counted(values, 'value')}, and the model wants it to be computed: they would be lost`,
              remedy: `ALTER TABLE ${quoted(table)} RENAME COLUMN ${quoted(from.name)} TO ${quoted(`former ${from.name}`)}; -- keeps them there, unused`,
            },
    };
  }
  return {
    change,
    count: countOf(table),
    outcome: (rows) => {
      if (to.expression !== undefined) {
        return { kind: 'apply', words: `${name} is computed again for ${counted(rows, 'row')}` };
      }
      const words = `${name} is no longer computed, and starts empty`;
      return isNeeded(to) ? neededColumn(name, words, rows) : { kind: 'apply', words };
    },
  };
}

/** Advice where the value differs by row, and for databases that nobody edits by hand. */
const byMigration =
  'Or run "npx drs-gen migrate <model> -o <server>", which writes a migration that gives them values.';

function setMandatory(change: Of<'setMandatory'>, context: Context): Decision {
  const { table, to } = change;
  const name = quoted(to.name);
  const condition = `${name} IS NULL`;
  const filled = `UPDATE ${quoted(table)} SET ${name} = ${to.default ?? '<a value>'} WHERE ${condition};`;
  return offenders(change, {
    words: `table "${table}": column "${to.name}" is mandatory`,
    count: countOf(table, condition),
    what: (rows) =>
      `table "${table}": column "${to.name}" is mandatory, and ${counted(rows, 'row')} ${rows === 1 ? 'has' : 'have'} no value`,
    list: listOf(context, table, [], condition),
    then: `${filled} -- gives each of them a value\n${byMigration}`,
  });
}

function addCheck(change: Of<'addCheck'>, context: Context): Decision | undefined {
  const { table, check } = change;
  if (isBroughtAlong(namedColumns(check, wantedNames(context, table)), table, context)) {
    return undefined;
  }
  const condition = `NOT (${check})`;
  const columns = namedColumns(check, wantedNames(context, table));
  return offenders(change, {
    words: `table "${table}": the rule ${check} is added`,
    count: countOf(table, condition),
    what: (rows) =>
      `table "${table}": the rule ${check} is new, and ${counted(rows, 'row')} ${rows === 1 ? 'breaks' : 'break'} it`,
    list: listOf(context, table, columns, condition),
    then: `UPDATE ${quoted(table)} SET ${columns.map((each) => `${quoted(each)} = <a value>`).join(', ')} WHERE ${condition}; -- or loosen the rule in the model\n${byMigration}`,
  });
}

function addForeignKey(change: Of<'addForeignKey'>, context: Context): Decision | undefined {
  const { table, foreignKey } = change;
  const { column, target, targetColumn, options } = foreignKey;
  if (isBroughtAlong([column], table, context)) return undefined;
  const words = `table "${table}": the foreign key ${referenceOf(change)}${options === '' ? '' : ` ${options}`} is added`;
  const isKnown = context.actual
    .get(table)
    ?.foreignKeys.some(
      (each) =>
        each.column === column && each.target === target && each.targetColumn === targetColumn,
    );
  if (isKnown === true) return applied(change, words);
  const name = quoted(column);
  const isThere = context.actual.get(target)?.columns.some((each) => each.name === targetColumn);
  const condition = isThere
    ? `${name} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${quoted(target)} AS "__target" WHERE "__target".${quoted(targetColumn)} = ${quoted(table)}.${name})`
    : `${name} IS NOT NULL`;
  return offenders(change, {
    words,
    count: countOf(table, condition),
    what: (rows) =>
      `table "${table}": column "${column}" refers to table "${target}", and ${counted(rows, 'row')} ${rows === 1 ? 'refers' : 'refer'} to nothing there`,
    list: listOf(context, table, [column], condition),
    then: [
      ...(isThere
        ? []
        : [
            `If the dataclass of "${target}" has a new name, add renamedFrom to it in the model; if the model has it and names the new table, ${renameRemedy} Otherwise:`,
          ]),
      `UPDATE ${quoted(table)} SET ${name} = NULL WHERE ${condition}; -- if they are to refer to nothing`,
    ].join('\n'),
  });
}

function addIndex(change: Of<'addIndex' | 'changeIndex'>, context: Context): Decision {
  const { table, index } = change;
  const words = `table "${table}": index "${index.name}" is ${change.kind === 'addIndex' ? 'added' : 'rebuilt'}`;
  if (!index.isUnique) return applied(change, words);
  const columns = namedColumns(index.columns, wantedNames(context, table));
  const values = columns.flatMap((each) => valueOf(each, table, context) ?? []);
  // Only the database driver can compute the future values of the columns.
  if (columns.length === 0 || values.length < columns.length) return applied(change, words);
  const names = columns.map((each) => `"${sourceOf(each) ?? each}"`);
  const shown = columns.map((each) => shownValue(each, table, context));
  const isAlone = columns.length === 1;
  return offenders(change, {
    words,
    count: `SELECT coalesce(sum("n"), 0) FROM (${repeated(table, values)}) AS "r"`,
    what: (rows) =>
      `table "${table}": ${names.join(' and ')} must be unique${isAlone ? '' : ' together'}, and ${counted(rows, 'row')} have ${isAlone ? 'a value' : 'values'} that another row has, too`,
    list: `${repeated(table, shown)};`,
    then: `Give all but one of each ${isAlone ? 'another value, or remove "unique" from the attribute' : 'other values or delete them, or remove "unique" from the index'} in the model.\n${byMigration}`,
  });
}

/** Finds the values that several rows share. */
function repeated(table: string, values: readonly string[]): string {
  const names = values.map((_, index) => `"value${index === 0 ? '' : String(index + 1)}"`);
  const inner = values.map((value, index) => `${value} AS ${names[index] ?? ''}`).join(', ');
  const areThere = names.map((each) => `${each} IS NOT NULL`).join(' AND ');
  const list = names.join(', ');
  return `SELECT ${list}, count(*) AS "n" FROM (SELECT ${inner} FROM ${quoted(table)}) AS "v" WHERE ${areThere} GROUP BY ${list} HAVING count(*) > 1`;
}

/** SQL of a column's value once all columns exist and are filled. */
function valueOf(column: string, table: string, context: Context): string | undefined {
  const present = context.actual.get(table)?.columns ?? [];
  const source = sourceOf(column);
  if (source !== undefined && present.some(({ name }) => name === source)) {
    return context.derived?.(column, quoted(source));
  }
  if (present.some(({ name }) => name === column)) return quoted(column);
  const wanted = context.wanted.get(table)?.columns.find(({ name }) => name === column);
  return wanted?.expression ?? wanted?.default ?? 'NULL';
}

/** The value of a column in SQL that somebody runs outside of the server. */
function shownValue(column: string, table: string, context: Context): string {
  const present = context.actual.get(table)?.columns ?? [];
  if (present.some(({ name }) => name === column)) return quoted(column);
  const source = sourceOf(column);
  if (source !== undefined && present.some(({ name }) => name === source)) {
    return `lower(${quoted(source)})`;
  }
  return valueOf(column, table, context) ?? 'NULL';
}

interface Offenders {
  readonly words: string;
  readonly count: string;
  readonly what: (rows: number) => string;
  /** The query that lists them. */
  readonly list: string;
  readonly then: string;
}

function offenders(change: SchemaChange, of: Offenders): Decision {
  return {
    change,
    count: of.count,
    outcome: (rows) =>
      rows === 0
        ? { kind: 'apply', words: of.words }
        : {
            kind: 'refuse',
            what: of.what(rows),
            remedy: `${of.list} -- lists them\n${of.then}`,
          },
  };
}

function countOf(table: string, condition?: string): string {
  return `SELECT count(*) FROM ${quoted(table)}${condition === undefined ? '' : ` WHERE ${condition}`}`;
}

function listOf(
  { actual }: Context,
  table: string,
  columns: readonly string[],
  condition: string,
): string {
  const shape = actual.get(table);
  const keys = shape === undefined ? [] : keyOf(shape);
  const shown = [...new Set([...keys, ...columns.map(quoted)])];
  return `SELECT ${shown.length === 0 ? '*' : shown.join(', ')} FROM ${quoted(table)} WHERE ${condition};`;
}

function wantedNames({ wanted }: Context, table: string): readonly string[] {
  return wanted.get(table)?.columns.map(({ name }) => name) ?? [];
}

/** The definition of a new column includes the rules that concern only this column. */
function isBroughtAlong(columns: readonly string[], table: string, { changes }: Context): boolean {
  return (
    columns.length > 0 &&
    columns.every((name) =>
      changes.some(
        (each) =>
          each.table === table &&
          ((each.kind === 'addColumn' && each.column.name === name) ||
            (each.kind === 'changeExpression' && each.to.name === name)),
      ),
    )
  );
}

function referenceOf({ foreignKey }: Of<'addForeignKey' | 'dropForeignKey'>): string {
  const { column, target, targetColumn } = foreignKey;
  return `"${column}" to "${target}" ("${targetColumn}")`;
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** What a server needs and a database lacks, in words. Further parts of the database do not matter. */
export function missingIn(actual: SchemaShape, wanted: SchemaShape): readonly string[] {
  const tables = byName(actual);
  return wanted.tables.flatMap((table) => {
    const present = tables.get(table.name);
    if (present === undefined) return [`table "${table.name}" is missing`];
    const columns = new Map(present.columns.map((column) => [column.name, column]));
    return table.columns.flatMap(({ name, type }) => {
      const column = columns.get(name);
      if (column === undefined) return [`table "${table.name}": column "${name}" is missing`];
      return column.type === type
        ? []
        : [`table "${table.name}": column "${name}" is ${column.type}, the model wants ${type}`];
    });
  });
}

/** Columns without which an older server cannot add rows because it does not know them, in words. */
export function neededByNewer(actual: SchemaShape, wanted: SchemaShape): readonly string[] {
  const tables = byName(wanted);
  return actual.tables.flatMap(({ name: table, columns }) => {
    const known = tables.get(table)?.columns;
    if (known === undefined) return [];
    return columns
      .filter((column) => isNeeded(column) && !known.some(({ name }) => name === column.name))
      .map(({ name }) => `table "${table}": column "${name}"`);
  });
}
