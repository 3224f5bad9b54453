import { editDistance } from '../check/near-name.js';
import { paired, type Paired } from './renames.js';
import type {
  Attribute,
  Dataclass,
  Model,
  RelatedEntityAttribute,
  StorageAttribute,
} from '../model/model.js';

/** A dataclass of two models, and its attributes in both. */
export interface DataclassPair {
  readonly older: Dataclass;
  readonly newer: Dataclass;
  readonly path: string;
  readonly attributes: Paired<Attribute>;
}

/** The dataclasses of two models. */
export interface ModelPair {
  readonly older: Model;
  readonly newer: Model;
  readonly dataclasses: Paired<Dataclass>;
  readonly pairs: readonly DataclassPair[];
}

export function modelPair(older: Model, newer: Model): ModelPair {
  const dataclasses = paired(older.dataclasses, newer.dataclasses);
  const pairs = dataclasses.both.map(([before, after]) => ({
    older: before,
    newer: after,
    path: pathOf(after),
    attributes: paired(before.attributes, after.attributes),
  }));
  return { older, newer, dataclasses, pairs };
}

export function pathOf(dataclass: Dataclass): string {
  return `dataclasses.${dataclass.name}`;
}

/** The relation whose foreign key the model leaves out, when an attribute is such a key. */
export function madeFor(
  { attributes }: Dataclass,
  attribute: Attribute,
): RelatedEntityAttribute | undefined {
  if (attribute.kind !== 'storage' || attribute.exposed) return undefined;
  return attributes.find(
    (each): each is RelatedEntityAttribute =>
      each.kind === 'relatedEntity' &&
      each.foreignKey === attribute.name &&
      attribute.name === `${each.name}_id`,
  );
}

/** `Employee.employer`: what a model calls an attribute; the foreign key that is made for a relation has its name. */
export function labelOf(dataclass: Dataclass, attribute: Attribute): string {
  return `${dataclass.name}.${(madeFor(dataclass, attribute) ?? attribute).name}`;
}

export function attributePath(dataclass: Dataclass, attribute: Attribute, key?: string): string {
  const { name } = madeFor(dataclass, attribute) ?? attribute;
  return `${pathOf(dataclass)}.attributes.${name}${key === undefined ? '' : `.${key}`}`;
}

/** The column in which a database keeps an attribute, and whether it computes it. */
export interface Column {
  readonly name: string;
  readonly expression?: string;
}

export function columnOf(attribute: Attribute): Column | undefined {
  if (attribute.kind === 'storage') return { name: attribute.column };
  if (attribute.kind !== 'calculated' || attribute.expression === undefined) return undefined;
  return { name: attribute.column ?? attribute.name, expression: attribute.expression };
}

export function storedAttributes({ attributes }: Dataclass): readonly StorageAttribute[] {
  return attributes.filter((each) => each.kind === 'storage');
}

/** What may have been renamed without a word: something is gone, and something of the same shape is new. */
export interface Guess<T> {
  readonly removed: T;
  readonly added: T;
  /** The line that says so. */
  readonly line: string;
}

export function guessedAttributes({ older, newer, attributes }: DataclassPair): Guess<Attribute>[] {
  const written = (dataclass: Dataclass, of: readonly Attribute[]): Attribute[] =>
    of.filter((each) => madeFor(dataclass, each) === undefined);
  return guesses(
    written(older, attributes.removed),
    written(newer, attributes.added),
    (a, b) => shapeOf(a) === shapeOf(b),
  );
}

/** Dataclasses are alike when they have the same key and half of their attributes. */
export function guessedDataclasses({ dataclasses }: ModelPair): Guess<Dataclass>[] {
  return guesses(dataclasses.removed, dataclasses.added, (a, b) => {
    const shapes = new Set(a.attributes.map((each) => `${each.name} ${shapeOf(each)}`));
    const common = b.attributes.filter((each) => shapes.has(`${each.name} ${shapeOf(each)}`));
    const most = Math.max(a.attributes.length, b.attributes.length);
    return a.key === b.key && common.length * 2 >= most;
  });
}

/** Of pairs: a model that was written anew is no list of renames. */
const maxGuessed = 10_000;

function guesses<T extends { readonly name: string; readonly renamedFrom?: readonly string[] }>(
  removed: readonly T[],
  added: readonly T[],
  isAlike: (a: T, b: T) => boolean,
): Guess<T>[] {
  if (removed.length * added.length > maxGuessed) return [];
  const left = new Set(removed);
  return added.flatMap((part) => {
    const [nearest] = [...left]
      .filter((each) => isAlike(each, part))
      .sort((a, b) => editDistance(a.name, part.name) - editDistance(b.name, part.name));
    if (nearest === undefined) return [];
    left.delete(nearest);
    return [{ removed: nearest, added: part, line: renamedFromLine(nearest) }];
  });
}

/** The line that connects a part with what it was called in an older model. */
export function renamedFromLine({
  name,
  renamedFrom = [],
}: {
  readonly name: string;
  readonly renamedFrom?: readonly string[];
}): string {
  const names = [...renamedFrom, name];
  return `renamedFrom: ${names.length === 1 ? name : `[${names.join(', ')}]`}`;
}

function shapeOf(attribute: Attribute): string {
  switch (attribute.kind) {
    case 'storage':
      return `storage ${attribute.type} ${String(attribute.dateOnly)} ${String(attribute.key)} ${String(attribute.dimensions)}`;
    case 'calculated':
      return `calculated ${attribute.type} ${attribute.expression ?? ''}`;
    case 'alias':
      return `alias ${attribute.path.join('.')}`;
    case 'relatedEntity':
    case 'relatedEntities':
      return `${attribute.kind} ${attribute.target}`;
  }
}
