import type { Dataclass } from '../dataclass/dataclasses.js';
import type { KeyType } from '../entity-set/key-list.js';
import { keysOf } from '../entity-set/keys-of.js';
import { type KeysNode, listed } from './selection-node.js';
import type { EntityObject } from './types.js';

/** The entities of a selection that class code fills itself: `newSelection()`. */
export class HeldEntities {
  readonly #entities = new Map<string | number, EntityObject>();
  #node: KeysNode | undefined;

  constructor(private readonly dataclass: Dataclass) {}

  /** In the order in which they were added. */
  get entities(): readonly EntityObject[] {
    return [...this.#entities.values()];
  }

  /** The same as a selection of the database: what of them is stored. */
  get node(): KeysNode {
    const type = this.dataclass.key.type as KeyType;
    return (this.#node ??= listed(this.dataclass, keysOf(type, this.#entities.keys())));
  }

  has(key: string | number): boolean {
    return this.#entities.has(key);
  }

  /** An object of an entity that is there already takes the place of the former one. */
  add(key: string | number, entity: EntityObject): void {
    this.#entities.set(key, entity);
    this.#node = undefined;
  }
}
