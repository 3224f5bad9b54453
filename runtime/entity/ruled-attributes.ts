import type { Dataclass } from '../dataclass/dataclasses.js';
import type { AttributeDefinition, StorageDefinition } from '../protocol/definition.js';
import { hasRules } from '../protocol/rules.js';

/** By the attributes of a dataclass, which all its views share. */
const known = new WeakMap<readonly AttributeDefinition[], readonly StorageDefinition[]>();

/** The attributes that the model has rules for, in model order. */
export function ruledAttributes({ attributes }: Dataclass): readonly StorageDefinition[] {
  let ruled = known.get(attributes);
  if (ruled === undefined) {
    ruled = attributes.filter(
      (each): each is StorageDefinition => each.kind === 'storage' && hasRules(each),
    );
    known.set(attributes, ruled);
  }
  return ruled;
}
