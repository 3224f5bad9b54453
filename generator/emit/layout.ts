import { eastAsianWidth } from 'get-east-asian-width';
import type { Json } from '../../runtime/protocol/opened-document.js';

/** A value that can be a literal in emitted code; absent properties are left out. */
export type Literal =
  | string
  | number
  | boolean
  | null
  | RawCode
  | Documented
  | readonly Literal[]
  | { readonly [name: string]: Literal | undefined };

/**
 * Code that is written unchanged; only for text that is not from a model, or that a helper of this
 * folder has escaped.
 */
export class RawCode {
  constructor(readonly code: string) {}
}

/** A member of a list with a doc comment above it. */
export class Documented {
  constructor(
    readonly description: string,
    readonly value: { readonly [name: string]: Literal | undefined },
  ) {}
}

/**
 * Columns of a line, as prettier counts them; emitted code is formatted as prettier would, at less
 * cost.
 */
const maxWidth = 100;

/** An emoji takes two columns, however many characters it is made of. */
const emoji = new RegExp('\\p{RGI_Emoji}|\\p{Emoji_Modifier_Base}', 'gv');

/** Columns that a text takes up; wide characters take two. */
export function width(text: string): number {
  if (isPrintableAscii(text)) return text.length;
  let columns = 0;
  const rest = text.replace(emoji, () => {
    columns += 2;
    return '';
  });
  for (const character of rest) {
    const point = character.codePointAt(0) ?? 0;
    if (point <= 0x1f || (point >= 0x7f && point <= 0x9f)) continue;
    if (/^[\p{Mn}\p{Me}]$/u.test(character)) continue;
    columns += eastAsianWidth(point);
  }
  return columns;
}

/**
 * Behind a label of up to that many columns prettier never breaks a line, because nothing would be
 * gained.
 */
const shortLabel = 5;

export function fits(line: string): boolean {
  return width(line) <= maxWidth;
}

function isPrintableAscii(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}

/**
 * A literal as code. What fits into the line stays in it.
 * @param indent columns by which the line of the literal is indented
 * @param before columns of the line before the literal, indentation included
 * @param after columns that must follow it in the line, such as a comma
 */
export function literal(value: Literal, indent: number, before: number, after: number): string {
  const flat = flatLiteral(value);
  if (!mustBreak(value) && before + width(flat) + after <= maxWidth) return flat;
  const inner = ' '.repeat(indent + 2);
  const end = ' '.repeat(indent);
  if (Array.isArray(value)) {
    const items = value as readonly Literal[];
    if (items.length === 0) return '[]';
    if (items.every((item) => typeof item === 'number')) return filled(items, indent);
    const lines = items.map((item) => {
      const above = item instanceof Documented ? docComment(item.description, indent + 2) : '';
      return `${above}${inner}${literal(bare(item), indent + 2, indent + 2, 1)},\n`;
    });
    return `[\n${lines.join('')}${end}]`;
  }
  if (isObject(value)) {
    const lines = entries(value).map(([name, member]) => {
      if (isShort(name, member)) return `${inner}${name},\n`;
      const label = `${propertyName(name)}:`;
      const start = indent + 2 + width(label) + 1;
      const stays =
        typeof member === 'boolean' ||
        (typeof member === 'number' && !(member < 0)) ||
        (width(label) <= shortLabel && !label.startsWith('['));
      return stays || start + width(firstPart(member, ',')) <= maxWidth
        ? `${inner}${label} ${literal(member, indent + 2, start, 1)},\n`
        : `${inner}${label}\n${inner}  ${literal(member, indent + 4, indent + 4, 1)},\n`;
    });
    return `{\n${lines.join('')}${end}}`;
  }
  return flat;
}

/** `head = literal;`, with the literal below the head if its first line does not fit behind it. */
export function declaration(head: string, value: Literal): string {
  return fits(`${head} = ${firstPart(value, ';')}`)
    ? `${head} = ${literal(value, 0, width(head) + 3, 1)};`
    : `${head} =\n  ${literal(value, 2, 2, 1)};`;
}

/**
 * JSON as prettier would write it, except that long lists of numbers have a line for each.
 * @param indent columns by which the line of the value is indented
 * @param before columns of the line before the value, indentation included
 * @param after columns that must follow it in the line, such as a comma
 */
export function jsonText(value: Json, indent = 0, before = 0, after = 0): string {
  const flat = flatJson(value);
  const isFlat = !mustBreak(value) && before + width(flat) + after <= maxWidth;
  if (isFlat || typeof value !== 'object' || value === null) return flat;
  const margin = ' '.repeat(indent + 2);
  const members = Object.entries(value as Readonly<Record<string, Json>>);
  const lines = members.map(([name, member], index) => {
    const start = Array.isArray(value) ? margin : `${margin}${jsonLiteral(name)}: `;
    const comma = index < members.length - 1 ? ',' : '';
    return `${start}${jsonText(member, indent + 2, width(start), comma.length)}${comma}\n`;
  });
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return `${open}\n${lines.join('')}${' '.repeat(indent)}${close}`;
}

/**
 * The part at the beginning of a literal that must be in one line: all of it if it cannot be
 * broken.
 */
function firstPart(value: Literal, after: string): string {
  const flat = flatLiteral(value);
  const isBreakable = Array.isArray(value)
    ? value.length > 0
    : isObject(value) && entries(value).length > 0;
  return isBreakable ? flat.slice(0, 1) : `${flat}${after}`;
}

/** Prettier fills lines with numbers; other members get a line each. */
function filled(items: readonly number[], indent: number): string {
  const inner = ' '.repeat(indent + 2);
  const lines: string[] = [];
  let line = '';
  for (const item of items) {
    const text = `${numberLiteral(item)},`;
    if (line !== '' && indent + 2 + line.length + 1 + text.length > maxWidth) {
      lines.push(line);
      line = text;
    } else {
      line = line === '' ? text : `${line} ${text}`;
    }
  }
  lines.push(line);
  return `[\n${lines.map((each) => `${inner}${each}\n`).join('')}${' '.repeat(indent)}]`;
}

/** Prettier always breaks a list of several objects, or of several lists. */
function mustBreak(value: Literal): boolean {
  if (Array.isArray(value)) {
    const items = value as readonly Literal[];
    const isTable =
      items.length > 1 &&
      (items.map(bare).every((item) => isObject(item) && entries(item).length > 1) ||
        items.every((item) => Array.isArray(item) && item.length > 1));
    return isTable || items.some((item) => item instanceof Documented || mustBreak(item));
  }
  return isObject(value) && entries(value).some(([, member]) => mustBreak(member));
}

/** Whether a property is the variable of its name: `{ access }`. */
function isShort(name: string, member: Literal): boolean {
  return member instanceof RawCode && member.code === name;
}

function flatLiteral(value: Literal): string {
  if (typeof value === 'string') return stringLiteral(value);
  if (typeof value === 'number') return numberLiteral(value);
  if (value === null || typeof value === 'boolean') return String(value);
  if (value instanceof RawCode) return value.code;
  if (value instanceof Documented) return flatLiteral(value.value);
  if (Array.isArray(value)) return `[${(value as readonly Literal[]).map(flatLiteral).join(', ')}]`;
  if (!isObject(value)) throw new Error('A literal is a text, a number, a list or an object.');
  const members = entries(value).map(([name, member]) =>
    isShort(name, member) ? name : `${propertyName(name)}: ${flatLiteral(member)}`,
  );
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

function flatJson(value: Json): string {
  if (typeof value === 'string') return jsonLiteral(value);
  if (typeof value === 'number') return numberLiteral(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(flatJson).join(', ')}]`;
  const members = Object.entries(value).map(
    ([name, member]) => `${jsonLiteral(name)}: ${flatJson(member)}`,
  );
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

function jsonLiteral(text: string): string {
  return JSON.stringify(text).replace(/[\p{Cf}\p{Co}\u2028\u2029]/gu, escaped);
}

/** `1e21`, where JavaScript writes `1e+21`. */
function numberLiteral(value: number): string {
  return String(value).replace('e+', 'e');
}

function bare(value: Literal): Literal {
  return value instanceof Documented ? value.value : value;
}

function isObject(value: Literal): value is { readonly [name: string]: Literal | undefined } {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof RawCode) &&
    !(value instanceof Documented)
  );
}

function entries(value: { readonly [name: string]: Literal | undefined }): [string, Literal][] {
  return Object.entries(value).filter(
    (entry): entry is [string, Literal] => entry[1] !== undefined,
  );
}

/**
 * A text as a string literal: in single quotes, unless it contains more of them than double ones.
 */
export function stringLiteral(text: string): string {
  const quote = count(text, "'") > count(text, '"') ? '"' : "'";
  let code = quote;
  for (const character of text) {
    if (character === quote || character === '\\') code += `\\${character}`;
    else
      code += /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/u.test(character)
        ? escaped(character)
        : character;
  }
  return code + quote;
}

function count(text: string, character: string): number {
  return text.split(character).length - 1;
}

function escaped(character: string): string {
  const names: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
  const known = names[character];
  if (known !== undefined) return known;
  return Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');
}

const simpleName = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
const anyName = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;

/**
 * A name as a property of an object. `__proto__` would set the prototype; and whether prettier
 * quotes a name beyond ASCII depends on its version of Unicode, so both are written in another
 * form.
 */
export function propertyName(name: string): string {
  if (simpleName.test(name) && name !== '__proto__') return name;
  return anyName.test(name) ? `[${stringLiteral(name)}]` : stringLiteral(name);
}

/** A call as a statement without its semicolon: in one line, or with an argument in each line. */
export function call(callee: string, args: readonly string[], indent: number): string {
  const flat = `${callee}(${args.join(', ')})`;
  if (indent + width(flat) + 1 <= maxWidth) return flat;
  const inner = ' '.repeat(indent + 2);
  return `${callee}(\n${args.map((each) => `${inner}${each},\n`).join('')}${' '.repeat(indent)})`;
}

/** A description as a doc comment, in lines that begin with `indent` spaces; empty for no description. */
export function docComment(text: string | undefined, indent = 0): string {
  if (text === undefined || text.trim() === '') return '';
  const margin = ' '.repeat(indent);
  const lines = text
    .trim()
    .replaceAll('*/', '*\\/')
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => line.trimEnd());
  if (lines.length === 1) return `${margin}/** ${String(lines[0])} */\n`;
  const body = lines.map((line) => (line === '' ? `${margin} *\n` : `${margin} * ${line}\n`));
  return `${margin}/**\n${body.join('')}${margin} */\n`;
}
