import fc from 'fast-check';
import type { Dataclass, StorageType } from '../../../generator/model/model.js';
import { inputsOf } from '../model/values.js';
import type { Scalar } from '../memory/comparison.js';
import { type Comparator, type Filter, typeOf } from '../memory/filter.js';
import type { PathStep, Store } from '../memory/store.js';
import { crossedFilters } from './crossed.js';

/** A path that a comparison or an order may end. */
interface EndPath {
  readonly path: readonly string[];
  readonly end: PathStep;
  /** Relations that the client writes before the end. */
  readonly relations: number;
  readonly isToOne: boolean;
}

const maxRelations = 3;

/** Every path that a client may write from a dataclass, shorter ones first. */
export function endPaths(store: Store, dataclass: Dataclass): readonly EndPath[] {
  const found: EndPath[] = [];
  let waiting: { path: readonly string[]; here: Dataclass; isToOne: boolean }[] = [
    { path: [], here: dataclass, isToOne: true },
  ];
  for (let relations = 0; relations <= maxRelations; relations += 1) {
    const next: typeof waiting = [];
    for (const { path, here, isToOne } of waiting) {
      for (const name of ['__KEY', '__STAMP', ...exposedNames(here)]) {
        const way = [...path, name];
        const end = store.steps(here, [name]).at(-1) as PathStep;
        if (end.kind !== 'relatedEntities') found.push({ path: way, end, relations, isToOne });
        const attribute = here.attributes.find((each) => each.name === name);
        if (attribute?.kind !== 'relatedEntity' && attribute?.kind !== 'relatedEntities') continue;
        next.push({
          path: way,
          here: store.target(attribute),
          isToOne: isToOne && attribute.kind === 'relatedEntity',
        });
      }
    }
    waiting = next;
  }
  return found;
}

export function exposedNames(dataclass: Dataclass): string[] {
  return dataclass.attributes.filter((each) => each.exposed).map((each) => each.name);
}

/** Paths of that many relations at most, the short ones often. */
export function somePath(paths: readonly EndPath[]): fc.Arbitrary<EndPath> {
  const weights = [5, 4, 3, 2];
  const options = weights.flatMap((weight, relations) => {
    const list = paths.filter((each) => each.relations === relations);
    return list.length === 0 ? [] : [{ weight, arbitrary: fc.constantFrom(...list) }];
  });
  return fc.oneof(...options);
}

/** Filters over the paths of a dataclass. */
export function filters(store: Store, dataclass: Dataclass): fc.Arbitrary<Filter> {
  const paths = endPaths(store, dataclass);
  const comparison = somePath(paths).chain((path) => comparisons(store, path));
  const crossed = crossedFilters(store, dataclass);
  const { tree } = fc.letrec<{ tree: Filter; leaf: Filter }>((tie) => ({
    leaf: comparison,
    tree: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { weight: 4, arbitrary: tie('leaf') },
      { weight: 2, arbitrary: fc.oneof(sharedWay(store, paths), ...crossed) },
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constantFrom('and', 'or', 'except'),
          left: tie('tree'),
          right: tie('tree'),
        }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('not'), operand: tie('tree') }) },
    ),
  }));
  return tree;
}

/** Comparisons joined by AND that go over the same relations: decision 23 speaks of them. */
function sharedWay(store: Store, paths: readonly EndPath[]): fc.Arbitrary<Filter> {
  const ways = new Map<string, EndPath[]>();
  for (const each of paths) {
    if (each.relations === 0 || each.isToOne) continue;
    const way = each.path.slice(0, -1).join('.');
    ways.set(way, [...(ways.get(way) ?? []), each]);
  }
  if (ways.size === 0) return somePath(paths).chain((path) => comparisons(store, path));
  return fc.constantFrom(...ways.values()).chain((way) =>
    fc
      .array(
        fc.constantFrom(...way).chain((path) => comparisons(store, path)),
        { minLength: 2, maxLength: 3 },
      )
      .map((list) => list.reduce((left, right) => ({ kind: 'and', left, right }))),
  );
}

function comparisons(store: Store, { path, end }: EndPath): fc.Arbitrary<Filter> {
  const { type, dateOnly } = typeOf(store, end);
  const isNullOnly = ['object', 'vector', 'image', 'blob'].includes(type);
  const value: fc.Arbitrary<Scalar | null> = isNullOnly
    ? fc.constant(null)
    : fc.oneof(
        { weight: 5, arbitrary: storedValues(store, end, type) },
        { weight: 3, arbitrary: inputsOf(type, dateOnly) as fc.Arbitrary<Scalar> },
        { weight: 1, arbitrary: fc.constantFrom(...misfits(type)) },
        { weight: 1, arbitrary: fc.constant(null) },
      );
  return value.chain((chosen) =>
    fc.record({
      kind: fc.constant('comparison' as const),
      path: fc.constant(path),
      comparator: fc.constantFrom(...comparatorsFor(type, chosen)),
      value: fc.constant(chosen),
      isPlaceholder: fc.boolean(),
      spelling: fc.nat(1_000),
    }),
  );
}

function comparatorsFor(type: StorageType, value: Scalar | null): readonly Comparator[] {
  if (value === null || type === 'boolean') return ['=', '!='];
  const ordered: readonly Comparator[] = ['=', '!=', '<', '<=', '>', '>='];
  return type === 'string' ? [...ordered, 'begin', 'begin'] : ordered;
}

/** Values that entities have there, texts in other cases or cut as well. */
function storedValues(store: Store, end: PathStep, type: StorageType): fc.Arbitrary<Scalar> {
  const held = store.model.dataclasses
    .flatMap((each) => store.all(each.name))
    .filter(
      ({ dataclass }) => end.kind === 'stamp' || dataclass.attributes.some((each) => each === end),
    )
    .map((entity) => store.value(entity, end))
    .filter((each): each is Scalar => typeof each !== 'object');
  if (held.length === 0) return fc.constantFrom<Scalar>(1, 'a', true);
  return fc.constantFrom(...held).chain((value) => {
    if (typeof value !== 'string' || type !== 'string') return fc.constant(value);
    const points = Array.from(value);
    const cut = points.slice(0, Math.max(1, points.length - 1)).join('');
    return fc.constantFrom(value, value, value.toUpperCase(), value.toLowerCase(), cut);
  });
}

/** Values of other types: some can be read as one of this type, the others match nothing. */
function misfits(type: StorageType): readonly Scalar[] {
  switch (type) {
    case 'string':
      return [12, true, 0.5];
    case 'number':
    case 'integer':
    case 'duration':
      return ['12', '-1', '1e0', 'twelve', '', true, 0.5];
    case 'boolean':
      return ['true', 'false', 'maybe', 7];
    case 'date':
      return ['yesterday', '', 20_260_309, '2026-02-30', '2026-03-09'];
    case 'uuid':
      return ['no uuid', 12, ''];
    case 'object':
    case 'vector':
    case 'image':
    case 'blob':
      return [];
  }
}
