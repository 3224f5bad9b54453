import { writtenName } from '../protocol/names.js';
import type { ExplorerAttribute } from './model.js';

/** A path as filters and orders name it. */
export function pathText(names: readonly string[]): string {
  return names.map(writtenName).join('.');
}

/** A value in quotes (filters F10); what a line cannot hold is escaped. */
export function quoted(text: string): string {
  const escaped = text
    .replaceAll(/["\\]/g, '\\$&')
    .replaceAll(
      /[\p{Cc}\u2028\u2029]/gu,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  return `"${escaped}"`;
}

/** A comparison, and what it is called in the form of a column. */
export interface Comparison {
  readonly name: string;
  /** The comparator, before the value; a whole comparison if it needs none. */
  readonly text: string;
  readonly hasValue: boolean;
}

const equal = [
  { name: 'is', text: '=', hasValue: true },
  { name: 'is not', text: '!=', hasValue: true },
];
const emptiness = [
  { name: 'is empty', text: 'IS null', hasValue: false },
  { name: 'is not empty', text: 'IS NOT null', hasValue: false },
];
const words = [
  { name: 'contains', text: 'contains', hasValue: true },
  { name: 'begins with', text: 'begin', hasValue: true },
];
const bounds = [
  { name: 'is at least', text: '>=', hasValue: true },
  { name: 'is at most', text: '<=', hasValue: true },
];

/** The comparisons that make sense for the values of an attribute. */
export function comparisonsOf({ kind }: ExplorerAttribute): readonly Comparison[] {
  switch (kind) {
    case 'text':
      return [...words, ...equal, ...emptiness];
    case 'number':
    case 'decimal':
    case 'duration':
    case 'date':
    case 'day':
      return [...bounds, ...equal, ...emptiness];
    case 'boolean':
    case 'uuid':
      return [...equal, ...emptiness];
    case 'object':
    case 'image':
    case 'blob':
    case 'one':
    case 'many':
      return emptiness;
  }
}

/** A value of an attribute as filters name it. */
export function valueText({ kind }: Pick<ExplorerAttribute, 'kind'>, value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (value instanceof Date) return quoted(value.toISOString());
  if (typeof value !== 'string') return JSON.stringify(value);
  return kind === 'decimal' && /^-?\d+(?:\.\d+)?$/.test(value) ? value : quoted(value);
}

/** A filter with further conditions; its order stays at its end. */
export function narrowed(filter: string, conditions: readonly string[]): string {
  const [, rest = '', order = ''] = /^(.*?)(\border\s+by\s[^"'<>=]*)?$/is.exec(filter) ?? [];
  const own = rest.trim();
  // AND binds tighter than OR.
  const first = /\bor\b|\|/i.test(own) ? `(${own})` : own;
  const all = [...(first === '' ? [] : [first]), ...conditions].join(' and ');
  return order === '' ? all : `${all} ${order}`;
}
