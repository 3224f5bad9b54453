import type { DataclassCode } from './class-host.js';
import type { SelectionReader } from './selection-reader.js';
import { type SelectionNode, type KeysNode, listed } from './selection-node.js';
import type { Dataclass } from '../../dataclass/dataclasses.js';
import { keysOf, type KeyType } from '../../entity-set/key-list.js';
import type { EntityObject } from './types.js';

/** The parts of a selection of class code; opaque to class code. */
export interface SelectionState {
  readonly code: DataclassCode;
  /** Entities in memory for a selection that class code fills itself. */
  readonly content: SelectionNode | HeldEntities;
}

let stateWithin: (holder: object) => SelectionState | undefined;

/** Holds the state of a selection as a private member, so that nothing lists it. */
export abstract class SelectionHolder {
  readonly #state: SelectionState;

  static {
    stateWithin = (holder) => (#state in holder ? holder.#state : undefined);
  }

  constructor(state: SelectionState) {
    this.#state = state;
  }
}

/** The state of a selection; `undefined` for any other object. */
export function findSelection(object: object): SelectionState | undefined {
  return stateWithin(object);
}

/** The same for an object that is certainly a selection. */
export function selectionOf(selection: object): SelectionState {
  const state = stateWithin(selection);
  if (state === undefined) throw new TypeError('This is no selection.');
  return state;
}

/** A selection as a node for the database. */
export function nodeOf({ content }: SelectionState): SelectionNode {
  return content instanceof HeldEntities ? content.node : content;
}

export function readerOf({ code }: SelectionState): SelectionReader {
  return code.visible().reader;
}

/** The entities of a selection that class code fills itself: `newSelection()`. */
export class HeldEntities {
  readonly #entities = new Map<string | number, EntityObject>();
  #node: KeysNode | undefined;

  constructor(private readonly dataclass: Dataclass) {}

  /** In the order in which they were added. */
  get entities(): readonly EntityObject[] {
    return [...this.#entities.values()];
  }

  /** The same as a selection of the database: the keys of those that are stored. */
  get node(): KeysNode {
    const type = this.dataclass.key.type as KeyType;
    return (this.#node ??= listed(this.dataclass, keysOf(type, this.#entities.keys())));
  }

  has(key: string | number): boolean {
    return this.#entities.has(key);
  }

  /** An object of an entity that is there already replaces the former one. */
  add(key: string | number, entity: EntityObject): void {
    this.#entities.set(key, entity);
    this.#node = undefined;
  }
}
