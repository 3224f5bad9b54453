import type { ComputedAttribute, Dataclass, StorageAttribute, StorageType } from '../model.js';
import { postgresText } from '../postgres-types.js';
import { lowerAscii, sqlName } from '../sql-text.js';
import { asTime, formatTime } from './date-functions.js';
import { NotPortable } from './not-portable.js';
import { parseExpression } from './parse.js';
import { printNode } from './print-node.js';
import { asNumber, asText, integer, number, type Printed, text, wholeOf } from './printed.js';

/** What PostgreSQL computes a column from. */
interface PostgresExpression {
  /** Type of the column. */
  readonly type: string;
  readonly sql: string;
}

const storedKinds: Readonly<Record<StorageType, (sql: string) => Printed>> = {
  string: text,
  uuid: text,
  number: (sql) => number(sql, `${sql} = trunc(${sql})`),
  integer: (sql) => integer(sql),
  decimal: () => {
    throw new NotPortable('it uses a decimal');
  },
  boolean: (sql) => integer(sql, true),
  date: text,
  duration: (sql) => integer(sql),
  object: text,
  image: (sql) => ({ sql, kind: 'bytes' }),
  blob: (sql) => ({ sql, kind: 'bytes' }),
  vector: () => {
    throw new NotPortable('it uses a vector');
  },
};

/**
 * An expression as PostgreSQL computes it, with the values of SQLite.
 * @throws NotPortable if there is no such expression
 */
export function postgresExpression(
  dataclass: Dataclass,
  attribute: ComputedAttribute,
): PostgresExpression {
  const { sql, type } = new Expressions(dataclass).columnOf(attribute);
  return { sql, type };
}

/** PostgreSQL's generated columns cannot refer to each other: their expressions are inlined. */
class Expressions {
  readonly #columns = new Map<string, StorageAttribute | ComputedAttribute>();

  constructor({ attributes }: Dataclass) {
    for (const each of attributes) {
      if (each.kind === 'storage') this.#columns.set(lowerAscii(each.column), each);
      if (each.kind === 'computed' && each.expression !== undefined) {
        this.#columns.set(lowerAscii(each.column ?? each.name), each);
      }
    }
  }

  columnOf({ type, dateOnly, expression = '' }: ComputedAttribute): PostgresExpression & {
    readonly printed: Printed;
  } {
    const found = printNode(parseExpression(expression), (name) => this.#find(name));
    const printed = this.#stored(type, dateOnly, found);
    return { sql: printed.sql, type: type === 'boolean' ? 'smallint' : typeOf(printed), printed };
  }

  #find(name: string): Printed | undefined {
    const attribute = this.#columns.get(lowerAscii(name));
    if (attribute === undefined) return undefined;
    if (attribute.kind === 'storage') return storedKinds[attribute.type](sqlName(attribute.column));
    const { sql, kind } = this.columnOf(attribute).printed;
    // A whole number is stored as an integer.
    return kind === 'number'
      ? number(`(${sql})`, `(${sql}) = trunc(${sql})`)
      : { sql: `(${sql})`, kind };
  }

  /**
   * An expression may yield anything: converts it to the form in which values of the attribute's
   * type are stored.
   */
  #stored(type: StorageType, dateOnly: boolean, found: Printed): Printed {
    switch (type) {
      case 'string':
      case 'uuid':
      case 'object':
        return text(asText(found));
      case 'date':
        return formatTime(dateOnly ? '%Y-%m-%d' : '%Y-%m-%dT%H:%M:%fZ', asTime(found));
      case 'boolean': {
        if (found.kind === 'boolean') return integer(`${found.sql}::integer`, true);
        return integer(`CASE ${kept(found).sql} WHEN 1 THEN 1 WHEN 0 THEN 0 END`, true);
      }
      case 'number':
      case 'integer':
      case 'duration':
        return kept(found);
      case 'decimal':
      case 'image':
      case 'blob':
      case 'vector':
        throw new NotPortable(`it yields a value of type ${type}`);
    }
  }
}

/**
 * As a column of numbers stores it: a text that is no number is null, and there is only one zero.
 */
function kept(found: Printed): Printed {
  const value =
    found.kind === 'text' ? number(`drs_x_affinity(${found.sql})`, 'false') : asNumber(found);
  return value.kind === 'number' ? number(`${value.sql} + 0`, wholeOf(value)) : value;
}

function typeOf({ kind }: Printed): string {
  if (kind === 'text') return postgresText;
  return kind === 'number' ? 'double precision' : 'bigint';
}
