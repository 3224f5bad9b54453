import { readable } from '../dataclass/permissions.js';
import type { ColumnDefinition, Relation } from '../dataclass/attribute-path.js';
import type { Source } from '../dataclass/dataclasses.js';
import { From, linkedBy } from '../dataclass/source.js';
import { BoundedCache } from '../dialect/bounded-cache.js';
import type { TableSearch } from '../dialect/executor.js';
import type { AttributePath, ComparisonNode, FilterNode } from '../filter/ast.js';
import { stepText } from '../filter/path.js';
import { inputPositions, type PreparedFilter } from '../filter/prepared-filter.js';
import type { FilterInput } from '../filter/slots.js';
import { conjuncts } from '../filter/to-sql.js';
import { shortened } from '../protocol/names.js';
import { sql } from 'kysely';
import { countStatement } from './counts.js';
import type { Parameters } from './parameters.js';
import type { ReadingContext } from './reading-context.js';
import {
  selectionStatement,
  queryContext,
  selectionCondition,
  type SelectionStatement,
} from './selection.js';
import { boundStatement, resolved, type SelectionRequest } from './selection-request.js';

export type PlanParameters = Pick<Parameters, 'queryplan' | 'querypath'>;

/**
 * The members `__queryPlan` and `__queryPath` of an answer (protocol P6.3, P6.9), separated by commas: the parts of the
 * filter as the client wrote them, and whether the database's plan finds them with an index. No name is taken from the
 * plan, which shows tables, hidden columns and the conditions of `restrict`.
 */
export async function explanation(
  context: ReadingContext,
  unresolved: SelectionRequest,
  { queryplan, querypath }: PlanParameters,
): Promise<string> {
  const request = await resolved(context, unresolved);
  const step = new Steps(request, await indexed(context, request)).whole();
  const members: string[] = [];
  if (queryplan) members.push(`"__queryPlan":${JSON.stringify(planned(step))}`);
  if (querypath) {
    const measure = countSteps(step) > maxSteps ? measuredWhole : measured;
    const steps = [await measure(context, step)];
    members.push(`"__queryPath":${JSON.stringify({ steps })}`);
  }
  return members.join();
}

/** A part of a filter. */
interface Step {
  /** A `Join` leads to a related dataclass, of which its parts are. */
  readonly kind: 'And' | 'Or' | 'Not' | 'Join' | 'item';
  readonly description: string;
  /** The entities that it finds by itself. */
  readonly found: SelectionRequest;
  readonly parts: readonly Step[];
}

function planned({ kind, description, parts }: Step): object {
  const steps = parts.map(planned);
  if (kind === 'item') return { item: description };
  return kind === 'Join' ? { item: description, subquery: steps } : { [kind]: steps };
}

/** A step of `__queryPath`, spelled as the protocol spells it (`recordsfounds`). */
interface MeasuredStep {
  readonly description?: string;
  /** Milliseconds. */
  readonly time?: number;
  readonly recordsfounds?: number;
  readonly steps?: readonly MeasuredStep[];
}

/** Each step costs a statement; a filter with more steps is measured as a whole. */
const maxSteps = 20;

function countSteps({ parts }: Step): number {
  return parts.reduce((sum, part) => sum + countSteps(part), 1);
}

async function measured(context: ReadingContext, step: Step): Promise<MeasuredStep> {
  const { kind, parts } = step;
  const whole = await measuredWhole(context, step);
  if (parts.length === 0) return whole;
  const steps: MeasuredStep[] = [];
  for (const part of parts) {
    const next = await measured(context, part);
    steps.push(next);
    // The result of an AND is known.
    if (next.recordsfounds === 0 && (kind === 'And' || kind === 'Join')) break;
  }
  return { ...whole, steps: kind === 'Join' ? [{ steps }] : steps };
}

async function measuredWhole(
  { database, options }: ReadingContext,
  { description, found }: Step,
): Promise<MeasuredStep> {
  const { statement, values } = boundStatement(notCached(), found, '', {}, (selection) =>
    countStatement(database.dialect, options, selection),
  );
  const start = performance.now();
  const count = await database.executor.value(statement, values);
  const time = Math.round((performance.now() - start) * 1000) / 1000;
  return { description, time, recordsfounds: Number(count ?? 0) };
}

/** Plans are requested while queries are developed. */
function notCached(): BoundedCache<SelectionStatement> {
  return new BoundedCache(0, () => 0);
}

/** Splits the filter of a request into its steps. */
class Steps {
  readonly #positions: Map<ComparisonNode, number>;

  /** @param indexed what the database finds with an index: see {@link indexed} */
  constructor(
    private readonly request: SelectionRequest,
    private readonly indexed: Set<ComparisonNode | 'base'>,
  ) {
    const { filter } = request;
    this.#positions = new Map(filter === undefined ? [] : inputPositions(filter.filter));
  }

  whole(): Step {
    const { request } = this;
    const { filter, base } = request;
    const all: Step = {
      kind: 'item',
      description: this.#base(),
      found: { ...request, filter: undefined },
      parts: [],
    };
    if (filter === undefined) return all;
    const step = this.#step(request, filter.filter);
    if (base.kind === 'all') return step;
    const parts = step.kind === 'And' ? step.parts : [step];
    return { kind: 'And', description: 'AND', found: request, parts: [all, ...parts] };
  }

  #base(): string {
    const { dataclass, base, baseValue } = this.request;
    if (base.kind === 'related') {
      const path = `${base.owner.name}.${base.relation.name}`;
      return `${shownPath(path, this.indexed.has('base'))} = ${shortened(String(baseValue))}`;
    }
    return `${dataclass.name} : ${base.kind === 'members' ? 'entity set' : 'sequential'}`;
  }

  /** @param scope to whose entities the filter is applied */
  #step(scope: SelectionRequest, filter: FilterNode): Step {
    const compared: ComparisonNode[] = [];
    const others: Step[] = [];
    for (const { node, negated } of conjuncts(filter)) {
      if (negated) {
        const operand = [this.#step(scope, node)];
        others.push(this.#made('Not', scope, { kind: 'not', operand: node }, operand));
      } else if (node.kind === 'comparison') compared.push(node);
      else if (node.kind === 'computed') {
        // The result of class code does not consist of the client's names.
        const path = pathText(scope, node.comparison.path);
        others.push(this.#made('item', scope, node, [], `${path} : class code`));
      } else {
        const parts = alternatives(node).map((each) => this.#step(scope, each));
        others.push(this.#made('Or', scope, node, parts));
      }
    }
    const parts = [...this.#comparisons(scope, compared), ...others];
    const [only] = parts;
    return parts.length === 1 && only !== undefined
      ? only
      : this.#made('And', scope, filter, parts);
  }

  /** Comparisons that AND joins and that follow one relation concern one entity (filters F17). */
  #comparisons(scope: SelectionRequest, compared: readonly ComparisonNode[]): Step[] {
    const { dataclass } = scope;
    const joined = new Map<string, ComparisonNode[]>();
    const steps: Step[] = [];
    for (const node of compared) {
      const [first, ...rest] = node.path.steps;
      const relation = readable(dataclass, first?.name ?? '');
      const isToMany = relation?.kind === 'relatedEntities';
      if (
        first === undefined ||
        rest.length === 0 ||
        (!isToMany && relation?.kind !== 'relatedEntity')
      ) {
        steps.push(this.#made('item', scope, node, [], this.#comparison(scope, node)));
      } else if (isToMany && (node.comparator === '!=' || node.comparator === '!==')) {
        // No related entity has the value.
        const equal = this.#derived(node, { comparator: '=' });
        steps.push(this.#made('Not', scope, node, this.#comparisons(scope, [equal])));
      } else {
        const way = stepText(first);
        joined.set(way, [...(joined.get(way) ?? []), node]);
      }
    }
    return [...[...joined].map(([way, group]) => this.#join(scope, way, group)), ...steps];
  }

  #join(scope: SelectionRequest, way: string, group: readonly ComparisonNode[]): Step {
    const { dataclass } = scope;
    const [node] = group as readonly [ComparisonNode];
    const relation = readable(dataclass, node.path.steps[0]?.name ?? '') as Relation;
    const target = dataclass.target(relation);
    const key = readable(target, target.key.name) === undefined ? '__KEY' : target.key.name;
    const description = `Join on Table : ${target.name} : ${dataclass.name}.${way} = ${target.name}.${key}`;
    const related = {
      ...scope,
      dataclass: target,
      base: { kind: 'all' },
      baseValue: null,
    } as const;
    const behind = group.map((each) =>
      this.#derived(each, { path: { ...each.path, steps: each.path.steps.slice(1) } }),
    );
    const all = (group as readonly FilterNode[]).reduce((left, right) => ({
      kind: 'and',
      left,
      right,
    }));
    return this.#made('Join', scope, all, this.#comparisons(related, behind), description);
  }

  #comparison(scope: SelectionRequest, node: ComparisonNode): string {
    const { path, comparator } = node;
    const kind = readable(scope.dataclass, path.steps[0]?.name ?? '')?.kind;
    // Whose index it is, the reader of an alias may not be allowed to know.
    const isAlias = kind === 'alias' || kind === 'relationAlias';
    const isIndexed = !isAlias && comparators.has(comparator) && this.indexed.has(node);
    const shown = shownPath(pathText(scope, path), isIndexed);
    const position = this.#positions.get(node);
    const input = position === undefined ? undefined : this.request.inputs.inputs[position];
    return `${shown} ${comparator} ${input === undefined ? 'null' : valueText(input)}`;
  }

  /** A comparison with the value of another one. */
  #derived(from: ComparisonNode, changes: Partial<ComparisonNode>): ComparisonNode {
    const comparison = { ...from, ...changes };
    const position = this.#positions.get(from);
    if (position !== undefined) this.#positions.set(comparison, position);
    if (this.indexed.has(from)) this.indexed.add(comparison);
    return comparison;
  }

  #made(
    kind: Step['kind'],
    scope: SelectionRequest,
    filter: FilterNode,
    parts: readonly Step[],
    description = kind.toUpperCase(),
  ): Step {
    const whole = this.request.filter as PreparedFilter;
    const part = { ...whole, filter, positions: this.#positions };
    return { kind, description, found: { ...scope, filter: part }, parts };
  }
}

function alternatives(node: FilterNode): readonly FilterNode[] {
  return node.kind === 'or' ? [...alternatives(node.left), node.right] : [node];
}

function shownPath(path: string, isIndexed: boolean): string {
  return isIndexed ? `[index : ${path} ]` : path;
}

function pathText({ dataclass }: SelectionRequest, { steps }: AttributePath): string {
  return [dataclass.name, ...steps.map(stepText)].join('.');
}

/** What an index can find. */
const comparators: ReadonlySet<string> = new Set(['=', '===', '<', '<=', '>', '>=', 'begin', 'in']);

/** A list may have ten thousand members. */
const longestValue = 100;

function valueText({ value, text }: FilterInput): string {
  const whole = text ?? (typeof value === 'string' ? value : JSON.stringify(value));
  return shortened(whole, longestValue);
}

/**
 * The comparisons of a request that the database's own plan finds with an index; `base` if it finds
 * the entities of the relation that is read so.
 */
async function indexed(
  { database: { dialect, executor }, options }: ReadingContext,
  request: SelectionRequest,
): Promise<Set<ComparisonNode | 'base'>> {
  const isFound: (readonly [ComparisonNode | 'base', (search: TableSearch) => boolean])[] = [];
  const { statement, values } = boundStatement(notCached(), request, '', {}, (selection) => {
    const context = queryContext(dialect, options);
    const from = new From(context.aliases, selection.dataclass);
    isFound.length = 0;
    const { base } = selection;
    if (base.kind === 'related' && base.relation.kind !== 'relationAlias') {
      const inverse = base.owner.inverse(base.relation);
      const key = selection.dataclass.foreignKey(inverse);
      isFound.push(['base', searching(from.root, key, linkedBy(inverse, key))]);
    }
    const condition = selectionCondition(context, from, selection, (node, source, attribute) => {
      const folded = attribute.kind === 'storage' ? attribute.foldedColumn : undefined;
      const isIndexed =
        attribute.kind === 'aggregate'
          ? (): boolean => false
          : searching(source, attribute, folded ?? attribute.column);
      isFound.push([node, isIndexed]);
    });
    const where = condition === undefined ? sql`` : sql` where ${condition}`;
    return selectionStatement(context, sql`select count(*) ${from.clause}${where}`);
  });
  const searches = await executor.explain(statement, values);
  return new Set(isFound.flatMap(([part, finds]) => (searches.some(finds) ? [part] : [])));
}

/** Whether a search of a plan finds rows of the source by an attribute, whose index has the column. */
function searching(
  { alias, dataclass }: Source,
  attribute: ColumnDefinition,
  column: string,
): (search: TableSearch) => boolean {
  return (search) =>
    search.alias === alias &&
    (search.columns.includes(column) || (search.byKey && attribute === dataclass.key));
}
