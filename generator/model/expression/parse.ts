import type { BinaryOperator, Branch, Node } from './ast.js';
import { NotPortable } from './not-portable.js';
/** An expression that is nested deeper is refused. */
const maxDepth = 200;

/** Operators by how tightly they bind, the loosest first; those of one row go from left to right. */
const rows: readonly (readonly string[])[] = [
  ['<', '<=', '>', '>='],
  ['&', '|', '<<', '>>'],
  ['+', '-'],
  ['*', '/', '%'],
  ['||', '->', '->>'],
];

/**
 * Parses an expression that SQLite has accepted.
 * @throws NotPortable for what has no equivalent in another database
 */
export function parseExpression(expression: string): Node {
  return new Parser(tokensOf(expression)).whole();
}

class Parser {
  #at = 0;
  #depth = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  whole(): Node {
    const node = this.#or();
    if (this.#next.kind !== 'end') throw this.#unexpected();
    return node;
  }

  get #next(): Token {
    return this.tokens[this.#at] ?? { kind: 'end', text: '' };
  }

  #isWord(text: string): boolean {
    const { kind, text: found } = this.#next;
    return kind === 'word' && found.toLowerCase() === text;
  }

  #takeWord(...texts: readonly string[]): boolean {
    const start = this.#at;
    for (const text of texts) {
      if (!this.#isWord(text)) {
        this.#at = start;
        return false;
      }
      this.#at += 1;
    }
    return true;
  }

  #takeMark(...texts: readonly string[]): string | undefined {
    const { kind, text } = this.#next;
    if (kind !== 'mark' || !texts.includes(text)) return undefined;
    this.#at += 1;
    return text;
  }

  #expect(text: string): void {
    if (/\w/.test(text) ? this.#takeWord(text) : this.#takeMark(text) !== undefined) return;
    throw this.#unexpected();
  }

  #unexpected(): NotPortable {
    const { kind, text } = this.#next;
    return new NotPortable(
      kind === 'end' ? 'it ends too early' : `what begins with ${text} is not known there`,
    );
  }

  #or(): Node {
    this.#depth += 1;
    if (this.#depth > maxDepth) throw new NotPortable('it is nested too deeply');
    let left = this.#and();
    while (this.#takeWord('or')) left = binary('or', left, this.#and());
    this.#depth -= 1;
    return left;
  }

  #and(): Node {
    let left = this.#not();
    while (this.#takeWord('and')) left = binary('and', left, this.#not());
    return left;
  }

  #not(): Node {
    let count = 0;
    while (this.#takeWord('not')) count += 1;
    let node = this.#equality();
    for (; count > 0; count -= 1) node = { kind: 'unary', operator: 'not', of: node };
    return node;
  }

  #equality(): Node {
    let left = this.#row(0);
    for (;;) {
      const further = this.#comparison(left);
      if (further === undefined) return left;
      left = further;
    }
  }

  #comparison(left: Node): Node | undefined {
    const mark = this.#takeMark('=', '==', '<>', '!=');
    if (mark !== undefined) {
      return binary(mark.startsWith('=') ? '=' : '<>', left, this.#row(0));
    }
    if (this.#takeWord('isnull')) return { kind: 'isNull', of: left };
    if (this.#takeWord('notnull') || this.#takeWord('not', 'null')) {
      return not({ kind: 'isNull', of: left });
    }
    if (this.#takeWord('is')) return this.#is(left);
    const isNegated = this.#takeWord('not');
    const found = this.#membership(left);
    if (found === undefined) {
      if (isNegated) throw this.#unexpected();
      return undefined;
    }
    return isNegated ? not(found) : found;
  }

  #is(left: Node): Node {
    const isDifferent = this.#takeWord('not', 'distinct', 'from');
    if (isDifferent) return binary('is', left, this.#row(0));
    if (this.#takeWord('distinct', 'from')) return binary('isNot', left, this.#row(0));
    const isNegated = this.#takeWord('not');
    if (this.#takeWord('null')) {
      const test: Node = { kind: 'isNull', of: left };
      return isNegated ? not(test) : test;
    }
    return binary(isNegated ? 'isNot' : 'is', left, this.#row(0));
  }

  #membership(left: Node): Node | undefined {
    if (this.#takeWord('between')) {
      const low = this.#row(0);
      this.#expect('and');
      return { kind: 'between', of: left, low, high: this.#row(0) };
    }
    if (this.#takeWord('in')) {
      this.#expect('(');
      return { kind: 'in', of: left, items: this.#list() };
    }
    return this.#takeWord('like') ? binary('like', left, this.#row(0)) : undefined;
  }

  #row(level: number): Node {
    const operators = rows[level];
    if (operators === undefined) return this.#unary();
    let left = this.#row(level + 1);
    for (;;) {
      const operator = this.#takeMark(...operators);
      if (operator === undefined) return left;
      if (operator === '<<' || operator === '>>') throw new NotPortable('it shifts bits');
      left = binary(operator as BinaryOperator, left, this.#row(level + 1));
    }
  }

  #unary(): Node {
    const operator = this.#takeMark('-', '+', '~');
    if (operator === undefined) return this.#primary();
    this.#depth += 1;
    if (this.#depth > maxDepth) throw new NotPortable('it is nested too deeply');
    const of = this.#unary();
    this.#depth -= 1;
    return { kind: 'unary', operator: operator as '-' | '+' | '~', of };
  }

  #primary(): Node {
    const token = this.#next;
    if (this.#takeMark('(') !== undefined) {
      const node = this.#or();
      this.#expect(')');
      return node;
    }
    if (token.kind === 'mark' || token.kind === 'end') throw this.#unexpected();
    this.#at += 1;
    if (token.kind === 'text') return { kind: 'text', value: token.text };
    if (token.kind === 'integer' || token.kind === 'real') {
      return { kind: token.kind, text: token.text };
    }
    if (this.#takeMark('(') !== undefined) return this.#call(token.text);
    if (token.kind === 'name') return { kind: 'column', name: token.text, isQuoted: true };
    return this.#word(token.text);
  }

  #word(text: string): Node {
    const lower = text.toLowerCase();
    if (lower === 'null') return { kind: 'null' };
    if (lower === 'case') return this.#case();
    return { kind: 'column', name: text, isQuoted: false };
  }

  #call(name: string): Node {
    if (name.toLowerCase() !== 'cast') {
      return { kind: 'call', name: name.toLowerCase(), items: this.#list() };
    }
    const of = this.#or();
    this.#expect('as');
    const words: string[] = [];
    while (this.#next.kind === 'word') {
      words.push(this.#next.text);
      this.#at += 1;
    }
    this.#expect(')');
    return { kind: 'cast', of, type: words.join(' ') };
  }

  #case(): Node {
    const of = this.#isWord('when') ? undefined : this.#or();
    const branches: Branch[] = [];
    while (this.#takeWord('when')) {
      const when = this.#or();
      this.#expect('then');
      branches.push({ when, then: this.#or() });
    }
    const otherwise = this.#takeWord('else') ? this.#or() : undefined;
    this.#expect('end');
    return {
      kind: 'case',
      ...(of === undefined ? {} : { of }),
      branches,
      ...(otherwise === undefined ? {} : { otherwise }),
    };
  }

  /** The items behind an open parenthesis. */
  #list(): Node[] {
    const items: Node[] = [];
    if (this.#takeMark(')') !== undefined) return items;
    do items.push(this.#or());
    while (this.#takeMark(',') !== undefined);
    this.#expect(')');
    return items;
  }
}

function binary(operator: BinaryOperator, left: Node, right: Node): Node {
  return { kind: 'binary', operator, left, right };
}

function not(of: Node): Node {
  return { kind: 'unary', operator: 'not', of };
}

/** A piece of an SQL expression. */
type Token =
  | { readonly kind: 'word'; readonly text: string }
  | { readonly kind: 'name'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'integer' | 'real'; readonly text: string }
  | { readonly kind: 'mark'; readonly text: string }
  | { readonly kind: 'end'; readonly text: '' };

const blank = /[ \t\n\f\r]+/y;
const real = /(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+/y;
const integer = /\d+/y;
const word = /[\p{L}_\u{80}-\u{10FFFF}][\p{L}\p{N}_$\u{80}-\u{10FFFF}]*/uy;
const quotedText = /'((?:[^']|'')*)'/y;
const quotedName = /"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|\[([^\]]*)\]/y;
const mark = /->>|->|\|\||<<|>>|<=|>=|<>|!=|==|[-+*/%=<>&|~(),]/y;

/**
 * Splits an expression into tokens. The checks of the model have accepted it already: no comment,
 * no semicolon, quotes in pairs.
 * @throws NotPortable for what has no equivalent in another database
 */
function tokensOf(expression: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(expression);
    if (found !== null) at += found[0].length;
    return found;
  };
  while (at < expression.length) {
    if (take(blank) !== null) continue;
    tokens.push(nextToken(take, expression, () => at));
  }
  return [...tokens, { kind: 'end', text: '' }];
}

function nextToken(
  take: (pattern: RegExp) => RegExpExecArray | null,
  expression: string,
  at: () => number,
): Token {
  const text = take(quotedText);
  if (text !== null) return { kind: 'text', text: (text[1] ?? '').replaceAll("''", "'") };
  const name = take(quotedName);
  if (name !== null) return { kind: 'name', text: unquoted(name) };
  const number = take(real);
  if (number !== null) return { kind: 'real', text: number[0] };
  const whole = take(integer);
  if (whole !== null) return { kind: 'integer', text: whole[0] };
  const found = take(word);
  if (found !== null) return { kind: 'word', text: found[0] };
  const sign = take(mark);
  if (sign !== null) return { kind: 'mark', text: sign[0] };
  throw new NotPortable(`it holds ${expression.slice(at(), at() + 1)}`);
}

function unquoted([whole, double, back, bracket]: RegExpExecArray): string {
  if (double !== undefined) return double.replaceAll('""', '"');
  if (back !== undefined) return back.replaceAll('``', '`');
  return bracket ?? whole;
}
