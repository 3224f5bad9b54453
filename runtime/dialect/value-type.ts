import type { StorageType } from '../protocol/storage-type.js';

/**
 * The type by which values are compared. A `total` is a sum or an average of decimals, a text, which may have more digits than
 * a decimal.
 */
export type ValueType = 'text' | 'number' | 'integer' | 'decimal' | 'total' | 'boolean';

/** @throws Error for a type whose values cannot be compared */
export function valueTypeOf(type: StorageType): ValueType {
  switch (type) {
    case 'string':
    case 'uuid':
    case 'date':
      return 'text';
    case 'number':
      return 'number';
    case 'integer':
    case 'duration':
      return 'integer';
    case 'decimal':
      return 'decimal';
    case 'boolean':
      return 'boolean';
    case 'object':
    case 'image':
    case 'blob':
    case 'vector':
      throw new Error(`Values of the type ${type} are not compared.`);
  }
}
