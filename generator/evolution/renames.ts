import type { ClassFunction, Dataclass, Model } from '../model/model.js';

export interface Rename {
  readonly from: string;
  readonly to: string;
}

/** The parts with another name in a newer model; parts of a renamed dataclass are included. */
export interface Renames {
  readonly dataclasses: readonly Rename[];
  /** `dataclass` holds the names of the dataclass in both models, which may be equal. */
  readonly attributes: readonly (Rename & { readonly dataclass: Rename })[];
  readonly functions: readonly (Rename & { readonly owner: FunctionOwner })[];
  readonly singletons: readonly Rename[];
}

/** The class that has a function; `name` holds the names of the dataclass or singleton in both models. */
type FunctionOwner =
  | { readonly level: 'datastore' }
  | { readonly level: 'dataclass' | 'selection' | 'entity' | 'singleton'; readonly name: Rename };

/** The parts that `renamedFrom` of the newer model connects with parts of the older one under another name. */
export function renamesBetween(older: Model, newer: Model): Renames {
  const dataclasses = paired(older.dataclasses, newer.dataclasses).both;
  const singletons = paired(older.singletons, newer.singletons).both;
  return {
    dataclasses: dataclasses.flatMap(changedName),
    attributes: dataclasses.flatMap(([before, after]) =>
      paired(before.attributes, after.attributes)
        .both.flatMap(changedName)
        .map((rename) => ({ ...rename, dataclass: names([before, after]) })),
    ),
    functions: [
      ...renamedFunctions(older.functions, newer.functions, { level: 'datastore' }),
      ...dataclasses.flatMap(([before, after]) =>
        functionLevels.flatMap((level) =>
          renamedFunctions(before.functions[level], after.functions[level], {
            level,
            name: names([before, after]),
          }),
        ),
      ),
      ...singletons.flatMap(([before, after]) =>
        renamedFunctions(before.functions, after.functions, {
          level: 'singleton',
          name: names([before, after]),
        }),
      ),
    ],
    singletons: singletons.flatMap(changedName),
  };
}

export const functionLevels = [
  'dataclass',
  'selection',
  'entity',
] as const satisfies readonly (keyof Dataclass['functions'])[];

export interface Named {
  readonly name: string;
  readonly renamedFrom?: readonly string[];
}

export interface Paired<T> {
  /** Pairs of an older and a newer part, in the order of the newer ones. */
  readonly both: readonly (readonly [T, T])[];
  readonly removed: readonly T[];
  readonly added: readonly T[];
}

/**
 * Finds each part of the newer list in the older one, by its earlier names or its own. An earlier name may also be that
 * of the table or column, which is what a message of the server knows.
 */
export function paired<T extends Named>(older: readonly T[], newer: readonly T[]): Paired<T> {
  const left = new Map(older.map((each) => [each.name, each]));
  const stored = new Map(older.flatMap((each) => [[sqlNameOf(each), each.name] as const]));
  const take = (name: string): T | undefined => {
    const found = left.get(name);
    left.delete(name);
    return found;
  };
  const both = new Map<T, T>();
  // Earlier names come first: a part that was renamed to the name of a removed part is not that part.
  for (const part of newer) {
    const names = part.renamedFrom ?? [];
    const from =
      names.findLast((name) => left.has(name)) ??
      names
        .flatMap((name) => stored.get(name) ?? [])
        .findLast((name) => name !== part.name && left.has(name));
    const found = from === undefined ? undefined : take(from);
    if (found !== undefined) both.set(part, found);
  }
  for (const part of newer) {
    const found = both.has(part) ? undefined : take(part.name);
    if (found !== undefined) both.set(part, found);
  }
  return {
    both: newer.flatMap((part) => {
      const found = both.get(part);
      return found === undefined ? [] : [[found, part] as const];
    }),
    removed: [...left.values()],
    added: newer.filter((part) => !both.has(part)),
  };
}

/** Pairs parts that hold values: first by their names, then by their tables or columns. */
export function pairedStored<T extends Named>(older: readonly T[], newer: readonly T[]): Paired<T> {
  const byName = paired(older, newer);
  const left = new Map(byName.removed.map((each) => [sqlNameOf(each), each]));
  const found = byName.added.flatMap((each) => {
    const before = left.get(sqlNameOf(each));
    return before === undefined ? [] : [[before, each] as const];
  });
  const taken = new Set(found.flat());
  const isLeft = (each: T): boolean => !taken.has(each);
  return {
    both: [...byName.both, ...found],
    removed: byName.removed.filter(isLeft),
    added: byName.added.filter(isLeft),
  };
}

function sqlNameOf(part: object): unknown {
  return 'table' in part ? part.table : 'column' in part ? part.column : undefined;
}

function renamedFunctions(
  older: readonly ClassFunction[],
  newer: readonly ClassFunction[],
  owner: FunctionOwner,
): Renames['functions'] {
  return paired(older, newer)
    .both.flatMap(changedName)
    .map((rename) => ({ ...rename, owner }));
}

function names([before, after]: readonly [Named, Named]): Rename {
  return { from: before.name, to: after.name };
}

function changedName(pair: readonly [Named, Named]): readonly Rename[] {
  const rename = names(pair);
  return rename.from === rename.to ? [] : [rename];
}
