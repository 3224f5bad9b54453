import { entry, textOf } from '../source/tree.js';
import { isInComposite } from '../model/columns.js';
import { fold } from '../../runtime/protocol/fold.js';
import type { Place } from '../source/tree.js';
import type { Dataclass } from '../model/model.js';
import type { Renamed } from './renames.js';
import type { Context } from './context.js';
import { columnOf, type AttributeDraft, type DataclassDraft, type World } from './world.js';

const maxLength = 63;

/** Checks that tables differ in more than case, and have names that a database accepts. */
export function checkTables(context: Context, { dataclasses }: World): void {
  const owners = new Map<string, DataclassDraft>();
  for (const dataclass of dataclasses) {
    const { table } = dataclass;
    const given = entry(dataclass.node, 'table')?.value;
    const at = given ?? dataclass.key;
    const problem = tableProblem(table);
    if (problem !== undefined) {
      const hint = given === undefined ? '. Give another with table' : '';
      context.report('sql/bad-name', { what: 'table', reason: `${problem}${hint}` }, at);
    } else if (textOf(given) !== undefined) checkSqlName(context, 'table', table, at);
    const other = owners.get(fold(table));
    if (other === undefined) owners.set(fold(table), dataclass);
    else if (!isStillUsed(table, dataclass, other)) {
      context.report('sql/duplicate-table', { table, other: other.name }, at);
    }
  }
}

/**
 * Whether a name is an earlier one of a part and the current one of another, which is reported with
 * the renames.
 */
function isStillUsed(name: string, ...parts: readonly [Renamed, Renamed]): boolean {
  const isOf = (names: readonly string[]): boolean =>
    names.some((each) => fold(each) === fold(name));
  return parts.some(
    (part) => isOf(part.earlier) && parts.some((other) => other !== part && isOf([other.name])),
  );
}

/** SQLite's own tables: one of the same name would replace them. */
const ownTables = /^(?:json_each|json_tree|pragma_.*)$/isu;

function tableProblem(name: string): string | undefined {
  if (/^sqlite_/i.test(name)) return `${name} begins with sqlite_, which belongs to the database`;
  if (ownTables.test(name)) return `${name} is that of a table of the database's own`;
  // Kysely parses a schema before a dot, and an alias behind "as".
  if (name.includes('.')) return `${name} has a dot, which stands between a schema and a table`;
  return / as /.test(name) ? `${name} holds " as ", which stands before an alias` : undefined;
}

/** An attribute with a column, and the place to report if the column is impossible. */
interface ColumnUse {
  readonly attribute: Renamed;
  readonly column: string;
  readonly at: Place;
}

/**
 * Checks that columns of one table differ in more than case; names that differ only in case are
 * reported as names already.
 */
export function checkColumns(context: Context, uses: readonly ColumnUse[]): void {
  const owners = new Map<string, Renamed>();
  for (const { attribute, column, at } of uses) {
    const other = owners.get(fold(column));
    if (other === undefined) owners.set(fold(column), attribute);
    else if (fold(other.name) !== fold(attribute.name) && !isStillUsed(column, attribute, other)) {
      context.report('sql/duplicate-column', { column, other: other.name }, at);
    }
  }
}

/** What SQLite takes. */
const maxColumns = 2_000;

/** The columns for the stamp and the time of the last change, which every table has. */
const ownColumns = 2;

/**
 * Text with an index takes two columns, one of them for comparison without regard to case; a vector
 * takes three.
 */
export function checkColumnCount({ report }: Context, dataclass: Dataclass, at: Place): void {
  let count = ownColumns;
  for (const attribute of dataclass.attributes) {
    if (attribute.kind === 'computed' && attribute.column !== undefined) count += 1;
    if (attribute.kind !== 'storage') continue;
    const isLookedUp =
      attribute.unique || attribute.indexed || isInComposite(dataclass, attribute.name);
    if (attribute.type === 'vector') count += 3;
    else count += attribute.type === 'string' && isLookedUp ? 2 : 1;
  }
  if (count <= maxColumns) return;
  report('sql/too-many-columns', { dataclass: dataclass.name, count, most: maxColumns }, at);
}

/** The columns that a dataclass writes down itself; generated foreign keys come on top. */
export function writtenColumns(context: Context, dataclass: DataclassDraft): ColumnUse[] {
  return dataclass.attributes.flatMap((draft) => {
    if (draft.kind === 'storage') return [storageColumn(context, draft)];
    const hasColumn = draft.kind === 'computed' && entry(draft.node, 'expression') !== undefined;
    return hasColumn ? [{ attribute: draft, column: columnOf(draft), at: draft.key }] : [];
  });
}

function storageColumn(context: Context, draft: AttributeDraft): ColumnUse {
  const given = entry(draft.node, 'column')?.value;
  const column = textOf(given);
  if (given === undefined || column === undefined) {
    return { attribute: draft, column: columnOf(draft), at: draft.key };
  }
  checkSqlName(context, 'column', column, given);
  return { attribute: draft, column, at: given };
}

function checkSqlName({ report }: Context, what: string, name: string, at: Place): void {
  const reason = whyNot(name);
  if (reason !== undefined) report('sql/bad-name', { what, reason }, at);
}

function whyNot(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name.includes('\0') || /\p{Cs}/u.test(name)) return 'holds a character that SQL cannot';
  const length = Array.from(name).length;
  if (length > maxLength) return `has ${length} characters, and may have ${maxLength}`;
  if (name.startsWith('__')) return `${name} begins with __, which belongs to the server`;
  if (/^sqlite_/i.test(name)) return `${name} begins with sqlite_, which belongs to the database`;
  return undefined;
}
