import { attributeNamed } from '../../model/lookup.js';
import type { Dataclass, Model, StorageAttribute } from '../../model/model.js';
import { foldedColumn } from '../../model/columns.js';

/** An index of a dataclass's table, in addition to that of the primary key. */
export interface Index {
  /** Begins with two underscores, unlike tables: tables and indexes share one namespace. */
  readonly name: string;
  readonly isUnique: boolean;
  readonly columns: readonly IndexedColumn[];
}

interface IndexedColumn {
  readonly column: string;
  readonly isNullable: boolean;
}

/** The indexes that lookups by the attributes of a dataclass need, the same in every database. */
export function indexesOf(model: Model, dataclass: Dataclass): readonly Index[] {
  const stored = dataclass.attributes.filter((each) => each.kind === 'storage');
  const make = (suffix: string, isUnique: boolean, columns: readonly IndexedColumn[]): Index => ({
    name: `__${dataclass.table}.${suffix}`,
    isUnique,
    columns,
  });
  return [
    ...stored
      .filter((each) => each.unique || each.indexed)
      // The primary key has an index of its own, of its stored text.
      .filter((each) => !each.key || foldedColumn(model, dataclass, each) !== undefined)
      .map((each) => make(each.name, each.unique, [lookedUp(model, dataclass, each)])),
    ...textForeignKeys(model, dataclass).map((each) =>
      make(`${each.name} as stored`, false, [asStored(each)]),
    ),
    ...dataclass.indexes.map((list) =>
      make(
        list.join(','),
        false,
        list.map((each) => lookedUp(model, dataclass, storageOf(dataclass, each))),
      ),
    ),
  ];
}

/** The primary key of a dataclass. */
export function keyOf(dataclass: Dataclass): StorageAttribute {
  return storageOf(dataclass, dataclass.key);
}

/**
 * Relations use keys as they are stored, and what a client writes is compared folded: each has an
 * index.
 */
function textForeignKeys(model: Model, dataclass: Dataclass): StorageAttribute[] {
  return dataclass.attributes
    .filter((each) => each.kind === 'relatedEntity')
    .map((relation) => storageOf(dataclass, relation.foreignKey))
    .filter((each) => !each.key && foldedColumn(model, dataclass, each) !== undefined);
}

function storageOf(dataclass: Dataclass, attributeName: string): StorageAttribute {
  const attribute = attributeNamed(dataclass, attributeName);
  return attribute.kind === 'relatedEntity'
    ? (attributeNamed(dataclass, attribute.foreignKey) as StorageAttribute)
    : (attribute as StorageAttribute);
}

function lookedUp(model: Model, dataclass: Dataclass, attribute: StorageAttribute): IndexedColumn {
  const folded = foldedColumn(model, dataclass, attribute);
  return folded === undefined ? asStored(attribute) : { column: folded, isNullable: true };
}

function asStored({ column, key, mandatory }: StorageAttribute): IndexedColumn {
  return { column, isNullable: !key && !mandatory };
}
