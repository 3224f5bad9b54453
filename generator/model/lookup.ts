import type {
  Attribute,
  Dataclass,
  Model,
  RelatedEntitiesAttribute,
  RelatedEntityAttribute,
  RelationAliasAttribute,
  StorageAttribute,
} from './model.js';

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

/**
 * Names of members of entity classes that attributes with a value of their own may have all the same: their properties in
 * class code and in clients have `_` behind them.
 */
export const sharedMembers: ReadonlySet<string> = new Set(['key', 'session', 'stamp']);

/** The property of an attribute in entity classes. */
export function memberOf({ name }: { readonly name: string }): string {
  return sharedMembers.has(name) ? `${name}_` : name;
}

/** The primary key. */
export function keyOf(dataclass: Dataclass): StorageAttribute {
  return storageNamed(dataclass, dataclass.key);
}

/** The attribute of the target whose values the foreign key of a to-one relation holds: the key, or a unique one. */
export function referencedBy(
  model: Model,
  relation: { readonly target: string; readonly references?: string },
): StorageAttribute {
  const target = targetOf(model, relation);
  return storageNamed(target, relation.references ?? target.key);
}

/** The relations whose foreign keys hold the values of an attribute that is no key. */
export function referencesTo(
  model: Model,
  dataclass: Dataclass,
  name: string,
): readonly RelatedEntityAttribute[] {
  return model.dataclasses.flatMap(({ attributes }) =>
    attributes.filter(
      (each): each is RelatedEntityAttribute =>
        each.kind === 'relatedEntity' && each.target === dataclass.name && each.references === name,
    ),
  );
}

/** The dataclass that a relation leads to. */
export function targetOf(model: Model, relation: { readonly target: string }): Dataclass {
  return dataclassNamed(model, relation.target);
}

/** Whether an attribute leads to a selection of entities. */
export function leadsToMany(
  attribute: Attribute,
): attribute is RelatedEntitiesAttribute | (RelationAliasAttribute & { readonly many: true }) {
  return (
    attribute.kind === 'relatedEntities' || (attribute.kind === 'relationAlias' && attribute.many)
  );
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
