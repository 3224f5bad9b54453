import type { SourceField, StorageType } from './source-model.js';

// Reads the SQL of schemas: defaults, CHECK rules and CREATE TABLE. What is
// not understood is left to the report.

interface Token {
  readonly kind: 'name' | 'word' | 'text' | 'number' | 'mark';
  /** The text without quotes; words are in lower case. */
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

const forms: readonly (readonly [Token['kind'] | 'skip', RegExp])[] = [
  ['skip', /\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y],
  ['text', /'(?:[^']|'')*'/y],
  ['name', /"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]/y],
  ['number', /(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?/iy],
  ['word', /[\p{L}_][\p{L}\p{N}_$]*/uy],
  ['mark', /::|<=|>=|<>|!=|==|\|\||~~|./suy],
];

/** @param brackets whether `[a]` is a name, as in SQLite, not a list, as in PostgreSQL */
function tokensOf(sql: string, brackets: boolean): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < sql.length;) {
    let end = at + 1;
    for (const [kind, form] of forms) {
      form.lastIndex = at;
      const text = form.exec(sql)?.[0];
      if (text === undefined || (kind === 'name' && text.startsWith('[') && !brackets)) continue;
      end = at + text.length;
      if (kind !== 'skip') tokens.push({ kind, value: valueOf(kind, text), start: at, end });
      break;
    }
    at = end;
  }
  return tokens;
}

function valueOf(kind: Token['kind'], text: string): string {
  if (kind === 'word') return text.toLowerCase();
  if (kind !== 'text' && kind !== 'name') return text;
  const quote = text.slice(0, 1);
  const inner = text.slice(1, -1);
  return quote === '[' ? inner : inner.replaceAll(quote + quote, quote);
}

type Literal = string | number | boolean | null;

type Expression =
  | { readonly kind: 'literal'; readonly value: Literal }
  | { readonly kind: 'column'; readonly name: string }
  | { readonly kind: 'length'; readonly of: Expression }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  | {
      readonly kind: 'compare';
      readonly operator: string;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'and'; readonly parts: readonly Expression[] };

/** An expression is more than this reads: a function, OR, arithmetic. */
class NotUnderstood extends Error {
  override readonly name = 'NotUnderstood';
}

const deepest = 50;

class Parser {
  #at = 0;
  #depth = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  whole(): Expression {
    const found = this.#and();
    if (this.#at < this.tokens.length) throw new NotUnderstood();
    return found;
  }

  #peek(offset = 0): string | undefined {
    const token = this.tokens[this.#at + offset];
    return token === undefined || token.kind === 'text' || token.kind === 'name'
      ? undefined
      : token.value;
  }

  #next(): Token {
    const token = this.tokens[this.#at];
    if (token === undefined) throw new NotUnderstood();
    this.#at += 1;
    return token;
  }

  #takes(...values: readonly string[]): boolean {
    if (!values.every((value, index) => this.#peek(index) === value)) return false;
    this.#at += values.length;
    return true;
  }

  #expect(value: string): void {
    if (!this.#takes(value)) throw new NotUnderstood();
  }

  #and(): Expression {
    const parts = [this.#comparison()];
    while (this.#takes('and')) parts.push(this.#comparison());
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : { kind: 'and', parts };
  }

  #comparison(): Expression {
    const left = this.#operand();
    if (this.#takes('in')) {
      this.#expect('(');
      return { kind: 'compare', operator: 'in', left, right: this.#list(')') };
    }
    if (this.#takes('between')) {
      const low = this.#operand();
      this.#expect('and');
      const high = this.#operand();
      return {
        kind: 'and',
        parts: [
          { kind: 'compare', operator: '>=', left, right: low },
          { kind: 'compare', operator: '<=', left, right: high },
        ],
      };
    }
    if (this.#takes('=', 'any')) {
      return { kind: 'compare', operator: 'in', left, right: this.#operand() };
    }
    const operator = this.#peek();
    if (operator === undefined || !['<', '<=', '>', '>=', '=', '=='].includes(operator))
      return left;
    this.#at += 1;
    return { kind: 'compare', operator, left, right: this.#operand() };
  }

  #operand(): Expression {
    this.#depth += 1;
    if (this.#depth > deepest) throw new NotUnderstood();
    const found = this.#primary();
    this.#depth -= 1;
    while (this.#takes('::')) this.#typeName();
    return found;
  }

  #typeName(): void {
    this.#next();
    while (
      this.#takes('varying') ||
      this.#takes('precision') ||
      this.#takes('without') ||
      this.#takes('with') ||
      this.#takes('time') ||
      this.#takes('zone') ||
      this.#takes('.')
    ) {
      if (this.tokens[this.#at - 1]?.value === '.') this.#next();
    }
    if (this.#takes('(')) this.#list(')');
    while (this.#takes('[', ']')) continue;
  }

  #primary(): Expression {
    if (this.#takes('(')) {
      const inner = this.#and();
      this.#expect(')');
      return inner;
    }
    if (this.#takes('array', '[')) return this.#list(']');
    const isNegative = this.#takes('-');
    if (!isNegative) this.#takes('+');
    const token = this.#next();
    if (token.kind === 'number') {
      const value = Number(token.value);
      return { kind: 'literal', value: isNegative ? -value : value };
    }
    if (isNegative) throw new NotUnderstood();
    if (token.kind === 'text') return { kind: 'literal', value: token.value };
    if (token.kind === 'name') return { kind: 'column', name: token.value };
    if (token.kind !== 'word') throw new NotUnderstood();
    if (token.value === 'null') return { kind: 'literal', value: null };
    if (token.value === 'true' || token.value === 'false') {
      return { kind: 'literal', value: token.value === 'true' };
    }
    if (['length', 'char_length', 'character_length'].includes(token.value) && this.#takes('(')) {
      const of = this.#operand();
      this.#expect(')');
      return { kind: 'length', of };
    }
    if (this.#peek() === '(' || ['case', 'not', 'exists', 'cast'].includes(token.value)) {
      throw new NotUnderstood();
    }
    return { kind: 'column', name: token.value };
  }

  #list(end: string): Expression {
    const items: Expression[] = [];
    while (!this.#takes(end)) {
      items.push(this.#operand());
      if (this.#peek() !== end) this.#expect(',');
    }
    return { kind: 'list', items };
  }
}

function parsed(sql: string, brackets: boolean): Expression | undefined {
  try {
    return new Parser(tokensOf(sql, brackets)).whole();
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}

/** A default that is one value for all rows; `undefined` if the database computes it. */
export function constantOf(sql: string): Literal | undefined {
  const found = parsed(sql, true);
  if (found?.kind === 'literal') return found.value;
  // SQLite takes a quoted name that names nothing as a text.
  return found?.kind === 'column' && /^\s*"/.test(sql) ? found.name : undefined;
}

/** A constant as a value of a type; `undefined` if it is none. */
export function asType(
  type: StorageType,
  dateOnly: boolean,
  value: string | number | boolean,
): string | number | boolean | undefined {
  switch (type) {
    case 'boolean':
      if (typeof value === 'boolean') return value;
      if (/^(?:1|t|true|y|yes|on)$/i.test(String(value))) return true;
      return /^(?:0|f|false|n|no|off)$/i.test(String(value)) ? false : undefined;
    case 'integer':
    case 'decimal':
    case 'number': {
      const number =
        typeof value === 'boolean'
          ? Number(value)
          : String(value).trim() === ''
            ? NaN
            : Number(value);
      return Number.isFinite(number) ? number : undefined;
    }
    case 'string':
    case 'uuid':
      return String(value);
    case 'date': {
      const text = String(value).trim().replace(' ', 'T');
      if (dateOnly) return /^\d{4}-\d{2}-\d{2}/.exec(text)?.[0];
      return text.replace(/\.(\d{3})\d+/, '.$1').replace(/([+-]\d{2})$/, '$1:00');
    }
    case 'duration':
    case 'object':
    case 'image':
    case 'blob':
    case 'vector':
      return undefined;
  }
}

export type Rule = Partial<Pick<SourceField, 'enum' | 'min' | 'max' | 'minLength' | 'maxLength'>>;

interface ColumnRule {
  /** The column as the database writes it: folded by PostgreSQL, in any case by SQLite. */
  readonly column: string;
  readonly rule: Rule;
}

/** What a CHECK says of one column; `undefined` if it says anything else. */
export function ruleOf(
  sql: string,
  options: { readonly brackets: boolean; readonly isInteger: (column: string) => boolean },
): ColumnRule | undefined {
  const found = parsed(sql, options.brackets);
  const parts = found?.kind === 'and' ? flat(found) : found === undefined ? [] : [found];
  let column: string | undefined;
  let rule: Rule = {};
  for (const part of parts) {
    const each = part.kind === 'compare' ? comparisonRule(part, options.isInteger) : undefined;
    if (each === undefined || (column ?? each.column) !== each.column) return undefined;
    if (Object.keys(each.rule).some((key) => key in rule)) return undefined;
    column = each.column;
    rule = { ...rule, ...each.rule };
  }
  return column === undefined ? undefined : { column, rule };
}

/** Both rules together. */
export function narrowed(a: Rule, b: Rule): Rule {
  const [minLength, maxLength] = [
    largest(a.minLength, b.minLength),
    smallest(a.maxLength, b.maxLength),
  ];
  const [min, max] = [largest(a.min, b.min), smallest(a.max, b.max)];
  const values =
    a.enum === undefined ? b.enum : a.enum.filter((each) => b.enum?.includes(each) ?? true);
  return {
    ...(values === undefined ? {} : { enum: values }),
    ...(minLength === undefined ? {} : { minLength }),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
  };
}

function largest<Value extends string | number>(
  a: Value | undefined,
  b: Value | undefined,
): Value | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a > b ? a : b;
}

function smallest<Value extends string | number>(
  a: Value | undefined,
  b: Value | undefined,
): Value | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}

function flat(expression: Expression): readonly Expression[] {
  return expression.kind === 'and' ? expression.parts.flatMap(flat) : [expression];
}

const mirrored: Readonly<Record<string, string>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' };

function comparisonRule(
  { operator, left, right }: Extract<Expression, { kind: 'compare' }>,
  isInteger: (column: string) => boolean,
): ColumnRule | undefined {
  if (left.kind === 'literal') {
    const turned = mirrored[operator];
    if (turned === undefined || right.kind === 'literal') return undefined;
    return comparisonRule(
      { kind: 'compare', operator: turned, left: right, right: left },
      isInteger,
    );
  }
  if (operator === 'in' && left.kind === 'column' && right.kind === 'list') {
    const values = right.items.flatMap((each) =>
      each.kind === 'literal' && (typeof each.value === 'string' || typeof each.value === 'number')
        ? [each.value]
        : [],
    );
    return values.length === right.items.length && values.length > 0
      ? { column: left.name, rule: { enum: values } }
      : undefined;
  }
  if (right.kind !== 'literal' || typeof right.value !== 'number') return undefined;
  const { value } = right;
  if (left.kind === 'length' && left.of.kind === 'column') {
    const column = left.of.name;
    if (!Number.isSafeInteger(value)) return undefined;
    if (operator === '<=' || operator === '<') {
      return { column, rule: { maxLength: operator === '<' ? value - 1 : value } };
    }
    if (operator === '>=' || operator === '>') {
      return { column, rule: { minLength: operator === '>' ? value + 1 : value } };
    }
    return operator === '=' || operator === '=='
      ? { column, rule: { minLength: value, maxLength: value } }
      : undefined;
  }
  if (left.kind !== 'column') return undefined;
  const column = left.name;
  // Only whole numbers have a next one.
  const canStep = isInteger(column) && Number.isSafeInteger(value);
  if (operator === '>=') return { column, rule: { min: value } };
  if (operator === '<=') return { column, rule: { max: value } };
  if (operator === '>' && canStep) return { column, rule: { min: value + 1 } };
  if (operator === '<' && canStep) return { column, rule: { max: value - 1 } };
  return undefined;
}

export interface CreateTable {
  /** SQL of the CHECK rules. */
  readonly checks: readonly string[];
  /** SQL of generated columns, by the folded name. */
  readonly generated: ReadonlyMap<string, string>;
}

/** What only the text of SQLite's CREATE TABLE tells. */
export function readCreateTable(sql: string): CreateTable {
  const tokens = tokensOf(sql, true);
  const checks: string[] = [];
  const generated = new Map<string, string>();
  const open = tokens.findIndex(({ kind, value }) => kind === 'mark' && value === '(');
  let depth = 0;
  let column = '';
  let isStart = true;
  for (let index = open; index >= 0 && index < tokens.length; index += 1) {
    const token = tokens[index];
    if (token === undefined) break;
    if (token.kind === 'mark' && token.value === '(') depth += 1;
    if (token.kind === 'mark' && token.value === ')') depth -= 1;
    if (depth === 0) break;
    if (depth === 1 && token.kind === 'mark' && token.value === ',') isStart = true;
    else if (depth === 1 && isStart && token.kind !== 'mark') {
      column = token.value;
      isStart = false;
    }
    if (token.kind !== 'word' || depth !== 1) continue;
    if (token.value !== 'check' && token.value !== 'as') continue;
    const inner = insideParentheses(sql, tokens, index + 1);
    if (inner === undefined) continue;
    if (token.value === 'check') checks.push(inner.text);
    else generated.set(column.toLowerCase(), inner.text);
    index = inner.last;
  }
  return { checks, generated };
}

function insideParentheses(
  sql: string,
  tokens: readonly Token[],
  first: number,
): { readonly text: string; readonly last: number } | undefined {
  const start = tokens[first];
  if (start?.kind !== 'mark' || start.value !== '(') return undefined;
  let depth = 0;
  for (let index = first; index < tokens.length; index += 1) {
    const token = tokens[index];
    if (token?.kind !== 'mark') continue;
    if (token.value === '(') depth += 1;
    if (token.value === ')') depth -= 1;
    if (depth === 0) return { text: sql.slice(start.end, token.start).trim(), last: index };
  }
  return undefined;
}
