import { lowerAscii, sqlConstant } from '../sql-text.js';
import type { BinaryOperator } from './ast.js';
import { NotPortable } from './not-portable.js';
import {
  alike,
  asCondition,
  asInteger,
  asNumber,
  asText,
  both,
  condition,
  integer,
  number,
  type Printed,
  real,
  text,
  wholeOf,
} from './printed.js';

const comparisons = {
  '=': '=',
  '<>': '<>',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
  is: 'IS NOT DISTINCT FROM',
  isNot: 'IS DISTINCT FROM',
} as const;

type Comparison = keyof typeof comparisons;

/** Writes an operator between two values. */
export function printBinary(operator: BinaryOperator, left: Printed, right: Printed): Printed {
  switch (operator) {
    case 'and':
    case 'or':
      return condition(`(${asCondition(left)} ${operator.toUpperCase()} ${asCondition(right)})`);
    case '||':
      return text(`(${asText(left)} || ${asText(right)})`);
    case 'like':
      return like(asText(left), right);
    case '&':
    case '|':
      return integer(`(${asInteger(left).sql} ${operator} ${asInteger(right).sql})`);
    case '+':
    case '-':
    case '*':
      return arithmetic(operator, asNumber(left), asNumber(right));
    case '/':
      return quotient(asNumber(left), asNumber(right));
    case '%':
      return remainder(asNumber(left), asNumber(right));
    case '->':
    case '->>':
      throw new Error(`The operator ${operator} is written elsewhere.`);
    case '=':
    case '<>':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case 'is':
    case 'isNot':
      return compare(operator, left, right);
  }
}

/** SQLite's LIKE ignores the case of ASCII letters, and has no escape character. */
function like(whole: string, pattern: Printed): Printed {
  const folded =
    pattern.constant === undefined
      ? `replace(lower(${asText(pattern)} COLLATE "C"), '\\', '\\\\')`
      : sqlConstant(lowerAscii(pattern.constant).replaceAll('\\', '\\\\'));
  return condition(`(lower(${whole} COLLATE "C") LIKE ${folded})`);
}

/** Writes a comparison; texts are compared by their bytes. */
export function compare(operator: Comparison, left: Printed, right: Printed): Printed {
  if (left.kind === 'json' || right.kind === 'json') {
    throw new NotPortable(
      'it compares a piece of JSON, which may be a text or a number: CAST it as TEXT, INTEGER or REAL',
    );
  }
  const [a, b] = alike([left, right]) as [Printed, Printed];
  if ([a, b].some(({ kind }) => kind === 'null')) {
    return condition(`(${a.sql} ${comparisons[operator]} ${b.sql})`);
  }
  const collation = a.kind === 'text' ? ' COLLATE "C"' : '';
  return condition(`(${a.sql}${collation} ${comparisons[operator]} ${b.sql})`);
}

function arithmetic(operator: string, a: Printed, b: Printed): Printed {
  if (a.kind === 'integer' && b.kind === 'integer') {
    return integer(`(${widened(a, b)} ${operator} ${b.sql})`);
  }
  const whole = both(wholeOf(a), wholeOf(b));
  // In PostgreSQL a result beyond a double is an error; here it is zero or infinite.
  if (operator === '*') return number(`drs_product(${a.sql}, ${b.sql})`, whole);
  return number(`drs_added(${a.sql}, ${operator === '-' ? `-(${b.sql})` : b.sql})`, whole);
}

/** Division by 0 yields null; integers divided by integers are integers. */
function quotient(a: Printed, b: Printed): Printed {
  if (a.kind === 'integer' && b.kind === 'integer') {
    return integer(`(${widened(a, b)} / nullif(${b.sql}, 0))`);
  }
  const whole = both(wholeOf(a), wholeOf(b));
  return whole === 'false'
    ? real(`drs_quotient(${a.sql}, ${b.sql})`)
    : number(`drs_x_quotient(${a.sql}, ${b.sql}, ${whole})`, whole);
}

function remainder(a: Printed, b: Printed): Printed {
  const sql = `mod(${asInteger(a).sql}::bigint, nullif(${asInteger(b).sql}::bigint, 0))`;
  if (a.kind === 'integer' && b.kind === 'integer') return integer(sql);
  return number(`${sql}::double precision`, both(wholeOf(a), wholeOf(b)));
}

/** The left one of two integers, widened if both are narrow. */
function widened(a: Printed, b: Printed): string {
  return a.isNarrow === true && b.isNarrow === true ? `${a.sql}::bigint` : a.sql;
}
