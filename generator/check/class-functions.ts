import { child, entriesOf, itemsOf, textOf } from '../source/tree.js';
import { isOneOf, singletonScopes } from '../source/vocabulary.js';
import { fold } from '../../runtime/protocol/fold.js';
import { classFunctions } from './functions.js';
import { functionNames, jobMember } from './reserved.js';
import { renamedFromOf } from './renames.js';
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
  const selection = classFunctions(context, world, {
    functions: child(functions, 'selection'),
    owner: `the class of ${name} selections`,
    reserved: functionNames.selection,
  });
  const ofDataclass = classFunctions(context, world, {
    functions: child(functions, 'dataclass'),
    owner: `the class of the dataclass ${name}`,
    reserved: dataclassNames,
  });
  return {
    dataclass: withoutHidden(context, dataclass, ofDataclass, selection),
    selection,
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

/**
 * A URL names an attribute or function behind its dataclass. Functions of different classes may
 * have the same name, and are one for permissions, whose names are compared without regard to case.
 */
function checkTaken({ report }: Context, dataclass: DataclassDraft): void {
  const attributes = new Map(dataclass.attributes.map(({ name, label }) => [fold(name), label]));
  const functions = new Map<string, string>();
  for (const keys of functionKeys(dataclass)) {
    for (const { name, ...at } of keys) {
      const attribute = attributes.get(fold(name));
      const other = functions.get(fold(name));
      if (attribute !== undefined) {
        report('function/name-taken', { name, other: `the attribute ${attribute}` }, at);
      } else if (other !== undefined && other !== name) {
        const shown = `the function ${other} of another class, but for case,`;
        report('function/name-taken', { name, other: shown }, at);
      }
    }
    for (const { name } of keys) functions.set(fold(name), name);
  }
}

/**
 * Clients never reach a dataclass function that has the name of a selection function (protocol
 * P11.26).
 */
function withoutHidden(
  { report }: Context,
  dataclass: DataclassDraft,
  functions: readonly ClassFunction[],
  ofSelections: readonly ClassFunction[],
): readonly ClassFunction[] {
  const [keys = []] = functionKeys(dataclass);
  const hiding = new Set(ofSelections.filter((each) => each.exposed).map((each) => each.name));
  return functions.map((each) => {
    if (!each.exposed || !hiding.has(each.name)) return each;
    const at = keys.find((key) => key.name === each.name);
    if (at !== undefined) report('function/hidden', { name: each.name }, at);
    return { ...each, exposed: false, onHTTPGet: false };
  });
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
    reserved: new Set([
      ...functionNames.datastore,
      ...world.dataclass.keys(),
      ...(child(world.root, 'jobs') === undefined ? [] : [jobMember]),
    ]),
  });
}

export function singletons(context: Context, world: World): readonly Singleton[] {
  return entriesOf(child(world.root, 'singletons')).map(({ key, value }) => {
    const scope = textOf(child(value, 'scope'));
    return {
      name: key.name,
      ...renamedFromOf(value),
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
