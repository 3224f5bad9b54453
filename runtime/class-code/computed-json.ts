import type { ComputedPlace } from '../dialect/statement.js';
import type { ComputedDefinition } from '../protocol/definition.js';
import type { AnswerOptions } from '../query/context.js';
import { storageOf } from '../protocol/values.js';
import { storedForm } from '../class/typed-value.js';

/**
 * The JSON of a value that class code computed, in the form that stored values of the type have (protocol section 5, decisions
 * 6 to 9).
 * @throws Error for a value of another type
 */
export function computedValueJson(
  { dataclass, attribute, form }: ComputedPlace,
  value: unknown,
  { dateOnlyFormat }: Pick<AnswerOptions, 'dateOnlyFormat'>,
): string {
  if (value === null || value === undefined) return 'null';
  const stored = checked(dataclass, attribute, value);
  if (stored === null) return 'null';
  switch (attribute.type) {
    case 'string':
    case 'uuid':
      return JSON.stringify(stored);
    case 'date': {
      const isBang = attribute.dateOnly === true && dateOnlyFormat === 'bang';
      return JSON.stringify(isBang ? bangDate(String(stored)) : stored);
    }
    case 'number':
    case 'integer':
    case 'duration':
      return JSON.stringify(stored);
    case 'boolean': {
      const text = stored === 1 ? 'true' : 'false';
      return form === 'report' ? `"${text}"` : text;
    }
    case 'object':
    case 'vector':
      return String(stored);
    case 'image':
    case 'blob':
      throw new Error('Class code computes no image and no BLOB.');
  }
}

/** What a client may write in several ways, class code has to give as what it is. */
const plainTypes: Readonly<Partial<Record<ComputedDefinition['type'], string>>> = {
  number: 'number',
  integer: 'number',
  duration: 'number',
  boolean: 'boolean',
};

function checked(
  dataclass: string,
  attribute: ComputedDefinition,
  value: unknown,
): string | number | null {
  const wanted = plainTypes[attribute.type];
  if (wanted !== undefined && typeof value !== wanted) {
    throw new TypeError(`it gave a ${typeof value}, expected a ${wanted}`);
  }
  if (typeof value === 'object' && value !== null && 'then' in value) {
    throw new TypeError('it gave a promise, and an attribute is read at once');
  }
  const stored = storedForm(dataclass, storageOf(attribute), value);
  if (stored instanceof Uint8Array) throw new TypeError('it gave bytes');
  return stored;
}

/** `9!3!2026` for `2026-03-09` (protocol decision 8). */
function bangDate(day: string): string {
  return `${Number(day.slice(8, 10))}!${Number(day.slice(5, 7))}!${day.slice(0, 4)}`;
}
