import { entry } from '../source/tree.js';
import type { Place } from '../source/tree.js';
import { foldedColumn, vectorColumns } from '../model/columns.js';
import { NotPortable } from '../model/expression/not-portable.js';
import { postgresExpression } from '../model/expression/postgres-expression.js';
import type { ComputedAttribute, Dataclass, Model, StorageAttribute } from '../model/model.js';
import { maxNameBytes, nameBytes } from '../model/postgres-names.js';
import type { ExpressionUse } from './computed.js';
import type { Context } from './context.js';
import type { DataclassDraft, World } from './world.js';

/** What PostgreSQL takes. */
const maxColumns = 1_600;

/** The columns for the stamp and the time of the last change, which every table has. */
const ownColumns = 2;

/** Columns that every table of PostgreSQL has. */
const systemColumns = new Set(['cmax', 'cmin', 'ctid', 'tableoid', 'xmax', 'xmin']);

/**
 * Reports what PostgreSQL cannot store, for a model that names it; what SQLite accepts is checked
 * for every model.
 * @param expressions those that SQLite accepts
 */
export function checkPostgres(
  context: Context,
  world: World,
  model: Model,
  expressions: readonly ExpressionUse[],
): void {
  if (!model.databases.includes('postgres')) return;
  for (const [index, dataclass] of model.dataclasses.entries()) {
    const draft = world.dataclasses[index];
    if (draft === undefined) continue;
    checkTable(context, draft, dataclass);
    checkColumns(context, draft, model, dataclass);
    for (const each of dataclass.attributes) {
      const use = expressions.find((used) => used.draft === draft.attribute.get(each.name));
      if (each.kind === 'computed' && use !== undefined) {
        checkExpression(context, use, dataclass, each);
      }
    }
  }
}

function checkTable({ report }: Context, draft: DataclassDraft, { table }: Dataclass): void {
  const at = entry(draft.node, 'table')?.value ?? draft.key;
  const isOfDatabase = table.startsWith('pg_');
  const reason = isOfDatabase
    ? `${table} begins with pg_, which belongs to PostgreSQL`
    : tooLong(table);
  if (reason !== undefined) report('sql/bad-name', { what: 'table', reason }, at);
}

function checkColumns(
  { report }: Context,
  draft: DataclassDraft,
  model: Model,
  dataclass: Dataclass,
): void {
  let count = ownColumns;
  for (const attribute of dataclass.attributes) {
    const columns = columnsOf(model, dataclass, attribute);
    count += columns.length;
    const [bad] = columns.flatMap((column) => problemOf(column) ?? []);
    if (bad === undefined) continue;
    const at = placeOf(draft, dataclass, attribute.name);
    report('sql/bad-name', { what: 'column', reason: bad }, at);
  }
  if (count <= maxColumns) return;
  report('sql/too-many-columns', { dataclass: dataclass.name, count, most: maxColumns }, draft.key);
}

/** The columns of an attribute, its own first. */
function columnsOf(
  model: Model,
  dataclass: Dataclass,
  attribute: Dataclass['attributes'][number],
): readonly string[] {
  if (attribute.kind === 'computed') {
    return attribute.expression === undefined ? [] : [attribute.column ?? attribute.name];
  }
  return attribute.kind === 'storage' ? storedColumns(model, dataclass, attribute) : [];
}

function storedColumns(
  model: Model,
  dataclass: Dataclass,
  attribute: StorageAttribute,
): readonly string[] {
  const folded = foldedColumn(model, dataclass, attribute);
  const { norm, unit } = vectorColumns(attribute) ?? {};
  return [attribute.column, folded, norm, unit].flatMap((each) => each ?? []);
}

function problemOf(column: string): string | undefined {
  return systemColumns.has(column)
    ? `${column} is that of a column that PostgreSQL gives every table`
    : tooLong(column);
}

function tooLong(name: string): string | undefined {
  const bytes = nameBytes(name);
  return bytes > maxNameBytes
    ? `${name} has ${bytes} bytes, and PostgreSQL takes ${maxNameBytes}`
    : undefined;
}

/**
 * The place that names an attribute's column: a generated foreign key has the name of its relation.
 */
function placeOf(draft: DataclassDraft, dataclass: Dataclass, attribute: string): Place {
  const own = draft.attribute.get(attribute);
  if (own !== undefined) return entry(own.node, 'column')?.value ?? own.key;
  const relation = dataclass.attributes.find(
    (each) => each.kind === 'relatedEntity' && each.foreignKey === attribute,
  );
  return draft.attribute.get(relation?.name ?? '')?.key ?? draft.key;
}

function checkExpression(
  { report }: Context,
  { draft, at }: ExpressionUse,
  dataclass: Dataclass,
  attribute: ComputedAttribute,
): void {
  try {
    postgresExpression(dataclass, attribute);
  } catch (error) {
    if (!(error instanceof NotPortable)) throw error;
    report('computed/not-portable', { attribute: draft.label, reason: error.reason }, at);
  }
}
