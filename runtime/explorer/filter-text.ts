import type { ExplorerAttribute } from './model.js';

/** A path as filters and orders name it: other names than plain words stand in brackets (`filters.md`, F15). */
export function pathText(path: string): string {
  return path
    .split('.')
    .map((name) => (/^\w+$/.test(name) ? name : `[${name}]`))
    .join('.');
}

/** A value in quotes, whatever it holds (`filters.md`, F10). */
export function quoted(value: string): string {
  return `"${value.replace(/[\\"]/g, '\\$&')}"`;
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
  return kind === 'decimal' ? value : quoted(value);
}

/** A filter with one more condition. */
export function narrowed(filter: string, condition: string): string {
  if (filter === '') return condition;
  // AND binds tighter than OR.
  return /\bor\b|\|/i.test(filter) ? `(${filter}) AND ${condition}` : `${filter} AND ${condition}`;
}
