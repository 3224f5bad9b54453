import { backtrackingOf } from './backtracking.js';
import { child, entry, isNull, numberOf, textOf } from '../source/tree.js';
import { defaultHint } from './type-hints.js';
import { expectedValue, valueOf, type ValueType } from './values.js';
import { isKey, type AttributeDraft } from './world.js';
import { compareDecimals } from '../model/decimals.js';
import type { JsonValue, StorageAttribute, StorageType } from '../model/model.js';
import type { SourceNode } from '../source/tree.js';
import type { Context } from './context.js';

type Rules = Pick<
  StorageAttribute,
  'default' | 'enum' | 'minLength' | 'maxLength' | 'min' | 'max' | 'pattern'
>;

/** Types that each rule fits. */
const ruleTypes: Readonly<Record<Exclude<keyof Rules, 'default'>, readonly StorageType[]>> = {
  enum: ['string', 'number', 'integer', 'decimal', 'duration'],
  minLength: ['string'],
  maxLength: ['string'],
  min: ['number', 'integer', 'decimal', 'duration', 'date'],
  max: ['number', 'integer', 'decimal', 'duration', 'date'],
  pattern: ['string'],
};

/**
 * Checks the rules for an attribute's values: each fits the type, they do not contradict each
 * other, and the default obeys them.
 */
export function checkRules(context: Context, draft: AttributeDraft, of: ValueType): Rules {
  const fits = (rule: keyof typeof ruleTypes): SourceNode | undefined =>
    fitting(context, draft, of.type, rule);
  const rules: Rules = {
    ...given('enum', checkEnum(context, draft, of, fits('enum'))),
    ...given('minLength', numberOf(fits('minLength'))),
    ...given('maxLength', numberOf(fits('maxLength'))),
    ...given('min', checkBound(context, draft, of, 'min', fits('min'))),
    ...given('max', checkBound(context, draft, of, 'max', fits('max'))),
    ...given('pattern', checkPattern(context, draft, fits('pattern'))),
  };
  checkOrder(context, draft, of, 'minLength', 'maxLength', rules);
  checkOrder(context, draft, of, 'min', 'max', rules);
  checkTimeOfPattern(context, draft, rules);
  return { ...rules, ...given('default', checkDefault(context, draft, of, rules)) };
}

function given<K extends string, V>(name: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [P in K]?: V });
}

function fitting(
  { report }: Context,
  { node, label }: AttributeDraft,
  type: StorageType,
  rule: keyof typeof ruleTypes,
): SourceNode | undefined {
  const found = entry(node, rule);
  if (found === undefined || ruleTypes[rule].includes(type)) return found?.value;
  const fill = { attribute: label, type, rule, fitting: ruleTypes[rule].join(', ') };
  report('storage/rule-type', fill, found.key);
  return undefined;
}

function checkEnum(
  { report }: Context,
  { label }: AttributeDraft,
  of: ValueType,
  node: SourceNode | undefined,
): readonly (string | number)[] | undefined {
  if (node?.kind !== 'list') return undefined;
  const values = new Set<string | number>();
  for (const item of node.items) {
    const value = valueOf(of, item);
    if (typeof value !== 'string' && typeof value !== 'number') {
      // The shape check has reported anything but a text or a number.
      const reason = `must be ${expectedValue(of)}`;
      if (item.kind === 'scalar' && item.value !== null && typeof item.value !== 'boolean') {
        report('storage/bad-enum-value', { attribute: label, reason }, item);
      }
    } else if (typeof value === 'string' && value.includes('\0')) {
      report('storage/enum-null-character', { attribute: label }, item);
    } else if (values.has(value)) {
      const reason = 'is listed twice';
      report('storage/bad-enum-value', { attribute: label, reason }, item);
    } else values.add(value);
  }
  return [...values];
}

function checkBound(
  { report }: Context,
  { label }: AttributeDraft,
  of: ValueType,
  key: 'min' | 'max',
  node: SourceNode | undefined,
): number | string | undefined {
  if (numberOf(node) === undefined && textOf(node) === undefined) return undefined;
  const value = node === undefined ? undefined : valueOf(of, node);
  if (typeof value === 'number' || typeof value === 'string') return value;
  if (node !== undefined) {
    const fill = { attribute: label, type: of.type, key, expected: expectedValue(of) };
    report('storage/bad-bound', fill, node);
  }
  return undefined;
}

function checkPattern(
  { report }: Context,
  { label }: AttributeDraft,
  node: SourceNode | undefined,
): string | undefined {
  const pattern = textOf(node);
  if (node === undefined || pattern === undefined) return undefined;
  try {
    new RegExp(pattern, 'u');
    return pattern;
  } catch (error) {
    const told = error instanceof Error ? error.message : String(error);
    const reason = told.slice(told.lastIndexOf(': ') + 2);
    report('storage/bad-pattern', { attribute: label, reason }, node);
    return undefined;
  }
}

/** A server does not try longer texts on a pattern. */
const longestMatched = 2_000;
/** Up to this length, time that grows with a power of the length is short. */
const harmlessLength = 256;

function checkTimeOfPattern(
  { report }: Context,
  { label, node }: AttributeDraft,
  { pattern, maxLength }: Rules,
): void {
  const at = child(node, 'pattern');
  if (pattern === undefined || at === undefined) return;
  const limit = child(node, 'maxLength');
  if (maxLength !== undefined && limit !== undefined && maxLength > longestMatched) {
    report('storage/pattern-reach', { attribute: label, limit: longestMatched }, limit);
  }
  const found = backtrackingOf(new RegExp(pattern, 'u'));
  if (found?.growth === 'exponential') {
    const help = 'Write it so that each text can be matched in one way alone: ^(a+)+$ as ^a+$.';
    report('storage/slow-pattern', { attribute: label, ...found }, at, help);
  } else if (found !== undefined && (maxLength ?? Infinity) > harmlessLength) {
    const help = `Write it so that each text can be matched in one way alone, or give a maxLength of ${harmlessLength} or less.`;
    report('storage/slow-pattern', { attribute: label, ...found }, at, help);
  }
}

function checkOrder(
  { report }: Context,
  { label, node }: AttributeDraft,
  of: ValueType,
  lower: 'min' | 'minLength',
  upper: 'max' | 'maxLength',
  rules: Rules,
): void {
  const [low, high, at] = [rules[lower], rules[upper], child(node, lower)];
  if (low === undefined || high === undefined || at === undefined) return;
  if (!isBelow(of, high, low)) return;
  report('storage/range', { attribute: label, lower, upper }, at);
}

function checkDefault(
  { report }: Context,
  draft: AttributeDraft,
  of: ValueType,
  rules: Rules,
): JsonValue | undefined {
  const { node, label } = draft;
  const found = entry(node, 'default');
  // An empty default counts as none.
  if (found === undefined || isNull(found.value)) return undefined;
  const kind = isKey(draft) ? 'the primary key' : 'assigned by the server';
  if (isKey(draft) || child(node, 'generated') !== undefined) {
    const help =
      child(node, 'generated') === undefined ? defaultHint(of.type, found.value) : undefined;
    report('storage/default-assigned', { attribute: label, kind }, found.key, help);
    return undefined;
  }
  const value = valueOf(of, found.value);
  const reason =
    value === undefined ? `must be ${expectedValue(of)}` : brokenRule(of, value, rules);
  if (reason !== undefined) {
    const help = defaultHint(of.type, found.value);
    report('storage/bad-default', { attribute: label, reason }, found.value, help);
  }
  return value;
}

function isBelow({ type }: ValueType, value: string | number, other: string | number): boolean {
  return type === 'decimal' ? compareDecimals(value, other) < 0 : value < other;
}

function brokenRule(of: ValueType, value: JsonValue, rules: Rules): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  if (rules.enum?.includes(value) === false) return 'is not in its enum';
  if (rules.min !== undefined && isBelow(of, value, rules.min)) return 'is below its min';
  if (rules.max !== undefined && isBelow(of, rules.max, value)) return 'is above its max';
  if (typeof value === 'number' || of.type === 'decimal') return undefined;
  const length = Array.from(value).length;
  if (length < (rules.minLength ?? 0)) return 'is shorter than its minLength';
  if (length > (rules.maxLength ?? Infinity)) return 'is longer than its maxLength';
  if (rules.pattern !== undefined && !new RegExp(rules.pattern, 'u').test(value)) {
    return 'does not match its pattern';
  }
  return undefined;
}
