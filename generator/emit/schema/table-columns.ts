import { attributeNamed, dataclassNamed } from '../../model/lookup.js';
import type {
  CalculatedAttribute,
  Dataclass,
  Model,
  RelatedEntityAttribute,
  StorageAttribute,
} from '../../model/model.js';
import { foldedColumn, isLarge, vectorColumns } from '../../model/columns.js';

/** A column of a dataclass's table. */
export type TableColumn =
  | { readonly kind: 'stored'; readonly attribute: StorageAttribute }
  | { readonly kind: 'stamp' | 'timestamp' }
  | { readonly kind: 'folded' | 'norm' | 'unit'; readonly column: string }
  | { readonly kind: 'expression'; readonly attribute: ExpressionAttribute };

/** A computed attribute that the database computes. */
export type ExpressionAttribute = CalculatedAttribute & {
  readonly expression: string;
  readonly column: string;
};

/**
 * The columns of a dataclass's table in their order. Large values stand last: SQLite reads a row from its beginning, and only
 * as far as it must.
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
      return column === undefined ? [] : [{ kind: 'folded', column }];
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

/** The attributes of a dataclass that the database computes. */
export function expressionsOf({ attributes }: Dataclass): readonly ExpressionAttribute[] {
  return attributes.flatMap((each) => {
    if (each.kind !== 'calculated') return [];
    const { expression, column = each.name } = each;
    return expression === undefined ? [] : [{ ...each, expression, column }];
  });
}

/** Table and column of the key that a foreign key refers to. */
export interface Reference {
  readonly table: string;
  readonly column: string;
}

/** What an attribute refers to, when it is a foreign key. */
export function referenceOf(
  model: Model,
  dataclass: Dataclass,
  attribute: StorageAttribute,
): Reference | undefined {
  const relation = dataclass.attributes.find(
    (each): each is RelatedEntityAttribute =>
      each.kind === 'relatedEntity' && each.foreignKey === attribute.name,
  );
  if (relation === undefined) return undefined;
  const target = dataclassNamed(model, relation.target);
  const { column } = attributeNamed(target, target.key) as StorageAttribute;
  return { table: target.table, column };
}
