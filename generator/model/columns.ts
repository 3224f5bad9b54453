import type { Dataclass, Model, StorageAttribute, StorageType } from './model.js';

/** Values of these types can be large, and stay out of lists. */
export function isLarge(type: StorageType): boolean {
  return type === 'image' || type === 'blob';
}

/**
 * The columns by which a vector is compared: its norm, and the vector of norm 1 in single
 * precision.
 */
interface VectorColumns {
  readonly norm: string;
  readonly unit: string;
}

export function vectorColumns({ type, column }: StorageAttribute): VectorColumns | undefined {
  return type === 'vector' ? { norm: `__norm_${column}`, unit: `__unit_${column}` } : undefined;
}

/**
 * The column that holds the folded text of an attribute with an index (filters F33); attributes
 * without an index are folded when they are compared.
 */
export function foldedColumn(
  model: Model,
  dataclass: Dataclass,
  attribute: StorageAttribute,
): string | undefined {
  const isLookedUp =
    attribute.key ||
    attribute.unique ||
    attribute.indexed ||
    isInComposite(dataclass, attribute.name);
  // A different name, so that columns with texts that were folded differently are not reused.
  const prefix = model.protocol.accentInsensitive ? '__unaccented_' : '__folded_';
  return attribute.type === 'string' && isLookedUp ? `${prefix}${attribute.column}` : undefined;
}

/** Whether an index over several attributes includes an attribute. */
export function isInComposite({ indexes, uniqueIndexes = [] }: Dataclass, name: string): boolean {
  return [...indexes, ...uniqueIndexes].some((index) => index.includes(name));
}

/** Whether entities of a model have vectors. */
export function hasVectors({ dataclasses }: Model): boolean {
  return dataclasses.some(({ attributes }) =>
    attributes.some((each) => each.kind === 'storage' && each.type === 'vector'),
  );
}

/** Whether changes of a dataclass are recorded. */
export function isAudited({ dataclasses }: Model): boolean {
  return dataclasses.some(({ audit }) => audit !== undefined);
}
