import type { KeyType } from '../entity-set/key-list.js';
import { keysOf } from '../entity-set/keys-of.js';
import type { RelatedEntitiesDefinition } from '../protocol/definition.js';
import { decodeKey } from '../protocol/key.js';
import type { DataclassCode, Selections } from './class-host.js';
import { HeldEntities } from './held-entities.js';
import { allOf, entityOf, listed, related, type SelectionNode } from './selection-node.js';
import { defineSelectionRelations } from './selection-relations.js';
import type { SelectionState } from './selection-state.js';
import { queried } from './selection-queries.js';

/** Makes the lazy selections of one dataclass, as instances of the user's class. */
export class DataclassSelections implements Selections {
  /** @param make the user's class */
  constructor(
    private readonly code: DataclassCode,
    private readonly make: new (state: SelectionState) => object,
  ) {
    defineSelectionRelations(code.dataclass, make);
  }

  all(): object {
    return this.of(allOf(this.code.dataclass));
  }

  query(filter: string, values: readonly unknown[]): object {
    return this.of(queried(this.code, allOf(this.code.dataclass), filter, values));
  }

  none(): object {
    return this.#make(new HeldEntities(this.code.dataclass));
  }

  fromKeys(keys: Iterable<string | number>): object {
    const { dataclass } = this.code;
    const type = dataclass.key.type as KeyType;
    const stored = [...keys].flatMap((key) => decodeKey(type, String(key)) ?? []);
    return this.of(listed(dataclass, keysOf(type, stored)));
  }

  related(relation: RelatedEntitiesDefinition, key: string | number | null): object {
    if (key === null) return this.fromKeys([]);
    const { dataclass } = this.code;
    const inverse = dataclass.allAttributes.get(relation.inverse);
    if (inverse?.kind !== 'relatedEntity') {
      throw new Error(`${relation.name} does not lead to ${dataclass.name}.`);
    }
    return this.of(related(entityOf(dataclass.target(inverse), key), relation));
  }

  of(node: SelectionNode): object {
    return this.#make(node);
  }

  #make(content: SelectionState['content']): object {
    return new this.make({ code: this.code, content });
  }
}
