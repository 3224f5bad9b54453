import { modelPair, guessedAttributes, guessedDataclasses } from '../evolution/attributes.js';
import { withNewNames } from '../evolution/new-names.js';
import { paired, pairedStored } from '../evolution/renames.js';
import { compareDecimals } from '../model/decimals.js';
import type { Attribute, Dataclass, Model, StorageAttribute } from '../model/model.js';
import {
  aside,
  foldBetween,
  newlyUniqueLists,
  storageOf,
  withoutAside,
  type PlannedStep,
} from './steps.js';

/** Steps from an older model to a newer one. */
interface Steps {
  /** Steps that no migration contains. */
  readonly open: readonly PlannedStep[];
  /** Steps of the migration that is being written. */
  readonly written: readonly PlannedStep[];
}

/**
 * The model that stored data may have: that of `before` where a step is open, and that of `after` elsewhere. So each
 * part keeps the form of the last model that had it, however long the steps of other parts stay open. What is dropped
 * stays in it, because the drop may wait for years.
 */
export function storedModel(before: Model, after: Model, steps: Steps): Model {
  const older = withNewNames(before, after);
  const dataclasses = pairedStored(older.dataclasses, after.dataclasses);
  const former = new Map(dataclasses.both.map(([old, now]) => [now, old]));
  const isFoldOpen = steps.open.some((each) => each.kind === 'fill' && each.isUnique);
  const { accentInsensitive } = isFoldOpen ? before.protocol : after.protocol;
  const parts = new StoredParts(older, after, steps);
  const all = withRemoved(
    after.dataclasses.map((now) => {
      const old = former.get(now);
      return old === undefined ? parts.added(now) : parts.dataclass(old, now);
    }),
    dataclasses.removed.flatMap((each) => parts.removed(each, each.table)),
  );
  const names = new Set(all.map(({ name }) => name));
  return {
    ...after,
    protocol: { ...after.protocol, accentInsensitive },
    dataclasses: all.map((each) => ({
      ...each,
      // Where a removed relation led may be gone; its column counts.
      attributes: each.attributes.filter(
        (of) => of.kind !== 'relatedEntity' || names.has(of.target),
      ),
    })),
  };
}

class StoredParts {
  constructor(
    private readonly before: Model,
    private readonly after: Model,
    private readonly steps: Steps,
  ) {}

  added<T extends Dataclass | Attribute>(part: T): T {
    return { ...part, recorded: 'new' };
  }

  /** A removed part, as long as its values may be there. */
  removed<T extends Dataclass | Attribute>(part: T, table: string, column?: string): readonly T[] {
    const { open } = this.steps;
    if (isIn(open, 'drop', table, column) || isIn(open, 'rename', table, column)) return [part];
    if (isTarget(open, table, column)) return [part];
    const isDropped =
      part.recorded === 'dropped' || isIn(this.steps.written, 'drop', table, column);
    return isDropped ? [{ ...part, recorded: 'dropped' }] : [];
  }

  dataclass(old: Dataclass, now: Dataclass): Dataclass {
    const { open } = this.steps;
    const { table } = now;
    const storage = pairedStored(storageOf(old), storageOf(now));
    const others = paired(old.attributes, now.attributes);
    const former = new Map([...others.both, ...storage.both].map(([was, is]) => [is, was]));
    const taken = new Set(now.attributes.map(({ name }) => name));
    const dropped = storage.removed
      .filter(
        ({ column }) =>
          isTarget(open, table, column) || storageOf(now).every((of) => of.column !== column),
      )
      // New rows have no value, even if it was mandatory.
      .flatMap((each) => this.removed({ ...each, mandatory: false }, table, each.column));
    const names = new Map(dropped.map(({ name }) => [name, freeName(name, taken)]));
    const relations = others.removed.flatMap((each) => {
      const foreignKey = each.kind === 'relatedEntity' ? names.get(each.foreignKey) : undefined;
      return each.kind === 'relatedEntity' && foreignKey !== undefined
        ? [{ ...each, foreignKey }]
        : [];
    });
    const { uniqueIndexes, ...rest } = now;
    const known = new Map(storage.both.map(([was, is]) => [is, was]));
    const broken = newlyUniqueLists(old, now, known, foldBetween(this.before, this.after))
      .filter((list) => isIn(open, 'fill', table, list.at(-1)?.column))
      .map((list) => new Set(list.map(({ name }) => name)));
    const lists = uniqueIndexes?.filter(
      (list) => !broken.some((each) => list.every((name) => each.has(name))),
    );
    const all: Dataclass = {
      ...rest,
      ...(lists === undefined || lists.length === 0 ? {} : { uniqueIndexes: lists }),
      table: isIn(open, 'rename', old.table) ? old.table : table,
      attributes: [
        ...now.attributes.map((each) => this.#attribute(former.get(each), each, table)),
        ...dropped.map((each) => ({ ...each, name: names.get(each.name) ?? each.name })),
        ...withRemoved([], relations, taken),
      ],
    };
    return old.recorded === 'new' ? this.added(all) : all;
  }

  #attribute(was: Attribute | undefined, now: Attribute, table: string): Attribute {
    const isFilled = now.kind === 'storage' && isIn(this.steps.written, 'fill', table, now.column);
    if (was === undefined) return isFilled ? now : this.added(now);
    const form =
      was.kind === 'storage' && now.kind === 'storage' ? this.#form(was, now, table) : now;
    return was.recorded === 'new' && !isFilled ? this.added(form) : form;
  }

  #form(was: StorageAttribute, now: StorageAttribute, table: string): StorageAttribute {
    const { open } = this.steps;
    const { column } = isIn(open, 'rename', table, was.column) ? was : now;
    if (isIn(open, 'convert', table, now.column)) return { ...was, name: now.name, column };
    const isFilled = isIn(open, 'fill', table, now.column);
    return { ...now, ...(isFilled ? looseRules(was, now) : {}), column };
  }
}

function isIn(
  steps: readonly PlannedStep[],
  kind: PlannedStep['kind'],
  table: string,
  column?: string,
): boolean {
  return steps.some((each) => each.kind === kind && each.table === table && each.column === column);
}

/** Whether a part gets the name of another one, which databases may have beside it. */
function isTarget(steps: readonly PlannedStep[], table: string, column?: string): boolean {
  return steps.some((each) => {
    if (each.kind !== 'rename') return false;
    return column === undefined
      ? each.column === undefined && each.to === table
      : each.column !== undefined && each.table === table && each.to === column;
  });
}

function freeName(name: string, taken: Set<string>): string {
  let free = name;
  while (taken.has(free)) free += aside;
  taken.add(free);
  return free;
}

/** Adds removed parts under names that no other part has. */
function withRemoved<T extends { readonly name: string }>(
  parts: readonly T[],
  removed: readonly T[],
  taken = new Set(parts.map(({ name }) => name)),
): readonly T[] {
  return [...parts, ...removed.map((each) => ({ ...each, name: freeName(each.name, taken) }))];
}

/** The rules that the values of both forms of an attribute meet. */
function looseRules(one: StorageAttribute, other: StorageAttribute): Partial<StorageAttribute> {
  const { mandatory, unique, enum: values, minLength, maxLength, min, max, precision } = other;
  const both = <T>(a: T | undefined, b: T | undefined, pick: (a: T, b: T) => T): T | undefined =>
    a === undefined || b === undefined ? undefined : pick(a, b);
  const isBelow = (a: number | string, b: number | string): boolean =>
    other.type === 'decimal' ? compareDecimals(a, b) < 0 : a < b;
  const lower = <T extends number | string>(a: T, b: T): T => (isBelow(a, b) ? a : b);
  const higher = <T extends number | string>(a: T, b: T): T => (isBelow(a, b) ? b : a);
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

/** The removed parts of stored data that a step drops and the comparison of models takes for renamed ones. */
export function doubtsOf(
  stored: Model,
  model: Model,
  steps: readonly PlannedStep[],
): readonly Doubt[] {
  const older = withoutNew(stored);
  const models = modelPair(withNewNames(older, model), model);
  const isDropped = ({ table, column }: Doubt): boolean => isIn(steps, 'drop', table, column);
  const lineOf = (name: string, line: string, sqlLine: string): string =>
    name.endsWith(aside) ? sqlLine : line;
  return [
    ...guessedDataclasses(models).map(({ removed: { name, table }, added, line }) => ({
      table,
      name: withoutAside(name),
      now: added.name,
      line: lineOf(name, line, `table: ${table}`),
    })),
    ...models.pairs.flatMap((pair) =>
      guessedAttributes(pair).flatMap(({ removed, added, line }) => {
        const held = removed.kind === 'relatedEntity' ? removed.foreignKey : removed.name;
        const column = storageOf(pair.older).find((each) => each.name === held)?.column;
        if (column === undefined) return [];
        const { table, name } = pair.newer;
        return {
          table,
          column,
          name: `${name}.${withoutAside(removed.name)}`,
          now: `${name}.${added.name}`,
          line: lineOf(removed.name, line, `column: ${column}`),
        };
      }),
    ),
  ].filter(isDropped);
}

/** What was added later may be the new name of what was removed before. */
function withoutNew(model: Model): Model {
  return {
    ...model,
    dataclasses: model.dataclasses
      .filter(({ recorded }) => recorded !== 'new')
      .map((each) => ({
        ...each,
        attributes: each.attributes.filter((of) => of.recorded !== 'new'),
      })),
  };
}
