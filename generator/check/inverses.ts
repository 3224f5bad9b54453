import { child, textOf } from '../source/tree.js';
import { relationTarget } from './relation-target.js';
import type { SourceNode } from '../source/tree.js';
import type { Context } from './context.js';
import type { AttributeDraft, DataclassDraft, World } from './world.js';

/** The to-many relation of the other side, for each to-one relation that has one. */
export type Inverses = ReadonlyMap<AttributeDraft, AttributeDraft>;

/** Both sides of a relation agree about each other. */
export function checkInverses(context: Context, world: World): Inverses {
  const inverses = new Map<AttributeDraft, AttributeDraft>();
  for (const dataclass of world.dataclasses) {
    for (const draft of dataclass.attributes) {
      if (draft.kind !== 'toOne' && draft.kind !== 'toMany') continue;
      const side: Side = { world, dataclass, draft };
      const other = inverseOf(context, side);
      if (other === undefined || draft.kind !== 'toMany') continue;
      const taken = inverses.get(other);
      if (taken === undefined) inverses.set(other, draft);
      else shared(context, draft, other, taken);
    }
  }
  return inverses;
}

interface Side {
  readonly world: World;
  readonly dataclass: DataclassDraft;
  readonly draft: AttributeDraft;
}

/** The relation that is named as the inverse, when it can be that. */
function inverseOf(context: Context, side: Side): AttributeDraft | undefined {
  const { world, dataclass, draft } = side;
  const target = relationTarget(world, draft);
  const at = child(draft.node, 'inverse');
  const name = textOf(at);
  if (target === undefined || at === undefined || name === undefined) return undefined;
  const found = target.attribute.get(name);
  const relation = draft.label;
  if (found === undefined) {
    const help = context.suggest(name, target.attribute.keys());
    const fill = { relation, target: target.name, inverse: name };
    context.report('relation/inverse-unknown', fill, at, help);
    return undefined;
  }
  const needed = draft.kind === 'toOne' ? 'toMany' : 'toOne';
  if (found.kind !== needed) {
    const words = needed === 'toMany' ? 'a to-many relation' : 'a to-one relation';
    const fill = { relation, inverse: found.label, needed: words };
    if (found.kind !== undefined) context.report('relation/inverse-kind', fill, at);
    return undefined;
  }
  const back = textOf(child(found.node, 'to')) ?? '';
  if (back !== dataclass.name) {
    const fill = { relation, inverse: found.label, target: back, expected: dataclass.name };
    context.report('relation/inverse-target', fill, at);
    return undefined;
  }
  return agrees(context, draft, found, at) ? found : undefined;
}

function agrees(
  { report }: Context,
  draft: AttributeDraft,
  found: AttributeDraft,
  at: SourceNode,
): boolean {
  const other = textOf(child(found.node, 'inverse'));
  if (other === undefined || other === draft.name) return true;
  const fill = { relation: draft.label, inverse: found.label, other };
  report('relation/inverse-mismatch', fill, at);
  return false;
}

function shared(
  { report }: Context,
  draft: AttributeDraft,
  inverse: AttributeDraft,
  other: AttributeDraft,
): void {
  const fill = { relation: draft.label, inverse: inverse.label, other: other.label };
  report('relation/inverse-shared', fill, child(draft.node, 'inverse') ?? draft.key);
}
