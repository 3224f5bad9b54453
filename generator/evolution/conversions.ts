import type { StorageAttribute, StorageType } from '../model/model.js';
import type { Digits } from '../model/decimals.js';
import { mostDigits } from '../../runtime/protocol/decimal.js';
import { sqlName } from '../model/sql-text.js';

/** How the values of a column are converted. */
export interface Conversion {
  /** A description: `integer to string`. */
  readonly words: string;
  /** SQL of the new value; absent if a person has to write it. */
  readonly value?: { readonly sqlite: string; readonly postgres: string };
  /** SQL that finds the rows whose value is not preserved. */
  readonly loses?: SqlOf;
}

/** One text for both databases, or one for each. */
type SqlOf = string | { readonly sqlite: string; readonly postgres: string };

/** The stored type of a value and its meaning. */
type Form = StorageType | 'date only';

/** Forms with the same stored values: only the meaning changes. */
const alike: Readonly<Partial<Record<Form, readonly Form[]>>> = {
  uuid: ['string'],
  duration: ['integer'],
  integer: ['duration'],
  image: ['blob'],
};

type Write = (column: string) => Omit<Conversion, 'words'>;

const asText: Write = (column) => ({
  value: { sqlite: `CAST(${column} AS TEXT)`, postgres: `CAST(${column} AS text)` },
});

const wholeNumber = '^-?(0|[1-9][0-9]{0,17})$';

/** Conversions by form; a person has to write those that are missing here. */
const writes: Readonly<Record<string, Write>> = {
  'integer to number': (column) => ({
    value: { sqlite: column, postgres: `CAST(${column} AS double precision)` },
    loses: `abs(${column}) > 9007199254740991`,
  }),
  'number to integer': (column) => ({
    value: { sqlite: `CAST(${column} AS INTEGER)`, postgres: `CAST(trunc(${column}) AS bigint)` },
    loses: `${column} <> round(${column})`,
  }),
  'integer to string': asText,
  'duration to string': asText,
  'number to string': asText,
  'boolean to integer': (column) => ({
    value: { sqlite: column, postgres: `CAST(${column} AS bigint)` },
  }),
  'integer to boolean': (column) => ({
    value: {
      sqlite: `${column} <> 0`,
      postgres: `CAST(CASE WHEN ${column} <> 0 THEN 1 ELSE 0 END AS smallint)`,
    },
    loses: `${column} NOT IN (0, 1)`,
  }),
  'boolean to string': (column) => {
    const text = `CASE ${column} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END`;
    return { value: { sqlite: text, postgres: text } };
  },
  'string to integer': (column) => ({
    value: {
      sqlite: `CASE WHEN CAST(CAST(${column} AS INTEGER) AS TEXT) = ${column} THEN CAST(${column} AS INTEGER) END`,
      postgres: `CASE WHEN ${column} ~ '${wholeNumber}' THEN CAST(${column} AS bigint) END`,
    },
  }),
  'date to date only': (column) => ({
    value: { sqlite: `substr(${column}, 1, 10)`, postgres: `substr(${column}, 1, 10)` },
    loses: `${column} NOT LIKE '%T00:00:00.000Z'`,
  }),
  'date only to date': (column) => {
    const text = `${column} || 'T00:00:00.000Z'`;
    return { value: { sqlite: text, postgres: text } };
  },
  'date to string': (column) => ({ value: { sqlite: column, postgres: column } }),
  'date only to string': (column) => ({ value: { sqlite: column, postgres: column } }),
  'object to string': (column) => ({
    value: { sqlite: column, postgres: `${column} COLLATE "C"` },
  }),
};

/** The conversion of an attribute whose type has changed; none if its values stay as they are. */
export function conversionOf(
  before: StorageAttribute,
  after: StorageAttribute,
): Conversion | undefined {
  const [from, to] = [formOf(before), formOf(after)];
  if (before.type === 'decimal' || after.type === 'decimal') return ofDecimals(before, after);
  if (from === to || alike[from]?.includes(to) === true) return undefined;
  const words = `${from} to ${to}`;
  return { words, ...writes[words]?.(sqlName(after.column)) };
}

/** A conversion of or to decimals; none if their scale is the same. */
function ofDecimals(before: StorageAttribute, after: StorageAttribute): Conversion | undefined {
  const [from, to] = [before, after].map(digitsOf) as [Digits, Digits];
  if (before.type === after.type && from.scale === to.scale) return undefined;
  const words = `${shown(before)} to ${shown(after)}`;
  const column = sqlName(after.column);
  if (before.type === after.type) {
    return { words, ...toOtherScale(column, from.scale, to) };
  }
  const made =
    after.type === 'decimal' ? toDecimal(before, column, to) : fromDecimal(after, column, from);
  return { words, ...made };
}

function shown(attribute: StorageAttribute): string {
  if (attribute.type !== 'decimal') return formOf(attribute);
  const { precision, scale } = digitsOf(attribute);
  return `decimal(${String(precision)},${String(scale)})`;
}

function digitsOf({ precision = mostDigits, scale = 0 }: StorageAttribute): Digits {
  return { precision, scale };
}

/** SQLite holds the digits without the point. */
function toOtherScale(column: string, from: number, to: Digits): Omit<Conversion, 'words'> {
  if (to.scale > from) {
    return { value: fitting(to, `${column} * ${power(to.scale - from)}`, column) };
  }
  const unit = power(from - to.scale);
  const half = `(CASE WHEN ${column} < 0 THEN -${unit} ELSE ${unit} END) / 2`;
  const rounded = `round(${column}, ${String(to.scale)})`;
  return {
    value: fitting(to, `(${column} + ${half}) / ${unit}`, rounded),
    loses: { sqlite: `${column} % ${unit} <> 0`, postgres: `${column} <> ${rounded}` },
  };
}

function toDecimal(
  { type }: StorageAttribute,
  column: string,
  to: Digits,
): Omit<Conversion, 'words'> {
  const unit = power(to.scale);
  if (type === 'integer' || type === 'duration' || type === 'boolean') {
    return { value: fitting(to, `${column} * ${unit}`, `CAST(${column} AS numeric)`) };
  }
  if (type !== 'number') return {};
  // By its shortest digits, as clients know it.
  const exact = `CAST(CAST(${column} AS text) AS numeric)`;
  const rounded = `round(${exact}, ${String(to.scale)})`;
  const units = `CAST(round(${column} * ${unit}.0) AS INTEGER)`;
  return {
    value: fitting(to, units, rounded),
    loses: { sqlite: `${units} / ${unit}.0 <> ${column}`, postgres: `${exact} <> ${rounded}` },
  };
}

/** Values for which the precision has too few digits become null. */
function fitting(
  { precision, scale }: Digits,
  units: string,
  value: string,
): { readonly sqlite: string; readonly postgres: string } {
  return {
    sqlite: `CASE WHEN abs(${units}) < ${power(precision)} THEN ${units} END`,
    postgres: `CASE WHEN abs(${value}) < ${power(precision - scale)} THEN ${value} END`,
  };
}

function fromDecimal(
  { type }: StorageAttribute,
  column: string,
  { scale }: Digits,
): Omit<Conversion, 'words'> {
  const unit = power(scale);
  if (type === 'number') {
    return {
      value: { sqlite: `${column} / ${unit}.0`, postgres: `CAST(${column} AS double precision)` },
      // A double holds 15 digits.
      loses: {
        sqlite: `abs(${column}) > 999999999999999`,
        postgres: `abs(${column}) * ${unit} > 999999999999999`,
      },
    };
  }
  if (type === 'integer' || type === 'duration') {
    return {
      value: { sqlite: `${column} / ${unit}`, postgres: `CAST(trunc(${column}) AS bigint)` },
      loses: { sqlite: `${column} % ${unit} <> 0`, postgres: `${column} <> trunc(${column})` },
    };
  }
  if (type !== 'string') return {};
  return { value: { sqlite: sqliteText(column, scale), postgres: `CAST(${column} AS text)` } };
}

function sqliteText(column: string, scale: number): string {
  if (scale === 0) return `CAST(${column} AS TEXT)`;
  const unit = power(scale);
  const sign = `CASE WHEN ${column} < 0 THEN '-' ELSE '' END`;
  return `format('%s%d.%0${String(scale)}d', ${sign}, abs(${column}) / ${unit}, abs(${column}) % ${unit})`;
}

function power(exponent: number): string {
  return String(10n ** BigInt(exponent));
}

function formOf({ type, dateOnly }: StorageAttribute): Form {
  return type === 'date' && dateOnly ? 'date only' : type;
}
