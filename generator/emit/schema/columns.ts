import type { Dataclass, StorageAttribute, StorageType } from '../../model/model.js';

/** Values of these types can be large, and stay out of lists. */
export function isLarge(type: StorageType): boolean {
  return type === 'image' || type === 'blob';
}

/**
 * The column that holds the folded text of an attribute that is looked up by an index (protocol decision 10); attributes
 * without index are folded when they are compared.
 */
export function foldedColumn(
  dataclass: Dataclass,
  attribute: StorageAttribute,
): string | undefined {
  const isLookedUp =
    attribute.key ||
    attribute.unique ||
    attribute.indexed ||
    dataclass.indexes.some((index) => index.includes(attribute.name));
  return attribute.type === 'string' && isLookedUp ? `__folded_${attribute.column}` : undefined;
}
