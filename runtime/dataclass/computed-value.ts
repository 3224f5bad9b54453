import type { ComputedDefinition } from '../protocol/definition.js';

/** What a statement that should read a value of class code throws: no model that asks for that is generated yet. */
export function notInDatabase({ name }: ComputedDefinition): Error {
  return new Error(`Class code computes the attribute "${name}", so no statement can read it.`);
}
