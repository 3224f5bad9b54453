import { fold, foldWithoutAccents } from '../../../runtime/protocol/fold.js';
import { referencedBy, targetOf } from '../../model/lookup.js';
import type {
  ComputedAttribute,
  Database,
  Dataclass,
  Model,
  RelatedEntityAttribute,
  StorageAttribute,
} from '../../model/model.js';
import { decimalConstant } from '../../model/decimals.js';
import { sqlConstant } from '../../model/sql-text.js';
import { foldedColumn, isLarge, vectorColumns } from '../../model/columns.js';

/** A column of a dataclass's table. */
export type TableColumn =
  | { readonly kind: 'stored'; readonly attribute: StorageAttribute }
  | { readonly kind: 'stamp' | 'timestamp' }
  | { readonly kind: 'folded'; readonly column: string; readonly default?: string | undefined }
  | { readonly kind: 'norm' | 'unit'; readonly column: string }
  | { readonly kind: 'expression'; readonly attribute: ExpressionAttribute };

/** A computed attribute that the database computes. */
export type ExpressionAttribute = ComputedAttribute & {
  readonly expression: string;
  readonly column: string;
};

/**
 * The columns of a dataclass's table in their order. Large values come last: SQLite reads a row
 * from its beginning, and only as far as needed.
 */
export function tableColumns(model: Model, dataclass: Dataclass): readonly TableColumn[] {
  const attributes = dataclass.attributes.filter((each) => each.kind === 'storage');
  const stored = (attribute: StorageAttribute): TableColumn => ({ kind: 'stored', attribute });
  const vectors = attributes.filter((each) => each.type === 'vector');
  const ofVectors = vectors.flatMap((each) => vectorColumns(each) ?? []);
  return [
    ...attributes.filter((each) => each.key).map(stored),
    { kind: 'stamp' },
    { kind: 'timestamp' },
    ...attributes
      .filter((each) => !each.key && !isLarge(each.type) && each.type !== 'vector')
      .map(stored),
    ...attributes.flatMap((each): TableColumn[] => {
      const column = foldedColumn(model, dataclass, each);
      return column === undefined
        ? []
        : [{ kind: 'folded', column, default: foldedDefault(model, each) }];
    }),
    ...ofVectors.map(({ norm }): TableColumn => ({ kind: 'norm', column: norm })),
    ...expressionsOf(dataclass).map((attribute): TableColumn => ({
      kind: 'expression',
      attribute,
    })),
    ...ofVectors.map(({ unit }): TableColumn => ({ kind: 'unit', column: unit })),
    ...vectors.map(stored),
    ...attributes.filter((each) => isLarge(each.type)).map(stored),
  ];
}

/**
 * The `DEFAULT` of an attribute's column: for servers of an older model, which do not know the
 * attribute, and for rows that existed before it. Vectors have none, because the columns by which
 * they are compared need more than SQL.
 */
export function defaultOf(attribute: StorageAttribute, database: Database): string | undefined {
  const { type, default: value } = attribute;
  if (value === undefined || type === 'vector') return undefined;
  if (type === 'decimal' && typeof value === 'string') return decimalConstant(value, database);
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  return textConstant(typeof value === 'string' ? value : JSON.stringify(value));
}

/** The default in a column's definition, if it has one. */
export function defaultText(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [`DEFAULT ${value}`];
}

function foldedDefault(
  { protocol }: Model,
  { default: value }: StorageAttribute,
): string | undefined {
  return typeof value === 'string'
    ? textConstant((protocol.accentInsensitive ? foldWithoutAccents : fold)(value))
    : undefined;
}

/** No text of SQL can contain the character U+0000. */
function textConstant(text: string): string | undefined {
  return text.includes('\0') ? undefined : sqlConstant(text);
}

/** The attributes of a dataclass that the database computes. */
function expressionsOf({ attributes }: Dataclass): readonly ExpressionAttribute[] {
  return attributes.flatMap((each) => {
    if (each.kind !== 'computed') return [];
    const { expression, column = each.name } = each;
    return expression === undefined ? [] : [{ ...each, expression, column }];
  });
}

/** Table and column of the values that a foreign key holds. */
interface Reference {
  readonly table: string;
  readonly column: string;
}

/** What an attribute refers to, when it is a foreign key that the database checks. */
export function referenceOf(
  model: Model,
  dataclass: Dataclass,
  attribute: StorageAttribute,
): Reference | undefined {
  const relation = dataclass.attributes.find(
    (each): each is RelatedEntityAttribute =>
      each.kind === 'relatedEntity' &&
      each.foreignKey === attribute.name &&
      each.onDelete !== 'none',
  );
  if (relation === undefined) return undefined;
  const { column } = referencedBy(model, relation);
  return { table: targetOf(model, relation).table, column };
}
