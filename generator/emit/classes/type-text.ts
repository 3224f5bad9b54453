import type {
  AggregateAttribute,
  AliasAttribute,
  Attribute,
  ComputedAttribute,
  Dataclass,
  FunctionType,
  Model,
  RelatedEntityAttribute,
  StorageAttribute,
  StorageType,
} from '../../model/model.js';
import {
  attributeNamed,
  dataclassNamed,
  keyOf,
  referencedBy,
  targetOf,
} from '../../model/lookup.js';
import { literal, stringLiteral } from '../layout.js';
import type { AllClassNames } from './class-names.js';

/** A TypeScript type as text, and its names that a file must import. */
export interface TypeText {
  readonly text: string;
  readonly uses: readonly string[];
}

/** The type of an attribute's value that is not null: with an enum, one of its values. */
export function attributeType(
  model: Model,
  dataclass: Dataclass,
  attribute: StorageAttribute | ComputedAttribute | AliasAttribute | AggregateAttribute,
): TypeText {
  const values = enumOf(model, dataclass, attribute);
  if (values === undefined) return valueType(attribute.type, attribute.dateOnly);
  return plain(enumType(values));
}

/** `'open' | 'paid'` */
export function enumType(values: readonly (string | number)[]): string {
  return values.map((each) => literal(each, 0, 0, 0)).join(' | ');
}

/** An alias has the values of the attribute that it leads to. */
function enumOf(
  model: Model,
  dataclass: Dataclass,
  attribute: Attribute,
): StorageAttribute['enum'] {
  if (attribute.kind === 'storage') return attribute.enum;
  if (attribute.kind !== 'alias') return undefined;
  const hops = attribute.path.slice(0, -1);
  const end = hops.reduce((at, hop) => {
    const relation = attributeNamed(at, hop);
    if (!('target' in relation)) throw new Error(`${at.name}.${hop} is no relation.`);
    return targetOf(model, relation);
  }, dataclass);
  return enumOf(model, end, attributeNamed(end, attribute.path.at(-1) ?? ''));
}

/**
 * A type of the names of attributes with decimals.
 * @param all attributes of all dataclasses
 * @returns none if there is no decimal among them
 */
export function decimalNames(
  attributes: readonly Attribute[],
  all: readonly Attribute[],
): string | undefined {
  const isDecimal = (each: Attribute): boolean => 'type' in each && each.type === 'decimal';
  if (!all.some(isDecimal)) return undefined;
  const names = attributes.filter(isDecimal).map(({ name }) => stringLiteral(name));
  return names.length === 0 ? 'never' : names.join(' | ');
}

/** The type of a value that is not null. */
export function valueType(type: StorageType, dateOnly = false): TypeText {
  switch (type) {
    case 'string':
    case 'uuid':
    case 'decimal':
      return plain('string');
    case 'number':
    case 'integer':
    case 'duration':
      return plain('number');
    case 'boolean':
      return plain('boolean');
    case 'date':
      return plain(dateOnly ? 'string' : 'Date');
    case 'object':
      return named('JsonObject');
    case 'vector':
      return named('Vector');
    case 'image':
    case 'blob':
      return named('Media');
  }
}

export function orNull({ text, uses }: TypeText): TypeText {
  return { text: `${text} | null`, uses };
}

/** Whether an attribute of a saved entity always has a value. */
export function isAlwaysThere(attribute: Attribute): boolean {
  if (attribute.kind === 'aggregate') {
    return attribute.aggregate === 'count' || attribute.aggregate === 'sum';
  }
  return attribute.kind === 'storage' && (attribute.key || attribute.mandatory);
}

/** The type of a function's parameter, or of its result, without null. */
export function argumentType(model: Model, names: AllClassNames, type: FunctionType): TypeText {
  switch (type.kind) {
    case 'storage':
      return valueType(type.type, type.dateOnly);
    case 'any':
      return plain('unknown');
    case 'void':
      return plain('void');
    case 'message':
      return named('OutgoingMessage');
    case 'entity':
    case 'selection':
      return named(names.of(dataclassNamed(model, type.dataclass)).written[type.kind]);
    case 'list': {
      const { text, uses } = argumentType(model, names, type.of);
      return { text: `readonly ${text.includes(' ') ? `(${text})` : text}[]`, uses };
    }
  }
}

/** Type of the value by which class code names the related entity: its key, or the attribute that the relation references. */
export function referenceType(model: Model, relation: RelatedEntityAttribute): string {
  return attributeType(model, targetOf(model, relation), referencedBy(model, relation)).text;
}

/** Type of the primary key. */
export function keyType(model: Model, dataclass: Dataclass): string {
  return attributeType(model, dataclass, keyOf(dataclass)).text;
}

function plain(text: string): TypeText {
  return { text, uses: [] };
}

export function named(text: string): TypeText {
  return { text, uses: [text] };
}
