import { nameEnd } from '../protocol/names.js';
import type {
  ComparisonNode,
  FilterNode,
  FilterValue,
  LiteralValue,
  PathStep,
  AttributePath,
} from './ast.js';
import type { ParsedFilter } from './parser.js';
import { placeholderText } from './params.js';

/** A filter without its values: filters of one shape need one SQL statement. */
export interface FilterShape {
  /**
   * Canonical text with `?` for each literal, placeholder and list; null stays, because it makes
   * another statement. Filters that differ in more than values have different texts.
   */
  readonly shape: string;
  /** The comparisons with a `?`, in order. */
  readonly comparisons: readonly ComparisonNode[];
}

/** A node still to be written, or text between nodes. */
type OpenNode = FilterNode | string;

/**
 * The canonical text of a parsed filter: no more parentheses than needed, comparators without
 * synonyms, single quotes. Parsing it again returns the same tree, apart from offsets, unless a
 * path of a parameter has a name that cannot be written; such a name is printed in double quotes.
 */
export function printFilter({ filter, orderBy }: ParsedFilter): string {
  const text = write(filter, undefined);
  return orderBy === undefined ? text : `${text} order by${orderBy.text}`;
}

/** The shape and the values of a parsed filter: `city = ? AND boss = null` for `city = 'Paris' and boss is NULL`. */
export function shapeOf(node: FilterNode): FilterShape {
  const comparisons: ComparisonNode[] = [];
  const shape = write(node, comparisons);
  return { shape, comparisons };
}

/** Not recursive: a chain of a thousand ANDs is a thousand levels deep. */
function write(root: FilterNode, open: ComparisonNode[] | undefined): string {
  if (root.kind === 'comparison') return comparison(root, open);
  let text = '';
  const pending: OpenNode[] = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === 'string') {
      text += next;
      continue;
    }
    switch (next.kind) {
      case 'comparison':
        text += comparison(next, open);
        break;
      case 'computed':
        if (open === undefined) {
          text += comparison(next.comparison, undefined);
        } else {
          text += `${pathText(next.comparison.path)}:${next.isNullWanted ? 'null' : ''}(`;
          if (next.filter === undefined) pending.push(')');
          else pending.push(')', next.filter);
        }
        break;
      case 'not':
        pending.push(')', next.operand);
        text += 'NOT (';
        break;
      case 'or':
        push(pending, next.right, next.right.kind === 'or');
        pending.push(' OR ', next.left);
        break;
      case 'and':
      case 'except':
        push(pending, next.right, isLogical(next.right));
        pending.push(next.kind === 'and' ? ' AND ' : ' EXCEPT ');
        push(pending, next.left, next.left.kind === 'or');
        break;
    }
  }
  return text;
}

function push(pending: OpenNode[], node: FilterNode, inParentheses: boolean): void {
  if (inParentheses) pending.push(')', node, '(');
  else pending.push(node);
}

function isLogical({ kind }: FilterNode): boolean {
  return kind === 'and' || kind === 'or' || kind === 'except';
}

/** @param open gets the comparison if `?` is written for its value, which is not null */
function comparison(node: ComparisonNode, open: ComparisonNode[] | undefined): string {
  const { path, comparator, value } = node;
  const left = `${pathText(path)} ${comparator}`;
  if (open === undefined || value.kind === 'null') return `${left} ${valueText(value)}`;
  open.push(node);
  return `${left} ?`;
}

function pathText({ steps, placeholder }: AttributePath): string {
  if (steps.length === 0 && placeholder !== undefined) return `:${placeholderText(placeholder)}`;
  let text = '';
  for (const step of steps) text = text === '' ? stepText(step) : `${text}.${stepText(step)}`;
  return text;
}

function stepText({ name, ordinal, element }: PathStep): string {
  let text = nameEnd(name, 0) === name.length ? name : JSON.stringify(name);
  if (ordinal !== 1) text += `{${ordinal}}`;
  return element === undefined ? text : `${text}[${element}]`;
}

function valueText(value: FilterValue): string {
  switch (value.kind) {
    case 'null':
      return 'null';
    case 'placeholder':
      return `:${placeholderText(value)}`;
    case 'literal':
      return literalText(value);
    case 'list':
      return `[${value.items.map(valueText).join(', ')}]`;
  }
}

function literalText({ text, quoted }: LiteralValue): string {
  if (quoted) return `'${text.replace(/[\\']/g, '\\$&')}'`;
  return text.replace(/["']/g, (quote) => (quote === '"' ? '\\u0022' : '\\u0027'));
}
