import type { Dataclass } from '../dataclass/dataclasses.js';
import type { ComparisonNode, ComputedNode, FilterNode, PathStep } from '../filter/ast.js';
import { conjuncts } from '../filter/to-sql.js';
import type { AliasDefinition, RelationAliasDefinition } from '../protocol/definition.js';
import { sql } from 'kysely';
import type { ColumnDefinition, Relation } from '../dataclass/attribute-path.js';
import { From, linkedBy, type Source } from '../dataclass/source.js';
import { BoundedCache } from '../dialect/bounded-cache.js';
import type { TableSearch } from '../dialect/executor.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import type { ReadingContext } from './reading-context.js';
import {
  planOf,
  queryContext,
  type Selection,
  type SelectionPlan,
  type SelectionBase,
  selectionCondition,
} from './selection.js';
import { planFor, type SelectionRequest } from './selection-request.js';

/** A step by which a filter finds entities of a dataclass, and its part of the filter. */
export type PlanStep =
  | {
      readonly kind: 'and' | 'or' | 'not';
      readonly filter: FilterNode;
      readonly parts: readonly PlanStep[];
    }
  | {
      readonly kind: 'comparison';
      readonly dataclass: Dataclass;
      readonly filter: ComparisonNode | ComputedNode;
    }
  /** Entities related to one that all of `parts` find; those are steps over the related dataclass. */
  | {
      readonly kind: 'join';
      readonly dataclass: Dataclass;
      readonly step: PathStep;
      readonly target: Dataclass;
      readonly filter: FilterNode;
      readonly parts: readonly PlanStep[];
    };

/** The steps of a filter, and the origins of their comparisons. */
export interface PlanTree {
  readonly root: PlanStep;
  /** The comparison of the filter from which a step's comparison with a shorter path was made. */
  readonly origin: (comparison: ComparisonNode) => ComparisonNode;
}

/** Splits a filter by the names that its author wrote (protocol P6.9). */
export function planTree(dataclass: Dataclass, filter: FilterNode): PlanTree {
  const builder = new TreeBuilder();
  const root = builder.step(dataclass, filter);
  return { root, origin: (comparison) => builder.origins.get(comparison) ?? comparison };
}

class TreeBuilder {
  readonly origins = new Map<ComparisonNode, ComparisonNode>();

  step(dataclass: Dataclass, filter: FilterNode): PlanStep {
    const parts: PlanStep[] = [];
    const compared: ComparisonNode[] = [];
    for (const { node, negated } of conjuncts(filter)) {
      if (negated) {
        const opposite: FilterNode = { kind: 'not', operand: node };
        parts.push({ kind: 'not', filter: opposite, parts: [this.step(dataclass, node)] });
      } else if (node.kind === 'comparison') compared.push(node);
      else if (node.kind === 'computed') {
        // The result of class code does not consist of the client's names.
        parts.push({ kind: 'comparison', dataclass, filter: node });
      } else if (node.kind === 'or') parts.push(this.#alternatives(dataclass, node));
      else parts.push(this.step(dataclass, node));
    }
    return together(filter, [...this.#comparisons(dataclass, compared), ...parts]);
  }

  #alternatives(dataclass: Dataclass, filter: FilterNode): PlanStep {
    const parts: PlanStep[] = [];
    let node = filter;
    for (; node.kind === 'or'; node = node.left) parts.unshift(this.step(dataclass, node.right));
    parts.unshift(this.step(dataclass, node));
    return { kind: 'or', filter, parts };
  }

  /** Comparisons that AND joins and that follow one relation concern one entity (filters F17). */
  #comparisons(dataclass: Dataclass, compared: readonly ComparisonNode[]): PlanStep[] {
    const steps: PlanStep[] = [];
    const joined = new Map<string, ComparisonNode[]>();
    for (const written of compared) {
      const node = this.#withoutAlias(dataclass, written);
      const relations = followed(dataclass, node);
      const [first] = node.path.steps;
      if (first === undefined || relations.length === 0) {
        steps.push({ kind: 'comparison', dataclass, filter: node });
      } else if (isUnequal(node) && relations.some(({ kind }) => kind === 'relatedEntities')) {
        // `!=` is NOT (`=`): no related entity has the value.
        const equal = this.#derived({ ...node, comparator: '=' }, node);
        const parts = this.#comparisons(dataclass, [equal]);
        steps.push({ kind: 'not', filter: node, parts });
      } else {
        const way = `${first.name}{${first.ordinal}}`;
        const known = joined.get(way);
        if (known === undefined) joined.set(way, [node]);
        else known.push(node);
      }
    }
    const joins = [...joined.values()].map((group) => this.#join(dataclass, group));
    return [...joins, ...steps];
  }

  #join(dataclass: Dataclass, group: readonly ComparisonNode[]): PlanStep {
    const node = group[0] as ComparisonNode;
    const step = node.path.steps[0] as PathStep;
    const target = dataclass.target(followed(dataclass, node)[0] as Relation);
    const related = group.map((each) => this.#derived(withoutFirstStep(each), each));
    const parts = this.#comparisons(target, related);
    return { kind: 'join', dataclass, step, target, filter: allOf(group), parts };
  }

  /** With the path of an alias, which shows whose attribute is compared. */
  #withoutAlias(dataclass: Dataclass, node: ComparisonNode): ComparisonNode {
    const { steps } = node.path;
    const followed = withoutAlias(dataclass, steps);
    return followed === steps
      ? node
      : this.#derived({ ...node, path: { ...node.path, steps: followed } }, node);
  }

  #derived(comparison: ComparisonNode, from: ComparisonNode): ComparisonNode {
    this.origins.set(comparison, this.origins.get(from) ?? from);
    return comparison;
  }
}

/** The same steps if they use no alias, or one through what the reader may not name. */
function withoutAlias(dataclass: Dataclass, steps: readonly PathStep[]): readonly PathStep[] {
  let here = dataclass;
  for (const [index, step] of steps.entries()) {
    const attribute = here.exposedAttributes.get(step.name);
    if (attribute?.kind === 'alias' || attribute?.kind === 'relationAlias') {
      if (!isNameable(here, attribute)) return steps;
      const way = attribute.path
        .slice(0, -1)
        .map((name) => ({ ...step, name, element: undefined }));
      const end = { ...step, name: attribute.path.at(-1) ?? '' };
      const behind = steps.slice(index + 1);
      return withoutAlias(dataclass, [...steps.slice(0, index), ...way, end, ...behind]);
    }
    if (attribute?.kind !== 'relatedEntity' && attribute?.kind !== 'relatedEntities') return steps;
    here = here.target(attribute);
  }
  return steps;
}

/** Whether a client may name everything that an alias passes through (protocol P2.9). */
function isNameable(
  dataclass: Dataclass,
  { path }: AliasDefinition | RelationAliasDefinition,
): boolean {
  let here = dataclass;
  for (const name of path.slice(0, -1)) {
    const attribute = here.exposedAttributes.get(name);
    if (attribute?.kind !== 'relatedEntity' && attribute?.kind !== 'relatedEntities') return false;
    here = here.target(attribute);
  }
  return here.exposedAttributes.has(path.at(-1) ?? '');
}

/** The relations of a path; an unresolved alias stays as it is. */
function followed(dataclass: Dataclass, { path }: ComparisonNode): readonly Relation[] {
  const relations: Relation[] = [];
  let here = dataclass;
  for (const { name } of path.steps.slice(0, -1)) {
    const attribute = here.exposedAttributes.get(name);
    if (attribute?.kind !== 'relatedEntity' && attribute?.kind !== 'relatedEntities') break;
    relations.push(attribute);
    here = here.target(attribute);
  }
  return relations;
}

function isUnequal({ comparator }: ComparisonNode): boolean {
  return comparator === '!=' || comparator === '!==';
}

function withoutFirstStep(node: ComparisonNode): ComparisonNode {
  return { ...node, path: { ...node.path, steps: node.path.steps.slice(1) } };
}

function together(filter: FilterNode, parts: readonly PlanStep[]): PlanStep {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : { kind: 'and', filter, parts };
}

/** @param nodes at least one */
export function allOf(nodes: readonly FilterNode[]): FilterNode {
  return nodes.reduce((left, right) => ({ kind: 'and', left, right }));
}

/** The parts of a request that the database finds with an index. */
export interface PlanIndexes {
  readonly comparisons: ReadonlySet<ComparisonNode>;
  /** Whether it finds the entities of the relation that is read. */
  readonly base: boolean;
}

type RelatedBase = Extract<SelectionBase, { readonly kind: 'related' }>;

interface ComparedAttribute {
  readonly comparison: ComparisonNode;
  readonly source: Source;
  readonly attribute: ColumnDefinition;
}

interface Explained {
  readonly plan: SelectionPlan;
  readonly root: Source;
  readonly compared: readonly ComparedAttribute[];
}

/** Asks the database for its own plan of a request's condition. */
export function planIndexes(
  { database, options }: Pick<ReadingContext, 'database' | 'options'>,
  request: SelectionRequest,
): Pending<PlanIndexes> {
  let explained: Explained | undefined;
  // Not cached: plans are requested while queries are developed.
  const nothing = new BoundedCache<SelectionPlan>(0, () => 0);
  const { plan, values } = planFor(nothing, request, '', {}, (selection) => {
    explained = explainable(database.dialect, options, selection);
    return explained.plan;
  });
  const { root, compared } = explained as unknown as Explained;
  const { base } = request;
  return whenThere(database.executor.explain(plan.statement, values), (searches) => {
    const isFound = (source: Source, attribute: ColumnDefinition, by: string): boolean =>
      searches.some((search) => finds(search, source, attribute, by));
    const isBaseFound = ({ owner, relation }: RelatedBase): boolean => {
      if (relation.kind === 'relationAlias') return false;
      const inverse = owner.inverse(relation);
      const foreignKey = request.dataclass.foreignKey(inverse);
      return isFound(root, foreignKey, linkedBy(inverse, foreignKey));
    };
    return {
      comparisons: new Set(
        compared
          .filter(({ source, attribute }) => isFound(source, attribute, comparedBy(attribute)))
          .map(({ comparison }) => comparison),
      ),
      base: base.kind === 'related' && isBaseFound(base),
    };
  });
}

function explainable(
  dialect: ReadingContext['database']['dialect'],
  options: ReadingContext['options'],
  selection: Selection,
): Explained {
  const context = queryContext(dialect, options);
  const from = new From(context.aliases, selection.dataclass);
  const compared: ComparedAttribute[] = [];
  const condition = selectionCondition(
    context,
    from,
    selection,
    (comparison, source, attribute) => {
      compared.push({ comparison, source, attribute });
    },
  );
  const where = condition === undefined ? sql`` : sql` where ${condition}`;
  const plan = planOf(context, sql`select count(*) ${from.clause}${where}`);
  return { plan, root: from.root, compared };
}

/** @param by the column that an index must cover, unless it is that of the key */
function finds(
  search: TableSearch,
  source: Source,
  attribute: ColumnDefinition,
  by: string,
): boolean {
  if (search.alias !== source.alias) return false;
  if (search.byKey && attribute === source.dataclass.key) return true;
  return search.columns.includes(by);
}

function comparedBy(attribute: ColumnDefinition): string {
  const folded = attribute.kind === 'storage' ? attribute.foldedColumn : undefined;
  return folded ?? attribute.column;
}
