import type { StorageType } from '../protocol/definition.js';

/** How a database compares a value: what is bound may be of another type, a fraction for an integer column for instance. */
export type ValueType = 'text' | 'number' | 'integer' | 'boolean';

/** @throws Error for a type whose values are not compared */
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
    case 'boolean':
      return 'boolean';
    case 'object':
    case 'image':
    case 'blob':
    case 'vector':
      throw new Error(`Values of the type ${type} are not compared.`);
  }
}
