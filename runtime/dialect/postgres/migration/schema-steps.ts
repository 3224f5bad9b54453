import { createHash } from 'node:crypto';
import type { SchemaChange } from '../../schema/changes.js';
import { isOurs } from '../../schema/rules.js';
import type { ColumnShape, ForeignKeyShape, IndexShape, SchemaShape } from '../../schema/shape.js';
import { quoted, readTableDefinition } from '../../table-definition.js';
import type { SchemaCatalog, CatalogTable, Constraint } from '../catalog.js';
import { foldOf } from './derived-columns.js';
import { createTouchTrigger, touchTrigger } from '../table-versions.js';

/** Statements of one transaction with brief locks. Servers of both models can use the schema after it; it may run again. */
export interface SchemaStep {
  /** The tables that it locks. */
  readonly tables: readonly string[];
  readonly sql: string;
  /** Reads all rows or waits for other transactions, without blocking them. */
  readonly isConcurrent?: true;
  /** Removes what a failed step leaves behind. */
  readonly undo?: string;
  /** Rewrites all rows, with the table locked. */
  readonly isRewrite?: boolean;
  /** Creates the table, which nobody uses yet. */
  readonly isNew?: true;
}

/** The wanted schema: as the catalog shows it, and its statements by the name of the object that they create. */
interface Wanted {
  readonly catalog: SchemaCatalog;
  readonly tables: ReadonlyMap<string, string>;
  /** Index names are unique in the whole schema. */
  readonly indexes: ReadonlyMap<string, string>;
  /** The triggers that record changes, by their tables. */
  readonly audits: ReadonlyMap<string, string>;
}

/** The name of an index while it is built to replace another one. */
const successor = '__new index';

/** Objects exist before they are used, and a rule ends only after its replacement is in force. */
const order: readonly (readonly SchemaChange['kind'][])[] = [
  ['addTable'],
  ['dropMandatory'],
  ['addColumn'],
  ['changeDefault'],
  ['changeExpression'],
];

const orderAfterFilling: readonly (readonly SchemaChange['kind'][])[] = [
  ['setMandatory', 'addCheck'],
  ['addIndex', 'changeIndex'],
  // A foreign key may refer to what a unique index covers.
  ['addForeignKey'],
  ['dropCheck', 'dropForeignKey'],
  ['dropIndex'],
];

/** The steps of a start before and after columns are filled. */
interface SchemaSteps {
  readonly before: readonly SchemaStep[];
  readonly after: readonly SchemaStep[];
}

/** The steps of some changes; leftovers of an interrupted change are dropped first. */
export function schemaSteps(
  changes: readonly SchemaChange[],
  actual: SchemaCatalog,
  wanted: Wanted,
): SchemaSteps {
  const renamed = renamedIndexes(changes);
  const renamedOnes: readonly SchemaChange[] = renamed.flat();
  const others = changes.filter((each) => !renamedOnes.includes(each));
  const stepsIn = (kinds: typeof order): readonly SchemaStep[] =>
    kinds.flatMap((each) =>
      others
        .filter(({ kind }) => each.includes(kind))
        .sort((a, b) => Number(isGenerated(a)) - Number(isGenerated(b)))
        .flatMap((change) => stepsOf(change, actual, wanted)),
    );
  return {
    before: [
      ...actual.tables.flatMap(leftBehind),
      ...renamed.map(([{ table, index }, { index: to }]) => ({
        tables: [table],
        sql: `ALTER INDEX ${quoted(index.name)} RENAME TO ${quoted(to.name)}`,
      })),
      ...stepsIn(order),
      ...actual.tables.flatMap((each) => followedTexts(each, wanted)),
      ...untouchedTables(actual, wanted.catalog).map((table) => ({
        tables: [table],
        sql: createTouchTrigger(table),
      })),
      // The table that they write exists by now.
      ...auditChanges(actual, wanted.catalog).map(({ table, isWanted }) => ({
        tables: [table],
        sql: isWanted ? (wanted.audits.get(table) ?? '') : dropAudit(table),
      })),
    ],
    after: stepsIn(orderAfterFilling),
  };
}

/** Present tables of dataclasses that lack the trigger which raises their version. */
export function untouchedTables(actual: SchemaCatalog, wanted: SchemaShape): readonly string[] {
  const used = new Set(wanted.tables.filter(isOurs).map(({ name }) => name));
  return actual.tables
    .filter(({ name, triggers }) => used.has(name) && !triggers.includes(touchTrigger))
    .map(({ name }) => name);
}

/** The trigger that records changes of a table (`generator/emit/schema/audit.ts`). */
const auditTrigger = '__audit';

export function dropAudit(table: string): string {
  return `DROP TRIGGER IF EXISTS ${quoted(auditTrigger)} ON ${quoted(table)}`;
}

/** A table whose changes are to be recorded in another way. */
interface AuditChange {
  readonly table: string;
  readonly isWanted: boolean;
  readonly isPresent: boolean;
}

/** Present tables whose changes are not recorded as the model wants it. */
export function auditChanges(actual: SchemaCatalog, wanted: SchemaCatalog): readonly AuditChange[] {
  const auditOf = (table: CatalogTable | undefined): string | undefined =>
    table?.triggers.find((each) => each.startsWith(`${auditTrigger} `));
  return actual.tables.flatMap((table) => {
    const { name } = table;
    const [is, shall] = [auditOf(table), auditOf(wanted.tables.find((each) => each.name === name))];
    if (is === shall) return [];
    return { table: name, isWanted: shall !== undefined, isPresent: is !== undefined };
  });
}

/** Invalid indexes, and invalid constraints that no change is about to validate under the same name. */
function leftBehind({ name: table, invalidIndexes, constraints }: CatalogTable): SchemaStep[] {
  return [
    ...invalidIndexes.map((index) => dropIndex(table, index)),
    ...constraints
      .filter(({ name, isValid }) => !isValid && name.startsWith('__'))
      .map(({ name }) => dropConstraint(table, name)),
  ];
}

/** Steps for derived columns of texts that a server of another model uses, and this model writes without using them. */
function followedTexts(
  { name: table, columns, triggers }: CatalogTable,
  { catalog }: Wanted,
): readonly SchemaStep[] {
  const used = catalog.tables.find(({ name }) => name === table)?.columns ?? [];
  const isWritten = (column: string | undefined): boolean =>
    used.some((each) => each.name === column && !isComputed(each));
  return columns
    .filter(({ name }) => isWritten(foldOf(name)?.source) && !isWritten(name))
    .filter(({ name }) => !triggers.includes(name))
    .map(({ name }) => ({ tables: [table], sql: followText(table, name) }));
}

/** Keeps a text and its derived column consistent: a server of another model may write only the text. */
export function followText(table: string, column: string): string {
  const { source, functionName } = foldOf(column) ?? { source: column, functionName: '' };
  const value = `${functionName}(new.${quoted(source)})`;
  const name = quoted(`drs_follow_${shortHash(`${table}\0${column}`)}`);
  const body = `BEGIN new.${quoted(column)} := ${value}; RETURN new; END`;
  return [
    `CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS '${body.replaceAll("'", "''")}'`,
    `CREATE OR REPLACE TRIGGER ${quoted(column)} BEFORE INSERT OR UPDATE ON ${quoted(table)} FOR EACH ROW WHEN (new.${quoted(column)} IS DISTINCT FROM ${value}) EXECUTE FUNCTION ${name}()`,
  ].join(';\n');
}

type IndexChange = Extract<SchemaChange, { readonly index: IndexShape }>;

/** A renamed attribute has the same index under another name. */
function renamedIndexes(
  changes: readonly SchemaChange[],
): readonly (readonly [IndexChange, IndexChange])[] {
  const added = changes.filter((each): each is IndexChange => each.kind === 'addIndex');
  return changes.flatMap((each) => {
    if (each.kind !== 'dropIndex') return [];
    const at = added.findIndex(
      ({ table, index }) =>
        table === each.table &&
        index.isUnique === each.index.isUnique &&
        index.columns === each.index.columns,
    );
    const [to] = at === -1 ? [] : added.splice(at, 1);
    return to === undefined ? [] : [[each, to] as const];
  });
}

function isComputed({ expression }: ColumnShape): boolean {
  return expression !== undefined;
}

/** PostgreSQL computes a generated column from plain ones, which must exist. */
function isGenerated(change: SchemaChange): boolean {
  return change.kind === 'addColumn' && isComputed(change.column);
}

function stepsOf(
  change: SchemaChange,
  actual: SchemaCatalog,
  wanted: Wanted,
): readonly SchemaStep[] {
  const { table } = change;
  const found = actual.tables.find(({ name }) => name === table);
  const present = found?.constraints ?? [];
  const alter = (action: string): SchemaStep => ({
    tables: [table],
    sql: `ALTER TABLE ${quoted(table)} ${action}`,
  });
  switch (change.kind) {
    case 'addTable':
      return [{ tables: [table], sql: newTableSteps(table, wanted), isNew: true }];
    case 'addColumn': {
      const { tables, sql } = alter(`ADD COLUMN ${columnText(table, change.column, wanted)}`);
      const columns = found?.columns ?? [];
      const { source } = foldOf(change.column.name) ?? {};
      const isFollowing = columns.some((each) => each.name === source && !isComputed(each));
      const following = isFollowing ? [followText(table, change.column.name)] : [];
      const isRewrite = isGenerated(change);
      return [{ tables, sql: [sql, ...following].join(';\n'), isRewrite }];
    }
    case 'changeExpression':
      return [madeAnew(change, found, wanted)];
    case 'changeDefault': {
      const { name, default: value } = change.to;
      const action = value === undefined ? 'DROP DEFAULT' : `SET DEFAULT ${value}`;
      return [alter(`ALTER COLUMN ${quoted(name)} ${action}`)];
    }
    case 'dropMandatory':
      return [alter(`ALTER COLUMN ${quoted(change.to.name)} DROP NOT NULL`)];
    case 'setMandatory':
      return setMandatory(table, change.to.name);
    case 'addCheck':
      return addConstraint([table], `CHECK (${change.check})`);
    case 'addForeignKey':
      return addConstraint([table, change.foreignKey.target], foreignKeyText(change.foreignKey));
    case 'dropCheck':
      return namesOf(present, ({ check }) => check === change.check).map((name) =>
        dropConstraint(table, name),
      );
    case 'dropForeignKey': {
      const text = foreignKeyText(change.foreignKey);
      return namesOf(
        present,
        ({ foreignKey }) => foreignKey !== undefined && foreignKeyText(foreignKey) === text,
      ).map((name) => dropConstraint(table, name, change.foreignKey.target));
    }
    case 'addIndex':
      return [buildIndex(table, change.index.name, wanted.indexes.get(change.index.name) ?? '')];
    case 'changeIndex':
      return changeIndex(table, change.index, wanted);
    case 'dropIndex':
      return [dropIndex(table, change.index.name)];
    case 'changeType':
    case 'changeKey':
    case 'changeIdentity':
    case 'unusedColumn':
    case 'unusedTable':
      throw new Error(`A start does not make the change "${change.kind}" of table "${table}".`);
  }
}

function newTableSteps(table: string, wanted: Wanted): string {
  const isModel = wanted.catalog.tables.some((each) => each.name === table && isOurs(each));
  return [newTable(table, wanted), ...(isModel ? [createTouchTrigger(table)] : [])].join(';\n');
}

/** Creates a table and its indexes before anybody sees it. */
export function newTable(table: string, { tables, indexes }: Wanted): string {
  const own = [...indexes.values()].filter(
    (sql) => indexPattern.exec(sql)?.[2] === inQuotes(table),
  );
  return [tables.get(table) ?? '', ...own].join(';\n');
}

/** Checks are changes of their own: PostgreSQL would scan the table for them under a lock. */
function columnText(table: string, column: ColumnShape, wanted: Wanted): string {
  // PostgreSQL may parse its own spelling of an expression differently from the generator's.
  if (column.expression !== undefined) return columnDefinition(table, column.name, wanted);
  return [
    `${quoted(column.name)} ${column.type}`,
    ...(column.default === undefined ? [] : [`DEFAULT ${column.default}`]),
    ...(column.isMandatory ? ['NOT NULL'] : []),
  ].join(' ');
}

function madeAnew(
  { table, to }: { readonly table: string; readonly to: ColumnShape },
  actual: CatalogTable | undefined,
  wanted: Wanted,
): SchemaStep {
  // Nothing writes it from now on.
  const followers = actual?.triggers.filter((each) => foldOf(each)?.source === to.name) ?? [];
  return {
    tables: [table],
    isRewrite: isComputed(to),
    sql: [
      ...followers.map((each) => `DROP TRIGGER ${quoted(each)} ON ${quoted(table)}`),
      `ALTER TABLE ${quoted(table)} DROP COLUMN ${quoted(to.name)}, ADD COLUMN ${columnText(table, to, wanted)}`,
    ].join(';\n'),
  };
}

/** The definition of a column in the statement that creates its table. */
export function columnDefinition(table: string, column: string, { tables }: Wanted): string {
  const { parts } = readTableDefinition(tables.get(table) ?? '');
  return parts.find(({ name }) => name === column)?.text ?? quoted(column);
}

/** With a valid check against nulls, PostgreSQL does not scan the table under a lock. */
function setMandatory(table: string, column: string): readonly SchemaStep[] {
  const name = constraintName(`${quoted(column)} IS NOT NULL`);
  const { sql: drop } = dropConstraint(table, name);
  return [
    ...addConstraint([table], `CHECK (${quoted(column)} IS NOT NULL)`, name),
    {
      tables: [table],
      sql: `ALTER TABLE ${quoted(table)} ALTER COLUMN ${quoted(column)} SET NOT NULL;\n${drop}`,
    },
  ];
}

/** Adds the constraint for new rows and then validates the existing rows, while others write. */
function addConstraint(
  tables: readonly [string, ...(readonly string[])],
  text: string,
  name = constraintName(text),
): readonly SchemaStep[] {
  const [table] = tables;
  const { sql: drop } = dropConstraint(table, name);
  const alter = `ALTER TABLE ${quoted(table)}`;
  return [
    { tables, sql: `${drop};\n${alter} ADD CONSTRAINT ${quoted(name)} ${text} NOT VALID` },
    {
      tables,
      sql: `${alter} VALIDATE CONSTRAINT ${quoted(name)}`,
      isConcurrent: true,
      undo: drop,
    },
  ];
}

/** Derives the name of a constraint from its text, so that a half-finished constraint is found. */
function constraintName(text: string): string {
  return `__${shortHash(text)}`;
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function namesOf(
  constraints: readonly Constraint[],
  isMeant: (constraint: Constraint) => boolean,
): readonly string[] {
  return constraints
    .filter(isMeant)
    .slice(0, 1)
    .map(({ name }) => name);
}

/** @param others tables that a foreign key refers to */
function dropConstraint(table: string, name: string, ...others: readonly string[]): SchemaStep {
  return {
    tables: [table, ...others],
    sql: `ALTER TABLE ${quoted(table)} DROP CONSTRAINT IF EXISTS ${quoted(name)}`,
  };
}

function buildIndex(table: string, name: string, sql: string): SchemaStep {
  return {
    tables: [table],
    sql: sql.replace(/^create (unique )?index/i, '$& CONCURRENTLY'),
    isConcurrent: true,
    undo: dropIndex(table, name).sql,
  };
}

function dropIndex(table: string, name: string): SchemaStep {
  return { tables: [table], sql: `DROP INDEX IF EXISTS ${quoted(name)}` };
}

/** The former index stays until the new one is ready. */
function changeIndex(
  table: string,
  { name }: IndexShape,
  { indexes }: Wanted,
): readonly SchemaStep[] {
  const sql = (indexes.get(name) ?? '').replace(quoted(name), () => quoted(successor));
  return [
    dropIndex(table, successor),
    buildIndex(table, successor, sql),
    {
      tables: [table],
      sql: `DROP INDEX ${quoted(name)};\nALTER INDEX ${quoted(successor)} RENAME TO ${quoted(name)}`,
    },
  ];
}

function foreignKeyText({ column, target, targetColumn, options }: ForeignKeyShape): string {
  return `FOREIGN KEY (${quoted(column)}) REFERENCES ${quoted(target)} (${quoted(targetColumn)}) ${options}`.trimEnd();
}

const namePattern = '"((?:[^"]|"")*)"';
const tablePattern = new RegExp(`^create table ${namePattern}`, 'i');
const indexPattern = new RegExp(`^create (?:unique )?index ${namePattern} on ${namePattern}`, 'i');

const auditPattern = new RegExp(
  `^create or replace trigger "${auditTrigger}" .*? on ${namePattern} for each row`,
  'i',
);

/** @param statements written by the generator */
export function wantedOf(catalog: SchemaCatalog, statements: readonly string[]): Wanted {
  const tables = new Map<string, string>();
  const indexes = new Map<string, string>();
  const audits = new Map<string, string>();
  for (const sql of statements) {
    const [, table] = tablePattern.exec(sql) ?? [];
    const [, index] = indexPattern.exec(sql) ?? [];
    if (table !== undefined) tables.set(unquoted(table), sql);
    if (index !== undefined) indexes.set(unquoted(index), sql);
    const [, audited] = auditPattern.exec(sql) ?? [];
    if (audited !== undefined) audits.set(unquoted(audited), sql);
  }
  return { catalog, tables, indexes, audits };
}

function inQuotes(name: string): string {
  return name.replaceAll('"', '""');
}

function unquoted(text: string): string {
  return text.replaceAll('""', '"');
}
