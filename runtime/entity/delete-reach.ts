import type { Dataclass } from '../dataclass/dataclasses.js';
import type { RelatedEntityDefinition } from '../protocol/definition.js';

/** A to-one relation, seen from the dataclass that it leads to. */
export interface Reference {
  readonly target: Dataclass;
  readonly referring: Dataclass;
  readonly relation: RelatedEntityDefinition;
}

/** What a deletion can reach by relations. */
export interface DeletionReach {
  /** Dataclasses whose entities can be deleted: that of the request, and those that cascade, directly or not. */
  readonly dataclasses: readonly Dataclass[];
  /** The relations that lead to them. */
  readonly references: readonly Reference[];
  /** The same dataclasses; one that refers to another comes before it, except in circles. */
  readonly order: readonly Dataclass[];
  /** Whether several of them refer to each other in a circle. */
  readonly hasCircle: boolean;
}

export function deletionReach(all: Iterable<Dataclass>, start: Dataclass): DeletionReach {
  const leading = referencesByTarget(all);
  const to = (target: Dataclass): readonly Reference[] => leading.get(target.name) ?? [];
  // A Set is iterated to its end while it grows.
  const dataclasses = new Set([start]);
  for (const target of dataclasses) {
    for (const { relation, referring } of to(target)) {
      if (relation.onDelete === 'cascade') dataclasses.add(referring);
    }
  }
  const list = [...dataclasses];
  return {
    dataclasses: list,
    references: list.flatMap(to),
    ...deletionOrder(dataclasses, (target) => to(target).map(({ referring }) => referring)),
  };
}

function referencesByTarget(all: Iterable<Dataclass>): ReadonlyMap<string, readonly Reference[]> {
  const references = new Map<string, Reference[]>();
  for (const referring of all) {
    for (const relation of referring.attributes) {
      if (relation.kind !== 'relatedEntity') continue;
      const reference = { target: referring.target(relation), referring, relation };
      const others = references.get(relation.target);
      if (others === undefined) references.set(relation.target, [reference]);
      else others.push(reference);
    }
  }
  return references;
}

/** Walks the dataclasses depth first, without recursion: a chain of them may be long. */
function deletionOrder(
  dataclasses: ReadonlySet<Dataclass>,
  referringTo: (target: Dataclass) => readonly Dataclass[],
): Pick<DeletionReach, 'order' | 'hasCircle'> {
  const order = new Set<Dataclass>();
  const open = new Set<Dataclass>();
  let hasCircle = false;
  for (const first of dataclasses) {
    const waiting = [first];
    for (let each = waiting.at(-1); each !== undefined; each = waiting.at(-1)) {
      if (open.has(each) || order.has(each)) {
        waiting.pop();
        open.delete(each);
        order.add(each);
        continue;
      }
      open.add(each);
      for (const referring of referringTo(each)) {
        if (!dataclasses.has(referring) || referring === each || order.has(referring)) continue;
        if (open.has(referring)) hasCircle = true;
        else waiting.push(referring);
      }
    }
  }
  return { order: [...order], hasCircle };
}
