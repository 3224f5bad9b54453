import type { DataclassCode, SelectionReading } from './class-host.js';
import { HeldEntities } from './held-entities.js';
import type { SelectionNode } from './selection-node.js';

/** What a selection of class code is made by; opaque to class code. */
export interface SelectionState {
  readonly code: DataclassCode;
  /** Entities in memory for a selection that class code fills itself. */
  readonly content: SelectionNode | HeldEntities;
}

let stateWithin: (holder: object) => SelectionState | undefined;

/** Holds what a selection is made of, where nothing that lists its properties finds it. */
export abstract class SelectionHolder {
  readonly #state: SelectionState;

  static {
    stateWithin = (holder) => (#state in holder ? holder.#state : undefined);
  }

  constructor(state: SelectionState) {
    this.#state = state;
  }
}

/** What a selection is made of; `undefined` for an object that is none. */
export function findSelection(object: object): SelectionState | undefined {
  return stateWithin(object);
}

/** The same for what is certainly a selection. */
export function selectionOf(selection: object): SelectionState {
  const state = stateWithin(selection);
  if (state === undefined) throw new TypeError('This is no selection.');
  return state;
}

/** A selection as the database is asked for it. */
export function nodeOf({ content }: SelectionState): SelectionNode {
  return content instanceof HeldEntities ? content.node : content;
}

/** What reads a selection for the code that asks. */
export function readerOf({ code }: SelectionState): SelectionReading {
  return code.seen().reader;
}
