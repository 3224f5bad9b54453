import { sql } from 'kysely';
import type { Sql } from '../dialect/dialect.js';
import type { RequestError } from '../protocol/errors.js';
import type { Comparator, ComparisonNode } from './ast.js';
import type { FilterContext } from './context.js';
import { filterError } from './filter-error.js';

export type OrderComparator = Extract<Comparator, '<' | '<=' | '>' | '>='>;

export const orders: Readonly<Record<OrderComparator, Sql>> = {
  '<': sql`<`,
  '<=': sql`<=`,
  '>': sql`>`,
  '>=': sql`>=`,
};

/** Whether a comparison takes the wildcards that its value holds as such (protocol 7.3). */
export function takesPattern(context: FilterContext, node: ComparisonNode, input: number): boolean {
  const { comparator } = node;
  const isWild = comparator === '=' || comparator === '!=' || comparator === 'in';
  return isWild && context.patterns.has(input);
}

export function wrongComparator(node: ComparisonNode, reason: string): RequestError {
  return filterError(node.path.start, reason, 'wrongComparator');
}

/** The path as the client wrote it: what it leads to may have a name that clients do not know. */
export function written({ path }: ComparisonNode): string {
  return path.steps.map((step) => step.name).join('.');
}
