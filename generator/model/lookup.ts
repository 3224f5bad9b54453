import type { Attribute, Dataclass, Model, StorageAttribute } from './model.js';

const dataclassMaps = new WeakMap<Model, ReadonlyMap<string, Dataclass>>();
const attributeMaps = new WeakMap<Dataclass, ReadonlyMap<string, Attribute>>();

/** The dataclass of that name; every name in a checked model leads somewhere, so a missing one is a bug. */
export function dataclassNamed(model: Model, name: string): Dataclass {
  return found(dataclassesByName(model).get(name), `dataclass ${name}`);
}

/** The attribute of that name, as {@link dataclassNamed}. */
export function attributeNamed(dataclass: Dataclass, name: string): Attribute {
  return found(attributesByName(dataclass).get(name), `attribute ${dataclass.name}.${name}`);
}

/** The storage attribute of that name, for instance a foreign key. */
export function storageNamed(dataclass: Dataclass, name: string): StorageAttribute {
  const attribute = attributeNamed(dataclass, name);
  if (attribute.kind !== 'storage') throw notThere(`storage attribute ${dataclass.name}.${name}`);
  return attribute;
}

/** The primary key. */
export function keyOf(dataclass: Dataclass): StorageAttribute {
  return storageNamed(dataclass, dataclass.key);
}

/** The dataclass that a relation leads to. */
export function targetOf(model: Model, relation: { readonly target: string }): Dataclass {
  return dataclassNamed(model, relation.target);
}

function dataclassesByName(model: Model): ReadonlyMap<string, Dataclass> {
  return remembered(dataclassMaps, model, (of) => byName(of.dataclasses));
}

function attributesByName(dataclass: Dataclass): ReadonlyMap<string, Attribute> {
  return remembered(attributeMaps, dataclass, (of) => byName(of.attributes));
}

function byName<T extends { readonly name: string }>(list: readonly T[]): ReadonlyMap<string, T> {
  return new Map(list.map((each) => [each.name, each]));
}

function remembered<K extends object, V>(memory: WeakMap<K, V>, key: K, make: (key: K) => V): V {
  const known = memory.get(key);
  if (known !== undefined) return known;
  const made = make(key);
  memory.set(key, made);
  return made;
}

function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw notThere(what);
  return value;
}

function notThere(what: string): Error {
  return new Error(`The model has no ${what}.`);
}
