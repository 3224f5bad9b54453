import type { ColumnShape, ForeignKeyShape, IndexShape, SchemaShape, TableShape } from './shape.js';

/** One change that makes a database match the model. */
export type SchemaChange =
  | { readonly kind: 'addTable'; readonly table: string }
  /** An unused table: no dataclass of the model has it. It stays. */
  | { readonly kind: 'unusedTable'; readonly table: string }
  | { readonly kind: 'addColumn'; readonly table: string; readonly column: ColumnShape }
  /** An unused column: no attribute of the model has it. It stays. */
  | { readonly kind: 'unusedColumn'; readonly table: string; readonly column: ColumnShape }
  | ColumnChange<
      'changeType' | 'changeKey' | 'changeIdentity' | 'changeDefault' | 'changeExpression'
    >
  | ColumnChange<'setMandatory' | 'dropMandatory'>
  | { readonly kind: 'addCheck' | 'dropCheck'; readonly table: string; readonly check: string }
  | {
      readonly kind: 'addForeignKey' | 'dropForeignKey';
      readonly table: string;
      readonly foreignKey: ForeignKeyShape;
    }
  | {
      readonly kind: 'addIndex' | 'dropIndex' | 'changeIndex';
      readonly table: string;
      readonly index: IndexShape;
    };

interface ColumnChange<Kind extends string> {
  readonly kind: Kind;
  readonly table: string;
  readonly from: ColumnShape;
  readonly to: ColumnShape;
}

/** From `actual` to `wanted`, table by table. Indexes of others are left alone, because they affect no result. */
export function schemaChanges(actual: SchemaShape, wanted: SchemaShape): readonly SchemaChange[] {
  const present = new Map(actual.tables.map((table) => [table.name, table]));
  const known = new Set(wanted.tables.map(({ name }) => name));
  return [
    ...wanted.tables.flatMap((table): readonly SchemaChange[] => {
      const found = present.get(table.name);
      return found === undefined
        ? [{ kind: 'addTable', table: table.name }]
        : tableChanges(found, table);
    }),
    ...actual.tables
      .filter(({ name }) => !known.has(name))
      .map(({ name }): SchemaChange => ({ kind: 'unusedTable', table: name })),
  ];
}

function tableChanges(actual: TableShape, wanted: TableShape): readonly SchemaChange[] {
  const table = wanted.name;
  const columns = new Map(actual.columns.map((column) => [column.name, column]));
  const known = new Set(wanted.columns.map(({ name }) => name));
  const checks = (kind: 'addCheck' | 'dropCheck', list: readonly string[]): SchemaChange[] =>
    list.map((check) => ({ kind, table, check }));
  const keys = (
    kind: 'addForeignKey' | 'dropForeignKey',
    list: readonly ForeignKeyShape[],
  ): SchemaChange[] => list.map((foreignKey) => ({ kind, table, foreignKey }));
  return [
    ...wanted.columns.flatMap((to): readonly SchemaChange[] => {
      const from = columns.get(to.name);
      return from === undefined
        ? [{ kind: 'addColumn', table, column: to }]
        : columnChanges(table, from, to);
    }),
    ...actual.columns
      .filter(({ name }) => !known.has(name))
      .map((column): SchemaChange => ({ kind: 'unusedColumn', table, column })),
    ...checks('dropCheck', without(actual.checks, wanted.checks)),
    ...checks('addCheck', without(wanted.checks, actual.checks)),
    ...keys('dropForeignKey', withoutAlike(actual.foreignKeys, wanted.foreignKeys)),
    ...keys('addForeignKey', withoutAlike(wanted.foreignKeys, actual.foreignKeys)),
    ...indexChanges(table, actual.indexes, wanted.indexes),
  ];
}

function columnChanges(table: string, from: ColumnShape, to: ColumnShape): readonly SchemaChange[] {
  // Any change of a generated column means creating it again.
  if (from.expression !== undefined || to.expression !== undefined) {
    const isSame = from.expression === to.expression && from.type === to.type;
    return isSame ? [] : [{ kind: 'changeExpression', table, from, to }];
  }
  const changes: SchemaChange[] = [];
  if (from.type !== to.type) changes.push({ kind: 'changeType', table, from, to });
  if (from.isKey !== to.isKey) changes.push({ kind: 'changeKey', table, from, to });
  if (from.identity !== to.identity) changes.push({ kind: 'changeIdentity', table, from, to });
  if (from.default !== to.default) changes.push({ kind: 'changeDefault', table, from, to });
  if (from.isMandatory && !to.isMandatory) changes.push({ kind: 'dropMandatory', table, from, to });
  if (!from.isMandatory && to.isMandatory) changes.push({ kind: 'setMandatory', table, from, to });
  return changes;
}

/** The server's indexes start with two underscores and the table's name. */
function indexChanges(
  table: string,
  actual: readonly IndexShape[],
  wanted: readonly IndexShape[],
): readonly SchemaChange[] {
  const present = new Map(actual.map((index) => [index.name, index]));
  const known = new Set(wanted.map(({ name }) => name));
  return [
    ...actual
      .filter(({ name }) => name.startsWith('__') && !known.has(name))
      .map((index): SchemaChange => ({ kind: 'dropIndex', table, index })),
    ...wanted.flatMap((index): readonly SchemaChange[] => {
      const found = present.get(index.name);
      if (found === undefined) return [{ kind: 'addIndex', table, index }];
      const isSame = found.isUnique === index.isUnique && found.columns === index.columns;
      return isSame ? [] : [{ kind: 'changeIndex', table, index }];
    }),
  ];
}

/** The multiset difference of two lists. */
function without(list: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return list.filter((each) => {
    const at = left.indexOf(each);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
}

function withoutAlike(
  list: readonly ForeignKeyShape[],
  others: readonly ForeignKeyShape[],
): readonly ForeignKeyShape[] {
  const texts = without(list.map(textOf), others.map(textOf));
  return list.filter((each) => texts.includes(textOf(each)));
}

function textOf({ column, target, targetColumn, options }: ForeignKeyShape): string {
  return JSON.stringify([column, target, targetColumn, options]);
}
