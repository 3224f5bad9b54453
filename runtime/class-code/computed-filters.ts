import type { NameScope } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases, From } from '../dataclass/source.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Pending } from '../dialect/pending.js';
import type { ComparisonNode, FilterNode } from '../filter/ast.js';
import { wrongComparator, written } from '../filter/comparing.js';
import type { FilterInputs } from '../filter/inputs.js';
import {
  filterInputs,
  type FilterParser,
  inputPositions,
  type PreparedFilter,
} from '../filter/prepared-filter.js';
import { incomparable } from '../filter/resolve.js';
import { Similarities } from '../filter/similarities.js';
import { type FilterInput, FilterSlots } from '../filter/slots.js';
import { filterCondition } from '../filter/to-sql.js';
import { refuse } from '../protocol/errors.js';
import { comparedValue } from '../class/compared-value.js';
import { checked, type ComputedAccessors } from './computed-accessors.js';
import { type ComputedComparison, computedIn } from './computed-comparisons.js';
import { paramsOf } from '../class/selection-values.js';
import {
  type Given,
  givenAt,
  rebuilt,
  type Settled,
  type SettledFilter,
  together,
} from './settled-filter.js';

/** What class code was asked for one filter. */
interface Asked {
  count: number;
  /** Of a filter that asks for too much; the client's is long then, and so it is told. */
  refusal?: Error;
}

/** Accessors that lead to each other, one inside the other. */
const maxDepth = 20;

/** Comparisons that class code is asked about for one filter, those in its own answers among them. */
const maxAsked = 1000;

/** Puts filters of class code in the place of comparisons with attributes that it computes (protocol section 7.11). */
export class ComputedFilters {
  constructor(
    private readonly accessors: ComputedAccessors,
    private readonly filters: FilterParser,
    private readonly dialect: Dialect,
  ) {}

  /**
   * @returns `undefined` where the filter names no such attribute
   * @throws RequestError 400 for an attribute without `query`, AccessorFailedError for filters that are wrong
   */
  settle(
    dataclass: Dataclass,
    filter: PreparedFilter,
    inputs: FilterInputs,
    names: NameScope,
  ): Pending<SettledFilter> | undefined {
    if (computedIn(dataclass, filter.filter, names).length === 0) return undefined;
    return this.#whole(dataclass, filter, inputs, names);
  }

  async #whole(
    dataclass: Dataclass,
    filter: PreparedFilter,
    inputs: FilterInputs,
    names: NameScope,
  ): Promise<SettledFilter> {
    const asked: Asked = { count: 0 };
    return together(filter, await this.#settled(dataclass, filter.filter, inputs, names, 0, asked));
  }

  async #settled(
    dataclass: Dataclass,
    filter: FilterNode,
    inputs: FilterInputs,
    names: NameScope,
    depth: number,
    asked: Asked,
  ): Promise<Settled> {
    const given = new Map<ComparisonNode, Given>();
    const replaced = new Map<ComparisonNode, FilterNode>();
    const positions = inputPositions(filter);
    for (const computed of computedIn(dataclass, filter, names)) {
      const position = positions.get(computed.node);
      const input = position === undefined ? undefined : inputs.inputs[position];
      const settled = await this.#ask(computed, input, depth, asked);
      for (const [node, value] of settled.given) given.set(node, value);
      replaced.set(computed.node, settled.node);
    }
    const node = rebuilt(filter, (comparison) => {
      const replacement = replaced.get(comparison);
      if (replacement !== undefined) return replacement;
      // A filter that is kept is there for several comparisons, each with values of its own.
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
    asked: Asked,
  ): Promise<Settled> {
    if (!attribute.accessors.includes('query')) throw incomparable(node);
    if (properties.length > 0) {
      const problem = `class code computes the attribute that ${written(node)} is a property of`;
      throw wrongComparator(node, `${problem}, so it cannot be compared`);
    }
    asked.count += 1;
    if (asked.count > maxAsked) {
      const problem =
        'The filter has too many comparisons with attributes that class code computes';
      asked.refusal = refuse('invalidQuery', `${problem}: at most ${maxAsked}.`);
      throw asked.refusal;
    }
    const { comparator } = node;
    // `!=` is always NOT (`=`), protocol decision 23.
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
      const settled = await this.#said(owner, said, depth, asked);
      for (const [each, own] of settled.given) given.set(each, own);
      filter = settled.node;
    }
    const isNullWanted = compared?.isNullWanted === true;
    const computed: FilterNode = { kind: 'computed', comparison, filter, isNullWanted };
    return { node: isNegated ? { kind: 'not', operand: computed } : computed, given };
  }

  /** A filter that class code gave, read, settled itself, and looked at: what is wrong with it is no client's fault. */
  async #said(
    owner: Dataclass,
    said: Awaited<ReturnType<ComputedAccessors['query']>>,
    depth: number,
    asked: Asked,
  ): Promise<Settled> {
    const { filter, inputs } = checked(said, ({ filter: text, values = [] }) => {
      if (depth === maxDepth) {
        throw new Error(
          `filters of class code lead to more than ${maxDepth} others, one inside the other`,
        );
      }
      const params = paramsOf(values);
      const prepared = this.filters.prepare(text, params);
      if (prepared.orderBy !== undefined) throw new Error('its filter must have no order by');
      return { filter: prepared, inputs: filterInputs(prepared, params) };
    });
    const settled = await this.#inside(said, asked, () =>
      this.#settled(owner, filter.filter, inputs, 'granted', depth + 1, asked),
    );
    checked(said, () => {
      this.#tryOut(owner, together(filter, settled));
    });
    return settled;
  }

  /** An attribute without `query` in a filter of class code is a mistake of that. */
  async #inside(
    said: Awaited<ReturnType<ComputedAccessors['query']>>,
    asked: Asked,
    work: () => Promise<Settled>,
  ): Promise<Settled> {
    try {
      return await work();
    } catch (error) {
      if (error === asked.refusal) throw error;
      return checked(said, () => {
        throw error;
      });
    }
  }

  #tryOut(dataclass: Dataclass, { filter, inputs }: SettledFilter): void {
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
