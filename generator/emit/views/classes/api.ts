import { statement } from '../../classes/imports.js';
import {
  baseClasses,
  moduleFrom,
  dataStoreFile,
  importsOf,
  placeOf,
} from '../../classes/places.js';
import type { EmitContext } from '../../context.js';
import { abstractMembers, functionMembers } from '../../classes/abstract-members.js';
import { hasJobs } from '../../classes/class-code.js';
import { field } from '../../classes/members.js';
import { docComment, declaration, RawCode } from '../../layout.js';
import { namesBits } from '../../access-bits.js';
import { exposedFunctions } from '../functions.js';

const file = 'generated/api';

/** Everything that class code imports, and its modules. */
export function apiView({ header, namePlaces }: EmitContext): object {
  const modules = new Map<string, Map<string, boolean>>();
  for (const [name, { path, isValue }] of namePlaces) {
    if (baseClasses.includes(name)) continue;
    const module = moduleFrom(file, path);
    const names = modules.get(module) ?? new Map<string, boolean>();
    // Users' files import this one, so their classes are exported as types: no file may need
    // another one first.
    names.set(name, isValue && /^(generated|#runtime)\//.test(path));
    modules.set(module, names);
  }
  return {
    header,
    exports: [...modules]
      .sort(([a], [b]) => Number(a > b) - Number(a < b))
      .map(([module, names]) => statement('export', module, names)),
  };
}

/** The base class of the datastore, and its class if the user writes none. */
export function dataStoreView({ header, model, classNames, namePlaces }: EmitContext): object {
  const written = functionMembers(model, classNames, model.functions, 'datastore.functions');
  const uses = new Set(['Database', 'Datastore', ...written.flatMap((each) => each.uses)]);
  const members = model.dataclasses.map((each) => {
    const type = classNames.of(each).written.dataclass;
    uses.add(type);
    return field('declare readonly', each.name, type);
  });
  if (hasJobs(model)) {
    uses.add('EnqueueJob');
    const doc =
      'Stores a job, which runs after the commit of the transaction that this code is in.';
    members.push(field('declare readonly', 'enqueue', 'EnqueueJob', doc));
  }
  return {
    header,
    imports: importsOf(namePlaces, dataStoreFile, uses, new Set(['Datastore'])),
    doc: docComment(model.description),
    members: [...members, ...abstractMembers(written)],
    own:
      placeOf(namePlaces, 'DataStore').path === dataStoreFile
        ? ['export class DataStore extends DataStoreBase {}']
        : [],
  };
}

/** The base classes of the singletons. */
export function singletonsView({ header, model, classNames, namePlaces }: EmitContext): object {
  const uses = new Set(['DataStore', 'Singleton']);
  const singletons = model.singletons.map((singleton) => {
    const written = functionMembers(model, classNames, singleton.functions, '');
    for (const each of written.flatMap((member) => member.uses)) uses.add(each);
    const head = `export abstract class ${classNames.ofSingleton(singleton).base} extends Singleton<DataStore>`;
    const members = abstractMembers(written);
    return {
      doc: docComment(singleton.description),
      code: `${head} {${members.length === 0 ? '' : `\n${members.join('\n')}\n`}}`,
    };
  });
  return {
    header,
    imports: importsOf(namePlaces, 'generated/singletons', uses, new Set(['Singleton'])),
    singletons,
  };
}

/** The classes that the server makes its objects from. */
export function registryView(context: EmitContext): object {
  const { header, model, classNames, namePlaces, bits } = context;
  const values = new Set(['DataStore']);
  const use = (name: string): RawCode => {
    values.add(name);
    return new RawCode(name);
  };
  const dataclasses = model.dataclasses.map((dataclass) => {
    const { dataclass: own, entity, selection } = classNames.of(dataclass).written;
    const classes = { dataclass: use(own), entity: use(entity), selection: use(selection) };
    return [dataclass.name, classes] as const;
  });
  const singletons = model.singletons.map((singleton) => {
    const value = {
      singleton: use(classNames.ofSingleton(singleton).written),
      scope: singleton.scope,
      functions: exposedFunctions(singleton.functions, 'singleton', bits),
    };
    return [singleton.name, value] as const;
  });
  const registry = {
    datastore: use('DataStore'),
    datastoreFunctions: exposedFunctions(model.functions, 'datastore', bits),
    dataclasses: Object.fromEntries(dataclasses),
    singletons: Object.fromEntries(singletons),
  };
  return {
    header,
    imports: [
      ...importsOf(namePlaces, 'generated/classes', [...values, 'ClassRegistry'], values),
      ...(namesBits(registry) ? ["import { bits } from './access.js';"] : []),
    ],
    declaration: declaration('export const classes: ClassRegistry', registry),
  };
}
