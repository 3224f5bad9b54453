import type { JsonAnswer, PendingAnswer } from '../dialect/executor.js';
import type { Parameters } from './parameters.js';
import { whenResolved } from './computed-requests.js';
import {
  type PlanStep,
  planTree,
  type PlanTree,
  planIndexes,
  type PlanIndexes,
} from './query-plan-tree.js';
import type { ReadingContext } from './reading-context.js';
import { type SelectionRequest, planFor, requestName } from './selection-request.js';
import { whenThere } from '../dialect/pending.js';
import type { FilterNode, AttributePath, ComparisonNode } from '../filter/ast.js';
import type { FilterInputs } from '../filter/inputs.js';
import { inputPositions, shapeOf } from '../filter/prepared-filter.js';
import { planCount } from './counts.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { FilterInput } from '../filter/slots.js';
import { stepText } from '../filter/path.js';

type PlanParameters = Pick<Parameters, 'queryplan' | 'querypath'>;

/**
 * Adds `__queryPlan` and `__queryPath` to the answer if the request has the parameters (protocol
 * P6.3, P6.9): the steps of the filter, and whether the database finds them with an index. Both use
 * the client's own words, and never the names of tables, of columns and of what is not exposed.
 *
 * @param answer a collection; if there is none, none is returned
 */
export function explainedAnswer(
  context: ReadingContext,
  request: SelectionRequest,
  wanted: PlanParameters,
  answer: PendingAnswer,
): PendingAnswer {
  if (!wanted.queryplan && !wanted.querypath) return answer;
  return withExplanation(context, request, wanted, answer);
}

async function withExplanation(
  context: ReadingContext,
  unresolved: SelectionRequest,
  { queryplan, querypath }: PlanParameters,
  answer: PendingAnswer,
): Promise<JsonAnswer | undefined> {
  const collection = await answer;
  const request = await whenResolved(context, unresolved, (resolved) => resolved);
  if (collection === undefined) return undefined;
  const { dataclass, filter } = request;
  const tree = filter === undefined ? undefined : planTree(dataclass, filter.filter);
  const text = new PlanText(request, tree, await planIndexes(context, request));
  const members: string[] = [];
  if (queryplan)
    members.push(`"__queryPlan":${JSON.stringify(planJson(request, text, tree?.root))}`);
  if (querypath) {
    const steps = await new PathMeasurement(context, request, tree, text).measure();
    members.push(`"__queryPath":${JSON.stringify({ steps })}`);
  }
  return withMembers(collection, members);
}

function planJson({ base }: SelectionRequest, text: PlanText, root: PlanStep | undefined): object {
  if (root === undefined) return { item: text.base };
  if (base.kind === 'all') return stepJson(text, root);
  const parts = root.kind === 'and' ? root.parts : [root];
  return { And: [{ item: text.base }, ...parts.map((part) => stepJson(text, part))] };
}

function stepJson(text: PlanText, step: PlanStep): object {
  if (step.kind === 'comparison') return { item: text.step(step) };
  const parts = step.parts.map((part) => stepJson(text, part));
  switch (step.kind) {
    case 'join':
      return { item: text.step(step), subquery: parts };
    case 'and':
      return { And: parts };
    case 'or':
      return { Or: parts };
    case 'not':
      return { Not: parts };
  }
}

/** Adds members to the end of an object without parsing it. */
function withMembers(object: JsonAnswer, members: readonly string[]): JsonAnswer {
  const more = `,${members.join()}}`;
  return typeof object === 'string'
    ? `${object.slice(0, -1)}${more}`
    : Buffer.concat([object.subarray(0, -1), Buffer.from(more)]);
}

/** A step of `__queryPath`, spelled as the protocol spells it (`recordsfounds`). */
interface MeasuredStep {
  readonly description?: string;
  /** Milliseconds. */
  readonly time?: number;
  readonly recordsfounds?: number;
  readonly steps?: readonly MeasuredStep[];
}

/** Each step costs a statement. */
const maxSteps = 20;

/** Runs the steps one by one: how long each took, and how many entities it found. */
class PathMeasurement {
  readonly #positions;

  constructor(
    private readonly context: ReadingContext,
    private readonly request: SelectionRequest,
    private readonly tree: PlanTree | undefined,
    private readonly text: PlanText,
  ) {
    const { filter } = request;
    this.#positions = filter === undefined ? undefined : inputPositions(filter.filter);
  }

  /** A filter of very many steps is measured as a whole. */
  async measure(): Promise<readonly MeasuredStep[]> {
    const { request, tree, text } = this;
    if (tree === undefined) return [await this.#counted(text.base, request)];
    const { root } = tree;
    if (stepCount(root) > maxSteps) return [await this.#counted(this.#description(root), request)];
    if (request.base.kind === 'all') return [await this.#step(root, request)];
    const whole = await this.#counted('AND', request);
    const base = await this.#counted(text.base, unfiltered(request));
    const parts = root.kind === 'and' ? root.parts : [root];
    const rest = base.recordsfounds === 0 ? [] : await this.#all(parts, request);
    return [{ ...whole, steps: [base, ...rest] }];
  }

  /** @param scope to which the step's filter is applied */
  async #step(step: PlanStep, scope: SelectionRequest): Promise<MeasuredStep> {
    const counted = await this.#counted(this.#description(step), this.#part(scope, step.filter));
    switch (step.kind) {
      case 'comparison':
        return counted;
      case 'and':
        return { ...counted, steps: await this.#all(step.parts, scope) };
      case 'or':
      case 'not': {
        const steps: MeasuredStep[] = [];
        for (const part of step.parts) steps.push(await this.#step(part, scope));
        return { ...counted, steps };
      }
      case 'join': {
        const related: SelectionRequest = {
          ...scope,
          dataclass: step.target,
          base: { kind: 'all' },
          baseValue: null,
        };
        return { ...counted, steps: [{ steps: await this.#all(step.parts, related) }] };
      }
    }
  }

  /** Steps behind one that finds nothing are not run: the result of the AND is known. */
  async #all(parts: readonly PlanStep[], scope: SelectionRequest): Promise<MeasuredStep[]> {
    const steps: MeasuredStep[] = [];
    for (const part of parts) {
      const step = await this.#step(part, scope);
      steps.push(step);
      if (step.recordsfounds === 0) break;
    }
    return steps;
  }

  #description(step: PlanStep): string {
    return step.kind === 'comparison' || step.kind === 'join'
      ? this.text.step(step)
      : step.kind.toUpperCase();
  }

  /** The request for a part of the filter, with its values. */
  #part(scope: SelectionRequest, filter: FilterNode): SelectionRequest {
    const { dataclass, base } = scope;
    const { shape, comparisons } = shapeOf(filter);
    const { inputs, nulls, patterns } = this.request.inputs;
    const positions = comparisons.map(
      (each) => this.#positions?.get(this.tree?.origin(each) ?? each) as number,
    );
    const chosen = (marked: readonly number[]): number[] =>
      positions.flatMap((position, index) => (marked.includes(position) ? [index] : []));
    const own: FilterInputs = {
      inputs: positions.map((position) => inputs[position] as FilterInputs['inputs'][number]),
      nulls: chosen(nulls),
      patterns: chosen(patterns),
    };
    const prepared = { filter, orderBy: undefined, shape, sources: [], constants: own };
    const name = requestName(dataclass, base, prepared, own);
    return { ...scope, filter: prepared, inputs: own, name };
  }

  async #counted(description: string, request: SelectionRequest): Promise<MeasuredStep> {
    const { database, options, plans } = this.context;
    const { plan, values } = planFor(plans.selections, request, 'count', {}, (selection) =>
      planCount(database.dialect, options, selection),
    );
    const start = performance.now();
    return whenThere(database.executor.value(plan.statement, values), (count) => {
      const time = Math.round((performance.now() - start) * 1000) / 1000;
      return { description, time, recordsfounds: Number(count ?? 0) };
    });
  }
}

function unfiltered(request: SelectionRequest): SelectionRequest {
  const inputs: FilterInputs = { inputs: [], nulls: [], patterns: [] };
  const name = requestName(request.dataclass, request.base, undefined, inputs);
  return { ...request, filter: undefined, inputs, name };
}

function stepCount(step: PlanStep): number {
  if (step.kind === 'comparison') return 1;
  return step.parts.reduce((sum, part) => sum + stepCount(part), 1);
}

/** Describes the steps of one request in the names that its author wrote (protocol P6.9). */
class PlanText {
  readonly #values: (comparison: ComparisonNode) => string;

  constructor(
    private readonly request: SelectionRequest,
    private readonly tree: PlanTree | undefined,
    private readonly indexes: PlanIndexes,
  ) {
    const { filter, inputs } = request;
    const positions = filter === undefined ? new Map() : inputPositions(filter.filter);
    this.#values = (comparison) => {
      const position: unknown = positions.get(comparison);
      const input = typeof position === 'number' ? inputs.inputs[position] : undefined;
      return input === undefined ? 'null' : valueText(input);
    };
  }

  /** What the filter is applied to. */
  get base(): string {
    const { dataclass, base, baseValue } = this.request;
    switch (base.kind) {
      case 'all':
        return `${dataclass.name} : sequential`;
      case 'members':
        return `${dataclass.name} : entity set`;
      case 'tree':
        return `${dataclass.name} : selection of the server's code`;
      case 'related': {
        const path = `${base.owner.name}.${base.relation.name}`;
        return `${this.#path(path, this.indexes.base)} = ${cut(String(baseValue))}`;
      }
    }
  }

  /** A step without parts, or a join. */
  step(step: Extract<PlanStep, { readonly dataclass: Dataclass }>): string {
    const { dataclass } = step;
    if (step.kind === 'join') {
      const { target } = step;
      const { key } = target;
      const foreign = `${target.name}.${key.exposed === false ? '__KEY' : key.name}`;
      return `Join on Table : ${target.name} : ${dataclass.name}.${stepText(step.step)} = ${foreign}`;
    }
    const { filter } = step;
    if (filter.kind === 'computed') {
      return `${dataclass.name}.${pathText(filter.comparison.path)} : class code`;
    }
    const origin = this.tree?.origin(filter) ?? filter;
    const path = this.#path(
      `${dataclass.name}.${pathText(filter.path)}`,
      found.has(filter.comparator) &&
        this.indexes.comparisons.has(origin) &&
        !isAlias(dataclass, filter.path),
    );
    return `${path} ${filter.comparator} ${this.#values(origin)}`;
  }

  #path(path: string, isIndexed: boolean): string {
    return isIndexed ? `[index : ${path} ]` : path;
  }
}

/** What an index can find. */
const found: ReadonlySet<string> = new Set(['=', '===', '<', '<=', '>', '>=', 'begin', 'in']);

/** Its reader must not learn whose index it would be: all other aliases are resolved in a plan. */
function isAlias(dataclass: Dataclass, { steps }: AttributePath): boolean {
  const kind = dataclass.exposedAttributes.get(steps[0]?.name ?? '')?.kind;
  return kind === 'alias' || kind === 'relationAlias';
}

function pathText({ steps }: AttributePath): string {
  return steps.map(stepText).join('.');
}

function valueText({ value, text }: FilterInput): string {
  if (text !== undefined) return cut(text);
  return cut(typeof value === 'string' ? value : JSON.stringify(value));
}

/** A list may have ten thousand members. */
const longestValue = 100;

function cut(text: string): string {
  if (text.length <= longestValue) return text;
  // A character of two code units is not cut in half.
  const whole = Array.from(text.slice(0, longestValue + 1)).slice(0, -1);
  return `${whole.join('')}...`;
}
