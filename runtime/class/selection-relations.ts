import type { Dataclass } from '../dataclass/dataclasses.js';
import { prototypeBelow } from './accessors.js';
import { EntitySelection } from './selection.js';
import { related } from './selection-node.js';
import { nodeOf, selectionOf } from './selection-state.js';

/**
 * Gives the selections of a dataclass its relations, once: on the prototype of the emitted base class. They know the model and
 * no server: several may run in one process.
 */
export function defineSelectionRelations(
  dataclass: Dataclass,
  userClass: { readonly prototype: object },
): void {
  const prototype = prototypeBelow(userClass.prototype, EntitySelection.prototype);
  for (const { kind, name } of dataclass.attributes) {
    const isRelation = kind === 'relatedEntity' || kind === 'relatedEntities';
    if (!isRelation || Object.hasOwn(prototype, name)) continue;
    Object.defineProperty(prototype, name, {
      get(this: object) {
        return relatedSelection(this, name);
      },
      enumerable: true,
      configurable: true,
    });
  }
}

/** The entities that a relation leads to from those of a selection, each once. */
function relatedSelection(selection: object, name: string): object {
  const state = selectionOf(selection);
  const relation = state.code.dataclass.allAttributes.get(name);
  if (relation?.kind !== 'relatedEntity' && relation?.kind !== 'relatedEntities') {
    throw new Error(`${name} is no relation.`);
  }
  const { selections } = state.code.host.codeOf(relation.target);
  return selections.of(related(nodeOf(state), relation));
}
