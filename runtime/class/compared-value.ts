import type { ComparisonNode } from '../filter/ast.js';
import { wrongComparator, written } from '../filter/comparing.js';
import { checkComparator } from '../filter/condition.js';
import { isList } from '../filter/params.js';
import type { FilterInput } from '../filter/slots.js';
import { comparisonValue } from '../protocol/comparison-value.js';
import type { ComputedDefinition } from '../protocol/definition.js';

/** What an attribute is compared with, as class code reads it. */
export interface ComparedValue {
  readonly value: unknown;
  /** Null is looked for, alone or in a list. */
  readonly isNullWanted: boolean;
}

const asWritten = (text: string): string => text;

/**
 * The value of a comparison in the form of the attribute's type: a `Date`, `YYYY-MM-DD` for a date only, a boolean, a list
 * behind `IN`, null.
 * @param input none for a written `null`
 * @returns `undefined` for what can be no value of the type, and so equals none
 * @throws RequestError 400 with 1112 for a comparator that does not apply to the type
 */
export function comparedValue(
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
  const given = isList(input?.value) ? input.value : [];
  const items = input?.items ?? given.map((value): FilterInput => ({ value }));
  const typed = items.map((each) => typedInput(attribute, each));
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
  const stored = comparisonValue(type, dateOnly === true, input, asWritten);
  if (stored === null || stored === undefined) return stored;
  if (type === 'boolean') return stored === 1;
  return type === 'date' && dateOnly !== true ? new Date(stored) : stored;
}
