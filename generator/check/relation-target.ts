import { child, textOf } from '../source/tree.js';
import type { AttributeDraft, DataclassDraft, World } from './world.js';

/** The dataclass that a relation leads to. */
export function relationTarget(world: World, draft: AttributeDraft): DataclassDraft | undefined {
  return world.dataclass.get(textOf(child(draft.node, 'to')) ?? '');
}
