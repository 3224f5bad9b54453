import type { StorageDefinition } from './definition.js';
import type { StoredValue } from './values.js';

/** Predicates of sentences that begin with the attribute's name, one for each broken rule. */
export function checkRules(definition: StorageDefinition, value: StoredValue): readonly string[] {
  void [definition, value];
  throw new Error('not written yet');
}
