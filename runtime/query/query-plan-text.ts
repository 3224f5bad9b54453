import type { Dataclass } from '../dataclass/dataclasses.js';
import type { AttributePath, ComparisonNode, PathStep } from '../filter/ast.js';
import { inputPositions } from '../filter/prepared-filter.js';
import type { FilterInput } from '../filter/slots.js';
import type { PlanIndexes } from './query-plan-indexes.js';
import type { PlanStep, PlanTree } from './query-plan-tree.js';
import type { SelectionRequest } from './selection-request.js';

/** Describes the steps of one request as protocol 13.4 prints them, in the names that its author wrote. */
export class PlanText {
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
      const foreign = `${target.name}.${target.key.name}`;
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

/** Whose index it would be is not for its reader to know: all other aliases stand in no plan. */
function isAlias(dataclass: Dataclass, { steps }: AttributePath): boolean {
  return dataclass.exposedAttributes.get(steps[0]?.name ?? '')?.kind === 'alias';
}

function pathText({ steps }: AttributePath): string {
  return steps.map(stepText).join('.');
}

function stepText({ name, ordinal, element }: PathStep): string {
  const text = ordinal === 1 ? name : `${name}{${ordinal}}`;
  return element === undefined ? text : `${text}[${element}]`;
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
