import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { Dataclass, JsonValue } from '../../../generator/model/model.js';
import { isScalar } from '../../support/random-model/values.js';
import { type Aggregate, aggregatesOf, computedOf } from '../memory/aggregates.js';
import { compareAt, type Query, selection, sent } from '../memory/answers.js';
import { compareByCodePoint } from '../memory/comparison.js';
import type { WrittenStep } from '../memory/filter.js';
import { typeOf } from '../memory/matches.js';
import type { Entity, Store, Way } from '../memory/store.js';
import { endPaths } from './end-paths.js';
import { pathText } from './filter-text.js';
import { propertyPaths, written } from './property-paths.js';
import { filters } from './random-filter.js';
import { dataclassOf, isRefused, queryParameters, queryText } from './request.js';
import { sometimes } from './sometimes.js';

const parts = ['year', 'quarter', 'month', 'day'] as const;

interface Key {
  readonly path: readonly WrittenStep[];
  readonly part?: (typeof parts)[number] | undefined;
}

/** `count` without a path. */
interface Term {
  readonly aggregate: Aggregate;
  readonly path?: readonly WrittenStep[];
}

type Comparator = '=' | '!=' | '<' | '<=' | '>' | '>=';

interface Having {
  /** Numbers of the key or term among all, and of the group whose value is compared with. */
  readonly member: number;
  readonly group: number;
  readonly comparator: Comparator;
}

/** `$groupby`, with all that may stand beside it. */
export interface GroupRequest extends Query {
  readonly dataclass: string;
  readonly keys: readonly Key[];
  readonly terms: readonly Term[];
  readonly having?: Having | undefined;
  readonly order: readonly { readonly member: number; readonly isDescending: boolean }[];
  readonly spelling: number;
}

interface GroupPath {
  readonly path: readonly WrittenStep[];
  readonly isDate: boolean;
  /** Whether the values have one type, which conditions and orders compare. */
  readonly isOrdered: boolean;
  /** Whether it is an attribute of the entities themselves: those have the most different values. */
  readonly isOwn: boolean;
}

function somePath(paths: readonly GroupPath[]): fc.Arbitrary<GroupPath> {
  const own = paths.filter(({ isOwn }) => isOwn);
  const all = fc.constantFrom(...paths);
  return own.length === 0
    ? all
    : fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...own) }, { weight: 2, arbitrary: all });
}

/** Groups of the entities of a dataclass. */
export function groups(store: Store, dataclass: Dataclass): fc.Arbitrary<GroupRequest> {
  const paths = groupPaths(store, dataclass);
  const key = somePath(paths).chain(({ path, isDate }) => {
    const part = isDate ? sometimes(70, fc.constantFrom(...parts)) : fc.constant(undefined);
    return fc.record({ path: fc.constant(path), part });
  });
  const values = paths.filter(
    ({ path }) => store.way(dataclass, path).end.kind !== 'relatedEntity',
  );
  const term = fc.oneof(
    { weight: 1, arbitrary: fc.constant<Term>({ aggregate: 'count' }) },
    {
      weight: 4,
      arbitrary: somePath(values).chain(({ path, isOrdered }): fc.Arbitrary<Term> => {
        const all = aggregatesOf(store, dataclass, path);
        const some = all.filter((each) => isOrdered || (each !== 'min' && each !== 'max'));
        return fc.constantFrom(...some).map((aggregate) => ({ aggregate, path }));
      }),
    },
  );
  const comparator = fc.constantFrom<Comparator>('=', '!=', '<', '<=', '>', '>=');
  const having = fc.record({ member: fc.nat(9), group: fc.nat(9), comparator });
  return fc.record({
    dataclass: fc.constant(dataclass.name),
    keys: fc.array(key, { minLength: 1, maxLength: 3 }),
    terms: fc.array(term, { minLength: 1, maxLength: 5 }),
    having: sometimes(50, having),
    order: fc.array(fc.record({ member: fc.nat(9), isDescending: fc.boolean() }), { maxLength: 2 }),
    filter: sometimes(20, filters(store, dataclass)),
    skip: sometimes(15, fc.nat(4)),
    top: sometimes(15, fc.nat(6)),
    spelling: fc.nat(1_000),
  });
}

function groupPaths(store: Store, dataclass: Dataclass): readonly GroupPath[] {
  const short = endPaths(store, dataclass).filter((each) => each.relations < 3 && each.isToOne);
  return short.flatMap(({ path, end, relations }): GroupPath[] => {
    const isOwn = relations === 0;
    if ('type' in end && end.type === 'object') {
      return propertyPaths(store, end)
        .filter(({ isOdd, moves }) => !isOdd && moves.every(({ kind }) => kind === 'property'))
        .map(({ moves, values }) => {
          const types = new Set(values.filter((each) => each !== null).map((each) => typeof each));
          const isOrdered = types.size < 2 && !types.has('object');
          return { path: written(path, moves), isDate: false, isOrdered, isOwn: false };
        });
    }
    if (end.kind === 'stamp' || end.kind === 'relatedEntity') {
      return [{ path, isDate: false, isOrdered: true, isOwn }];
    }
    const isDate = 'type' in end && end.type === 'date';
    return isScalar(end) ? [{ path, isDate, isOrdered: true, isOwn }] : [];
  });
}

/** A key or a term, as a request names it and the store computes it. */
interface Member {
  readonly name: string;
  readonly way: Way;
  /** A value by which groups are selected and ordered; it is exact. */
  readonly isComparable: boolean;
  /** The type that is compared; that of `way` if left out. */
  readonly isNumber: boolean;
}

function membersOf(
  store: Store,
  { dataclass: name, keys, terms }: GroupRequest,
): readonly Member[] {
  const dataclass = dataclassOf(store, name);
  const stamp = store.way(dataclass, [{ name: '__STAMP' }]);
  return unique([
    ...keys.map((each): Member => {
      const way = store.way(dataclass, each.path);
      return { name: keyName(each), way, isComparable: way.moves.length === 0, isNumber: false };
    }),
    ...terms.map((each): Member => {
      const { aggregate, path } = each;
      const way = path === undefined ? stamp : store.way(dataclass, path);
      const isDecimal = typeOf(store, way.end).type === 'decimal';
      const isSum = aggregate === 'sum' || aggregate === 'average';
      const isComparable =
        aggregate === 'count' || (way.moves.length === 0 && (!isSum || isDecimal));
      return { name: termName(each), way, isComparable, isNumber: aggregate === 'count' };
    }),
  ]);
}

function unique(members: readonly Member[]): readonly Member[] {
  return members.filter(
    ({ name }, index) => members.findIndex((each) => each.name === name) === index,
  );
}

function keyName({ path, part }: Key): string {
  return part === undefined ? pathText(path) : `${pathText(path)}:${part}`;
}

function termName({ aggregate, path }: Term): string {
  return path === undefined ? aggregate : `${aggregate}(${pathText(path)})`;
}

interface Group {
  readonly entities: readonly Entity[];
  /** By name: what is compared. */
  readonly values: ReadonlyMap<string, JsonValue>;
  /** By name: the expected values. */
  readonly shown: ReadonlyMap<string, { readonly value: JsonValue; readonly tolerance: number }>;
}

function allGroups(store: Store, request: GroupRequest): readonly Group[] {
  const dataclass = dataclassOf(store, request.dataclass);
  const { filter, keys, terms } = request;
  const entities = selection(store, store.all(dataclass.name), { filter });
  const found: { readonly key: readonly JsonValue[]; readonly entities: Entity[] }[] = [];
  for (const entity of entities) {
    const key = keys.map((each) => keyValue(store, dataclass, entity, each));
    const same = found.find((group) =>
      group.key.every((each, index) =>
        areEqual(store, dataclass, keys[index] as Key, each, key[index] ?? null),
      ),
    );
    if (same === undefined) found.push({ key, entities: [entity] });
    else same.entities.push(entity);
  }
  return found.map((group) => {
    const values = new Map<string, JsonValue>();
    const shown = new Map<string, { value: JsonValue; tolerance: number }>();
    for (const key of keys) {
      const held = group.entities.map((each) => keyValue(store, dataclass, each, key));
      const [value = null] = held.toSorted((a, b) => compareByCodePoint(String(a), String(b)));
      const { end } = store.way(dataclass, key.path);
      const json = key.part === undefined ? sent(store, typeOf(store, end), value) : value;
      values.set(keyName(key), value);
      shown.set(keyName(key), { value: json, tolerance: 0 });
    }
    for (const term of terms) {
      const { path } = term;
      if (path === undefined) {
        values.set('count', group.entities.length);
        shown.set('count', { value: group.entities.length, tolerance: 0 });
        continue;
      }
      const way = store.way(dataclass, path);
      const held = group.entities.map((each) => store.valueAt(each, way));
      const there = held.filter((each) => each !== null);
      const computed = computedOf(store, way, term.aggregate, there);
      const [json = null] = computed.values.toSorted((a, b) =>
        compareByCodePoint(String(a), String(b)),
      );
      const isExtreme = term.aggregate === 'min' || term.aggregate === 'max';
      const [least = null] = isExtreme
        ? there.toSorted(
            (a, b) => (term.aggregate === 'min' ? 1 : -1) * compareAt(store, way, a, b),
          )
        : [json];
      values.set(termName(term), least);
      shown.set(termName(term), { value: json, tolerance: computed.tolerance });
    }
    return { entities: group.entities, values, shown };
  });
}

function keyValue(
  store: Store,
  dataclass: Dataclass,
  entity: Entity,
  { path, part }: Key,
): JsonValue {
  const value = store.valueAt(entity, store.way(dataclass, path));
  if (typeof value === 'object') return null;
  if (part === undefined || typeof value !== 'string') return value;
  switch (part) {
    case 'year':
      return value.slice(0, 4);
    case 'quarter':
      return `${value.slice(0, 4)}-Q${String(Math.ceil(Number(value.slice(5, 7)) / 3))}`;
    case 'month':
      return value.slice(0, 7);
    case 'day':
      return value.slice(0, 10);
  }
}

function areEqual(
  store: Store,
  dataclass: Dataclass,
  { path, part }: Key,
  a: JsonValue,
  b: JsonValue,
): boolean {
  if (a === null || b === null || part !== undefined) return a === b;
  if (typeof a !== typeof b) return false;
  return compareAt(store, store.way(dataclass, path), a, b) === 0;
}

function compareMember(
  store: Store,
  { way, isNumber }: Member,
  a: JsonValue,
  b: JsonValue,
): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  if (isNumber) return Number(a) - Number(b);
  return compareAt(store, way, a, b);
}

/** The condition of a request, and its text; none if the drawn one cannot be written. */
function condition(
  store: Store,
  request: GroupRequest,
  all: readonly Group[],
): { readonly text: string; readonly holds: (group: Group) => boolean } | undefined {
  const { having } = request;
  if (having === undefined || all.length === 0) return undefined;
  const members = membersOf(store, request).filter(({ isComparable }) => isComparable);
  const member = members[having.member % Math.max(1, members.length)];
  const wanted = member && all[having.group % all.length]?.values.get(member.name);
  if (member === undefined || wanted === undefined) return undefined;
  const isPart = member.name.includes(':');
  const isOfTwo = typeof wanted === 'boolean' || wanted === null;
  const comparator = isOfTwo ? (having.comparator === '=' ? '=' : '!=') : having.comparator;
  const value = String(wanted);
  // What is odd in a filter's text, and wildcards, are tested elsewhere.
  if (typeof wanted === 'string' && !isPart && !/^[\p{L}\p{N} .:-]+$/u.test(value))
    return undefined;
  const literal = typeof wanted === 'string' ? `'${value}'` : value;
  return {
    text: `${member.name} ${comparator} ${literal}`,
    holds: (group) => {
      const held = group.values.get(member.name) ?? null;
      if (wanted === null) return (held === null) === (comparator === '=');
      if (held === null) return comparator === '!=';
      const order = isPart
        ? compareByCodePoint(String(held), value)
        : compareMember(store, member, held, wanted);
      return {
        '=': order === 0,
        '!=': order !== 0,
        '<': order < 0,
        '<=': order <= 0,
        '>': order > 0,
        '>=': order >= 0,
      }[comparator];
    },
  };
}

interface OrderedMember extends Member {
  readonly isDescending: boolean;
}

function orderOf(store: Store, request: GroupRequest): readonly OrderedMember[] {
  const members = membersOf(store, request).filter(({ isComparable }) => isComparable);
  return request.order.flatMap(({ member, isDescending }) => {
    const found = members[member % Math.max(1, members.length)];
    return found === undefined ? [] : [{ ...found, isDescending }];
  });
}

export function groupsAddress(store: Store, request: GroupRequest): string {
  const { dataclass, keys, terms, filter, skip, top, spelling } = request;
  const order = orderOf(store, request);
  // A filter that is refused has no groups.
  const all = isRefused(store, request) ? [] : allGroups(store, request);
  const having = condition(store, request, all);
  const parameters: [string, string][] = [
    ...queryParameters({ filter, skip, top, spelling }),
    ['$groupby', keys.map(keyName).join()],
    ['$compute', terms.map(termName).join(', ')],
    ...(having === undefined ? [] : [['$having', having.text] as [string, string]]),
  ];
  if (order.length > 0) {
    const text = order.map(({ name, isDescending }) => `${name}${isDescending ? ' desc' : ''}`);
    parameters.push(['$orderby', text.join()]);
  }
  return `/rest/${encodeURIComponent(dataclass)}${queryText(parameters, spelling)}`;
}

/** Whether an answer is the right one: its sums may differ by the order in which they were added. */
export function expectedGroups(store: Store, request: GroupRequest): readonly Group[] {
  const all = allGroups(store, request);
  const having = condition(store, request, all);
  const kept = all.filter((group) => having?.holds(group) ?? true);
  const dataclass = dataclassOf(store, request.dataclass);
  const order = orderOf(store, request);
  return kept.toSorted((a, b) => {
    for (const member of order) {
      const isPart = member.name.includes(':');
      const [left, right] = [a, b].map((each) => each.values.get(member.name) ?? null);
      const compared =
        isPart && left != null && right != null
          ? compareByCodePoint(String(left), String(right))
          : compareMember(store, member, left ?? null, right ?? null);
      if (compared !== 0) return member.isDescending ? -compared : compared;
    }
    for (const key of request.keys) {
      const [left, right] = [a, b].map((each) => each.values.get(keyName(key)) ?? null);
      const compared =
        key.part !== undefined && left != null && right != null
          ? compareByCodePoint(String(left), String(right))
          : compareKeys(store, dataclass, key, left ?? null, right ?? null);
      if (compared !== 0) return compared;
    }
    return 0;
  });
}

function compareKeys(
  store: Store,
  dataclass: Dataclass,
  { path }: Key,
  a: JsonValue,
  b: JsonValue,
): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return compareAt(store, store.way(dataclass, path), a, b);
}

export function areGroups(
  store: Store,
  request: GroupRequest,
  answer: unknown,
  expected: readonly Group[],
): boolean {
  const { skip = 0, top = store.model.limits.pageSize } = request;
  const page = expected.slice(skip, skip + top);
  const { __GROUPS: found, ...head } = answer as { __GROUPS?: readonly Record<string, unknown>[] };
  const names = membersOf(store, request).map(({ name }) => name);
  return (
    isDeepStrictEqual(head, {
      __entityModel: request.dataclass,
      __GlobalStamp: store.count,
      __COUNT: expected.length,
      __SENT: page.length,
      __FIRST: skip,
    }) &&
    found?.length === page.length &&
    found.every((group, index) => {
      const { shown } = page[index] as Group;
      return (
        isDeepStrictEqual(Object.keys(group).toSorted(), names.toSorted()) &&
        names.every((name) => fits(group[name], shown.get(name)))
      );
    })
  );
}

function fits(
  found: unknown,
  expected: { readonly value: JsonValue; readonly tolerance: number } | undefined,
): boolean {
  if (expected === undefined) return false;
  const { value, tolerance } = expected;
  if (tolerance === Infinity) return found === null || typeof found === 'number';
  return typeof value === 'number' && typeof found === 'number' && tolerance > 0
    ? Math.abs(value - found) <= tolerance
    : isDeepStrictEqual(found, value);
}
