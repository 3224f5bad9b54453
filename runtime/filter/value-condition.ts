import { sql } from 'kysely';
import { type Dialect, isIn, type Operator, type Sql } from '../dialect/dialect.js';
import type { SqlValue } from '../dialect/statement.js';
import type { ValueType } from '../dialect/value-type.js';
import type { Comparator, ComparisonNode } from './ast.js';
import type { FilterContext } from './context.js';
import type { Convert, FilterInput } from './slots.js';
import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import { comparisonValue } from '../protocol/comparison-value.js';
import { decimalAtScale, type Rounding } from '../protocol/decimal.js';
import { shortened, writtenName } from '../protocol/names.js';
import type { Fold } from '../protocol/fold.js';
import type { StorageType } from '../protocol/storage-type.js';
import { numberJson } from '../protocol/numbers.js';
import { isList, placeholderName, wrongParam } from './params.js';
import type { RequestError } from '../protocol/errors.js';
import { filterError } from './lexer.js';
import { givenValue, hasPattern } from './inputs.js';

/** The value of a comparison. */
export interface Operand {
  readonly input: number;
  /** Distinguishes the values made from one input: `text`, `number`. */
  readonly kind: string;
  /** The type of what it is compared with. */
  readonly type: ValueType;
  /** Makes the value, folded if it is a text. */
  readonly convert: Convert;
  /** Whether the value, or a member of the list, contains a wildcard. */
  readonly isPattern: boolean;
}

/** A comparison with a folded text or another value (filters F1 to F7), null or false over null; not `!=`. */
export function valueCondition(
  context: FilterContext,
  value: Sql,
  comparator: Exclude<Comparator, '===' | '!=' | '!=='>,
  operand: Operand,
): Sql {
  switch (comparator) {
    case '=':
      return operand.isPattern
        ? patternCondition(context, value, operand)
        : ordinary(context, value, comparator, operand);
    case '<':
    case '<=':
    case '>':
    case '>=':
      return ordinary(context, value, comparator, operand);
    case 'begin':
      return beginCondition(context, value, operand);
    case 'contains':
      return context.dialect.contains(value, wantedValue(context, operand));
    case '%':
      return wordCondition(context, value, operand);
    case 'in':
      return memberCondition(context, value, operand);
  }
}

function ordinary(context: FilterContext, value: Sql, operator: Operator, operand: Operand): Sql {
  return context.dialect.compare(value, operator, wantedValue(context, operand), operand.type);
}

/** The bound value. */
export function wantedValue({ slots }: FilterContext, { input, kind, convert }: Operand): Sql {
  return sql`${slots.take(input, kind, convert)}`;
}

function memberCondition(
  { dialect, slots }: FilterContext,
  value: Sql,
  { input, kind, type, convert, isPattern }: Operand,
): Sql {
  const list = listOf(isPattern ? onlyWithout(convert) : convert);
  const isMember = isIn(dialect, value, sql`${slots.take(input, `${kind} list`, list)}`, type);
  if (!isPattern) return isMember;
  const patterns = slots.take(input, `${kind} patterns`, patternsOf(convert));
  return sql`(${isMember} or ${dialect.matchesAny(value, sql`${patterns}`)})`;
}

/** Finding the piece spares most texts the search for a word, which costs more. */
function wordCondition(context: FilterContext, text: Sql, operand: Operand): Sql {
  const word = wantedValue(context, operand);
  return sql`(${context.dialect.contains(text, word)} and drs_has_word(${text}, ${word}))`;
}

/** The range of texts that begin with the value, so that an index serves it. */
function beginCondition(context: FilterContext, text: Sql, operand: Operand): Sql {
  const { input, kind, convert } = operand;
  const first = wantedValue(context, operand);
  const end = context.slots.take(input, `${kind} end`, (given) => {
    const prefix = convert(given);
    return typeof prefix === 'string' ? (endOfPrefix(prefix) ?? afterEveryText) : prefix;
  });
  return sql`(${text} >= ${first} and ${text} < ${end})`;
}

/** The range of texts with the pattern's prefix; the rest is checked within it. */
function patternCondition(
  { dialect, slots }: FilterContext,
  text: Sql,
  { input, kind, convert }: Operand,
): Sql {
  const part = (purpose: string, take: (parts: PatternParts) => SqlValue): Sql => {
    const slot = slots.take(input, `${kind} ${purpose}`, (given) => {
      const parts = partsOf(convert, given);
      return parts === undefined ? null : take(parts);
    });
    return sql`${slot}`;
  };
  const first = part('prefix', ({ prefix }) => prefix);
  const end = part('end of prefix', ({ prefix }) => endOfPrefix(prefix) ?? afterEveryText);
  const pattern = part('pattern', (parts) => parts.pattern);
  const piece = part('piece', (parts) => parts.piece);
  return sql`(${text} >= ${first} and ${text} < ${end} and (${dialect.bound(pattern, 'text')} is null or ${dialect.matches(text, pattern, piece)}))`;
}

function partsOf(convert: Convert, given: FilterInput): PatternParts | undefined {
  const written = given.value;
  const value = convert(
    typeof written === 'string' ? { ...given, ...starred(withoutStar(written)) } : given,
  );
  return typeof value === 'string' ? patternParts(value) : undefined;
}

function starred(text: string): Pick<FilterInput, 'value' | 'text'> {
  return { value: text, text };
}

/** Members without wildcard; the others are patterns. */
function onlyWithout(convert: Convert): Convert {
  return (given) => {
    const value = convert(given);
    return typeof value === 'string' && !hasPattern(given) ? value : null;
  };
}

/** A JSON object: each pattern, and the piece of it to look for first. */
function patternsOf(convert: Convert): Convert {
  return (input) => {
    const patterns = new Map<string, string>();
    for (const item of itemsOf(input)) {
      const parts = hasPattern(item) ? partsOf(convert, item) : undefined;
      if (parts === undefined) continue;
      const { prefix, piece } = parts;
      const pattern = parts.pattern ?? `${prefix}@`;
      patterns.set(pattern, piece.length > prefix.length ? piece : prefix);
    }
    const members = Array.from(patterns, (each) =>
      each.map((text) => JSON.stringify(text)).join(':'),
    );
    return `{${members.join()}}`;
  };
}

/**
 * A value to compare with: see `comparisonValue`.
 * @returns `undefined` for one that is forgiven
 * @throws RequestError 400 with 1162 or 1280 for one that cannot be read (filters F34, F41)
 */
export function readValue(
  type: StorageType,
  dateOnly: boolean,
  input: FilterInput,
  fold: Fold,
): string | number | null | undefined {
  refuseComposite(input);
  const value = comparisonValue(type, dateOnly, input, fold);
  if (value === undefined && input.isForgiven !== true) {
    throw unreadable(type === 'date' && dateOnly ? 'day' : type, input);
  }
  return value;
}

/** What can be read as a value of each type. */
const readable: Readonly<Partial<Record<StorageType | 'day', string>>> = {
  string: 'a text without half of a surrogate pair',
  uuid: 'a UUID of 32 hexadecimal digits, with or without dashes',
  number: 'a number such as -12.5 or 1e6',
  integer: 'a number such as 42',
  decimal: 'a number such as 12.50',
  duration: 'a number of milliseconds such as 1500',
  boolean: 'true or false',
  date: 'a date such as 2024-06-01, 2024-06-01T12:30:00Z, 2024-06-01T14:30:00+02:00 or 2024-06-01 12:30',
  day: 'a date such as 2024-06-01, 1!6!2024 or 2024-06-01T12:30:00Z',
};

function unreadable(type: StorageType | 'day', input: FilterInput): RequestError {
  const { placeholder, start = 0, value } = input;
  const expected = `expected ${readable[type] ?? 'null'}`;
  const found = `found ${JSON.stringify(shortened(input.text ?? String(value)))}`;
  if (placeholder === undefined) return filterError(start, `${expected}, ${found}`);
  const what = `${expected} as the value of :${placeholderName(placeholder)} in $params`;
  return filterError(placeholder.start, `${what}, ${found}`, 'placeholderType');
}

/** A value of an attribute's type. */
export function attributeValue(
  { dialect }: { readonly dialect: Pick<Dialect, 'foldText'> },
  attribute: Pick<ColumnDefinition, 'type' | 'dateOnly'> & { readonly scale?: number },
  comparator: Comparator,
): Convert {
  const { type } = attribute;
  const dateOnly = attribute.dateOnly === true;
  const value = (input: FilterInput): SqlValue | undefined =>
    readValue(type, dateOnly, input, dialect.foldText);
  const rounding = roundings[comparator] ?? 'exact';
  if (type === 'integer' || type === 'duration') {
    return (input) => {
      const given = value(input);
      return typeof given === 'number' ? integerFor(given, rounding) : given;
    };
  }
  if (type !== 'decimal') return value;
  const { scale = 0 } = attribute;
  return (input) => {
    const given = value(input);
    return typeof given === 'string' ? decimalAtScale(given, scale, rounding) : given;
  };
}

/** A decimal of any scale, to be compared with a total. */
export function totalValue({ dialect }: FilterContext): Convert {
  return (input) => readValue('decimal', false, input, dialect.foldText);
}

/**
 * How a number is rounded to the scale of its attribute: with two decimals, `< 1.005` is `< 1.01`,
 * `> 1.005` is `> 1.00`, and nothing is `= 1.005`. Integers have no decimals.
 */
const roundings: Readonly<Partial<Record<Comparator, Rounding>>> = {
  '<': 'ceiling',
  '>=': 'ceiling',
  '<=': 'floor',
  '>': 'floor',
};

/** Beyond every stored integer, and within 64 bits. */
const mostInteger = 9e18;

/** The integer that compares with all integers as the number does; `undefined` if it would have to equal one. */
function integerFor(given: number, rounding: Rounding): number | undefined {
  if (rounding === 'exact') {
    return Number.isInteger(given) && Math.abs(given) < mostInteger ? given : undefined;
  }
  const whole = rounding === 'ceiling' ? Math.ceil(given) : Math.floor(given);
  // Not -0.
  return Math.max(-mostInteger, Math.min(whole, mostInteger)) + 0;
}

/** Text of a property of an object; null for everything that is no text. */
export function propertyText({ dialect }: FilterContext): Convert {
  return single((input) =>
    typeof input.value === 'string'
      ? (comparisonValue('string', false, input, dialect.foldText) ?? null)
      : null,
  );
}

/** Number of a property of an object; null for everything that is no number. */
export const propertyNumber = single(({ value }) => (typeof value === 'number' ? value + 0 : null));

/** 0 or 1 for a boolean of a property of an object; null for everything else. */
export const propertyBoolean = single(({ value }) =>
  typeof value === 'boolean' ? Number(value) : null,
);

/** A list or an object cannot be compared with anything (filters F41). */
function refuseComposite({ value, placeholder }: FilterInput): void {
  if (typeof value === 'object' && value !== null && placeholder !== undefined) {
    throw wrongParam(placeholder, 'a text, a number, true, false or null', value);
  }
}

function single(convert: Convert): Convert {
  return (input) => {
    refuseComposite(input);
    return convert(input);
  };
}

/** The members that `convert` accepts, without nulls, as a JSON list. @throws RequestError 400 with 1280 */
function listOf(convert: Convert): Convert {
  return (input) => {
    const members: string[] = [];
    for (const item of itemsOf(input)) {
      const value = item.value === null ? null : (convert(item) ?? null);
      if (value !== null) members.push(jsonOf(value));
    }
    return `[${members.join()}]`;
  };
}

/** The members of a list; their placeholder is that of the list, if the list is a parameter. */
export function itemsOf(input: FilterInput): readonly FilterInput[] {
  const { value, placeholder, items } = input;
  if (items !== undefined) return items;
  if (isList(value)) {
    return value.map((member) =>
      placeholder === undefined ? { value: member } : { ...input, ...givenValue(member) },
    );
  }
  if (placeholder !== undefined) throw wrongParam(placeholder, 'a list', value);
  throw new Error('IN stands before a list.');
}

function jsonOf(value: Exclude<SqlValue, null>): string {
  return typeof value === 'number' ? numberJson(value) : JSON.stringify(value);
}

export const orders: Readonly<Partial<Record<Comparator, Sql>>> = {
  '<': sql`<`,
  '<=': sql`<=`,
  '>': sql`>`,
  '>=': sql`>=`,
};

/** Whether a comparison treats wildcards in its value as such (filters F31). */
export function takesPattern(context: FilterContext, node: ComparisonNode, input: number): boolean {
  const { comparator } = node;
  const isWild = comparator === '=' || comparator === '!=' || comparator === 'in';
  return isWild && context.patterns.has(input);
}

export function wrongComparator(node: ComparisonNode, reason: string): RequestError {
  return filterError(node.path.start, reason, 'wrongComparator');
}

/** The path as the client wrote it: its target may have a name that clients do not know. */
export function written({ path }: ComparisonNode): string {
  return path.steps.map((step) => writtenName(step.name)).join('.');
}

/** Sorts after every text: it begins with the highest code points, which are not characters. */
const afterEveryText = '\u{10ffff}'.repeat(250);

/** A folded text with wildcards, split for the database (filters F31). */
interface PatternParts {
  /** The beginning of every matching text. */
  readonly prefix: string;
  /** The whole pattern, with `@` for any characters; none if the prefix is all of it. */
  readonly pattern: string | null;
  /** The longest piece behind the prefix. */
  readonly piece: string;
}

/** `*` at the end of a client's text is a wildcard as well. */
function withoutStar(text: string): string {
  return text.endsWith('*') ? `${text.slice(0, -1)}@` : text;
}

/** @param pattern folded, with `@` for any characters */
function patternParts(pattern: string): PatternParts {
  const [prefix, ...others] = pattern.split('@');
  const isPrefix = others.length > 0 && others.every((each) => each === '');
  let piece = '';
  for (const other of others) if (other.length > piece.length) piece = other;
  return { prefix: prefix as string, pattern: isPrefix ? null : pattern, piece };
}

/** The least text, by code point, above all texts with this prefix, if there is one. */
function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    // Surrogates are not characters.
    const next = last === 0xd7ff ? 0xe000 : last + 1;
    if (next <= 0x10ffff) return String.fromCodePoint(...points, next);
  }
  return undefined;
}
