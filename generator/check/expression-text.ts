/** A text or a quoted name, whose content must be ignored. */
const quoted = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]/g;

/**
 * Why a text is not a single SQL expression, or could end the parentheses around it and continue
 * behind them; `undefined` if its tokens form one. Whether it has a meaning is for the database to
 * say.
 */
export function outsideOneExpression(text: string): string | undefined {
  if (text.trim() === '') return 'it is empty';
  // A database that reads texts up to NUL would not check the rest.
  if (text.includes('\0')) return 'it holds the character NUL';
  const open = withoutQuoted(text);
  if (/['"`[\]]/.test(open)) return 'a quote or bracket has no partner';
  if (open.includes('--') || open.includes('/*')) return 'it holds a comment';
  if (open.includes(';')) return 'it holds a semicolon';
  return unpairedParenthesis(open);
}

/** The expression with a space in place of each text and quoted name. */
export function withoutQuoted(text: string): string {
  return text.replace(quoted, ' ');
}

/** The texts of an expression, without their quotes. */
export function textsOf(expression: string): readonly string[] {
  const found = expression.match(quoted) ?? [];
  return found
    .filter((each) => each.startsWith("'"))
    .map((each) => each.slice(1, -1).replaceAll("''", "'"));
}

function unpairedParenthesis(text: string): string | undefined {
  let depth = 0;
  for (const character of text) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (depth < 0) return 'a closing parenthesis has no partner';
  }
  return depth === 0 ? undefined : 'an opening parenthesis has no partner';
}
