import { child, entry, textOf } from '../source/tree.js';
import { relationTarget } from './relation-target.js';
import { renameHint } from './renames.js';
import { inverseIn } from './type-hints.js';
import type { SourceNode } from '../source/tree.js';
import type { Context } from './context.js';
import type { AttributeDraft, DataclassDraft, World } from './world.js';

/** The to-many relation of the other side, for each to-one relation that has one. */
export type Inverses = ReadonlyMap<AttributeDraft, AttributeDraft>;

/** Checks that both sides of a relation name each other. */
export function checkInverses(context: Context, world: World): Inverses {
  const inverses = new Map<AttributeDraft, AttributeDraft>();
  const manyToMany = new Set<AttributeDraft>();
  for (const dataclass of world.dataclasses) {
    for (const draft of dataclass.attributes) {
      if (draft.kind !== 'toOne' && draft.kind !== 'toMany') continue;
      const side: Side = { world, dataclass, draft };
      const partner = draft.kind === 'toMany' ? partnerOf(side) : undefined;
      if (partner !== undefined) {
        if (!manyToMany.has(draft)) tellManyToMany(context, side, partner);
        manyToMany.add(draft).add(partner);
        continue;
      }
      if (draft.kind === 'toMany' && entry(draft.node, 'inverse') === undefined) {
        tellMissing(context, side);
        continue;
      }
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

/**
 * The to-many relation that the target has instead of the to-one relation that is needed: the one
 * that this relation names, else one that leads back and names this relation or none.
 */
function partnerOf({ world, dataclass, draft }: Side): AttributeDraft | undefined {
  const inverse = entry(draft.node, 'inverse');
  const named = textOf(inverse?.value);
  return relationTarget(world, draft)?.attributes.find((each) => {
    if (each.kind !== 'toMany' || textOf(child(each.node, 'to')) !== dataclass.name) return false;
    const back = entry(each.node, 'inverse');
    const isNamed = inverse === undefined ? each !== draft : each.name === named;
    return isNamed && (back === undefined || textOf(back.value) === draft.name);
  });
}

function tellManyToMany(
  { report }: Context,
  { world, dataclass, draft }: Side,
  partner: AttributeDraft,
): void {
  const to = textOf(child(draft.node, 'to')) ?? '';
  const isSelf = to === dataclass.name;
  const [one, other] = isSelf ? ['from', 'to'] : [lowerFirst(dataclass.name), lowerFirst(to)];
  const link = freeName(world, `${dataclass.name}${isSelf ? 'Link' : to}`);
  const back = draft === partner ? 'linked' : partner.name;
  const help = [
    `for instance ${link}: { attributes: { ID: { type: integer, key: true, generated: sequence },`,
    `${one}: { to: ${dataclass.name}, inverse: ${draft.name}, mandatory: true },`,
    `${other}: { to: ${to}, inverse: ${back}, mandatory: true } } },`,
    `with ${draft.label} as { to: ${link}, many: true, inverse: ${one} }`,
    `and ${to}.${back} as { to: ${link}, many: true, inverse: ${other} }`,
  ].join(' ');
  report('relation/many-to-many', { relation: draft.label, other: partner.label }, draft.key, help);
}

function lowerFirst(name: string): string {
  return `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`;
}

function freeName(world: World, name: string): string {
  return world.dataclass.has(name) ? freeName(world, `${name}Link`) : name;
}

/** A to-many relation needs the to-one relation of which it is the other side. */
function tellMissing({ report }: Context, { world, dataclass, draft }: Side): void {
  const target = relationTarget(world, draft);
  const inverse = target === undefined ? undefined : inverseIn(target.node, dataclass.name);
  const help =
    inverse !== undefined
      ? `write inverse: ${inverse}`
      : target !== undefined
        ? `give ${target.name} a relation { to: ${dataclass.name} } and name it here`
        : undefined;
  report('shape/missing-key', { owner: draft.name, key: 'inverse' }, draft.key, help);
}

/** The relation that is named as the inverse, if it can be that. */
function inverseOf(context: Context, side: Side): AttributeDraft | undefined {
  const { world, dataclass, draft } = side;
  const target = relationTarget(world, draft);
  const at = child(draft.node, 'inverse');
  const name = textOf(at);
  if (target === undefined || at === undefined || name === undefined) return undefined;
  const found = target.attribute.get(name);
  const relation = draft.label;
  if (found === undefined) {
    const help =
      renameHint(`${target.name}.`, name, target.attributes) ??
      context.suggest(name, target.attribute.keys());
    const fill = { relation, target: target.name, inverse: name };
    context.report('relation/inverse-unknown', fill, at, help);
    return undefined;
  }
  const needed = draft.kind === 'toOne' ? 'toMany' : 'toOne';
  if (found.kind !== needed) {
    const words = needed === 'toMany' ? 'a to-many relation' : 'a to-one relation';
    const fill = { relation, inverse: found.label, needed: words };
    // The unknown type of a storage attribute has been reported already.
    const isTold =
      found.kind === undefined || (found.kind === 'storage' && found.type === undefined);
    if (!isTold) context.report('relation/inverse-kind', fill, at);
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
