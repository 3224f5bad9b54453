import type { AttributeDefinition, ComputedDefinition } from '../protocol/definition.js';

/** Whether class code has a setter for an attribute that it computes. */
export function isSettable(attribute: AttributeDefinition): attribute is ComputedDefinition {
  return attribute.kind === 'computed' && attribute.accessors.includes('set');
}
