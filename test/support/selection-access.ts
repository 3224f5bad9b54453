import type { Dataclass } from '../../runtime/dataclass/dataclasses.js';
import type { KeyList } from '../../runtime/entity-set/key-list.js';
import type { SelectionRequest } from '../../runtime/query/selection-request.js';
import type { DataclassContext } from '../../runtime/class/objects/context.js';
import { listed } from '../../runtime/class/objects/selection-node.js';
import { findSelection, nodeOf, selectionOf } from '../../runtime/class/objects/selection.js';
import { SelectionReader } from '../../runtime/class/objects/selection-reader.js';
import { treeRequest } from '../../runtime/class/objects/selection-tree.js';

/** The dataclass of a selection of class code; `undefined` for a value that is not a selection. */
export function dataclassOfSelection(value: unknown): Dataclass | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return findSelection(value)?.code.dataclass;
}

/** The keys of a selection, in its order, as an entity set stores them. */
export function selectionKeys(selection: object): Promise<KeyList> {
  const state = selectionOf(selection);
  return new SelectionReader(state.code).keys(nodeOf(state));
}

/** The members of an entity set as a selection, in the order of the set. */
export function selectionOfKeys(code: DataclassContext, keys: KeyList): object {
  return code.select(listed(code.dataclass, keys));
}

/**
 * A selection as a request, which can be answered as a page (`readPage`), counted, or read for
 * keys.
 * @param dataclass as the session of the client sees it; the selection itself may name what its
 *   code may read
 */
export function requestOfSelection(selection: object, dataclass?: Dataclass): SelectionRequest {
  const state = selectionOf(selection);
  return treeRequest(state.code.host.visible(), nodeOf(state), dataclass);
}
