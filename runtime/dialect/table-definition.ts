/** A column or a constraint in the text of a `CREATE TABLE`. */
export interface DefinitionPart {
  /** The column's name, or the first word of a constraint. */
  readonly name: string;
  /** The text as it was written. */
  readonly text: string;
  readonly isConstraint: boolean;
  /** Words, names, numbers, texts and operators as they were written. */
  readonly tokens: readonly string[];
}

interface TableDefinition {
  readonly parts: readonly DefinitionPart[];
  /** The text after the list, such as `WITHOUT ROWID`; usually empty. */
  readonly options: string;
}

interface Token {
  readonly text: string;
  readonly start: number;
}

/**
 * A doubled quote inside a quoted text starts the next token. Words may hold letters beyond ASCII. Numbers, BLOBs
 * and operators are single tokens, so that tokens joined by spaces keep their meaning.
 */
const tokenPattern =
  /[ \t\n\f\r]+|--[^\n]*|\/\*[^]*?(?:\*\/|$)|[xX]'[^']*'|(?:'[^']*')+|(?:"[^"]*")+|(?:`[^`]*`)+|\[[^\]]*\]|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w$\u{80}-\u{10ffff}])|[\w$\u{80}-\u{10ffff}]+|->>|->|<=|>=|<>|!=|==|\|\||<<|>>|::|[^]/gu;

const isBlank = /^(?:[ \t\n\f\r]|--|\/\*)/;

const constraintWords = new Set(['CONSTRAINT', 'PRIMARY', 'UNIQUE', 'CHECK', 'FOREIGN']);

/** Reads the columns and constraints of a `CREATE TABLE …` from `sqlite_schema`. */
export function readTableDefinition(sql: string): TableDefinition {
  const parts: DefinitionPart[] = [];
  let depth = 0;
  let part: Token[] = [];
  const options: Token[] = [];
  for (const token of tokensOf(sql)) {
    if (token.text === '(') depth += 1;
    if (token.text === ')') depth -= 1;
    const isEnd = (token.text === ',' && depth === 1) || (token.text === ')' && depth === 0);
    if (isEnd) {
      parts.push(partOf(sql, part));
      part = [];
    } else if (depth === 0) {
      if (parts.length > 0) options.push(token);
    } else if (depth > 1 || token.text !== '(') {
      part.push(token);
    }
  }
  return { parts, options: options.map(({ text }) => text).join(' ') };
}

/** The columns that a text may name: quoted names, and lower-case words except functions and types. */
export function wordsOf(sql: string): readonly string[] {
  const tokens = tokensOf(sql);
  return tokens.flatMap(({ text }, index) => {
    if (text.startsWith('"')) return [nameIn(text)];
    const isCalled = tokens[index + 1]?.text === '(' || tokens[index - 1]?.text === '::';
    return !isCalled && /^[a-z_\u{80}-\u{10ffff}][^A-Z]*$/u.test(text) ? [text] : [];
  });
}

function tokensOf(sql: string): Token[] {
  return [...sql.matchAll(tokenPattern)]
    .map((match) => ({ text: match[0], start: match.index }))
    .filter(({ text }) => !isBlank.test(text));
}

function partOf(sql: string, tokens: readonly Token[]): DefinitionPart {
  const [first] = tokens;
  const last = tokens.at(-1);
  if (first === undefined || last === undefined) throw new Error(`A part is empty: ${sql}`);
  const name = nameIn(first.text);
  return {
    name,
    isConstraint: constraintWords.has(first.text.toUpperCase()),
    text: sql.slice(first.start, last.start + last.text.length),
    tokens: tokens.map((each) => each.text),
  };
}

/** The tokens of a text without spaces and comments. */
export function sqlTokens(sql: string): readonly string[] {
  return tokensOf(sql).map(({ text }) => text);
}

/** The name in a quoted token; `undefined` for a word, an operator, a number or a text. */
export function quotedName(token: string): string | undefined {
  return /^["`[]/.test(token) ? nameIn(token) : undefined;
}

/** A name without its quotes. */
function nameIn(text: string): string {
  const [quote = ''] = text;
  if (quote === '[') return text.slice(1, -1);
  if (quote !== '"' && quote !== '`' && quote !== "'") return text;
  return text.slice(1, -1).replaceAll(quote + quote, quote);
}

/** A quoted name, as all statements of the schema write it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
