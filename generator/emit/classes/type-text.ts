import type { Attribute, Dataclass, FunctionType, Model, StorageType } from '../../model/model.js';
import { dataclassNamed } from '../../model/lookup.js';
import type { AllClassNames } from './class-names.js';

/** A TypeScript type as text, and the names in it that a file must have imported. */
export interface TypeText {
  readonly text: string;
  readonly uses: readonly string[];
}

/** What code sees of a value that is there. */
export function valueType(type: StorageType, dateOnly = false): TypeText {
  switch (type) {
    case 'string':
    case 'uuid':
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
  return attribute.kind === 'storage' && (attribute.key || attribute.mandatory);
}

/** A parameter as it reaches a function, or what a function answers, without null. */
export function argumentType(model: Model, names: AllClassNames, type: FunctionType): TypeText {
  switch (type.kind) {
    case 'storage':
      return valueType(type.type);
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

/** Type of the primary key. */
export function keyType({ attributes, key }: Dataclass): string {
  const attribute = attributes.find(({ name }) => name === key);
  if (attribute?.kind !== 'storage') throw new Error('A dataclass has a key.');
  return valueType(attribute.type).text;
}

function plain(text: string): TypeText {
  return { text, uses: [] };
}

export function named(text: string): TypeText {
  return { text, uses: [text] };
}
