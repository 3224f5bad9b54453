import { modelPair, guessedAttributes, guessedDataclasses } from '../evolution/attributes.js';
import { withNewNames } from '../evolution/new-names.js';
import { paired } from '../evolution/renames.js';
import type { Attribute, Dataclass, Model, StorageAttribute } from '../model/model.js';
import { foldBetween, newlyUniqueLists, pairedStorage, type PlannedStep } from './steps.js';

/**
 * The model that stored data may have: that of `before` where a step is open, and that of `after` elsewhere. So each
 * part keeps the form of the last model that had it, however long the steps of other parts stay open.
 * @param open steps from `before` to `after` that no migration contains
 */
export function storedModel(before: Model, after: Model, open: readonly PlannedStep[]): Model {
  const dataclasses = paired(before.dataclasses, after.dataclasses);
  const former = new Map(dataclasses.both.map(([old, now]) => [now, old]));
  const isDropped = ({ table }: Dataclass): boolean =>
    open.some((each) => each.kind === 'drop' && each.column === undefined && each.table === table);
  const isFoldOpen = open.some((each) => each.kind === 'fill' && each.isUnique);
  const protocol = isFoldOpen ? before.protocol : after.protocol;
  const { accentInsensitive } = protocol;
  return {
    ...after,
    protocol: { ...after.protocol, accentInsensitive },
    dataclasses: withRemoved(
      after.dataclasses.map((now) => {
        const old = former.get(now);
        return old === undefined
          ? { ...now, isNew: true as const }
          : storedDataclass([before, after], old, now, open);
      }),
      dataclasses.removed.filter(isDropped),
    ),
  };
}

function storedDataclass(
  [before, after]: readonly [Model, Model],
  old: Dataclass,
  now: Dataclass,
  open: readonly PlannedStep[],
): Dataclass {
  const isOpen = (kind: PlannedStep['kind'], table: string, column?: string): boolean =>
    open.some((each) => each.kind === kind && each.table === table && each.column === column);
  const attributes = pairedStorage(old, now);
  const others = paired(old.attributes, now.attributes);
  const known = new Map(attributes.both.map(([was, is]) => [is, was]));
  const isOld = new Set(others.both.flatMap(([was, is]) => (was.isNew === undefined ? [is] : [])));
  const kept = (attribute: Attribute): Attribute => {
    if (attribute.kind !== 'storage') {
      return isOld.has(attribute) ? attribute : { ...attribute, isNew: true };
    }
    const was = known.get(attribute);
    if (was === undefined) return { ...attribute, isNew: true };
    const { column } = attribute;
    const isConverted = isOpen('convert', now.table, column);
    const form = isConverted
      ? { ...was, name: attribute.name }
      : isOpen('fill', now.table, column)
        ? { ...attribute, ...looseRules(was, attribute) }
        : attribute;
    return {
      ...form,
      column: isOpen('rename', now.table, was.column) ? was.column : column,
      ...(was.isNew === undefined ? {} : { isNew: true as const }),
    };
  };
  const dropped = attributes.removed.filter(({ column }) => isOpen('drop', now.table, column));
  const relations = others.removed.filter(
    (each) => each.kind === 'relatedEntity' && dropped.some(({ name }) => name === each.foreignKey),
  );
  const { uniqueIndexes, ...rest } = now;
  const broken = newlyUniqueLists(old, now, known, foldBetween(before, after))
    .filter((list) => isOpen('fill', now.table, list.at(-1)?.column))
    .map((list) => new Set(list.map(({ name }) => name)));
  const lists = uniqueIndexes?.filter(
    (names) => !broken.some((list) => names.every((each) => list.has(each))),
  );
  return {
    ...rest,
    ...(lists === undefined || lists.length === 0 ? {} : { uniqueIndexes: lists }),
    ...(old.isNew === undefined ? {} : { isNew: true as const }),
    table: isOpen('rename', old.table) ? old.table : now.table,
    attributes: withRemoved(now.attributes.map(kept), [...dropped, ...relations]),
  };
}

/** Adds removed parts under names that no other part has. */
function withRemoved<T extends { readonly name: string }>(
  parts: readonly T[],
  removed: readonly T[],
): readonly T[] {
  const all = [...parts];
  for (const part of removed) {
    let { name } = part;
    while (all.some((each) => each.name === name)) name += ' removed';
    all.push({ ...part, name });
  }
  return all;
}

/** The rules that the values of both forms of an attribute meet. */
function looseRules(one: StorageAttribute, other: StorageAttribute): Partial<StorageAttribute> {
  const { mandatory, unique, enum: values, minLength, maxLength, min, max, precision } = other;
  const both = <T>(a: T | undefined, b: T | undefined, pick: (a: T, b: T) => T): T | undefined =>
    a === undefined || b === undefined ? undefined : pick(a, b);
  const lower = <T extends number | string>(a: T, b: T): T => (a < b ? a : b);
  const higher = <T extends number | string>(a: T, b: T): T => (a > b ? a : b);
  const rules = {
    enum: both(one.enum, values, (a, b) => [...new Set([...a, ...b])]),
    minLength: both(one.minLength, minLength, lower),
    maxLength: both(one.maxLength, maxLength, higher),
    min: both(one.min, min, lower),
    max: both(one.max, max, higher),
    precision: both(one.precision, precision, higher),
  };
  return {
    ...(rules as Partial<StorageAttribute>),
    mandatory: one.mandatory && mandatory,
    unique: one.unique && unique,
  };
}

/** A part that would be dropped although it looks renamed. */
export interface Doubt {
  readonly table: string;
  readonly column?: string;
  /** How a person names it: `Shop.fax`. */
  readonly name: string;
  /** The part that it may be called now. */
  readonly now: string;
  /** The line that says so. */
  readonly line: string;
}

/** The removed parts of stored data that the comparison of models takes for renamed ones. */
export function doubtsOf(stored: Model, model: Model): readonly Doubt[] {
  const older = withoutNew(stored);
  const models = modelPair(withNewNames(older, model), model);
  return [
    ...guessedDataclasses(models).map(({ removed, added, line }) => ({
      table: removed.table,
      name: removed.name,
      now: added.name,
      line,
    })),
    ...models.pairs.flatMap((pair) =>
      guessedAttributes(pair).flatMap(({ removed, added, line }) => {
        const held = removed.kind === 'relatedEntity' ? removed.foreignKey : removed.name;
        const column = storageOf(pair.older).find((each) => each.name === held)?.column;
        if (column === undefined) return [];
        const { table, name } = pair.newer;
        const names = { name: `${name}.${removed.name}`, now: `${name}.${added.name}` };
        return { table, column, line, ...names };
      }),
    ),
  ];
}

/** What was added later may be the new name of what was removed before. */
function withoutNew(model: Model): Model {
  return {
    ...model,
    dataclasses: model.dataclasses
      .filter(({ isNew }) => isNew === undefined)
      .map((each) => ({
        ...each,
        attributes: each.attributes.filter((of) => of.isNew === undefined),
      })),
  };
}

function storageOf({ attributes }: Dataclass): readonly StorageAttribute[] {
  return attributes.filter((each) => each.kind === 'storage');
}
