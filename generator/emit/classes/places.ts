import { posix } from 'node:path';
import { leadsToMany } from '../../model/lookup.js';
import type { Model } from '../../model/model.js';
import { classLevels, hasClassCode, hasJobs } from './class-code.js';
import type { AllClassNames } from './class-names.js';
import { type Import, importStatements } from './imports.js';
import { type ClassFiles, userClasses } from './user-classes.js';

/** A module that exports a name. */
interface NamePlace {
  /** Path below `src`, without its end; of the runtime, what it is imported as. */
  readonly path: string;
  /** Whether it exists at run time. */
  readonly isValue: boolean;
}

/** The module that exports each name that emitted classes use. */
export type NamePlaces = ReadonlyMap<string, NamePlace>;

/** The types and values of the runtime for class code. */
const runtimeTypes = [
  'AfterDropEvent',
  'AfterSaveEvent',
  'AliasedEntity',
  'ComputedOrder',
  'ComputedQuery',
  'DropEvent',
  'EventAnswer',
  'EventError',
  'FilterWithValues',
  'FunctionResult',
  'JsonObject',
  'JsonValue',
  'Media',
  'RelatedEntity',
  'Restriction',
  'SaveEvent',
  'Session',
  'Vector',
];

const runtimeValues = ['notWritten', 'OutgoingMessage', 'RestError', 'SaveError'];

/** The parts of the runtime that emitted classes use, and class code does not. */
export const baseClasses: readonly string[] = [
  'ClassRegistry',
  'DataclassObject',
  'Datastore',
  'Entity',
  'EntitySelection',
  'Singleton',
];

export function namePlaces(model: Model, names: AllClassNames, classFiles: ClassFiles): NamePlaces {
  const places = new Map<string, NamePlace>();
  const addType = (name: string, path: string): unknown =>
    places.set(name, { path, isValue: false });
  const addClass = (name: string, path: string): unknown =>
    places.set(name, { path, isValue: true });
  // If nobody writes code, the server has no entry of the runtime for it.
  const runtime = hasClassCode(model) ? '#runtime/class' : '#runtime/http';
  for (const name of runtimeTypes) addType(name, runtime);
  for (const name of [...runtimeValues, ...baseClasses]) addClass(name, runtime);
  const usersPaths = new Map(
    userClasses(model, names, classFiles).map(({ name, path }) => [name, belowSource(path)]),
  );
  addType('Database', 'generated/database');
  if (hasJobs(model)) addType('EnqueueJob', 'generated/jobs');
  addClass('DataStoreBase', dataStoreFile);
  addClass('DataStore', usersPaths.get('DataStore') ?? dataStoreFile);
  for (const dataclass of model.dataclasses) {
    const { file, written, base, types, values, attributes } = names.of(dataclass);
    const hasObject = dataclass.attributes.some((each) => 'target' in each && !leadsToMany(each));
    const emitted = `generated/classes/${file}`;
    if (hasObject) addType(names.of(dataclass).object, emitted);
    for (const each of [types, values, attributes]) addType(each, emitted);
    for (const level of classLevels) {
      addClass(base[level], emitted);
      addClass(written[level], usersPaths.get(written[level]) ?? emitted);
    }
  }
  for (const singleton of model.singletons) {
    const { written, base } = names.ofSingleton(singleton);
    addClass(base, emittedSingletons);
    addClass(written, usersPaths.get(written) ?? emittedSingletons);
  }
  return places;
}

/** The datastore's class is here too, unless a user writes it. */
export const dataStoreFile = 'generated/classes/DataStore';

const emittedSingletons = 'generated/singletons';

/** `src/classes/Company.ts` → `classes/Company`. */
function belowSource(path: string): string {
  return path.replace(/^src\//, '').replace(/\.ts$/, '');
}

/**
 * The imports of a file for the names that it uses; its own need none.
 * @param file path of the file below `src`, without its end
 * @param values those of the names that are needed at run time
 */
export function importsOf(
  places: NamePlaces,
  file: string,
  uses: Iterable<string>,
  values: ReadonlySet<string> = new Set(),
): string[] {
  const imports = [...new Set(uses)].flatMap((name): readonly Import[] => {
    const { path } = placeOf(places, name);
    if (path === file) return [];
    return [{ name, module: moduleFrom(file, path), isValue: values.has(name) }];
  });
  return importStatements(imports);
}

export function placeOf(places: NamePlaces, name: string): NamePlace {
  const place = places.get(name);
  if (place === undefined) throw new Error(`No module exports ${name}.`);
  return place;
}

/** `../../classes/Company.js`, as a file imports another. */
export function moduleFrom(file: string, path: string): string {
  if (path.startsWith('#')) return path;
  const relative = posix.relative(posix.dirname(file), path);
  return `${relative.startsWith('.') ? '' : './'}${relative}.js`;
}
