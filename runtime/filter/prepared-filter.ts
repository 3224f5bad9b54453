import { BoundedCache } from '../dialect/bounded-cache.js';
import type { AttributePath, ComparisonNode, FilterNode, PlaceholderValue } from './ast.js';
import { filterError } from './lexer.js';
import {
  type FilterInputs,
  type InputSource,
  inputSource,
  maxListSize,
  readInputs,
} from './inputs.js';
import {
  type FilterParams,
  paramOf,
  wrongParam,
  placeholderName,
  placeholderText,
} from './params.js';
import { type FilterLimits, type ParsedFilter, parseFilter, type TakeCompared } from './parser.js';
import { pathFromParam, stepText, takePath } from './path.js';
import type { FilterInput } from './slots.js';
import { ownText } from '../protocol/own-text.js';
import { writtenName } from '../protocol/names.js';

/** A filter that was parsed once: the parts that do not depend on the values of `$params`. */
export interface PreparedFilter extends ParsedFilter {
  /** Equal for filters that differ only in values. */
  readonly shape: string;
  /** How many conditions it has, including those with null. */
  readonly conditions: number;
  /** The sources of the inputs; {@link filterInputs} reads them. */
  readonly sources: readonly InputSource[];
  /** The inputs, if they are the same for each request. */
  readonly constants: FilterInputs | undefined;
  /** Positions of the values among the inputs of the whole filter, if this is a part of one. */
  readonly positions?: ReadonlyMap<ComparisonNode, number>;
}

/** What decides how to read a filter, in addition to limits. */
interface FilterOptions {
  /** Whether `@`, and `*` at the end, match any characters (filters F31). */
  readonly wildcard: boolean;
  /** Clients of it read entities with values that cannot be read (protocol P14.11). */
  readonly compatibility?: 'wakanda';
}

/** The most conditions of a filter: each costs the database work, and a longer filter is refused before any is done. */
const maxConditions = 500;

/** The deepest nesting of parentheses, whatever the environment says; a database takes fewer NOTs. */
const maxDepth = 1000;

/** Bytes of all cached filters. */
const maxFilterBytes = 16 * 1024 * 1024;

/** The approximate size of the nodes of a condition, and of a value in a list. */
const bytesPerCondition = 600;
const bytesPerListed = 200;

/** Parses filters, and caches the most recent ones. */
export class FilterParser {
  readonly #prepared = new BoundedCache<PreparedFilter>(maxFilterBytes, weightOf);
  #strict: FilterParser | undefined;

  constructor(
    private readonly limits: FilterLimits,
    private readonly options: FilterOptions = { wildcard: false },
  ) {}

  /** See {@link FilterOptions.wildcard}. */
  get takesWildcards(): boolean {
    return this.options.wildcard;
  }

  /** For requests that may change or delete what they select: no value is forgiven. */
  get strict(): FilterParser {
    const { compatibility, wildcard } = this.options;
    if (compatibility === undefined) return this;
    return (this.#strict ??= new FilterParser(this.limits, { wildcard }));
  }

  /** The values with which a client selects entities: see {@link filterInputs}. */
  inputs(filter: PreparedFilter, params: FilterParams | undefined): FilterInputs {
    const given = filterInputs(filter, params);
    if (this.options.compatibility === undefined) return given;
    return { ...given, inputs: given.inputs.map(forgiven) };
  }

  /** @throws RequestError 400 with the place in the text and what was expected there */
  prepare(text: string, params: FilterParams | undefined): PreparedFilter {
    const known = this.#prepared.get(text);
    if (known !== undefined) return known;
    // The cached tree refers to parts of the text.
    const own = ownText(text);
    const given: AttributePath[] = [];
    const prepared = this.#parse(own, (cursor) => {
      const path = takePath(cursor);
      if (path.placeholder === undefined) return path;
      given.push(path);
      return this.#paramPath(path.placeholder, params);
    });
    if (given.length === 0) this.#prepared.set(own, prepared);
    return prepared;
  }

  /** A filter with something else in the place of paths. */
  prepareWith(takeCompared: TakeCompared, text: string): PreparedFilter {
    return this.#parse(ownText(text), takeCompared);
  }

  #paramPath(placeholder: PlaceholderValue, params: FilterParams | undefined): AttributePath {
    const path = paramOf(params, placeholder);
    if (typeof path !== 'string') throw wrongParam(placeholder, 'the path of an attribute', path);
    const { filterLength } = this.limits;
    if (path.length > filterLength) {
      const problem = `the path given by :${placeholderName(placeholder)} must not be longer than`;
      throw filterError(placeholder.start, `${problem} ${filterLength} characters`);
    }
    return pathFromParam(path, placeholder);
  }

  #parse(text: string, takeCompared: TakeCompared): PreparedFilter {
    const { filterLength, filterDepth } = this.limits;
    const limits = {
      filterLength,
      filterDepth: Math.min(filterDepth, maxDepth),
      conditions: maxConditions,
      listSize: maxListSize,
    };
    let conditions = 0;
    const parsed = parseFilter(text, limits, (cursor) => {
      conditions += 1;
      return takeCompared(cursor);
    });
    const { shape, comparisons } = shapeOf(parsed.filter);
    const sources = comparisons.map((each) => inputSource(each, this.options.wildcard));
    const isConstant = sources.every((source) => source.constant !== undefined);
    const constants = isConstant ? readInputs(sources, undefined, true) : undefined;
    return { ...parsed, shape, conditions, sources, constants };
  }
}

function forgiven(input: FilterInput): FilterInput {
  const { items } = input;
  const isForgiven = true;
  return items === undefined
    ? { ...input, isForgiven }
    : { ...input, isForgiven, items: items.map(forgiven) };
}

function weightOf({ shape, sources, orderBy }: PreparedFilter): number {
  let weight = shape.length + (orderBy?.text.length ?? 0);
  for (const { value } of sources) {
    weight += bytesPerCondition + (value.kind === 'list' ? value.items.length * bytesPerListed : 0);
  }
  return weight;
}

/**
 * Replaces placeholders by the values of `$params`.
 * @param areGivenPatterns whether a wildcard in one of these values is one, in a model with wildcards
 * @throws RequestError 400 with 1279 if there are too few, 1280 if one is of the wrong kind, 1162
 * for lists that are too long
 */
export function filterInputs(
  { sources, constants }: PreparedFilter,
  params: FilterParams | undefined,
  areGivenPatterns = true,
): FilterInputs {
  return constants ?? readInputs(sources, params, areGivenPatterns);
}

/** Numbers the comparisons of a filter as its shape numbers their values. */
export function inputPositions(filter: FilterNode): ReadonlyMap<ComparisonNode, number> {
  const positions = new Map<ComparisonNode, number>();
  const waiting: FilterNode[] = [filter];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.kind === 'comparison') {
      if (node.value.kind !== 'null') positions.set(node, positions.size);
    } else if (node.kind === 'computed') {
      if (node.filter !== undefined) waiting.push(node.filter);
    } else if (node.kind === 'not') {
      waiting.push(node.operand);
    } else {
      waiting.push(node.right, node.left);
    }
  }
  return positions;
}

/** A filter without its values: filters of one shape need one SQL statement. */
interface FilterShape {
  /** Canonical text with `?` for values except null. Filters that differ in more than values have different texts. */
  readonly shape: string;
  /** The comparisons with a `?`, in order. */
  readonly comparisons: readonly ComparisonNode[];
}

/** A node still to be written, or text between nodes. */
type OpenNode = FilterNode | string;

/** The shape and the values of a parsed filter: `city = ? AND boss = null` for `city = 'Paris' and boss is NULL`. */
export function shapeOf(node: FilterNode): FilterShape {
  const comparisons: ComparisonNode[] = [];
  return { shape: write(node, comparisons), comparisons };
}

/** Not recursive: a chain of a thousand ANDs is a thousand levels deep. */
function write(root: FilterNode, open: ComparisonNode[]): string {
  if (root.kind === 'comparison') return comparison(root, open);
  let text = '';
  const pending: OpenNode[] = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === 'string') {
      text += next;
      continue;
    }
    switch (next.kind) {
      case 'comparison':
        text += comparison(next, open);
        break;
      case 'computed':
        text += `${pathText(next.comparison.path)}:${next.isNullWanted ? 'null' : ''}(`;
        pending.push(')', ...(next.filter === undefined ? [] : [next.filter]));
        break;
      case 'not':
        pending.push(')', next.operand);
        text += 'NOT (';
        break;
      case 'or':
        push(pending, next.right, next.right.kind === 'or');
        pending.push(' OR ', next.left);
        break;
      case 'and':
      case 'except':
        push(pending, next.right, isLogical(next.right));
        pending.push(next.kind === 'and' ? ' AND ' : ' EXCEPT ');
        push(pending, next.left, next.left.kind === 'or');
        break;
    }
  }
  return text;
}

function push(pending: OpenNode[], node: FilterNode, inParentheses: boolean): void {
  if (inParentheses) pending.push(')', node, '(');
  else pending.push(node);
}

function isLogical({ kind }: FilterNode): boolean {
  return kind === 'and' || kind === 'or' || kind === 'except';
}

/** @param open gets the comparison if `?` is written for its value, which is not null */
function comparison(node: ComparisonNode, open: ComparisonNode[]): string {
  const { path, comparator, value } = node;
  const left = `${pathText(path)} ${comparator}`;
  if (value.kind === 'null') return `${left} null`;
  open.push(node);
  return `${left} ?`;
}

function pathText({ steps, placeholder }: AttributePath): string {
  if (steps.length === 0 && placeholder !== undefined) return `:${placeholderText(placeholder)}`;
  return steps.map((step) => stepText({ ...step, name: writtenName(step.name) })).join('.');
}
