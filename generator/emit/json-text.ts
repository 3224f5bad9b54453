import type { Json } from '../../runtime/protocol/opened-document.js';
import { escaped, maxWidth, numberLiteral, width } from './layout.js';

/**
 * JSON as prettier would write it, except that long lists of numbers have a line for each.
 * @param indent columns by which the line of the value is indented
 * @param before columns of the line before the value, indentation included
 * @param after columns that must follow it in the line, such as a comma
 */
export function jsonText(value: Json, indent = 0, before = 0, after = 0): string {
  const flat = flatText(value);
  const isFlat = !mustBreak(value) && before + width(flat) + after <= maxWidth;
  if (isFlat || typeof value !== 'object' || value === null) return flat;
  const margin = ' '.repeat(indent + 2);
  const members = Object.entries(value as Readonly<Record<string, Json>>);
  const lines = members.map(([name, member], index) => {
    const start = Array.isArray(value) ? margin : `${margin}${textLiteral(name)}: `;
    const comma = index < members.length - 1 ? ',' : '';
    return `${start}${jsonText(member, indent + 2, width(start), comma.length)}${comma}\n`;
  });
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return `${open}\n${lines.join('')}${' '.repeat(indent)}${close}`;
}

function flatText(value: Json): string {
  if (typeof value === 'string') return textLiteral(value);
  if (typeof value === 'number') return numberLiteral(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(flatText).join(', ')}]`;
  const members = Object.entries(value).map(
    ([name, member]) => `${textLiteral(name)}: ${flatText(member)}`,
  );
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

/** Prettier always breaks a list of several objects, or of several lists. */
function mustBreak(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const members = Object.values(value);
  if (members.some(mustBreak)) return true;
  if (!isList(value) || members.length < 2) return false;
  const first = isList(members[0]);
  return members.every(
    (each) =>
      typeof each === 'object' &&
      each !== null &&
      isList(each) === first &&
      Object.keys(each).length > 1,
  );
}

function textLiteral(text: string): string {
  return JSON.stringify(text).replace(/[\p{Cf}\p{Co}\u2028\u2029]/gu, escaped);
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
