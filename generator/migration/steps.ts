import { columnChecks } from '../emit/schema/column-checks.js';
import { columnTypes } from '../emit/views/classes/database.js';
import { conversionOf, type Conversion } from '../evolution/conversions.js';
import { isEqual } from '../evolution/change.js';
import { pairedStored, type Named, type Paired } from '../evolution/renames.js';
import { isLarge } from '../model/columns.js';
import { compareDecimals } from '../model/decimals.js';
import { keyOf, referencesTo, storageNamed } from '../model/lookup.js';
import type { Database, Dataclass, Model, StorageAttribute } from '../model/model.js';
import { postgresType } from '../model/postgres-types.js';
import { sqliteTypes } from '../model/sqlite-types.js';
import { sqlName } from '../model/sql-text.js';

/** A step of a migration; tables and columns have their names in the database. */
export type PlannedStep =
  | FillStep
  | ConvertStep
  | RenameStep
  | { readonly kind: 'drop'; readonly table: string; readonly column?: string };

/** Sets values in rows that violate a rule of the new model. */
export interface FillStep {
  readonly kind: 'fill';
  readonly dataclass: string;
  readonly table: string;
  readonly column: string;
  /** SQL that finds these rows, for each database. */
  readonly where: { readonly sqlite: string; readonly postgres: string };
  /** Whether these rows share their value with other rows. */
  readonly isUnique: boolean;
  /** The question that a person has to answer. */
  readonly question: string;
  /** The old and new columns of a row with their TypeScript types. */
  readonly row: readonly (readonly [column: string, type: string])[];
}

export interface RenameStep {
  readonly kind: 'rename';
  readonly table: string;
  /** Absent for the table itself. */
  readonly column?: string;
  readonly to: string;
  /** A database may have either, or both: the newer one was generated before `renamedFrom` said what it is. */
  readonly mayExist?: true;
}

export interface ConvertStep extends Conversion {
  readonly kind: 'convert';
  readonly table: string;
  readonly column: string;
  /** The SQL type before. */
  readonly was: { readonly sqlite: string; readonly postgres: string };
}

/** Describes a step briefly, with the names in the database. */
export function stepWords(step: PlannedStep): string {
  const name = step.column === undefined ? step.table : `${step.table}.${step.column}`;
  switch (step.kind) {
    case 'convert':
      return `convert ${name} (${step.words})`;
    case 'rename':
      return `rename ${name} to ${step.to}`;
    case 'fill':
    case 'drop':
      return `${step.kind} ${name}`;
  }
}

/** Whether servers of the older model can no longer run after the step, so that no start runs it by itself. */
export function isContract({ kind }: PlannedStep): boolean {
  return kind === 'convert' || kind === 'rename';
}

/** The decision that a person has to make, if any. */
export function decisionOf(step: PlannedStep): string | undefined {
  if (step.kind === 'fill') return step.question;
  const isOpen = step.kind === 'convert' && step.value === undefined;
  return isOpen ? `${step.table}.${step.column}` : undefined;
}

/** The steps that `before` needs in addition to the changes that a start makes by itself. */
export function plannedSteps(before: Model, after: Model): readonly PlannedStep[] {
  const dataclasses = pairedStored(before.dataclasses, after.dataclasses);
  const steps = dataclasses.both.flatMap(([old, now]) => [
    ...(old.table === now.table
      ? []
      : [
          renameStep(
            { table: old.table, to: now.table },
            dataclasses.removed.some((each) => each.table === now.table && wasCalled(now, each)),
          ),
        ]),
    ...dataclassSteps({ old, now, fold: foldBetween(before, after), model: after }),
  ]);
  const isUsed = ({ table }: Dataclass): boolean =>
    after.dataclasses.some((each) => each.table === table);
  const late = new Map(
    dataclasses.removed.flatMap((old) => {
      const earlier = addedAs(old, dataclasses);
      return earlier === undefined ? [] : [[old, earlier.table] as const];
    }),
  );
  const moves = [...late].map(([{ table }, to]): PlannedStep => ({
    kind: 'rename',
    table,
    to,
    mayExist: true,
  }));
  const drops = dataclasses.removed
    .filter((old) => !isUsed(old) && !late.has(old) && isKept(old))
    .map(({ table }): PlannedStep => ({ kind: 'drop', table }));
  return inOrder([...moves, ...steps, ...drops]);
}

function inOrder(steps: readonly PlannedStep[]): readonly PlannedStep[] {
  const order = ['rename', 'convert', 'fill', 'drop'];
  return steps.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

interface DataclassPair {
  readonly old: Dataclass;
  readonly now: Dataclass;
  readonly fold: Fold;
  readonly model: Model;
}

/** How a unique index compares texts. */
interface Fold {
  readonly sqlite: string;
  readonly postgres: string;
  /** Whether texts become equal that were different. */
  readonly isCoarser: boolean;
}

/** @param before the model of stored data */
export function foldBetween(before: Model, { protocol: { accentInsensitive } }: Model): Fold {
  return {
    sqlite: 'drs_fold',
    postgres: accentInsensitive ? 'drs_fold_without_accents' : 'drs_fold',
    isCoarser: accentInsensitive && !before.protocol.accentInsensitive,
  };
}

function dataclassSteps({ old, now, fold, model }: DataclassPair): readonly PlannedStep[] {
  const { table } = now;
  const [olds, news] = [storageOf(old), storageOf(now)];
  const attributes = pairedStored(storageOf(old), storageOf(now));
  const columns = new Set(news.map(({ column }) => column));
  const row = rowOf(olds, news);
  const steps: PlannedStep[] = [];
  for (const removed of attributes.removed) {
    const { column } = removed;
    const earlier = addedAs(removed, attributes);
    if (earlier !== undefined && conversionOf(removed, earlier) === undefined) {
      steps.push({ kind: 'rename', table, column, to: earlier.column, mayExist: true });
    } else if (!columns.has(column) && isKept(removed)) {
      steps.push({ kind: 'drop', table, column });
    }
  }
  for (const [before, after] of attributes.both) {
    if (before.column !== after.column) {
      const mayExist = attributes.removed.some(
        (each) => each.column === after.column && wasCalled(after, each),
      );
      steps.push(renameStep({ table, column: before.column, to: after.column }, mayExist));
    }
    // Other tables and clients hold copies of a key.
    const isKey =
      after.key || isForeignKey(now, after) || referencesTo(model, now, after.name).length > 0;
    const conversion = isKey ? undefined : conversionOf(before, after);
    if (conversion !== undefined) {
      const was = { sqlite: sqliteTypes[before.type], postgres: postgresType(before) };
      steps.push({ kind: 'convert', table, column: after.column, was, ...conversion });
    }
  }
  const known = new Map(attributes.both.map(([before, after]) => [after, before]));
  for (const after of news) {
    const broken = (database: Database): readonly string[] =>
      tighter(known.get(after), after, database);
    const unique = [
      ...(isNewlyUnique(known.get(after), after, fold) ? [[after]] : []),
      // A fill step sets one column: the last one of those that are unique together.
      ...newlyUniqueLists(old, now, known, fold).filter((list) => list.at(-1) === after),
    ];
    const isUnique = unique.length > 0;
    if (after.key || (broken('sqlite').length === 0 && !isUnique)) continue;
    const where = (database: Database): string =>
      [...broken(database), ...unique.map((list) => repeated(now, list, fold[database]))].join(
        ' OR ',
      );
    const { column } = after;
    steps.push({
      kind: 'fill',
      dataclass: now.name,
      table,
      column,
      where: { sqlite: where('sqlite'), postgres: where('postgres') },
      isUnique,
      question: `${now.name}.${after.name}`,
      row,
    });
  }
  return steps;
}

/** Whether databases still have a part that the model has lost. */
function isKept({ recorded }: Pick<Dataclass, 'recorded'>): boolean {
  return recorded !== 'dropped';
}

/** Whether `renamedFrom` of a part names a removed part that databases may still have. */
function wasCalled(
  { renamedFrom = [] }: Named,
  former: Named & Pick<Dataclass, 'recorded'>,
): boolean {
  return isKept(former) && renamedFrom.includes(withoutAside(former.name));
}

function renameStep(step: Omit<RenameStep, 'kind' | 'mayExist'>, mayExist: boolean): RenameStep {
  return { kind: 'rename', ...step, ...(mayExist ? { mayExist } : {}) };
}

/**
 * The earlier form of the part that a part was added as, before `renamedFrom` said so: databases that had the added one
 * may hold values in it.
 */
function addedAs<T extends Named & Pick<Dataclass, 'recorded'>>(
  { name, recorded }: T,
  { both }: Paired<T>,
): T | undefined {
  if (recorded !== 'new') return undefined;
  const added = withoutAside(name);
  const isAdded = (now: T): boolean =>
    now.name === added || now.renamedFrom?.includes(added) === true;
  return both.find(([, now]) => isAdded(now))?.[0];
}

/** What follows the name of a removed part if another one has that name; no name of a model holds it. */
export const aside = ' removed';

export function withoutAside(name: string): string {
  return name.replaceAll(aside, '');
}

export function storageOf({ attributes }: Dataclass): readonly StorageAttribute[] {
  return attributes.filter((each) => each.kind === 'storage');
}

function isForeignKey({ attributes }: Dataclass, { name }: StorageAttribute): boolean {
  return attributes.some((each) => each.kind === 'relatedEntity' && each.foreignKey === name);
}

function isNewlyUnique(
  before: StorageAttribute | undefined,
  after: StorageAttribute,
  { isCoarser }: Fold,
): boolean {
  if (before === undefined || !after.unique) return false;
  return !before.unique || (isCoarser && after.type === 'string');
}

/** Attributes that become unique together, each list ending with one that a fill step can set. */
export function newlyUniqueLists(
  old: Dataclass,
  now: Dataclass,
  known: ReadonlyMap<StorageAttribute, StorageAttribute>,
  { isCoarser }: Fold,
): readonly (readonly StorageAttribute[])[] {
  return (now.uniqueIndexes ?? []).flatMap((names) => {
    const list = names.map((each) => storageNamed(now, each)).toSorted((a, b) => rank(a) - rank(b));
    const before = list.map((each) => known.get(each)?.name ?? '').toSorted();
    const was = (old.uniqueIndexes ?? []).some((each) => isEqual(each.toSorted(), before));
    const isNew = !was || (isCoarser && list.some(({ type }) => type === 'string'));
    return isNew && !before.includes('') ? [list] : [];
  });
}

/** Keys come first, and what can be null comes last, because null differs from every value. */
function rank({ key, mandatory }: StorageAttribute): number {
  return key ? 0 : mandatory ? 1 : 2;
}

/** SQL that finds all rows with the same values except the one with the lowest key. */
function repeated(
  dataclass: Dataclass,
  attributes: readonly StorageAttribute[],
  fold: string,
): string {
  const key = sqlName(keyOf(dataclass).column);
  const values = attributes.map(({ column }) => sqlName(column));
  const compared = attributes.map(({ column, type }) =>
    type === 'string' ? `${fold}(${sqlName(column)})` : sqlName(column),
  );
  const areThere = values.map((each) => `${each} IS NOT NULL`).join(' AND ');
  const kept = `SELECT min(${key}) FROM ${sqlName(dataclass.table)} WHERE ${areThere} GROUP BY ${compared.join(', ')}`;
  return `(${areThere} AND ${key} NOT IN (${kept}))`;
}

/** SQL that finds the rows which violate new rules of the attribute, one condition per rule. */
function tighter(
  before: StorageAttribute | undefined,
  after: StorageAttribute,
  database: Database,
): readonly string[] {
  const column = sqlName(after.column);
  const broken =
    before === undefined
      ? []
      : columnChecks(
          withNewRules(before, after),
          database,
          (value, length) => `length(${value}) >= ${length}`,
        ).map((each) => `NOT (${each})`);
  // A start adds a column with its default.
  const isAdded = before === undefined || (before.recorded === 'new' && before.mandatory);
  const isNewlyMandatory =
    after.mandatory && (isAdded ? after.default === undefined : !before.mandatory);
  return [...(isNewlyMandatory ? [`${column} IS NULL`] : []), ...broken];
}

/**
 * An attribute with the rules that the older one does not imply, except those of its type, which a conversion
 * handles.
 */
function withNewRules(before: StorageAttribute, after: StorageAttribute): StorageAttribute {
  const { enum: values, minLength, maxLength, min, max, precision, ...rest } = after;
  const isDecimal = after.type === 'decimal';
  const isTighter = (
    bound: number | string | undefined,
    old: typeof bound,
    sign: number,
  ): boolean =>
    bound !== undefined &&
    (old === undefined || sign * (isDecimal ? compareDecimals : compare)(bound, old) > 0);
  return {
    ...rest,
    type: isDecimal ? 'decimal' : 'string',
    key: false,
    // A conversion has to do with other numbers.
    ...(before.scale === rest.scale && isTighter(precision, before.precision, -1)
      ? { precision }
      : {}),
    ...(values !== undefined && before.enum?.every((each) => values.includes(each)) !== true
      ? { enum: values }
      : {}),
    ...(isTighter(minLength, before.minLength, 1) ? { minLength } : {}),
    ...(isTighter(maxLength, before.maxLength, -1) ? { maxLength } : {}),
    ...(isTighter(min, before.min, 1) ? { min } : {}),
    ...(isTighter(max, before.max, -1) ? { max } : {}),
  };
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : Number(a > b);
}

function rowOf(
  olds: readonly StorageAttribute[],
  news: readonly StorageAttribute[],
): FillStep['row'] {
  const row = new Map<string, string>();
  for (const { column, type, key } of [...olds, ...news]) {
    if (row.has(column) || isLarge(type)) continue;
    row.set(column, key ? columnTypes[type] : `${columnTypes[type]} | null`);
  }
  return [...row];
}
