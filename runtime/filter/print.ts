import type {
  AttributePath,
  ComparisonNode,
  FilterNode,
  FilterValue,
  LiteralValue,
  PlaceholderValue,
} from './ast.js';

/** A filter without its values: filters of one shape need one SQL statement. */
export interface FilterShape {
  /** Canonical text with `?` for each literal and placeholder; null stays, since it makes another statement. */
  readonly shape: string;
  /** What the `?` stand for, in order. */
  readonly values: readonly FilterValue[];
}

/** A node still to be written, or text between nodes. */
type Pending = FilterNode | string;

/**
 * The canonical text of a parsed filter: no more parentheses than needed, comparators without synonyms, single quotes. To
 * parse it again gives the same tree, offsets aside.
 */
export function printFilter(node: FilterNode): string {
  return write(node, undefined);
}

/** The shape and the values of a parsed filter: `city = ? AND boss = null` for `city = 'Paris' and boss is NULL`. */
export function shapeOf(node: FilterNode): FilterShape {
  const values: FilterValue[] = [];
  const shape = write(node, values);
  return { shape, values };
}

/** Writes without recursion: a chain of a thousand ANDs is a thousand levels deep. */
function write(root: FilterNode, values: FilterValue[] | undefined): string {
  if (root.kind === 'comparison') return comparison(root, values);
  let text = '';
  const pending: Pending[] = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === 'string') {
      text += next;
      continue;
    }
    switch (next.kind) {
      case 'comparison':
        text += comparison(next, values);
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

function push(pending: Pending[], node: FilterNode, inParentheses: boolean): void {
  if (inParentheses) pending.push(')', node, '(');
  else pending.push(node);
}

function isLogical({ kind }: FilterNode): boolean {
  return kind === 'and' || kind === 'or' || kind === 'except';
}

function comparison(node: ComparisonNode, values: FilterValue[] | undefined): string {
  return `${pathText(node.path)} ${node.comparator} ${valueText(node.value, values)}`;
}

function pathText({ steps }: AttributePath): string {
  let text = '';
  for (const { name } of steps) text = text === '' ? name : `${text}.${name}`;
  return text;
}

function valueText(value: FilterValue, values: FilterValue[] | undefined): string {
  if (value.kind === 'null') return 'null';
  if (values !== undefined) {
    values.push(value);
    return '?';
  }
  if (value.kind === 'placeholder') return `:${placeholderName(value)}`;
  if (value.kind === 'literal') return literalText(value);
  return `[${value.items.map((item) => valueText(item, undefined)).join(', ')}]`;
}

/** What stands behind the colon of a placeholder. */
export function placeholderName({ key }: PlaceholderValue): string {
  return typeof key === 'number' ? String(key + 1) : key;
}

function literalText({ text, quoted }: LiteralValue): string {
  if (quoted) return `'${text.replace(/[\\']/g, '\\$&')}'`;
  return text.replace(/["']/g, (quote) => (quote === '"' ? '\\u0022' : '\\u0027'));
}
