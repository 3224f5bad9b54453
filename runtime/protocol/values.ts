import type { StorageDefinition } from './definition.js';

export type StoredValue = string | number | null;

export type ValueResult = AcceptedValue | RefusedValue;

export interface AcceptedValue {
  readonly ok: true;
  readonly value: StoredValue;
}

export interface RefusedValue {
  readonly ok: false;
  /** Predicate of a sentence that begins with the attribute's name: `must be a whole number`. */
  readonly message: string;
  /** No value of any attribute: the whole body is malformed (400). */
  readonly malformed: boolean;
}

export function storedValue(definition: StorageDefinition, json: unknown): ValueResult {
  void [definition, json];
  throw new Error('not written yet');
}
