/** The type of a stored attribute, as a model names it. */
export type StorageType =
  | 'string'
  | 'uuid'
  | 'number'
  | 'integer'
  | 'decimal'
  | 'boolean'
  | 'date'
  | 'duration'
  | 'object'
  | 'image'
  | 'blob'
  | 'vector';
