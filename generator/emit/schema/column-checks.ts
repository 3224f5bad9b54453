import type { StorageAttribute } from '../../model/model.js';
import { sqlConstant, sqlName } from '../../model/sql-text.js';

/** The rules of an attribute that SQL can hold, as conditions over its column. */
export function columnChecks(
  attribute: StorageAttribute,
  atLeast: (value: string, length: number) => string,
): readonly string[] {
  const value = sqlName(attribute.column);
  const conditions: string[] = [];
  // A sequence ends where clients could no longer distinguish two keys.
  if (attribute.key && attribute.generated === 'sequence') {
    conditions.push(`${value} <= ${String(Number.MAX_SAFE_INTEGER)}`);
  }
  if (attribute.type === 'boolean') conditions.push(`${value} IN (0, 1)`);
  if (attribute.enum !== undefined) {
    conditions.push(`${value} IN (${attribute.enum.map(sqlConstant).join(', ')})`);
  }
  if (attribute.minLength !== undefined) conditions.push(atLeast(value, attribute.minLength));
  if (attribute.maxLength !== undefined) {
    conditions.push(`length(${value}) <= ${String(attribute.maxLength)}`);
  }
  if (attribute.min !== undefined) conditions.push(`${value} >= ${sqlConstant(attribute.min)}`);
  if (attribute.max !== undefined) conditions.push(`${value} <= ${sqlConstant(attribute.max)}`);
  return conditions;
}
