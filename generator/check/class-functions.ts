import { child, entriesOf, itemsOf, textOf } from '../source/tree.js';
import { isOneOf, singletonScopes } from '../source/vocabulary.js';
import { fold } from './fold.js';
import { classFunctions } from './functions.js';
import { functionNames } from './reserved.js';
import { describedBy, type AttributeDraft, type DataclassDraft, type World } from './world.js';
import type { ClassFunction, Dataclass, Singleton } from '../model/model.js';
import type { SourceKey } from '../source/tree.js';
import type { Context } from './context.js';

/** Functions of the three classes of a dataclass. */
export function dataclassFunctions(
  context: Context,
  world: World,
  dataclass: DataclassDraft,
): Dataclass['functions'] {
  const { name, node } = dataclass;
  const functions = child(node, 'functions');
  const events = itemsOf(child(node, 'events')).map((each) => textOf(each) ?? '');
  const dataclassNames = new Set([...functionNames.dataclass, 'restrict']);
  checkTaken(context, dataclass);
  checkAccessorNames(context, dataclass);
  return {
    dataclass: classFunctions(context, world, {
      functions: child(functions, 'dataclass'),
      owner: `the class of the dataclass ${name}`,
      reserved: dataclassNames,
    }),
    selection: classFunctions(context, world, {
      functions: child(functions, 'selection'),
      owner: `the class of ${name} selections`,
      reserved: functionNames.selection,
    }),
    entity: classFunctions(context, world, {
      functions: child(functions, 'entity'),
      owner: `the class of ${name} entities`,
      reserved: new Set([...functionNames.entity, ...events]),
    }),
  };
}

function functionKeys(dataclass: DataclassDraft): readonly (readonly SourceKey[])[] {
  const functions = child(dataclass.node, 'functions');
  return ['dataclass', 'selection', 'entity'].map((each) =>
    entriesOf(child(functions, each)).map(({ key }) => key),
  );
}

/** A URL names an attribute or function behind its dataclass, and a permission names a function of any of the classes. */
function checkTaken({ report }: Context, dataclass: DataclassDraft): void {
  const owners = new Map<string, string>();
  for (const { name, label } of dataclass.attributes) {
    owners.set(fold(name), `the attribute ${label}`);
  }
  for (const keys of functionKeys(dataclass)) {
    for (const { name, ...at } of keys) {
      const other = owners.get(fold(name));
      if (other !== undefined) report('function/name-taken', { name, other }, at);
    }
    for (const { name } of keys) owners.set(fold(name), `the function ${name} of another class`);
  }
}

/** Accessors `query` and `orderBy` are methods of the dataclass's class, such as `queryFullName`. */
function checkAccessorNames({ report }: Context, dataclass: DataclassDraft): void {
  const [ofDataclass = []] = functionKeys(dataclass);
  const names = new Map(dataclass.attributes.flatMap(accessorNames));
  for (const { name, ...at } of ofDataclass) {
    const attribute = names.get(name);
    if (attribute !== undefined) report('function/accessor-name', { name, attribute }, at);
  }
}

function accessorNames({ node, name }: AttributeDraft): (readonly [string, string])[] {
  const suffix = name.slice(0, 1).toUpperCase() + name.slice(1);
  return itemsOf(child(node, 'accessors'))
    .map((each) => textOf(each) ?? '')
    .filter((each) => each === 'query' || each === 'orderBy')
    .map((each) => [`${each}${suffix}`, name]);
}

export function datastoreFunctions(context: Context, world: World): readonly ClassFunction[] {
  return classFunctions(context, world, {
    functions: child(child(world.root, 'datastore'), 'functions'),
    owner: 'the datastore',
    reserved: new Set([...functionNames.datastore, ...world.dataclass.keys()]),
  });
}

export function singletons(context: Context, world: World): readonly Singleton[] {
  return entriesOf(child(world.root, 'singletons')).map(({ key, value }) => {
    const scope = textOf(child(value, 'scope'));
    return {
      name: key.name,
      scope: isOneOf(singletonScopes, scope) ? scope : 'process',
      ...describedBy(value),
      functions: classFunctions(context, world, {
        functions: child(value, 'functions'),
        owner: `the singleton ${key.name}`,
        reserved: functionNames.singleton,
      }),
    };
  });
}
