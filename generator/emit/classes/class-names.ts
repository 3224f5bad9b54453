import { fold } from '../../../runtime/protocol/fold.js';
import type { Dataclass, Model, Singleton } from '../../model/model.js';
import { identifiers } from '../identifiers.js';
import type { ClassLevel } from './class-code.js';
import { takenNames } from './taken-names.js';

/** TypeScript names of the emitted classes of a dataclass. */
interface ClassNames {
  /** `src/generated/classes/<file>.ts`. */
  readonly file: string;
  /** `Company`, `CompanyEntity`, `CompanySelection`. */
  readonly written: Readonly<Record<ClassLevel, string>>;
  /** What these extend. */
  readonly base: Readonly<Record<ClassLevel, string>>;
  readonly types: string;
  readonly values: string;
  readonly object: string;
  readonly attributes: string;
  /** The type of the columns of its table. */
  readonly table: string;
}

interface SingletonNames {
  readonly written: string;
  readonly base: string;
}

export interface AllClassNames {
  readonly of: (dataclass: Dataclass) => ClassNames;
  readonly ofSingleton: (singleton: Singleton) => SingletonNames;
}

/**
 * Names of all classes of a model. They differ in more than case, because each is a file's name
 * too. A name that is taken gets the suffix `Class`, and a number if that is taken as well; shorter
 * names come first, so that `CompanyEntity` is the entity class of `Company`, whatever the order of
 * the model.
 * @param alsoTaken further names that no class can have
 */
export function classNames(model: Model, alsoTaken: readonly string[] = []): AllClassNames {
  // The file of the datastore's class is in the same folder.
  const taken = new Set(['DataStore', ...alsoTaken].map(fold));
  const plain = identifiers(model.dataclasses.map(({ name }) => name));
  const names = new Map<string, ClassNames>();
  const stems = new Map<string, string>();
  for (const { name } of inOrder(model.dataclasses)) {
    const stem = choose(plain.get(name) ?? name, taken, (each) => derived(each));
    stems.set(name, stem);
  }
  for (const { name } of inOrder(model.dataclasses)) {
    const dataclass = choose(plain.get(name) ?? name, taken, (each) => [each]);
    names.set(name, namesOf(stems.get(name) ?? name, dataclass));
  }
  const singletons = new Map<string, SingletonNames>();
  const plainSingletons = identifiers(model.singletons.map(({ name }) => name));
  for (const { name } of inOrder(model.singletons)) {
    const written = choose(plainSingletons.get(name) ?? name, taken, (each) => [
      each,
      `${each}Base`,
    ]);
    singletons.set(name, { written, base: `${written}Base` });
  }
  return {
    of: ({ name }) => found(names, name),
    ofSingleton: ({ name }) => found(singletons, name),
  };
}

function namesOf(stem: string, dataclass: string): ClassNames {
  return {
    file: dataclass,
    written: { dataclass, entity: `${stem}Entity`, selection: `${stem}Selection` },
    base: {
      dataclass: `${stem}Base`,
      entity: `${stem}EntityBase`,
      selection: `${stem}SelectionBase`,
    },
    types: `${stem}Types`,
    values: `${stem}Values`,
    object: `${stem}Object`,
    attributes: `${stem}Attributes`,
    table: `${stem}Table`,
  };
}

/** All names of a dataclass except that of its own class. */
function derived(stem: string): readonly string[] {
  const { written, base, types, values, object, attributes, table } = namesOf(stem, stem);
  const { entity, selection } = written;
  return [entity, selection, ...Object.values(base), types, values, object, attributes, table];
}

const reserved: ReadonlySet<string> = new Set(takenNames);

function choose(
  wanted: string,
  taken: Set<string>,
  namesFor: (stem: string) => readonly string[],
): string {
  for (let i = 0; ; i += 1) {
    const stem = i === 0 ? wanted : `${wanted}Class${i === 1 ? '' : String(i)}`;
    const needed = namesFor(stem).map(fold);
    if (needed.some((each) => taken.has(each))) continue;
    if (namesFor(stem).some((each) => reserved.has(each))) continue;
    for (const each of needed) taken.add(each);
    return stem;
  }
}

function inOrder<T extends { readonly name: string }>(list: readonly T[]): readonly T[] {
  return [...list].sort((a, b) => {
    const byLength = a.name.length - b.name.length;
    return byLength === 0 ? Number(a.name > b.name) - Number(a.name < b.name) : byLength;
  });
}

function found<T>(map: ReadonlyMap<string, T>, name: string): T {
  const value = map.get(name);
  if (value === undefined) throw new Error(`There are no class names for ${name}.`);
  return value;
}
