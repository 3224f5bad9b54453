import type { Attribute, Dataclass, Model } from './model.js';

const dataclassesOf = new WeakMap<Model, ReadonlyMap<string, Dataclass>>();

/** The dataclass of a checked model; an unknown name is a bug of the generator. */
export function dataclassNamed(model: Model, name: string): Dataclass {
  let byName = dataclassesOf.get(model);
  if (byName === undefined) {
    byName = new Map(model.dataclasses.map((dataclass) => [dataclass.name, dataclass]));
    dataclassesOf.set(model, byName);
  }
  const found = byName.get(name);
  if (found === undefined) throw new Error(`The model has no dataclass ${name}.`);
  return found;
}

/** The attribute of a checked model; an unknown name is a bug of the generator. */
export function attributeNamed(dataclass: Dataclass, name: string): Attribute {
  const found = dataclass.attributes.find((attribute) => attribute.name === name);
  if (found === undefined) throw new Error(`${dataclass.name} has no attribute ${name}.`);
  return found;
}
