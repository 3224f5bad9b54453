/** A column or a constraint of a table, as the text that made the table has it. */
export interface DefinitionPart {
  /** The column's name; that of a constraint is its first word. */
  readonly name: string;
  /** As it was written. */
  readonly text: string;
  /** The same for texts that differ in spaces, comments and the case of words alone. */
  readonly normal: string;
  /** Its words, names, numbers, texts and signs, as they were written. */
  readonly tokens: readonly string[];
}

export interface TableDefinition {
  readonly parts: readonly DefinitionPart[];
  /** What stands behind the list, such as `WITHOUT ROWID`; empty for most tables. */
  readonly options: string;
}

interface Token {
  readonly text: string;
  readonly start: number;
}

/**
 * A quote that is doubled inside a quoted text begins the next piece of it. Letters beyond ASCII may stand in any word. Numbers,
 * BLOBs and operators are whole, so that tokens with spaces between them mean the same.
 */
const tokenPattern =
  /[ \t\n\f\r]+|--[^\n]*|\/\*[^]*?(?:\*\/|$)|[xX]'[^']*'|(?:'[^']*')+|(?:"[^"]*")+|(?:`[^`]*`)+|\[[^\]]*\]|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w$\u{80}-\u{10ffff}])|[\w$\u{80}-\u{10ffff}]+|->>|->|<=|>=|<>|!=|==|\|\||<<|>>|::|[^]/gu;

const isBlank = /^(?:[ \t\n\f\r]|--|\/\*)/;

const constraintWords = new Set(['CONSTRAINT', 'PRIMARY', 'UNIQUE', 'CHECK', 'FOREIGN']);

/**
 * Reads the columns and constraints of a table.
 * @param sql `CREATE TABLE …` as `sqlite_schema` has it, which SQLite has found right
 */
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
  return { parts, options: normalOf(options) };
}

/**
 * The columns that a text may name: names in quotes, and words in lower case as PostgreSQL writes them, but for functions and
 * types.
 */
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
  const isConstraint = constraintWords.has(first.text.toUpperCase());
  const beginning = isConstraint ? first.text.toUpperCase() : quoted(name);
  return {
    name,
    text: sql.slice(first.start, last.start + last.text.length),
    normal: [beginning, normalOf(tokens.slice(1))].join(' ').trimEnd(),
    tokens: tokens.map((each) => each.text),
  };
}

function normalOf(tokens: readonly Token[]): string {
  return tokens.map(({ text }) => normalToken(text)).join(' ');
}

/** The pieces of a text that mean something. */
export function sqlTokens(sql: string): readonly string[] {
  return tokensOf(sql).map(({ text }) => text);
}

/** What a token is without its quotes; `undefined` for a word, a sign, a number or a text. */
export function quotedName(token: string): string | undefined {
  return /^["`[]/.test(token) ? nameIn(token) : undefined;
}

function normalToken(text: string): string {
  if (text.startsWith("'")) return text;
  return /^["`[]/.test(text)
    ? quoted(nameIn(text))
    : text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/** What a name is without its quotes. */
function nameIn(text: string): string {
  const [quote = ''] = text;
  if (quote === '[') return text.slice(1, -1);
  if (quote !== '"' && quote !== '`' && quote !== "'") return text;
  return text.slice(1, -1).replaceAll(quote + quote, quote);
}

/** A name as every statement of the schema has it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
