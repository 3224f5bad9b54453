import fc from 'fast-check';
import { leadsToMany } from '../../../generator/model/lookup.js';
import type { Dataclass } from '../../../generator/model/model.js';
import { features } from '../../support/random-model/features.js';
import { isScalar } from '../../support/random-model/values.js';
import type { Lists, OrderItem, Path } from '../memory/answers.js';
import type { WrittenStep } from '../memory/filter.js';
import type { Entity, Store } from '../memory/store.js';
import { type EndPath, endPaths, exposedNames, somePath } from './end-paths.js';
import { propertyPaths, written } from './property-paths.js';
import { filters } from './random-filter.js';
import { dataclassOf, type ReadRequest } from './request.js';
import { remembered } from './remembered.js';
import { sometimes } from './sometimes.js';

/** Reads of every kind that the entities of a store allow. */
export function requests(store: Store): fc.Arbitrary<ReadRequest> {
  const exposed = store.model.dataclasses.filter((each) => each.exposed);
  const options = exposed.flatMap((dataclass) => {
    const held = store.all(dataclass.name);
    const reads = [{ weight: 6, arbitrary: collections(store, dataclass) }];
    if (held.length === 0) return reads;
    reads.push({ weight: 2, arbitrary: singles(store, dataclass, held) });
    const relations = dataclass.attributes.filter((each) => leadsToMany(each) && each.exposed);
    if (relations.length > 0) reads.push({ weight: 2, arbitrary: related(store, held, relations) });
    return reads;
  });
  return fc.oneof(...options);
}

function collections(store: Store, dataclass: Dataclass): fc.Arbitrary<ReadRequest> {
  return fc
    .record({
      dataclass: fc.constant(dataclass.name),
      spelling: fc.nat(1_000),
      ...querying(store, dataclass),
      ...listing(store, dataclass),
      inPath: sometimes(20, fc.subarray(exposedNames(dataclass), { minLength: 1 })),
    })
    .chain((request) =>
      sometimes(features.asArray ? 15 : 0, fc.constant(true)).map((asArray) =>
        asArray === undefined ? request : { ...request, ...shortLists(request), asArray },
      ),
    );
}

/** The form of expanded relations in an array is not specified. */
function shortLists({ attributes }: ReadRequest): Lists {
  const short = attributes?.filter((each) => each.length === 1);
  return { attributes: short?.length === 0 ? undefined : short, expand: undefined };
}

function singles(
  store: Store,
  dataclass: Dataclass,
  held: readonly Entity[],
): fc.Arbitrary<ReadRequest> {
  const unique = dataclass.attributes.filter(
    (each) => each.kind === 'storage' && isScalar(each) && each.exposed && each.unique,
  );
  return fc
    .record({
      dataclass: fc.constant(dataclass.name),
      entity: fc.constantFrom(...held),
      attribute: sometimes(30, fc.constantFrom(...unique)),
      spelling: fc.nat(1_000),
      ...listing(store, dataclass),
      inPath: sometimes(20, fc.subarray(exposedNames(dataclass), { minLength: 1 })),
    })
    .map(({ attribute, ...request }) => {
      const value = attribute === undefined ? null : store.value(request.entity, attribute);
      const lookup =
        attribute === undefined || value === null || typeof value === 'object'
          ? undefined
          : { attribute: attribute.name, value: String(value) };
      return { ...request, lookup };
    })
    .filter((request) => !isRelatedRead(store, request));
}

/** One to-many relation in the path, named by `$expand` as well, asks for the related entities instead. */
function isRelatedRead(store: Store, { dataclass, inPath, expand }: ReadRequest): boolean {
  const [only, ...others] = inPath ?? [];
  if (only === undefined || others.length > 0 || expand === undefined) return false;
  const attribute = dataclassOf(store, dataclass).attributes.find((each) => each.name === only);
  return (
    attribute !== undefined &&
    leadsToMany(attribute) &&
    expand.some((path) => path.length === 1 && path[0] === only)
  );
}

function related(
  store: Store,
  held: readonly Entity[],
  relations: Dataclass['attributes'],
): fc.Arbitrary<ReadRequest> {
  return fc.constantFrom(...relations).chain((relation) => {
    const target = dataclassOf(store, 'target' in relation ? relation.target : '');
    return fc.record({
      dataclass: fc.constant(held[0]?.dataclass.name ?? ''),
      entity: fc.constantFrom(...held),
      relation: fc.constant(relation.name),
      spelling: fc.nat(1_000),
      ...querying(store, target),
      attributes: sometimes(30, attributeLists(store, target)),
    });
  });
}

function querying(
  store: Store,
  dataclass: Dataclass,
): {
  readonly filter: fc.Arbitrary<ReadRequest['filter']>;
  readonly orderby: fc.Arbitrary<ReadRequest['orderby']>;
  readonly filterOrder: fc.Arbitrary<ReadRequest['orderby']>;
  readonly skip: fc.Arbitrary<number | undefined>;
  readonly top: fc.Arbitrary<number | undefined>;
} {
  return {
    filter: sometimes(70, filters(store, dataclass)),
    orderby: sometimes(40, orders(store, dataclass)),
    filterOrder: sometimes(features.orderByInFilter ? 15 : 0, orders(store, dataclass)),
    skip: sometimes(20, fc.nat(8)),
    top: sometimes(60, fc.nat(20)),
  };
}

const orders = remembered(ordersOf);

function ordersOf(store: Store, dataclass: Dataclass): fc.Arbitrary<readonly OrderItem[]> {
  const toOne = endPaths(store, dataclass).filter(({ isToOne }) => isToOne);
  const sortable = toOne.filter(({ end }) => end.kind === 'stamp' || isScalar(end));
  const ofProperties = toOne.flatMap((each) => orderPaths(store, each));
  const plain = somePath(sortable).map(({ path }) => path);
  const path =
    ofProperties.length === 0
      ? plain
      : fc.oneof(
          { weight: 3, arbitrary: plain },
          { weight: 1, arbitrary: fc.constantFrom(...ofProperties) },
        );
  const item = fc.record({
    path: path.map((steps) => steps.map(({ name }) => name)),
    isDescending: fc.boolean(),
  });
  return fc.array(item, { minLength: 1, maxLength: 3 });
}

/** Properties of objects that have an order: that of arrays and objects is not specified. */
function orderPaths(store: Store, { path, end }: EndPath): readonly (readonly WrittenStep[])[] {
  if (!features.orderByProperties || !('type' in end) || end.type !== 'object') return [];
  return propertyPaths(store, end)
    .filter(({ moves, isOdd }) => !isOdd && moves.every((each) => each.kind === 'property'))
    .filter(({ values }) => values.every((each) => each === null || typeof each !== 'object'))
    .map(({ moves }) => written(path, moves));
}

function listing(
  store: Store,
  dataclass: Dataclass,
): {
  readonly attributes: fc.Arbitrary<readonly Path[] | undefined>;
  readonly expand: fc.Arbitrary<readonly Path[] | undefined>;
} {
  const ways = relationPaths(store, dataclass, 2);
  return {
    attributes: sometimes(30, attributeLists(store, dataclass)),
    expand:
      ways.length === 0
        ? fc.constant(undefined)
        : sometimes(25, fc.array(fc.constantFrom(...ways), { minLength: 1, maxLength: 2 })),
  };
}

/** `a, b`, `relation`, `relation.a`, `relation.*`, and so on to three relations. */
function attributeLists(store: Store, dataclass: Dataclass): fc.Arbitrary<readonly Path[]> {
  const options: Path[] = [['*']];
  for (const way of [[], ...relationPaths(store, dataclass, 3)]) {
    const end = way.reduce((here, name) => targetOf(store, here, name) ?? here, dataclass);
    for (const name of exposedNames(end)) options.push([...way, name]);
    if (way.length > 0) options.push([...way, '*']);
  }
  const short = options.filter((each) => each.length < 3);
  const path = fc.oneof(fc.constantFrom(...short), fc.constantFrom(...options));
  return fc.array(path, { minLength: 1, maxLength: 4 });
}

function relationPaths(store: Store, dataclass: Dataclass, depth: number): Path[] {
  if (depth === 0) return [];
  return exposedNames(dataclass).flatMap((name) => {
    const target = targetOf(store, dataclass, name);
    if (target === undefined) return [];
    const further = relationPaths(store, target, depth - 1);
    return [[name], ...further.map((path) => [name, ...path])];
  });
}

function targetOf(store: Store, dataclass: Dataclass, name: string): Dataclass | undefined {
  const attribute = dataclass.attributes.find((each) => each.name === name);
  return attribute !== undefined && 'target' in attribute ? store.target(attribute) : undefined;
}
