import { fold } from '../fold.js';
import type { Model, Permission } from '../../model/model.js';

/** What permissions can speak of: for each type, the names as they are written in the model, by their folded form. */
export type Resources = Readonly<Record<Permission['type'], ReadonlyMap<string, string>>>;

export function resourcesOf(
  model: Pick<Model, 'dataclasses' | 'functions' | 'singletons'>,
): Resources {
  const { dataclasses, functions, singletons } = model;
  const ofDataclasses = dataclasses.flatMap(({ name, functions: classes }) =>
    members(name, [...classes.dataclass, ...classes.selection, ...classes.entity]),
  );
  return {
    datastore: byFolded(['ds']),
    dataclass: byFolded(dataclasses.map(({ name }) => name)),
    attribute: byFolded(dataclasses.flatMap(({ name, attributes }) => members(name, attributes))),
    method: byFolded([...members('ds', functions), ...ofDataclasses]),
    singleton: byFolded(singletons.map(({ name }) => name)),
    singletonMethod: byFolded(
      singletons.flatMap((singleton) => members(singleton.name, singleton.functions)),
    ),
  };
}

function members(owner: string, of: readonly { readonly name: string }[]): readonly string[] {
  return of.map(({ name }) => `${owner}.${name}`);
}

function byFolded(names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [fold(name), name]));
}
