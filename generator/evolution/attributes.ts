import { stringify } from 'yaml';
import { successorsOf } from '../../runtime/protocol/names.js';
import { paired, type Paired } from './renames.js';
import type { Attribute, Dataclass, Model, RelatedEntityAttribute } from '../model/model.js';

/** A dataclass in both models, with its attributes in both. */
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

/** If an attribute is a generated foreign key: the relation that it belongs to. */
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

/**
 * `Employee.employer`: the name that a model uses for an attribute. A generated foreign key has the name of its
 * relation.
 */
export function labelOf(dataclass: Dataclass, attribute: Attribute): string {
  return `${dataclass.name}.${(madeFor(dataclass, attribute) ?? attribute).name}`;
}

export function attributePath(dataclass: Dataclass, attribute: Attribute, key?: string): string {
  const { name } = madeFor(dataclass, attribute) ?? attribute;
  return `${pathOf(dataclass)}.attributes.${name}${key === undefined ? '' : `.${key}`}`;
}

/** The database column of an attribute, and whether the database computes it. */
interface Column {
  readonly name: string;
  readonly expression?: string;
}

export function columnOf(attribute: Attribute): Column | undefined {
  if (attribute.kind === 'storage') return { name: attribute.column };
  if (attribute.kind !== 'computed' || attribute.expression === undefined) return undefined;
  return { name: attribute.column ?? attribute.name, expression: attribute.expression };
}

/** A possible rename: one part is gone, and a new one has the same shape. */
interface Guess<T> {
  readonly removed: T;
  readonly added: T;
  /** The `renamedFrom` line that confirms it. */
  readonly line: string;
}

export function guessedAttributes({ older, newer, attributes }: DataclassPair): Guess<Attribute>[] {
  const written = (dataclass: Dataclass, of: readonly Attribute[]): Attribute[] =>
    of.filter((each) => madeFor(dataclass, each) === undefined);
  return guesses(
    written(older, attributes.removed),
    written(newer, attributes.added),
    (a, b) => shapeOf(a) === shapeOf(b) && !isSameColumn(a, b),
  );
}

/** Two dataclasses are similar if they have the same key and share half of their attributes. */
export function guessedDataclasses({ dataclasses }: ModelPair): Guess<Dataclass>[] {
  return guesses(dataclasses.removed, dataclasses.added, (a, b) => {
    const shapes = new Set(a.attributes.map((each) => `${each.name} ${shapeOf(each)}`));
    const common = b.attributes.filter((each) => shapes.has(`${each.name} ${shapeOf(each)}`));
    const most = Math.max(a.attributes.length, b.attributes.length);
    return a.key === b.key && a.table !== b.table && common.length * 2 >= most;
  });
}

/** The values of the column are those of the new attribute already. */
function isSameColumn(a: Attribute, b: Attribute): boolean {
  const name = columnOf(a)?.name;
  return name !== undefined && name === columnOf(b)?.name;
}

/** Limit of compared pairs: a rewritten model is not a list of renames. */
const maxGuessed = 10_000;

function guesses<T extends { readonly name: string; readonly renamedFrom?: readonly string[] }>(
  removed: readonly T[],
  added: readonly T[],
  isAlike: (a: T, b: T) => boolean,
): Guess<T>[] {
  if (removed.length * added.length > maxGuessed) return [];
  const former = new Map([...successorsOf(removed, added, isAlike)].map(([was, is]) => [is, was]));
  return added.flatMap((part) => {
    const each = former.get(part);
    return each === undefined ? [] : [{ removed: each, added: part, line: renamedFromLine(each) }];
  });
}

/** The `renamedFrom` line that connects a part with its name in an older model. */
export function renamedFromLine({
  name,
  renamedFrom = [],
}: {
  readonly name: string;
  readonly renamedFrom?: readonly string[];
}): string {
  // A name may mean something in YAML: `null`.
  const names = [...renamedFrom, name].map((each) => stringify(each).trimEnd());
  return `renamedFrom: ${names.length === 1 ? names.join('') : `[${names.join(', ')}]`}`;
}

function shapeOf(attribute: Attribute): string {
  switch (attribute.kind) {
    case 'storage':
      return `storage ${attribute.type} ${String(attribute.dateOnly)} ${String(attribute.key)} ${String(attribute.dimensions)} ${String(attribute.scale)}`;
    case 'computed':
      return `computed ${attribute.type} ${attribute.expression ?? ''}`;
    case 'alias':
    case 'relationAlias':
      return `alias ${attribute.path.join('.')}`;
    case 'aggregate':
      return `${attribute.aggregate} ${attribute.path.join('.')} ${attribute.filter ?? ''}`;
    case 'relatedEntity':
    case 'relatedEntities':
      return `${attribute.kind} ${attribute.target}`;
  }
}
