import type { FilterInputs } from '../filter/inputs.js';
import { filterInputs, type PreparedFilter } from '../filter/prepared-filter.js';
import type { FilterParams } from '../filter/params.js';
import type { FilterInput } from '../filter/slots.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { refuse } from '../protocol/errors.js';
import type { LongNames } from '../protocol/names.js';
import {
  atRelation,
  type ExpandOptions,
  type ListedPath,
  parseAttributeList,
} from './attribute-list.js';
import type { OrderOrigin } from './order-by.js';
import { type Parameters, wholeNumber } from './parameters.js';
import { checkDepth, readListed } from './projection.js';
import { pageTop, type ReadingContext } from './reading-context.js';
import { type SelectionRequest, shapeName } from './selection-request.js';

/** The options behind a relation of `$expand` (protocol P3.25), without the values of its filters. */
export interface ExpandedQuery {
  readonly filter: PreparedFilter | undefined;
  readonly orderBy: { readonly text: string; readonly origin: OrderOrigin } | undefined;
  readonly top: number | undefined;
  /** Position of the number among the inputs of the expansions. */
  readonly skip: number | undefined;
  /** Position of the filter's first input among those of the expansions. */
  readonly first: number;
  readonly expand: readonly ExpandedItem[];
  readonly attributes: readonly ListedPath[] | undefined;
  /** The path of the relation from the entities of the answer, for errors. */
  readonly place: string;
}

/** One item of `$expand`. */
export interface ExpandedItem extends ListedPath {
  readonly query?: ExpandedQuery;
}

/** The position of the values of all expansions in a statement, and what decides it: see `FilterInputs`. */
export interface ExpandedValues {
  /** Position of the first among the inputs of the request. */
  readonly first: number;
  readonly nulls: readonly number[];
  readonly patterns: readonly number[];
  readonly mismatched: readonly number[];
}

/** A request's `$expand`. */
export interface Expansions {
  /** Equal for requests that differ only in values. */
  readonly shape: string;
  readonly inputs: FilterInputs;
  /** @throws RequestError 400 with 1805 or 1816 */
  readonly items: readonly ExpandedItem[];
}

type ExpandingContext = Pick<ReadingContext, 'filters' | 'limits' | 'options'>;

/** The conditions of all expansions of a request: each costs the database work. */
const maxConditions = 500;

const noInputs: FilterInputs = { inputs: [], nulls: [], patterns: [] };

/**
 * Reads `$expand`. Without options nothing binds, and the list is read when a statement is written.
 * @throws RequestError 400 for wrong options, with the path of their relation
 */
export function expansionsOf(
  context: ExpandingContext,
  { longNames }: Pick<Dataclass, 'longNames'>,
  { expand: text, params }: Pick<Parameters, 'expand' | 'params'>,
): Expansions | undefined {
  if (text === undefined) return undefined;
  const long = longNames();
  if (!text.includes('(')) {
    return {
      shape: text,
      inputs: noInputs,
      get items() {
        return readItems(context, long, text, 0);
      },
    };
  }
  const reading = new Reading(context, params, long);
  const items = reading.items(text, []);
  return { shape: shapeName([reading.shape]), inputs: reading, items };
}

/** The request with the values of its expansions behind its own. */
export function withExpanded<R extends SelectionRequest>(
  request: R,
  expansions: Expansions | undefined,
): R {
  if (expansions === undefined || expansions.inputs.inputs.length === 0) return request;
  const { inputs, nulls, patterns } = request.inputs;
  const more = expansions.inputs;
  const behind = (position: number): number => inputs.length + position;
  return {
    ...request,
    inputs: {
      inputs: [...inputs, ...more.inputs],
      nulls: [...nulls, ...more.nulls.map(behind)],
      patterns: [...patterns, ...more.patterns.map(behind)],
    },
  };
}

function readItems(
  { limits }: Pick<ExpandingContext, 'limits'>,
  long: LongNames | undefined,
  text: string,
  around: number,
): readonly ListedPath[] {
  const items = parseAttributeList(text, '$expand', long);
  for (const item of items) {
    checkDepth(item, '$expand', around + item.path.length, limits.expandDepth);
  }
  return items;
}

/** Reads options, and collects their shape and their values in the same order. */
class Reading implements FilterInputs {
  readonly inputs: FilterInput[] = [];
  readonly nulls: number[] = [];
  readonly patterns: number[] = [];
  shape = '';
  #conditions = 0;

  constructor(
    private readonly context: ExpandingContext,
    private readonly params: FilterParams | undefined,
    private readonly long: LongNames | undefined,
  ) {}

  items(text: string, around: readonly string[]): readonly ExpandedItem[] {
    const items = readItems(this.context, this.long, text, around.length);
    return items.map((item): ExpandedItem => {
      this.shape += shapeName(item.path);
      if (item.all) this.shape += '*';
      const { options } = item;
      if (options === undefined) return item;
      const path = [...around, ...item.path];
      const place = path.join('.');
      return { ...item, query: atRelation(place, () => this.#query(options, path, place)) };
    });
  }

  #query(options: ExpandOptions, path: readonly string[], place: string): ExpandedQuery {
    const { limits } = this.context;
    const { attributes: listed, expand } = options;
    const first = this.inputs.length;
    const filter = options.filter === undefined ? undefined : this.#filter(options.filter);
    const orderBy = orderOf(options, filter);
    const top =
      options.top === undefined
        ? undefined
        : pageTop(this.context, wholeNumber('$top', options.top));
    const skip = options.skip === undefined ? undefined : this.#skip(options.skip);
    const attributes =
      listed === undefined
        ? undefined
        : readListed(listed, '$attributes', limits.expandDepth - path.length, this.long);
    const texts = [filter?.shape, orderBy?.text, top?.toString(), skip?.toString(), listed];
    this.shape += `(${shapeName(texts)}`;
    const inside = expand === undefined ? [] : this.items(expand, path);
    this.shape += ')';
    return { filter, orderBy, top, skip, first, expand: inside, attributes, place };
  }

  #filter(text: string): PreparedFilter {
    const filter = this.context.filters.prepare(text, this.params);
    this.#conditions += filter.conditions;
    if (this.#conditions > maxConditions) {
      throw refuse(
        'expandList',
        `$expand has more than ${maxConditions} conditions up to here; all its filters together have at most that many.`,
      );
    }
    const { inputs, nulls, patterns } = filterInputs(filter, this.params);
    const first = this.inputs.length;
    const behind = (position: number): number => first + position;
    this.inputs.push(...inputs);
    this.nulls.push(...nulls.map(behind));
    this.patterns.push(...patterns.map(behind));
    this.shape += shapeName([nulls.join(), patterns.join()]);
    return filter;
  }

  #skip(text: string): number {
    this.inputs.push({ value: wholeNumber('$skip', text) });
    return this.inputs.length - 1;
  }
}

function orderOf(
  { orderby }: ExpandOptions,
  filter: PreparedFilter | undefined,
): ExpandedQuery['orderBy'] {
  if (orderby !== undefined) {
    return { text: orderby, origin: { parameter: '$orderby', start: 0 } };
  }
  const inFilter = filter?.orderBy;
  if (inFilter === undefined) return undefined;
  return { text: inFilter.text, origin: { parameter: '$filter', start: inFilter.start } };
}
