import fc from 'fast-check';
import type { JsonValue, StorageType } from '../../../generator/model/model.js';
import type { Scalar } from '../memory/comparison.js';
import type { Comparator, Operand } from '../memory/filter.js';
import { features } from '../../support/random-model/features.js';
import { inputsOf, numbers, texts } from '../../support/random-model/values.js';

type Value = Scalar | null;

/** The parts of a comparison besides its path. */
export interface Test {
  readonly comparator: Comparator;
  readonly operands: readonly Operand[];
  readonly isListPlaceholder: boolean;
  readonly spelling: number;
}

/** The kinds of values in a comparison. */
export interface ValueKind {
  readonly type: StorageType;
  readonly dateOnly: boolean;
  readonly wildcard: boolean;
  /** The values of entities at the path. */
  readonly held: readonly JsonValue[];
}

/** Comparisons with values of one kind: those that entities have, others, and some that do not fit. */
export function tests(kind: ValueKind): fc.Arbitrary<Test> {
  const single = valuesFor(kind).chain((value) =>
    fc
      .oneof(...comparatorsFor(kind.type, value).map((each) => fc.constantFrom(...each)))
      .chain((comparator) =>
        fc.tuple(fc.constant(comparator), operandFor(kind, comparator, value)),
      ),
  );
  const one = fc.record({
    pair: single,
    spelling: fc.nat(1_000),
  });
  const plain = one.map(({ pair: [comparator, operand], spelling }): Test => ({
    comparator,
    operands: [operand],
    isListPlaceholder: false,
    spelling,
  }));
  if (!features.lists || ['vector', 'image', 'blob'].includes(kind.type)) return plain;
  const list = fc
    .tuple(
      fc.array(
        valuesFor(kind).chain((value) => operandFor(kind, 'in', value)),
        { maxLength: 4, size: 'medium' },
      ),
      fc.boolean(),
      fc.nat(1_000),
    )
    .map(([operands, isListPlaceholder, spelling]): Test => ({
      comparator: 'in',
      operands,
      // A list in the text of a filter has one value at least.
      isListPlaceholder: isListPlaceholder || operands.length === 0,
      spelling,
    }));
  return fc.oneof({ weight: 5, arbitrary: plain }, { weight: 1, arbitrary: list });
}

function valuesFor({ type, dateOnly, held }: ValueKind): fc.Arbitrary<Value> {
  const isNullOnly = ['vector', 'image', 'blob'].includes(type);
  if (isNullOnly) return fc.constant(null);
  const scalars = held.filter((each): each is Scalar => typeof each !== 'object');
  const known = scalars.length === 0 ? [1, 'a', true] : scalars;
  const inputs = type === 'object' ? fc.oneof(texts, numbers) : inputsOf(type, dateOnly);
  return fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom<Value>(...known) },
    { weight: 3, arbitrary: inputs as fc.Arbitrary<Scalar> },
    { weight: 1, arbitrary: fc.constantFrom(...misfits(type)) },
    { weight: 1, arbitrary: fc.constant(null) },
  );
}

/** Groups that are equally likely. */
function comparatorsFor(type: StorageType, value: Value): readonly (readonly Comparator[])[] {
  const equal: readonly Comparator[] = ['=', '!=', '===', '!=='];
  const isBoolean = type === 'boolean' || (type === 'object' && typeof value === 'boolean');
  if (value === null || isBoolean) return [equal];
  const ordered: readonly Comparator[] = ['<', '<=', '>', '>='];
  const isText = type === 'string' || (type === 'object' && typeof value === 'string');
  if (!isText) return [equal, ordered];
  const inTexts: readonly Comparator[] = features.containsAndWords
    ? ['begin', 'contains', '%', '%']
    : ['begin'];
  return [equal, ordered, inTexts];
}

function operandFor(kind: ValueKind, comparator: Comparator, value: Value): fc.Arbitrary<Operand> {
  const isText = kind.type === 'string' || kind.type === 'object';
  const changed =
    typeof value === 'string' && isText
      ? changedText(value, comparator, kind.wildcard)
      : fc.constant(value);
  return changed.chain((final) =>
    fc.constantFrom(...writings(final, kind.type)).map((writing) => ({ value: final, writing })),
  );
}

/** Some of them take wildcards, the others show that they do not. */
const wildcardComparators: readonly Comparator[] = ['=', '!=', 'in', '===', '!==', 'begin', '<='];

/** The text in another case, cut, or with wildcards, as the comparator suggests. */
function changedText(
  text: string,
  comparator: Comparator,
  wildcard: boolean,
): fc.Arbitrary<string> {
  const points = Array.from(text);
  const part = (start: number, end: number): string => points.slice(start, end).join('');
  const options = [text, text, text.toUpperCase(), text.toLowerCase(), part(0, points.length - 1)];
  if (comparator === 'contains' || comparator === '%') {
    options.push(part(1, points.length), part(1, points.length - 1), ...points.slice(0, 5));
  }
  if (comparator === '%') options.push(...(text.match(/[\p{L}\p{M}\p{N}_]+|\p{L}+/gu) ?? []));
  const cuts = fc.nat(points.length).map((at) => {
    const rests = [`${part(0, at)}@${part(at + 1, points.length)}`, `@${part(at, points.length)}`];
    return [...rests, `${part(0, at)}*`, `${part(0, at)}@`, `@${part(at, at + 1)}@`];
  });
  const cased = fc.constantFrom(...options);
  return wildcard && wildcardComparators.includes(comparator)
    ? fc.oneof(
        cased,
        cuts.chain((each) => fc.constantFrom(...each)),
      )
    : cased;
}

const keywords = ['and', 'or', 'except', 'is', 'not', 'by', 'in', 'order', 'begin', 'contains'];
const literals = ['null', 'true', 'false'];
const bareText = /^\p{L}[\p{L}\p{N}_'@*-]*$/u;

/** How a value may stand in a filter. */
function writings(value: Value, type: StorageType): readonly Operand['writing'][] {
  if (typeof value !== 'string') return ['placeholder', 'bare'];
  const isBare =
    (bareText.test(value) && ![...keywords, ...literals].includes(value.toLowerCase())) ||
    (type === 'string' && /^\d+(\.\d+)?$/.test(value)) ||
    (type === 'decimal' && /^[+-]?\d+(\.\d+)?$/.test(value)) ||
    (type === 'date' && /^\d[\dTZ:.+-]+$/.test(value)) ||
    (type === 'uuid' && /^[\dA-F-]{32,}$/i.test(value));
  return isBare ? ['placeholder', 'quoted', 'quoted', 'bare'] : ['placeholder', 'quoted'];
}

/** Values of other types: some can be read as one of this type, the others are refused. */
function misfits(type: StorageType): readonly Scalar[] {
  switch (type) {
    case 'string':
      return [12, true, 0.5, '12.50', '007'];
    case 'number':
    case 'integer':
    case 'duration':
      return ['12', '-1', '1e0', 'twelve', '', true, 0.5, '@', '1*'];
    case 'decimal':
      return ['1.005', '-0.001', 1e300, '-1e300', 5e-324, '12345678901234567890.5', 'x', '', true];
    case 'boolean':
      return ['true', 'false', 'maybe', 7];
    case 'date':
      return ['yesterday', '', 20_260_309, '2026-02-30', '2026-03-09', '2026@'];
    case 'uuid':
      return ['no uuid', 12, '', '0@'];
    case 'object':
      return ['1', 'true', '[]', 0, 1, true, false, ''];
    case 'vector':
    case 'image':
    case 'blob':
      return [];
  }
}
