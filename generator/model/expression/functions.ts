import type { Node } from './ast.js';
import { dateFunctions } from './date-functions.js';
import { printJsonExtract } from './json.js';
import { NotPortable } from './not-portable.js';
import { compare } from './operators.js';
import {
  asCondition,
  asInteger,
  asNumber,
  asText,
  integer,
  number,
  oneOf,
  type Printed,
  real,
  text,
  wholeOf,
} from './printed.js';

/** Writes a call; the arguments are nodes, because some of them must be constants. */
type PrintCall = (items: readonly Node[], print: (node: Node) => Printed) => Printed;

interface Known {
  readonly least: number;
  readonly most: number;
  readonly print: PrintCall;
}

/** The functions of SQLite with an equivalent in PostgreSQL. */
const functions: Readonly<Record<string, Known>> = {
  abs: one((value) => {
    const found = asNumber(value);
    const sql = `abs(${found.sql})`;
    return found.kind === 'integer' ? integer(sql) : number(sql, wholeOf(found));
  }),
  ceil: one((value) => rounded('ceil', value)),
  ceiling: one((value) => rounded('ceil', value)),
  coalesce: several(2, coalesce),
  concat: several(1, (values) =>
    text(`(${values.map((each) => `coalesce(${asText(each)}, '')`).join(' || ')})`),
  ),
  concat_ws: several(2, ([separator, ...values]) =>
    text(`drs_x_joined(${asText(separator as Printed)}, ARRAY[${values.map(asText).join(', ')}])`),
  ),
  floor: one((value) => rounded('floor', value)),
  ifnull: fixed(2, coalesce),
  iif: choice(),
  if: choice(),
  instr: fixed(2, ([whole, piece]) =>
    integer(`strpos(${asText(whole as Printed)}, ${asText(piece as Printed)})`, true),
  ),
  json_extract: {
    least: 2,
    most: 2,
    print: ([document, path], print) => printJsonExtract(print(document as Node), path as Node),
  },
  length: one((value) =>
    value.kind === 'bytes'
      ? integer(`octet_length(${value.sql})`, true)
      : integer(`length(${asText(value)})`, true),
  ),
  lower: one((value) => text(`lower(${asText(value)} COLLATE "C")`)),
  ltrim: trim('ltrim'),
  max: several(2, (values) => extreme('>=', values)),
  min: several(2, (values) => extreme('<=', values)),
  nullif: fixed(2, ([value, other]) => {
    const isSame = compare('=', value as Printed, other as Printed).sql;
    return oneOf(
      [value as Printed],
      ([sql = '']) => `(CASE WHEN ${isSame} THEN NULL ELSE ${sql} END)`,
    );
  }),
  octet_length: one((value) =>
    integer(`octet_length(${value.kind === 'bytes' ? value.sql : asText(value)})`, true),
  ),
  replace: fixed(3, (values) => text(`replace(${values.map(asText).join(', ')})`)),
  round: several(1, ([value, digits], count) => {
    if (count > 2) throw new NotPortable('round takes one or two arguments');
    const places = digits === undefined ? '0' : asInteger(digits).sql;
    return real(`drs_x_round(${asNumber(value as Printed).sql}, ${places})`);
  }),
  rtrim: trim('rtrim'),
  sign: one((value) => integer(`sign(${asNumber(value).sql})::integer`, true)),
  sqrt: one((value) => {
    const { sql } = asNumber(value);
    return real(`sqrt(CASE WHEN ${sql} >= 0 THEN ${sql}::double precision END)`);
  }),
  substr: { least: 2, most: 3, print: substring },
  substring: { least: 2, most: 3, print: substring },
  trim: trim('btrim'),
  trunc: one((value) => rounded('trunc', value)),
  unicode: one((value) => integer(`nullif(ascii(${asText(value)}), 0)`, true)),
  upper: one((value) => text(`upper(${asText(value)} COLLATE "C")`)),
  ...dateFunctions,
};

/** @throws NotPortable for a function without an equivalent in PostgreSQL */
export function callFunction(
  name: string,
  items: readonly Node[],
  print: (node: Node) => Printed,
): Printed {
  const known = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (known === undefined) throw new NotPortable(`it calls the function ${name}`);
  if (items.length < known.least || items.length > known.most) {
    throw new NotPortable(`it calls ${name} with ${items.length} arguments`);
  }
  return known.print(items, print);
}

function several(
  least: number,
  print: (values: readonly Printed[], count: number) => Printed,
): Known {
  return {
    least,
    most: Infinity,
    print: (items, printItem) => print(items.map(printItem), items.length),
  };
}

function fixed(count: number, print: (values: readonly Printed[]) => Printed): Known {
  return { ...several(count, print), most: count };
}

function one(print: (value: Printed) => Printed): Known {
  return fixed(1, ([value]) => print(value as Printed));
}

function coalesce(values: readonly Printed[]): Printed {
  const tests = values.map(({ sql }) => `${sql} IS NOT NULL`);
  return oneOf(
    values,
    (sqls) => `coalesce(${sqls.join(', ')})`,
    (wholes) =>
      `(CASE ${wholes.map((whole, index) => `WHEN ${tests[index] ?? ''} THEN ${whole}`).join(' ')} END)`,
  );
}

function choice(): Known {
  return {
    least: 2,
    most: 3,
    print: ([test, then, otherwise], print) => {
      const last: Printed =
        otherwise === undefined ? { sql: 'NULL', kind: 'null' } : print(otherwise);
      const isMet = asCondition(print(test as Node));
      return oneOf(
        [print(then as Node), last],
        ([a = '', b = '']) => `(CASE WHEN ${isMet} THEN ${a} ELSE ${b} END)`,
      );
    },
  };
}

/** Null if one of the values is null; PostgreSQL's own function would skip it. */
function extreme(operator: '<=' | '>=', values: readonly Printed[]): Printed {
  return values.reduce((a, b) => {
    const isFirst = compare(operator, a, b).sql;
    const isSecond = compare(operator === '<=' ? '>=' : '<=', a, b).sql;
    return oneOf(
      [a, b],
      ([first = '', second = '']) =>
        `(CASE WHEN ${isFirst} THEN ${first} WHEN ${isSecond} THEN ${second} END)`,
    );
  });
}

function rounded(name: string, value: Printed): Printed {
  const found = asNumber(value);
  return found.kind === 'integer' ? found : number(`${name}(${found.sql})`, wholeOf(found));
}

function trim(name: string): Known {
  return {
    least: 1,
    most: 2,
    print: (items, print) =>
      text(`${name}(${items.map((each) => asText(print(each))).join(', ')})`),
  };
}

/** PostgreSQL counts positions before the first character differently than SQLite. */
function substring(
  [value, from, length]: readonly Node[],
  print: (node: Node) => Printed,
): Printed {
  const whole = asText(print(value as Node));
  const isPlain =
    from?.kind === 'integer' && Number(from.text) > 0 && (length?.kind ?? 'integer') === 'integer';
  const parts = [from, length].flatMap((each) =>
    each === undefined ? [] : asInteger(print(each)).sql,
  );
  return isPlain
    ? text(`substr(${[whole, ...parts].join(', ')})`)
    : text(`drs_x_substr(${[whole, ...parts].join(', ')})`);
}
