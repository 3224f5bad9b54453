import { type NameScope, resolvePath } from '../../dataclass/attribute-path.js';
import type { Dataclass } from '../../dataclass/dataclasses.js';
import { Aliases } from '../../dataclass/aliases.js';
import { From } from '../../dataclass/source.js';
import type { Dialect } from '../../dialect/dialect.js';
import type { ComparisonNode, FilterNode } from '../../filter/ast.js';
import { itemsOf, readValue, wrongComparator, written } from '../../filter/value-condition.js';
import type { FilterInputs } from '../../filter/inputs.js';
import {
  filterInputs,
  type FilterParser,
  inputPositions,
  type PreparedFilter,
  shapeOf,
} from '../../filter/prepared-filter.js';
import { incomparable } from '../../filter/resolve.js';
import { type FilterInput, FilterSlots } from '../../filter/slots.js';
import { filterCondition } from '../../filter/to-sql.js';
import { refuse } from '../../protocol/errors.js';
import { checked, type ComputedAccessors } from './computed-accessors.js';
import { paramsOf } from '../objects/selection-values.js';
import type { ComputedDefinition } from '../../protocol/definition.js';
import { checkComparator } from '../../filter/condition.js';
import { Similarities } from '../../filter/context.js';

/** The accessors called for one filter. */
interface CallCount {
  count: number;
  /**
   * The refusal of a filter that calls class code too often; it is reported to the client as too
   * long.
   */
  refusal?: Error;
}

/** Accessors that lead to each other, one inside the other. */
const maxDepth = 20;

/** Comparisons for which one filter calls class code, including those in its results. */
const maxCalls = 1000;

/**
 * Replaces comparisons with attributes that class code computes by the filters that class code
 * returns for them (`class-code.md#computed-attributes`).
 */
export class ComputedFilters {
  constructor(
    private readonly accessors: ComputedAccessors,
    private readonly filters: FilterParser,
    private readonly dialect: Dialect,
  ) {}

  /**
   * @returns `undefined` if the filter names no such attribute
   * @throws RequestError 400 for an attribute without `query`, AccessorFailedError for wrong
   * filters
   */
  async resolve(
    dataclass: Dataclass,
    filter: PreparedFilter,
    inputs: FilterInputs,
    names: NameScope,
  ): Promise<ResolvedFilter | undefined> {
    if (computedIn(dataclass, filter.filter, names).length === 0) return undefined;
    const calls: CallCount = { count: 0 };
    return together(
      filter,
      await this.#resolved(dataclass, filter.filter, inputs, names, 0, calls),
    );
  }

  async #resolved(
    dataclass: Dataclass,
    filter: FilterNode,
    inputs: FilterInputs,
    names: NameScope,
    depth: number,
    calls: CallCount,
  ): Promise<ResolvedNode> {
    const given = new Map<ComparisonNode, Given>();
    const replaced = new Map<ComparisonNode, FilterNode>();
    const positions = inputPositions(filter);
    for (const computed of computedIn(dataclass, filter, names)) {
      const position = positions.get(computed.node);
      const input = position === undefined ? undefined : inputs.inputs[position];
      const resolved = await this.#ask(computed, input, depth, calls);
      for (const [node, value] of resolved.given) given.set(node, value);
      replaced.set(computed.node, resolved.node);
    }
    const node = rebuilt(filter, (comparison) => {
      const replacement = replaced.get(comparison);
      if (replacement !== undefined) return replacement;
      // A cached filter serves several comparisons, each with its own values.
      const own = { ...comparison };
      const position = positions.get(comparison);
      if (position !== undefined) given.set(own, givenAt(inputs, position));
      return own;
    });
    return { node, given };
  }

  async #ask(
    { node, attribute, owner, properties }: ComputedComparison,
    input: FilterInput | undefined,
    depth: number,
    calls: CallCount,
  ): Promise<ResolvedNode> {
    if (!attribute.accessors.includes('query')) throw incomparable(node);
    if (properties.length > 0) {
      const problem = `class code computes the attribute that ${written(node)} is a property of`;
      throw wrongComparator(node, `${problem}, so it cannot be compared`);
    }
    calls.count += 1;
    if (calls.count > maxCalls) {
      const problem =
        'The filter has too many comparisons with attributes that class code computes';
      calls.refusal = refuse('invalidQuery', `${problem}: at most ${maxCalls}.`);
      throw calls.refusal;
    }
    const { comparator } = node;
    // `!=` is always NOT (`=`): filters F37.
    const isNegated = comparator === '!=' || comparator === '!==';
    const positive = isNegated ? (comparator === '!=' ? '=' : '===') : comparator;
    const comparison: ComparisonNode = { ...node, comparator: positive };
    const compared = comparedValue(attribute, comparison, input);
    const given = new Map<ComparisonNode, Given>();
    let filter: FilterNode | undefined;
    if (compared !== undefined) {
      const isWild = this.filters.takesWildcards;
      const operator = positive === '===' && !isWild ? '=' : positive;
      const { value } = compared;
      const said = await this.accessors.query(owner, attribute, { operator, value });
      const resolved = await this.#said(owner, said, depth, calls);
      for (const [each, own] of resolved.given) given.set(each, own);
      filter = resolved.node;
    }
    const isNullWanted = compared?.isNullWanted === true;
    const computed: FilterNode = { kind: 'computed', comparison, filter, isNullWanted };
    return { node: isNegated ? { kind: 'not', operand: computed } : computed, given };
  }

  /**
   * Reads, resolves and checks a filter that class code returned: its errors are not the client's.
   */
  #said(
    owner: Dataclass,
    said: Awaited<ReturnType<ComputedAccessors['query']>>,
    depth: number,
    calls: CallCount,
  ): Promise<ResolvedNode> {
    return checked(
      said,
      async ({ filter: text, values = [] }) => {
        if (depth === maxDepth) {
          throw new Error(
            `filters of class code lead to more than ${maxDepth} others, one inside the other`,
          );
        }
        const params = paramsOf(values);
        const filter = this.filters.prepare(text, params);
        if (filter.orderBy !== undefined) throw new Error('its filter must have no order by');
        const inputs = filterInputs(filter, params);
        const resolved = await this.#resolved(
          owner,
          filter.filter,
          inputs,
          'granted',
          depth + 1,
          calls,
        );
        this.#tryOut(owner, together(filter, resolved));
        return resolved;
      },
      (error) => error === calls.refusal,
    );
  }

  #tryOut(dataclass: Dataclass, { filter, inputs }: ResolvedFilter): void {
    const aliases = new Aliases();
    const slots = new FilterSlots(0);
    const context = {
      dialect: this.dialect,
      aliases,
      slots,
      similarities: new Similarities(),
      names: 'granted' as const,
      inputs: inputPositions(filter.filter),
      nulls: new Set(inputs.nulls),
      patterns: new Set(inputs.patterns),
      mismatched: new Set<number>(),
    };
    filterCondition(context, new From(aliases, dataclass), filter.filter);
    slots.fill(inputs.inputs, []);
  }
}

/** A comparison with an attribute that class code computes. */
interface ComputedComparison {
  readonly node: ComparisonNode;
  readonly attribute: ComputedDefinition;
  /** The dataclass that has the attribute. */
  readonly owner: Dataclass;
  readonly properties: readonly string[];
}

/**
 * The comparisons of a filter with such attributes. Writing the filter refuses comparisons whose
 * path leads nowhere.
 */
function computedIn(
  dataclass: Dataclass,
  filter: FilterNode,
  names: NameScope,
): ComputedComparison[] {
  const found: ComputedComparison[] = [];
  const waiting: FilterNode[] = [filter];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.kind === 'comparison') {
      const path = node.path.steps.map(({ name }) => name);
      const resolved = path.length === 0 ? undefined : resolvePath(dataclass, path, names);
      if (resolved === undefined || 'kind' in resolved || resolved.end.kind !== 'computed')
        continue;
      const { relations, end: attribute, properties } = resolved;
      const owner = relations.reduce((here, relation) => here.target(relation), dataclass);
      found.push({ node, attribute, owner, properties });
    } else if (node.kind === 'not') waiting.push(node.operand);
    else if (node.kind !== 'computed') waiting.push(node.right, node.left);
  }
  return found;
}

/** The value that an attribute is compared with, as class code reads it. */
interface ComparedValue {
  readonly value: unknown;
  /** Whether the comparison looks for null, alone or in a list. */
  readonly isNullWanted: boolean;
}

const asWritten = (text: string): string => text;

/**
 * The value of a comparison in the form of the attribute's type: a `Date`, `YYYY-MM-DD` for a date
 * without time, a boolean, a list behind `IN`, null.
 * @param input none for a written `null`
 * @returns `undefined` for a value that is forgiven, and so equals none
 * @throws RequestError 400 with 1112 for a comparator that does not apply to the type, 1162 or 1280
 * for a value that cannot be read
 */
function comparedValue(
  attribute: ComputedDefinition,
  node: ComparisonNode,
  input: FilterInput | undefined,
): ComparedValue | undefined {
  const { comparator } = node;
  if (comparator === 'in') return comparedList(attribute, node, input);
  if (input === undefined || input.value === null) {
    if (!equalities.has(comparator)) {
      throw wrongComparator(node, 'null is compared with = or != only');
    }
    return { value: null, isNullWanted: true };
  }
  refuseOthers(attribute, node);
  const value = typedInput(attribute, input);
  return value === undefined ? undefined : { value, isNullWanted: false };
}

const equalities: ReadonlySet<string> = new Set(['=', '!=', '===', '!==']);

function comparedList(
  attribute: ComputedDefinition,
  node: ComparisonNode,
  input: FilterInput | undefined,
): ComparedValue {
  refuseOthers(attribute, node);
  const typed =
    input === undefined ? [] : itemsOf(input).map((each) => typedInput(attribute, each));
  const value = typed.filter((each) => each !== undefined);
  return { value, isNullWanted: value.includes(null) };
}

function refuseOthers(attribute: ComputedDefinition, node: ComparisonNode): void {
  const { type } = attribute;
  if (type === 'object' || type === 'vector') {
    const problem = `class code computes the ${type} ${written(node)}`;
    throw wrongComparator(node, `${problem}, so it can be compared with null only`);
  }
  checkComparator(attribute, { node, comparator: node.comparator });
}

function typedInput({ type, dateOnly }: ComputedDefinition, input: FilterInput): unknown {
  const stored = readValue(type, dateOnly === true, input, asWritten);
  if (stored === null || stored === undefined) return stored;
  if (type === 'boolean') return stored === 1;
  return type === 'date' && dateOnly !== true ? new Date(stored) : stored;
}

/** A filter with the values of one request, without comparisons that class code has to resolve. */
export interface ResolvedFilter {
  readonly filter: PreparedFilter;
  readonly inputs: FilterInputs;
}

/** The value of one comparison. */
interface Given {
  readonly input: FilterInput;
  readonly isNull: boolean;
  readonly isPattern: boolean;
}

/** A resolved tree, and its values. */
interface ResolvedNode {
  readonly node: FilterNode;
  /** A written `null` has no value here. */
  readonly given: ReadonlyMap<ComparisonNode, Given>;
}

/** A copy of a tree with other comparisons. */
function rebuilt(node: FilterNode, other: (comparison: ComparisonNode) => FilterNode): FilterNode {
  switch (node.kind) {
    case 'comparison':
      return other(node);
    case 'computed':
      throw new Error('A filter is resolved once.');
    case 'not':
      return { kind: 'not', operand: rebuilt(node.operand, other) };
    case 'and':
    case 'or':
    case 'except':
      return {
        kind: node.kind,
        left: rebuilt(node.left, other),
        right: rebuilt(node.right, other),
      };
  }
}

function givenAt({ inputs, nulls, patterns }: FilterInputs, position: number): Given {
  return {
    input: inputs[position] as FilterInput,
    isNull: nulls.includes(position),
    isPattern: patterns.includes(position),
  };
}

/** Numbers the values as the shape of the filter does. */
function together(
  { orderBy, conditions }: PreparedFilter,
  { node, given }: ResolvedNode,
): ResolvedFilter {
  const { shape, comparisons } = shapeOf(node);
  const values = comparisons.map((each) => given.get(each) as Given);
  const marked = (isMarked: (value: Given) => boolean): number[] =>
    values.flatMap((value, index) => (isMarked(value) ? [index] : []));
  const inputs: FilterInputs = {
    inputs: values.map(({ input }) => input),
    nulls: marked(({ isNull }) => isNull),
    patterns: marked(({ isPattern }) => isPattern),
  };
  const filter = { filter: node, orderBy, shape, conditions, sources: [], constants: inputs };
  return { filter, inputs };
}
