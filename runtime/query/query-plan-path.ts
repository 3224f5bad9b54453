import { whenThere } from '../dialect/pending.js';
import type { FilterNode } from '../filter/ast.js';
import type { FilterInputs } from '../filter/inputs.js';
import { inputPositions } from '../filter/prepared-filter.js';
import { shapeOf } from '../filter/print.js';
import { planCount } from './collection.js';
import type { PlanText } from './query-plan-text.js';
import type { PlanStep, PlanTree } from './query-plan-tree.js';
import type { ReadingContext } from './reading-context.js';
import { planFor, requestName, type SelectionRequest } from './selection-request.js';

/** A step of `__queryPath`, spelled as the protocol spells it (section 13.4). */
export interface MeasuredStep {
  readonly description?: string;
  /** Milliseconds. */
  readonly time?: number;
  readonly recordsfounds?: number;
  readonly steps?: readonly MeasuredStep[];
}

/** Each step costs a statement of its own. */
const maxSteps = 20;

/** Runs the steps of a request one by one, and tells how long each took and how many entities it found. */
export class PathMeasurement {
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

  /** @param scope what the step's filter is applied to */
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

  /** Steps behind one that finds nothing are not run: AND has its result already. */
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
