import type { StorageAttribute, StorageType } from '../model/model.js';
import { sqlName } from '../model/sql-text.js';

/** How the values of a column are converted. */
export interface Conversion {
  /** A description: `integer to string`. */
  readonly words: string;
  /** SQL of the new value; absent if a person has to write it. */
  readonly value?: { readonly sqlite: string; readonly postgres: string };
  /** SQL that finds the rows whose value is not preserved. */
  readonly loses?: string;
}

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
  if (from === to || alike[from]?.includes(to) === true) return undefined;
  const words = `${from} to ${to}`;
  return { words, ...writes[words]?.(sqlName(after.column)) };
}

function formOf({ type, dateOnly }: StorageAttribute): Form {
  return type === 'date' && dateOnly ? 'date only' : type;
}
