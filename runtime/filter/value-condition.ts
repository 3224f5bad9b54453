import { sql } from 'kysely';
import type { Operator, Sql } from '../dialect/dialect.js';
import type { SqlValue } from '../dialect/statement.js';
import type { ValueType } from '../dialect/value-type.js';
import type { Comparator } from './ast.js';
import type { FilterContext } from './context.js';
import { endOfPrefix, patternParts, type PatternParts, withoutStar } from './pattern.js';
import type { Convert, FilterInput } from './slots.js';
import { itemsOf, listOf } from './values.js';

/** What a value is compared with. */
export interface Operand {
  readonly input: number;
  /** Tells apart what is made of one input: `text`, `number`. */
  readonly kind: string;
  /** Of what it is compared with. */
  readonly type: ValueType;
  /** Makes the value, folded where it is a text. */
  readonly convert: Convert;
  /** The value, or a member of the list, holds a wildcard. */
  readonly isPattern: boolean;
}

/**
 * A comparison with a folded text, or with another value, as SQL (protocol 7.3, decision 12). Over null it is null or false.
 * `!=` is written as the opposite of `=`.
 */
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
      return context.dialect.hasWord(value, wantedValue(context, operand));
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
  const isMember = dialect.isIn(value, sql`${slots.take(input, `${kind} list`, list)}`, type);
  if (!isPattern) return isMember;
  const patterns = slots.take(input, `${kind} patterns`, patternsOf(convert));
  return sql`(${isMember} or ${dialect.matchesAny(value, sql`${patterns}`)})`;
}

/** The range of texts that begin with the value, so that an index serves it. */
function beginCondition(context: FilterContext, text: Sql, operand: Operand): Sql {
  const { input, kind, convert } = operand;
  const first = wantedValue(context, operand);
  const { afterEveryText } = context.dialect;
  const end = context.slots.take(input, `${kind} end`, (given) => {
    const prefix = convert(given);
    return typeof prefix === 'string' ? (endOfPrefix(prefix) ?? afterEveryText) : prefix;
  });
  return sql`(${text} >= ${first} and ${text} < ${end})`;
}

/** The range of texts that begin as the pattern does; what lies behind its first wildcard is looked at within the range. */
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
  const end = part('end of prefix', ({ prefix }) => endOfPrefix(prefix) ?? dialect.afterEveryText);
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
    return typeof value === 'string' && !isWild(given) ? value : null;
  };
}

function isWild({ value }: FilterInput): boolean {
  return typeof value === 'string' && (value.includes('@') || value.endsWith('*'));
}

/** A JSON object: each pattern, and the piece of it to look for first. */
function patternsOf(convert: Convert): Convert {
  return (input) => {
    const patterns = new Map<string, string>();
    for (const item of itemsOf(input)) {
      const parts = isWild(item) ? partsOf(convert, item) : undefined;
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
