import { sqlConstant } from '../sql-text.js';
import type { Node } from './ast.js';
import { callFunction } from './functions.js';
import { printJsonPiece } from './json.js';
import { NotPortable } from './not-portable.js';
import { compare, printBinary } from './operators.js';
import {
  asCondition,
  asInteger,
  asNumber,
  asText,
  condition,
  integer,
  oneOf,
  type Printed,
  real,
  text,
  number,
  wholeOf,
} from './printed.js';

/** Finds a column by its name, ignoring the case of ASCII letters; `undefined` if there is none. */
type FindColumn = (name: string) => Printed | undefined;

const largestNarrow = 2 ** 31 - 1;
const largestInteger = 2n ** 63n - 1n;

/** A value that is needed twice is written twice, and so are the values inside it. */
const longest = 100_000;

/**
 * Writes an expression for PostgreSQL.
 * @throws NotPortable for what has no equivalent there
 */
export function printNode(node: Node, find: FindColumn): Printed {
  const printed = printWhole(node, find);
  if (printed.sql.length + (printed.whole?.length ?? 0) > longest) {
    throw new NotPortable('it would be too long there');
  }
  return printed;
}

function printWhole(node: Node, find: FindColumn): Printed {
  if (comparesTexts(node) && !speaksOfColumn(node)) {
    throw new NotPortable('it computes something from constants alone: write what that yields');
  }
  const print = (each: Node): Printed => printNode(each, find);
  switch (node.kind) {
    case 'null':
      return { sql: 'NULL', kind: 'null' };
    case 'text':
      return { ...text(`${sqlConstant(node.value)}::text`), constant: node.value };
    case 'integer':
      return BigInt(node.text) > largestInteger
        ? realConstant(node.text)
        : integer(node.text, Number(node.text) <= largestNarrow);
    case 'real':
      return realConstant(node.text);
    case 'column':
      return printColumn(node, find);
    case 'unary':
      return printUnary(node.operator, print(node.of));
    case 'binary':
      if (node.operator === '->' || node.operator === '->>') {
        return printJsonPiece(node.operator, print(node.left), node.right);
      }
      if (node.operator === 'is' || node.operator === 'isNot') {
        const truth = truthOf(node.right, find);
        if (truth !== undefined) {
          const not = node.operator === 'is' ? '' : 'NOT ';
          return condition(`(${asCondition(print(node.left))} IS ${not}${truth})`);
        }
      }
      return printBinary(node.operator, print(node.left), print(node.right));
    case 'isNull':
      return condition(`(${print(node.of).sql} IS NULL)`);
    case 'between': {
      const of = print(node.of);
      const low = compare('>=', of, print(node.low)).sql;
      return condition(`(${low} AND ${compare('<=', of, print(node.high)).sql})`);
    }
    case 'in':
      return printIn(print(node.of), node.items.map(print));
    case 'case':
      return printCase(node, print);
    case 'cast':
      return printCast(print(node.of), node.type);
    case 'call':
      return callFunction(node.name, node.items, print);
  }
}

function realConstant(written: string): Printed {
  if (!Number.isFinite(Number(written))) throw new NotPortable(`${written} is too large`);
  return real(`${written}::double precision`);
}

/** `true` and `false` are constants if no column has that name. */
function printColumn(node: Node & { readonly kind: 'column' }, find: FindColumn): Printed {
  const found = find(node.name);
  if (found !== undefined) return found;
  const truth = truthOf(node, find);
  if (truth !== undefined) return condition(truth);
  throw new NotPortable(`it uses ${node.name}, which is not an attribute of the dataclass`);
}

function truthOf(node: Node, find: FindColumn): 'true' | 'false' | undefined {
  if (node.kind !== 'column' || node.isQuoted || find(node.name) !== undefined) return undefined;
  const lower = node.name.toLowerCase();
  return lower === 'true' || lower === 'false' ? lower : undefined;
}

function printUnary(operator: 'not' | '-' | '+' | '~', of: Printed): Printed {
  if (operator === 'not') return condition(`(NOT ${asCondition(of)})`);
  if (operator === '+') return of;
  if (operator === '~') return integer(`(~ ${asInteger(of).sql}::bigint)`);
  const found = asNumber(of);
  const sql = `(- ${found.sql})`;
  return found.kind === 'integer'
    ? integer(sql, found.isNarrow === true)
    : number(sql, wholeOf(found));
}

function printIn(of: Printed, items: readonly Printed[]): Printed {
  if (items.length === 0) return condition('false');
  const tests = items.map((item) => compare('=', of, item).sql);
  return condition(`(${tests.join(' OR ')})`);
}

function printCase(
  { of, branches, otherwise }: Node & { readonly kind: 'case' },
  print: (node: Node) => Printed,
): Printed {
  const subject = of === undefined ? undefined : print(of);
  const tests = branches.map(({ when }) => {
    const found = print(when);
    return subject === undefined ? asCondition(found) : compare('=', subject, found).sql;
  });
  const results = branches.map(({ then }) => print(then));
  const last: Printed = otherwise === undefined ? { sql: 'NULL', kind: 'null' } : print(otherwise);
  return oneOf([...results, last], (sqls) => {
    const texts = tests.map((test, index) => `WHEN ${test} THEN ${sqls[index] ?? ''}`);
    return `(CASE ${texts.join(' ')} ELSE ${sqls.at(-1) ?? ''} END)`;
  });
}

/** SQLite derives the meaning from parts of the type's name. */
function printCast(of: Printed, type: string): Printed {
  const name = type.toUpperCase();
  if (name.includes('INT')) return asInteger(of);
  if (/CHAR|CLOB|TEXT/.test(name)) return text(asText(of));
  if (name === '' || name.includes('BLOB')) throw new NotPortable('it makes bytes of a value');
  const found = asNumber(of);
  if (/REAL|FLOA|DOUB/.test(name)) return real(`${found.sql}::double precision`);
  return found;
}

const comparing = new Set(['=', '<>', '<', '<=', '>', '>=', 'is', 'isNot', 'like']);
const comparingFunctions = new Set(['instr', 'lower', 'max', 'min', 'nullif', 'replace', 'upper']);

/**
 * Whether a part of an expression needs a collation for texts. PostgreSQL computes constants when
 * it creates a column, and knows no collation then.
 */
function comparesTexts(node: Node): boolean {
  switch (node.kind) {
    case 'binary':
      return comparing.has(node.operator);
    case 'call':
      return comparingFunctions.has(node.name);
    case 'in':
    case 'between':
      return true;
    case 'case':
      return node.of !== undefined;
    case 'null':
    case 'text':
    case 'integer':
    case 'real':
    case 'column':
    case 'unary':
    case 'isNull':
    case 'cast':
      return false;
  }
}

/** Whether the value of a part of an expression may differ between entities. */
function speaksOfColumn(node: Node): boolean {
  return node.kind === 'column' || partsOf(node).some(speaksOfColumn);
}

function partsOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'unary':
    case 'isNull':
    case 'cast':
      return [node.of];
    case 'binary':
      return [node.left, node.right];
    case 'in':
      return [node.of, ...node.items];
    case 'between':
      return [node.of, node.low, node.high];
    case 'call':
      return node.items;
    case 'case':
      return [
        ...[node.of, node.otherwise].flatMap((each) => each ?? []),
        ...node.branches.flatMap(({ when, then }) => [when, then]),
      ];
    case 'null':
    case 'text':
    case 'integer':
    case 'real':
    case 'column':
      return [];
  }
}
