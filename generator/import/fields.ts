import { dayOf } from '../check/values.js';
import { instantFromText } from '../../runtime/protocol/dates.js';
import { normaliseUuid } from '../../runtime/protocol/uuid.js';
import { isIndexable } from '../check/storage.js';
import { decimalOf } from '../model/decimals.js';
import { mostDigits } from '../../runtime/protocol/decimal.js';
import type { Notes } from './messages.js';
import type { SourceField, StorageType } from './source-model.js';
import type { DraftMapping, DraftValue } from './render.js';

/** How a field is used, which decides what of it the model can have. */
interface FieldUse {
  readonly type: StorageType;
  readonly isKey: boolean;
  readonly isForeignKey: boolean;
  /** Name of the column, if the attribute is called otherwise. */
  readonly column: string | undefined;
  readonly isHidden: boolean;
  /** Whether `--blank-defaults` is given. */
  readonly blankDefault: boolean;
}

/** The keys of a storage attribute, in the order of the guide; what no model can hold is noted. */
export function storageValue(field: SourceField, use: FieldUse, notes: Notes): DraftMapping {
  const { type, isKey } = use;
  const isAsDeclared = type === field.type;
  const generated = use.isForeignKey ? undefined : generatedOf(field, type);
  const rules = isAsDeclared ? rulesOf(field, use, notes) : {};
  const fallback =
    isKey || generated !== undefined ? undefined : defaultOf(field, use, rules, notes);
  const flags = flagsOf(field, use, notes);
  const mapping: Record<string, DraftValue | undefined> = {
    type,
    dateOnly: type === 'date' && field.dateOnly === true ? true : undefined,
    precision: type === 'decimal' ? field.precision : undefined,
    scale: type === 'decimal' ? field.scale : undefined,
    dimensions: type === 'vector' ? field.dimensions : undefined,
    key: isKey ? true : undefined,
    generated,
    ...flags,
    default: fallback,
    ...rules,
    readOnly: field.readOnly === true && !isKey ? true : undefined,
    exposed: use.isHidden && !isKey ? false : undefined,
    column: use.column,
    description: descriptionOf(field.description),
  };
  return defined(mapping);
}

export function defined(mapping: Readonly<Record<string, DraftValue | undefined>>): DraftMapping {
  return Object.fromEntries(
    Object.entries(mapping).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

const longestDescription = 2000;

/** A text for people, without what would control a terminal or an editor. */
export function descriptionOf(text: string | undefined): string | undefined {
  const clean = text
    ?.replaceAll(/\r\n?/g, '\n')
    .replaceAll(/(?!\n)[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .replaceAll(/[ \t]+$/gm, '')
    .trim()
    .slice(0, longestDescription)
    // The half of a character.
    .replace(/\p{Cs}$/u, '');
  return clean === '' ? undefined : clean;
}

function generatedOf(field: SourceField, type: StorageType): string | undefined {
  if (field.generated === 'sequence' && type === 'integer') return 'sequence';
  return field.generated === 'uuid' && type === 'uuid' ? 'uuid' : undefined;
}

function flagsOf(
  field: SourceField,
  { type, isKey, isForeignKey }: FieldUse,
  notes: Notes,
): Readonly<Record<string, DraftValue | undefined>> {
  if (isKey) return {};
  const canHave = isIndexable(type);
  if (field.unique === true && !canHave) {
    const reason = `the model has no unique ${type}`;
    notes.add('import/unique-left-out', field.place, { name: `of ${field.name}`, reason });
  }
  if (field.indexed === true && !canHave) {
    const reason = `no index can hold a ${type}`;
    notes.add('import/index-left-out', field.place, { name: `of ${field.name}`, reason });
  }
  const isUnique = field.unique === true && canHave;
  const isIndexed = field.indexed === true && canHave && !isUnique && !isForeignKey;
  return {
    unique: isUnique ? true : undefined,
    indexed: isIndexed ? true : undefined,
    mandatory: field.mandatory === true ? true : undefined,
  };
}

type Value = string | number;

interface Rules {
  readonly enum?: readonly Value[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly min?: Value;
  readonly max?: Value;
  readonly pattern?: string;
}

function rulesOf(field: SourceField, { type, isForeignKey }: FieldUse, notes: Notes): Rules {
  const rules: { -readonly [K in keyof Rules]: Rules[K] } = {};
  const lost = (rule: string, reason: string): void => {
    notes.add('import/rule-lost', field.place, { rule, reason });
  };
  if (field.enum !== undefined) {
    const values = [...new Set(field.enum)];
    const isRight =
      values.length > 0 &&
      ['string', 'number', 'integer', 'decimal', 'duration'].includes(type) &&
      values.every((each) => isValue(field, type, each));
    if (isRight) rules.enum = values;
    else lost('The list of values', `they are no values of a ${type}`);
  }
  const { minLength, maxLength } = field;
  if (type === 'string' && !isForeignKey) {
    if (isLength(minLength) && minLength > 0 && minLength <= (maxLength ?? Infinity)) {
      rules.minLength = minLength;
    }
    if (isLength(maxLength) && maxLength > 0) rules.maxLength = maxLength;
    if (field.pattern !== undefined) {
      if (isPattern(field.pattern)) rules.pattern = field.pattern;
      else lost(`The pattern ${field.pattern}`, 'it is not a regular expression of JavaScript');
    }
  }
  for (const bound of ['min', 'max'] as const) {
    const value = field[bound];
    if (value === undefined) continue;
    const fits = ['number', 'integer', 'decimal', 'duration', 'date'].includes(type);
    if (fits && isValue(field, type, value)) rules[bound] = value;
    else lost(`${bound} ${String(value)}`, `it is no value of a ${type}`);
  }
  const [min, max] = [rules.min, rules.max].map((each) =>
    type === 'decimal' && each !== undefined ? Number(each) : each,
  );
  if (min !== undefined && max !== undefined && min > max) {
    lost(`min ${String(min)}`, `it is above max ${String(max)}`);
    delete rules.min;
  }
  return rules;
}

function isLength(value: number | undefined): value is number {
  return value !== undefined && Number.isSafeInteger(value) && value <= 1_000_000_000;
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'u');
    return text.length <= 1000;
  } catch {
    return false;
  }
}

/** Whether a value can stand in the model for an attribute of a type. */
function isValue(field: SourceField, type: StorageType, value: string | number | boolean): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string' && !/[\p{Cs}\0]/u.test(value);
    case 'number':
      return typeof value === 'number' && Number.isFinite(value);
    case 'decimal': {
      const { precision = mostDigits, scale = 0 } = field;
      return decimalOf(value, { precision, scale }) !== undefined;
    }
    case 'integer':
    case 'duration':
      return Number.isSafeInteger(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'uuid':
      return typeof value === 'string' && normaliseUuid(value) !== undefined;
    case 'date':
      if (typeof value !== 'string') return false;
      return (field.dateOnly === true ? dayOf(value) : instantFromText(value)) !== undefined;
    case 'object':
    case 'image':
    case 'blob':
    case 'vector':
      return false;
  }
}

const blanks: Readonly<Partial<Record<StorageType, string | number | boolean>>> = {
  string: '',
  number: 0,
  integer: 0,
  duration: 0,
  boolean: false,
};

function defaultOf(
  field: SourceField,
  use: FieldUse,
  rules: Rules,
  notes: Notes,
): string | number | boolean | undefined {
  const given = field.default;
  if (given !== undefined) {
    if (use.type === field.type && isAllowed(field, use.type, given, rules)) return given;
    notes.add('import/default-lost', field.place, { value: JSON.stringify(given) });
    return undefined;
  }
  const blank = blanks[use.type];
  const isWanted = use.blankDefault && field.blank === true && !use.isForeignKey;
  if (!isWanted || field.unique === true || blank === undefined) return undefined;
  return isAllowed(field, use.type, blank, rules) ? blank : undefined;
}

function isAllowed(
  field: SourceField,
  type: StorageType,
  value: string | number | boolean,
  rules: Rules,
): boolean {
  if (!isValue(field, type, value)) return false;
  if (typeof value === 'boolean') return true;
  if (rules.enum?.includes(value) === false) return false;
  if (rules.min !== undefined && value < rules.min) return false;
  if (rules.max !== undefined && value > rules.max) return false;
  if (typeof value === 'number') return true;
  const length = Array.from(value).length;
  if (length < (rules.minLength ?? 0) || length > (rules.maxLength ?? Infinity)) return false;
  return rules.pattern === undefined || new RegExp(rules.pattern, 'u').test(value);
}
