import { fold } from '../fold.js';
import type { Model, Permission } from '../../model/model.js';

/** What permissions can speak of: for each type, the names as they are written in the model, by their folded form. */
export type Resources = Readonly<Record<Permission['type'], ReadonlyMap<string, string>>>;

export type ResourceParts = Pick<Model, 'dataclasses' | 'functions' | 'singletons'>;

interface Named {
  readonly name: string;
  readonly renamedFrom?: readonly string[];
}

/** @param earlier gives the earlier names of a part, for a map from what resources were once called */
export function resourcesOf(
  { dataclasses, functions, singletons }: ResourceParts,
  earlier: (of: Named) => readonly string[] = () => [],
): Resources {
  const namesOf = (part: Named): readonly string[] => [part.name, ...earlier(part)];
  const names = (of: readonly Named[]): readonly Entry[] =>
    of.flatMap((each) => namesOf(each).map((name): Entry => [name, each.name]));
  const members = (owner: Named, of: readonly Named[]): readonly Entry[] =>
    namesOf(owner).flatMap((before) =>
      names(of).map(([name, now]): Entry => [`${before}.${name}`, `${owner.name}.${now}`]),
    );
  const ds: Named = { name: 'ds' };
  return {
    datastore: byFolded(names([ds])),
    dataclass: byFolded(names(dataclasses)),
    attribute: byFolded(dataclasses.flatMap((each) => members(each, each.attributes))),
    method: byFolded([
      ...members(ds, functions),
      ...dataclasses.flatMap((each) => {
        const { dataclass, selection, entity } = each.functions;
        return members(each, [...dataclass, ...selection, ...entity]);
      }),
    ]),
    singleton: byFolded(names(singletons)),
    singletonMethod: byFolded(singletons.flatMap((each) => members(each, each.functions))),
  };
}

/** A name, and the one that is right now. */
type Entry = readonly [string, string];

function byFolded(entries: readonly Entry[]): ReadonlyMap<string, string> {
  return new Map(entries.map(([name, now]) => [fold(name), now]));
}
