import fc from 'fast-check';
import { leadsToMany } from '../../../generator/model/lookup.js';
import type { Dataclass, JsonValue } from '../../../generator/model/model.js';
import type { WrittenStep } from '../memory/filter.js';
import type { PathStep, Store } from '../memory/store.js';
import { remembered } from './remembered.js';

/** A path that a comparison or an order may end. */
export interface EndPath {
  readonly path: readonly WrittenStep[];
  readonly end: PathStep;
  /** Relations that the client writes before the end. */
  readonly relations: number;
  readonly isToOne: boolean;
}

const maxRelations = 3;

/** Every path that a client may write from a dataclass, shorter ones first. */
export const endPaths = remembered(endPathsOf);

function endPathsOf(store: Store, dataclass: Dataclass): readonly EndPath[] {
  const found: EndPath[] = [];
  let waiting: { path: readonly WrittenStep[]; here: Dataclass; isToOne: boolean }[] = [
    { path: [], here: dataclass, isToOne: true },
  ];
  for (let relations = 0; relations <= maxRelations; relations += 1) {
    const next: typeof waiting = [];
    for (const { path, here, isToOne } of waiting) {
      for (const name of ['__KEY', '__STAMP', ...exposedNames(here)]) {
        const way = [...path, { name }];
        const { end } = store.way(here, [{ name }]);
        const attribute = here.attributes.find((each) => each.name === name);
        const isMany = attribute !== undefined && leadsToMany(attribute);
        if (end.kind !== 'relatedEntities') {
          found.push({ path: way, end, relations, isToOne: isToOne && !isMany });
        }
        if (attribute === undefined || !('target' in attribute)) continue;
        next.push({
          path: way,
          here: store.target(attribute),
          isToOne: isToOne && !isMany,
        });
      }
    }
    waiting = next;
  }
  return found;
}

export function exposedNames(dataclass: Dataclass): string[] {
  return dataclass.attributes.filter((each) => each.exposed).map((each) => each.name);
}

/** Paths of that many relations at most, the short ones often. */
export function somePath(paths: readonly EndPath[]): fc.Arbitrary<EndPath> {
  const weights = [5, 4, 3, 2];
  const options = weights.flatMap((weight, relations) => {
    const list = paths.filter((each) => each.relations === relations);
    return list.length === 0 ? [] : [{ weight, arbitrary: fc.constantFrom(...list) }];
  });
  return fc.oneof(...options);
}

/** The values at these paths in a full store. */
export const heldValues = remembered(heldValuesOf);

function heldValuesOf(store: Store, end: PathStep): readonly JsonValue[] {
  if (end.kind === 'stamp') return [1];
  return store.model.dataclasses
    .filter((each) => each.attributes.some((other) => other === end))
    .flatMap((each) => store.all(each.name))
    .map((entity) => store.value(entity, end));
}
