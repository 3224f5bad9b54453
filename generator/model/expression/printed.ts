import { NotPortable } from './not-portable.js';

/**
 * The kind of value that an expression yields. `number` may or may not have a fraction; `boolean`
 * is a condition of PostgreSQL, which is 0 and 1 in SQLite; `json` is a part of a JSON document, as
 * text.
 */
export type Kind = 'text' | 'integer' | 'number' | 'boolean' | 'bytes' | 'json' | 'null';

/** A part of an expression as PostgreSQL reads it. */
export interface Printed {
  readonly sql: string;
  readonly kind: Kind;
  /** For a number: the condition that it is an integer in SQLite, whose division and text differ. */
  readonly whole?: string;
  /** The content of a text literal. */
  readonly constant?: string;
  /** An integer of 32 bits or fewer, with which PostgreSQL computes in 32 bits. */
  readonly isNarrow?: boolean;
}

const never = 'false';

export function text(sql: string): Printed {
  return { sql, kind: 'text' };
}

export function integer(sql: string, isNarrow = false): Printed {
  return { sql, kind: 'integer', isNarrow };
}

export function condition(sql: string): Printed {
  return { sql, kind: 'boolean' };
}

/** A number that is never an integer in SQLite, even without a fraction. */
export function real(sql: string): Printed {
  return { sql, kind: 'number', whole: never };
}

export function number(sql: string, whole: string): Printed {
  return { sql, kind: 'number', whole };
}

/** The condition that SQLite has an integer. */
export function wholeOf({ kind, whole = never }: Printed): string {
  return kind === 'number' ? whole : 'true';
}

export function both(a: string, b: string): string {
  if (a === never || b === never) return never;
  if (a === 'true') return b;
  return b === 'true' ? a : `(${a} AND ${b})`;
}

export function asText(value: Printed): string {
  const { sql, kind } = value;
  switch (kind) {
    case 'text':
      return sql;
    case 'integer':
      return `${sql}::text`;
    case 'number':
      return `drs_x_text(${sql}, ${wholeOf(value)})`;
    case 'boolean':
      return `${sql}::integer::text`;
    case 'json':
      return `drs_x_json_text(${sql})`;
    case 'null':
      return 'NULL::text';
    case 'bytes':
      throw new NotPortable('it takes bytes for a text');
  }
}

/** A value as an operand of arithmetic: a text counts as the number with which it begins. */
export function asNumber(value: Printed): Printed {
  const { sql, kind } = value;
  switch (kind) {
    case 'integer':
    case 'number':
      return value;
    case 'boolean':
      return integer(`${sql}::integer`, true);
    case 'text':
      return number(`drs_x_number(${sql})`, `drs_x_is_whole(${sql})`);
    case 'json':
      return number(
        `drs_x_number(drs_x_json_text(${sql}))`,
        `drs_x_is_whole(drs_x_json_text(${sql}))`,
      );
    case 'null':
      return integer('NULL::bigint');
    case 'bytes':
      throw new NotPortable('it takes bytes for a number');
  }
}

/** Truncated to an integer, as by `CAST(… AS INTEGER)`. */
export function asInteger(value: Printed): Printed {
  if (value.kind === 'text') return integer(`drs_x_integer(${value.sql})`);
  if (value.kind === 'json') return integer(`drs_x_integer(drs_x_json_text(${value.sql}))`);
  const found = asNumber(value);
  return found.kind === 'integer' ? found : integer(`drs_x_truncated(${found.sql})`);
}

/** A value as a condition: everything except 0 and null is true. */
export function asCondition(value: Printed): string {
  if (value.kind === 'boolean') return value.sql;
  if (value.kind === 'null') return 'NULL::boolean';
  return `(${asNumber(value).sql} <> 0)`;
}

/** Alternatives, converted to the same kind, in the same order. */
export function alike(values: readonly Printed[]): readonly Printed[] {
  const kinds = new Set(values.map(({ kind }) => kind).filter((kind) => kind !== 'null'));
  if (kinds.size <= 1) return values;
  if ([...kinds].every((kind) => kind === 'integer' || kind === 'number' || kind === 'boolean')) {
    return values.map((each) => (each.kind === 'null' ? each : asNumber(each)));
  }
  throw new NotPortable(
    'it yields now a text and now a number, or mixes them: CAST one of them as TEXT, INTEGER or REAL',
  );
}

/**
 * One of several values.
 * @param choose makes the SQL that selects one from the SQL of all
 * @param chooseWhole the same for the condition that SQLite has an integer; `choose` if left out
 */
export function oneOf(
  values: readonly Printed[],
  choose: (sqls: readonly string[]) => string,
  chooseWhole = choose,
): Printed {
  const found = alike(values);
  const sql = choose(found.map((each) => each.sql));
  const typed = found.filter(({ kind }) => kind !== 'null');
  const [first] = typed;
  if (first === undefined) return { sql: 'NULL', kind: 'null' };
  if (typed.some(({ kind }) => kind === 'number')) {
    const wholes = found.map(wholeOf);
    return number(sql, wholes.every((each) => each === never) ? never : chooseWhole(wholes));
  }
  return { sql, kind: first.kind, isNarrow: typed.every(({ isNarrow }) => isNarrow === true) };
}
