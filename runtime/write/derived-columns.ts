import type { Dialect } from '../dialect/dialect.js';
import type { SqlValue } from '../dialect/statement.js';
import type { StorageDefinition } from '../protocol/definition.js';
import type { StoredValue } from '../protocol/values.js';
import { directionOf, normOf } from '../protocol/vector.js';

/** Columns that are computed from an attribute whenever that is written. */
export interface DerivedColumns {
  /** Name of the attribute. */
  readonly attribute: string;
  readonly columns: readonly string[];
  /** One value for each of the columns. */
  readonly derive: (stored: StoredValue) => readonly SqlValue[];
}

/**
 * The columns that comparisons need in addition to an attribute's own: folded text, or a vector's
 * norm and direction.
 */
export function derivedColumns(
  { name, foldedColumn, vectorColumns }: StorageDefinition,
  { foldText, direction }: Pick<Dialect, 'foldText' | 'direction'>,
): DerivedColumns | undefined {
  if (foldedColumn !== undefined) {
    return {
      attribute: name,
      columns: [foldedColumn],
      derive: (text) => [typeof text === 'string' ? foldText(text) : null],
    };
  }
  if (vectorColumns === undefined) return undefined;
  return {
    attribute: name,
    columns: [vectorColumns.norm, vectorColumns.unit],
    derive: (json) => (typeof json === 'string' ? normAndUnit(json, direction) : [null, null]),
  };
}

function normAndUnit(json: string, write: Dialect['direction']): readonly SqlValue[] {
  const vector = JSON.parse(json) as readonly number[];
  const direction = directionOf(vector);
  return [normOf(vector), direction === null ? null : write(direction)];
}
