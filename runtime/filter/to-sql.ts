import { sql } from 'kysely';
import type { Sql } from '../dialect/dialect.js';
import { protocolError, refuse, RequestError } from '../protocol/errors.js';
import {
  followAll,
  resolvePath,
  type PathProblem,
  type ResolvedPath,
} from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { column, From, keyColumn, type Source } from '../dataclass/source.js';
import type { RelatedEntitiesDefinition, RelatedEntityDefinition } from '../protocol/definition.js';
import type { Comparator, ComparisonNode, FilterNode } from './ast.js';
import { condition } from './condition.js';
import type { FilterContext } from './context.js';

/** A comparison whose path is followed step by step. */
interface Pending {
  readonly node: ComparisonNode;
  readonly comparator: Comparator;
  /** What is left to follow. */
  readonly relations: ResolvedPath['relations'];
  readonly end: ResolvedPath['end'];
}

/** Writes a filter as a condition over a table (protocol section 7, decisions 11, 12, 23). */
export function filterCondition(context: FilterContext, from: From, filter: FilterNode): Sql {
  return conjunction(context, from, filter);
}

/**
 * Comparisons that AND joins at one level over the same to-many relation speak of the same related entity (decision 23), so
 * a chain of ANDs is written as a whole. `EXCEPT` is AND NOT.
 */
function conjunction(context: FilterContext, from: From, filter: FilterNode): Sql {
  const conditions: Sql[] = [];
  const pending: Pending[] = [];
  for (const { node, negated } of conjuncts(filter)) {
    // A column may be called true, so that word is never written.
    if (negated) conditions.push(sql`not coalesce(${conjunction(context, from, node)}, 1 = 0)`);
    else if (node.kind === 'comparison') pending.push(resolve(from.root.dataclass, node));
    else if (node.kind === 'or') conditions.push(disjunction(context, from, node));
    else conditions.push(conjunction(context, from, node));
  }
  return all([...comparisons(context, from, from.root, pending), ...conditions]);
}

function disjunction(context: FilterContext, from: From, filter: FilterNode): Sql {
  const alternatives: Sql[] = [];
  let node = filter;
  while (node.kind === 'or') {
    alternatives.unshift(conjunction(context, from, node.right));
    node = node.left;
  }
  alternatives.unshift(conjunction(context, from, node));
  return balanced(alternatives, sql` or `);
}

/** The members of a chain of AND and EXCEPT. Chains grow to the left, so only parentheses recurse. */
function conjuncts(filter: FilterNode): { readonly node: FilterNode; readonly negated: boolean }[] {
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

function resolve(dataclass: Dataclass, node: ComparisonNode): Pending {
  const names = node.path.steps.map((step) => step.name);
  const resolved = resolvePath(dataclass, names);
  if ('kind' in resolved) throw unresolved(resolved, node);
  return {
    node,
    comparator: withoutWildcards[node.comparator] ?? node.comparator,
    relations: resolved.relations,
    end: resolved.end,
  };
}

/** Without wildcards the comparators that take them literally are the ordinary ones. */
const withoutWildcards: Readonly<Partial<Record<Comparator, Comparator>>> = {
  '===': '=',
  '!==': '!=',
};

function unresolved(problem: PathProblem, node: ComparisonNode): RequestError {
  const at = `Character ${node.path.start + 1} of $filter`;
  if (problem.kind === 'objectProperty') {
    return refuse(
      'notBuilt',
      `${at}: properties of the object attribute ${problem.name} cannot be compared yet.`,
    );
  }
  return new RequestError(400, [
    protocolError(
      'attributeNotFound',
      `The "${problem.name}" attribute cannot be found in the "${problem.dataclass}" dataclass`,
    ),
    protocolError('invalidQuery', `${at}: expected the path of an attribute.`),
  ]);
}

/** Conditions over `source` for comparisons whose paths begin there. */
function comparisons(
  context: FilterContext,
  from: From,
  source: Source,
  pending: readonly Pending[],
): Sql[] {
  const conditions: Sql[] = [];
  const shared = new Map<string, Pending[]>();
  for (const each of pending) {
    const toMany = each.relations.findIndex((relation) => relation.kind === 'relatedEntities');
    if (toMany === -1) {
      const toOne = each.relations as readonly RelatedEntityDefinition[];
      conditions.push(condition(context, followAll(from, source, toOne), each));
    } else if (each.comparator === '!=') {
      // `!=` is always NOT (`=`): no related entity has the value.
      const positive: Pending = { ...each, comparator: '=' };
      conditions.push(sql`not ${exists(context, from, source, toMany, [positive])}`);
    } else {
      const way = each.relations.slice(0, toMany + 1).map((relation) => relation.name);
      const group = shared.get(way.join('.')) ?? [];
      shared.set(way.join('.'), [...group, each]);
    }
  }
  for (const group of shared.values()) {
    const toMany = (group[0] as Pending).relations.findIndex(
      (each) => each.kind === 'relatedEntities',
    );
    conditions.push(exists(context, from, source, toMany, group));
  }
  return conditions;
}

/** At least one entity at the other end of the to-many relation at `toMany` fulfils all of `pending`. */
function exists(
  context: FilterContext,
  from: From,
  source: Source,
  toMany: number,
  pending: readonly Pending[],
): Sql {
  const { relations } = pending[0] as Pending;
  const owner = followAll(from, source, relations.slice(0, toMany) as RelatedEntityDefinition[]);
  const relation = relations[toMany] as RelatedEntitiesDefinition;
  const target = owner.dataclass.target(relation);
  const inner = new From(context.aliases, target);
  const foreignKey = target.foreignKey(owner.dataclass.inverse(relation));
  const rest = pending.map((each) => ({ ...each, relations: each.relations.slice(toMany + 1) }));
  const condition = all(comparisons(context, inner, inner.root, rest));
  return sql`exists (select 1 ${inner.clause} where ${column(inner.root, foreignKey.column)} = ${keyColumn(owner)} and ${condition})`;
}

function all(conditions: readonly Sql[]): Sql {
  return balanced(conditions, sql` and `);
}

/** Joins conditions as a balanced tree: SQLite's parser refuses expressions that are nested deeper than 1000. */
function balanced(conditions: readonly Sql[], operator: Sql): Sql {
  const [only] = conditions;
  if (conditions.length === 1 && only !== undefined) return only;
  const middle = conditions.length >> 1;
  const left = balanced(conditions.slice(0, middle), operator);
  const right = balanced(conditions.slice(middle), operator);
  return sql`(${left}${operator}${right})`;
}
