import type { Dataclass, Model } from '../../model/model.js';
import { functionMembers, type WrittenMember, writtenMembers } from './abstract-members.js';
import { type ClassLevel, writtenClasses } from './class-code.js';
import type { AllClassNames } from './class-names.js';

/** A class that the user writes, in a file of its own. */
export interface UserClass {
  /** Path of its file in the server. */
  readonly path: string;
  readonly name: string;
  /** The emitted class that it extends. */
  readonly base: string;
  readonly members: readonly WrittenMember[];
  /** Set for a singleton of scope `session`: servers may store its fields as JSON. */
  readonly isStored?: boolean;
}

/**
 * Paths of files in the server by the names of the classes that they export, for classes that are
 * not where stubs are written.
 */
export type ClassFiles = ReadonlyMap<string, string>;

/** Every class of a model that the user writes. */
export function userClasses(
  model: Model,
  names: AllClassNames,
  files: ClassFiles = new Map(),
): readonly UserClass[] {
  const ofDataclasses = model.dataclasses.flatMap((dataclass) =>
    writtenClasses(dataclass).map((level) => ofDataclass(model, names, dataclass, level)),
  );
  const ofDataStore =
    model.functions.length === 0
      ? []
      : [
          {
            ...named('DataStore', 'DataStoreBase'),
            members: functionMembers(model, names, model.functions, 'datastore.functions'),
          },
        ];
  const ofSingletons = model.singletons.map((singleton) => {
    const { written, base } = names.ofSingleton(singleton);
    const path = `singletons.${singleton.name}.functions`;
    return {
      ...named(written, base),
      members: functionMembers(model, names, singleton.functions, path),
      isStored: singleton.scope === 'session',
    };
  });
  return [...ofDataclasses, ...ofDataStore, ...ofSingletons].map((each) => ({
    ...each,
    path: files.get(each.name) ?? each.path,
  }));
}

function ofDataclass(
  model: Model,
  names: AllClassNames,
  dataclass: Dataclass,
  level: ClassLevel,
): UserClass {
  const { written, base } = names.of(dataclass);
  return {
    ...named(written[level], base[level]),
    members: writtenMembers(model, names, dataclass, level),
  };
}

function named(name: string, base: string): Omit<UserClass, 'members'> {
  return { path: `src/classes/${name}.ts`, name, base };
}
