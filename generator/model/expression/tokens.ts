import { NotPortable } from './not-portable.js';

/** A piece of an SQL expression. */
export type Token =
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
export function tokensOf(expression: string): readonly Token[] {
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
