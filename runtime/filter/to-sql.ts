import type { From, Source } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import type { FilterNode } from './ast.js';
import type { FilterContext } from './context.js';
import { Followed, type WritingContext } from './followed.js';
import { all, any, not } from './logic.js';
import { comparisons } from './related.js';
import { type Pending, resolve } from './resolve.js';

/**
 * Writes a filter as a condition over a table (protocol section 7, decisions 11, 12, 23, 24).
 * @param nesting conditions with tables of their own around the filter
 * @throws RequestError 400 with 1500, 1112 or 1162
 */
export function filterCondition(
  context: FilterContext,
  from: From,
  filter: FilterNode,
  nesting = 0,
): Sql {
  const writing = { ...context, followed: new Followed(), nesting, within: writtenWithin };
  return conjunction(writing, from, from.root, filter);
}

/**
 * Comparisons that AND joins at one level over the same to-many relation speak of the same related entity (decision 23), so
 * a chain of ANDs is written as a whole. `EXCEPT` is AND NOT.
 */
function conjunction(context: WritingContext, from: From, source: Source, filter: FilterNode): Sql {
  const conditions: Sql[] = [];
  const pending: Pending[] = [];
  for (const { node, negated } of conjuncts(filter)) {
    if (negated) conditions.push(not(conjunction(context, from, source, node)));
    else if (node.kind === 'comparison' || node.kind === 'computed') {
      pending.push(resolve(source.dataclass, node, context.names));
    } else if (node.kind === 'or') conditions.push(disjunction(context, from, source, node));
    else conditions.push(conjunction(context, from, source, node));
  }
  return all([...comparisons(context, from, source, pending), ...conditions]);
}

/** What class code gave for a comparison; it may name what no client can. */
function writtenWithin(
  context: WritingContext,
  from: From,
  source: Source,
  filter: FilterNode,
): Sql {
  return conjunction({ ...context, names: 'granted' }, from, source, filter);
}

function disjunction(context: WritingContext, from: From, source: Source, filter: FilterNode): Sql {
  const alternatives: Sql[] = [];
  let node = filter;
  while (node.kind === 'or') {
    alternatives.unshift(conjunction(context, from, source, node.right));
    node = node.left;
  }
  alternatives.unshift(conjunction(context, from, source, node));
  return any(alternatives);
}

/** The members of a chain of AND and EXCEPT. Chains grow to the left, so only parentheses recurse. */
export function conjuncts(
  filter: FilterNode,
): { readonly node: FilterNode; readonly negated: boolean }[] {
  const members: { node: FilterNode; negated: boolean }[] = [];
  let node = filter;
  while (node.kind === 'and' || node.kind === 'except') {
    members.unshift({ node: node.right, negated: node.kind === 'except' });
    node = node.left;
  }
  if (node.kind === 'not') members.unshift({ node: node.operand, negated: true });
  else members.unshift({ node, negated: false });
  return members.flatMap((member) =>
    !member.negated &&
    (member.node.kind === 'and' || member.node.kind === 'except' || member.node.kind === 'not')
      ? conjuncts(member.node)
      : [member],
  );
}
