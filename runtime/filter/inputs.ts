import type { Comparator, ComparisonNode, FilterValue, ListValue, SingleValue } from './ast.js';
import { filterError } from './lexer.js';
import { type FilterParams, isList, paramOf, wrongParam, placeholderName } from './params.js';
import { RoundedNumber } from '../protocol/numbers.js';
import type { FilterInput } from './slots.js';

/** The values of a filter in one request. */
export interface FilterInputs {
  readonly inputs: readonly FilterInput[];
  /** Inputs that are null, or lists with null: `is null` takes no value, so the condition differs. */
  readonly nulls: readonly number[];
  /** Inputs with a wildcard, if the model has wildcards: they are not compared with `=`. */
  readonly patterns: readonly number[];
}

/** The source of one input. */
export interface InputSource {
  readonly value: FilterValue;
  readonly comparator: Comparator;
  /** Whether a text with a wildcard is a pattern here. */
  readonly takesPatterns: boolean;
  /** The input, if it is the same for each request. */
  readonly constant: FilterInput | undefined;
}

/** Greatest number of values in a list. */
export const maxListSize = 10_000;

/** The most values in all lists of a filter together. */
const maxListedValues = 100_000;

const listItem = 'a text, a number, true, false or null';
const givenList = 'a list of texts, numbers, true, false and null';

/** @param wildcard whether the model has wildcards */
export function inputSource({ value, comparator }: ComparisonNode, wildcard: boolean): InputSource {
  const takesPatterns =
    wildcard && (comparator === '=' || comparator === '!=' || comparator === 'in');
  return { value, comparator, takesPatterns, constant: constantInput(value) };
}

const noValues: GivenValues = { params: undefined, arePlain: false };

function constantInput(value: FilterValue): FilterInput | undefined {
  switch (value.kind) {
    case 'null':
      return { value: null };
    case 'literal':
      return value;
    case 'placeholder':
      return undefined;
    case 'list':
      return value.items.every((item) => item.kind !== 'placeholder')
        ? writtenList(value, noValues)
        : undefined;
  }
}

/**
 * Reads the inputs of one request.
 * @param areGivenPatterns whether a wildcard in a value of `params` is one
 * @throws RequestError 400 with 1279, 1280 or 1162
 */
export function readInputs(
  sources: readonly InputSource[],
  params: FilterParams | undefined,
  areGivenPatterns: boolean,
): FilterInputs {
  const inputs: FilterInput[] = [];
  const nulls: number[] = [];
  const patterns: number[] = [];
  let listed = 0;
  for (const source of sources) {
    const position = inputs.length;
    const input = source.constant ?? readInput(source, { params, arePlain: !areGivenPatterns });
    const { value } = input;
    inputs.push(input);
    if (source.comparator === 'in' && isList(value)) {
      listed += value.length;
      if (listed > maxListedValues) throw tooManyListed(source);
      if (value.includes(null)) nulls.push(position);
    } else if (value === null) nulls.push(position);
    if (source.takesPatterns && hasPattern(input)) patterns.push(position);
  }
  return { inputs, nulls, patterns };
}

/** The values that come with a filter. */
interface GivenValues {
  readonly params: FilterParams | undefined;
  /** See {@link FilterInput.isPlain}. */
  readonly arePlain: boolean;
}

function readInput({ value, comparator }: InputSource, given: GivenValues): FilterInput {
  if (value.kind === 'list') return writtenList(value, given);
  const input = single(value, given);
  if (comparator === 'in') checkGivenList(input);
  return input;
}

function single(value: SingleValue, { params, arePlain }: GivenValues): FilterInput {
  if (value.kind === 'literal') return value;
  if (value.kind === 'null') return { value: null };
  const given = paramOf(params, value);
  if (given instanceof RoundedNumber) {
    return { ...givenValue(given), placeholder: value, isPlain: arePlain };
  }
  return { value: given, placeholder: value, isPlain: arePlain };
}

/** A value of `$params`; a number with too many digits for a double is compared as a literal is. */
export function givenValue(value: unknown): Pick<FilterInput, 'value' | 'text'> {
  return value instanceof RoundedNumber ? { value: value.value, text: value.text } : { value };
}

function writtenList({ items }: ListValue, given: GivenValues): FilterInput {
  const inputs: FilterInput[] = [];
  for (const item of items) {
    const input = single(item, given);
    if (isComposite(input.value) && input.placeholder !== undefined) {
      throw wrongParam(input.placeholder, listItem, input.value);
    }
    inputs.push(input);
  }
  return { value: inputs.map((input) => input.value), items: inputs };
}

function checkGivenList({ value, placeholder }: FilterInput): void {
  if (placeholder === undefined) return;
  if (!isList(value)) throw wrongParam(placeholder, 'a list', value);
  const name = placeholderName(placeholder);
  if (value.length > maxListSize) {
    const problem = `the list given by :${name} has ${value.length} values; a list has at most`;
    throw filterError(placeholder.start, `${problem} ${maxListSize}`);
  }
  const wrong = value.find(isComposite);
  if (wrong !== undefined) throw wrongParam(placeholder, givenList, wrong, ' in it');
}

function tooManyListed({ value }: InputSource): Error {
  const problem = `the lists of a filter have at most ${maxListedValues} values together`;
  return filterError(value.start, problem);
}

function isComposite(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof RoundedNumber);
}

/** Whether a text, or a member of a list, contains a wildcard. */
export function hasPattern({ value, items, isPlain }: FilterInput): boolean {
  if (items !== undefined) return items.some(hasPattern);
  if (isPlain === true) return false;
  return isList(value) ? value.some(hasWildcard) : hasWildcard(value);
}

function hasWildcard(value: unknown): boolean {
  return typeof value === 'string' && (value.includes('@') || value.endsWith('*'));
}
