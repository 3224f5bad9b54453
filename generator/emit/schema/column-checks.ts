import { decimalConstant, greatestDecimal } from '../../model/decimals.js';
import { mostDigits } from '../../../runtime/protocol/decimal.js';
import type { Database, StorageAttribute } from '../../model/model.js';
import { sqlConstant, sqlName } from '../../model/sql-text.js';

/** The rules of an attribute that SQL can hold, as conditions over its column. */
export function columnChecks(
  attribute: StorageAttribute,
  database: Database,
  atLeast: (value: string, length: number) => string,
): readonly string[] {
  const value = sqlName(attribute.column);
  const { type, precision = mostDigits, scale = 0 } = attribute;
  const constant = (of: string | number): string =>
    type === 'decimal' ? decimalConstant(String(of), database) : sqlConstant(of);
  const conditions: string[] = [];
  // A sequence ends where clients could no longer distinguish two keys.
  if (attribute.key && attribute.generated === 'sequence') {
    conditions.push(`${value} <= ${String(Number.MAX_SAFE_INTEGER)}`);
  }
  if (type === 'decimal' && precision < mostDigits) {
    const most = decimalConstant(greatestDecimal({ precision, scale }), database);
    conditions.push(`abs(${value}) <= ${most}`);
  }
  if (type === 'boolean') conditions.push(`${value} IN (0, 1)`);
  if (attribute.enum !== undefined) {
    conditions.push(`${value} IN (${attribute.enum.map(constant).join(', ')})`);
  }
  if (attribute.minLength !== undefined) conditions.push(atLeast(value, attribute.minLength));
  if (attribute.maxLength !== undefined) {
    conditions.push(`length(${value}) <= ${String(attribute.maxLength)}`);
  }
  if (attribute.min !== undefined) conditions.push(`${value} >= ${constant(attribute.min)}`);
  if (attribute.max !== undefined) conditions.push(`${value} <= ${constant(attribute.max)}`);
  return conditions;
}
