import { bodyOf, type ClientRequest } from './connection.js';
import { isRecord, type JsonRecord, reasonsOf, RestError } from './errors.js';
import { messagesOf } from './live.js';
import {
  type ClientDataclass,
  ClientEntityState,
  decodeKey,
  entityOf,
  findState,
  type ClientKey,
  storedMedia,
  memberName,
} from './entity.js';
import type {
  ChangeOptions,
  ChangesOptions,
  EntitySelection,
  EntityTypes,
  ExpandOptions,
  GroupOptions,
  LiveEntities,
  LiveOptions,
  RequestOptions,
  SetChange,
  StoredMedia,
} from './types.js';
import { decodeValue, encodeValue, entityPath } from './values.js';

/** The source of a selection's entities. */
type Source =
  | { readonly kind: 'all' }
  /** A to-many relation of an entity of `owner`. */
  | {
      readonly kind: 'related';
      readonly owner: string;
      readonly key: ClientKey;
      readonly relation: string;
    }
  | { readonly kind: 'set'; readonly id: string }
  /** Entities of another selection. */
  | { readonly kind: 'part'; readonly of: ClientSelectionState }
  | {
      readonly kind: 'combined';
      readonly operator: 'AND' | 'OR' | 'EXCEPT';
      readonly left: ClientSelectionState;
      readonly right: ClientSelectionState;
    };

/** What a selection describes. */
export interface ClientSelectionState {
  readonly dataclass: ClientDataclass;
  readonly pageSize: number;
  readonly source: Source;
  /** The text of the filter, with the JSON of its values. */
  readonly filter?: { readonly text: string; readonly params: string | undefined };
  readonly order?: string;
  /** The paths that `select()` was called with. */
  readonly paths?: readonly string[];
  /** What `expand()` was called with, by the paths of the relations. */
  readonly expansions?: ReadonlyMap<string, ExpandOptions>;
  /** Aborts reads. */
  readonly signal: AbortSignal | undefined;
  /** Makes an object of the class of the dataclass. */
  readonly make: (state: ClientSelectionState) => object;
}

const states = new WeakMap<object, ClientSelectionState>();

/** The state of a selection of this module; `undefined` for any other value. */
export function findSelection(value: unknown): ClientSelectionState | undefined {
  return typeof value === 'object' && value !== null ? states.get(value) : undefined;
}

function stateOf(selection: object): ClientSelectionState {
  const state = states.get(selection);
  if (state === undefined) throw new TypeError('This is not a selection of a client.');
  return state;
}

/** The ID of the entity set that a selection is; `undefined` if it describes a request. */
export function setIdOf(selection: object): string | undefined {
  const { source } = stateOf(selection);
  return source.kind === 'set' ? source.id : undefined;
}

/**
 * The entities of an entity set, without a request.
 * @param all of the dataclass of the set
 */
export function selectionOfSet<S extends object>(all: S, id: string): S {
  const state = stateOf(all);
  return state.make(from(state, { kind: 'set', id })) as S;
}

/** What is the same for the selections of all dataclasses. */
export class SelectionObject implements EntitySelection<EntityTypes, unknown> {
  constructor(state: ClientSelectionState) {
    states.set(this, state);
  }

  query(text: string, ...values: readonly unknown[]): this {
    const state = stateOf(this);
    const filter = { text, params: paramsOf(values) };
    if (state.filter === undefined) return this.#with({ ...state, filter });
    return this.#with({ ...from(state, { kind: 'part', of: state }), filter });
  }

  orderBy(order: string): this {
    return this.#with({ ...stateOf(this), order });
  }

  select(...paths: readonly string[]): EntitySelection<EntityTypes, never> {
    const state = stateOf(this);
    checkPaths(state.dataclass, paths);
    const make = (each: ClientSelectionState): SelectionObject => new SelectionObject(each);
    return make({ ...state, paths, make }) as object as EntitySelection<EntityTypes, never>;
  }

  expand(path: string, options: ExpandOptions): this {
    const state = stateOf(this);
    checkExpansion(state, path, options);
    return this.#with({ ...state, expansions: new Map(state.expansions).set(path, options) });
  }

  and(other: object): this {
    return this.#combined('AND', other);
  }

  or(other: object): this {
    return this.#combined('OR', other);
  }

  minus(other: object): this {
    return this.#combined('EXCEPT', other);
  }

  count(options: RequestOptions = {}): Promise<number> {
    return reading(stateOf(this), options, async (reader) => {
      const { count } = await reader.page(0, 0);
      return count;
    });
  }

  first(options: RequestOptions = {}): Promise<unknown> {
    return this.at(0, options);
  }

  last(options: RequestOptions = {}): Promise<unknown> {
    return this.at(-1, options);
  }

  at(position: number, options: RequestOptions = {}): Promise<unknown> {
    checkPosition(position);
    return reading(stateOf(this), options, async (reader) => {
      const skip = position < 0 ? (await reader.page(0, 0)).count + position : position;
      if (skip < 0) return null;
      const { items } = await reader.page(skip, 1);
      return items[0] ?? null;
    });
  }

  slice(start: number, end: number, options: RequestOptions = {}): Promise<unknown[]> {
    for (const each of [start, end]) {
      checkPosition(each);
      if (each < 0) throw new RangeError(`${each} is not a position: it must be at least 0.`);
    }
    return reading(stateOf(this), options, async (reader) => {
      const found: unknown[] = [];
      for (let skip = start; skip < end;) {
        const page = await reader.page(skip, Math.min(end - skip, reader.state.pageSize));
        found.push(...page.items);
        skip += page.sent;
        if (page.sent === 0 || skip >= page.count) break;
      }
      return found;
    });
  }

  async toArray(options: RequestOptions = {}): Promise<unknown[]> {
    const found: unknown[] = [];
    for await (const each of iterate(stateOf(this), options)) found.push(each);
    return found;
  }

  each(options: RequestOptions = {}): AsyncGenerator<unknown, undefined> {
    const state = stateOf(this);
    const { kind } = state.source;
    return kind === 'all' || kind === 'related'
      ? iterateBehind(state, options)
      : iterate(state, options);
  }

  [Symbol.asyncIterator](): AsyncGenerator<unknown, undefined> {
    return iterate(stateOf(this), {});
  }

  async contains(entity: object, options: RequestOptions = {}): Promise<boolean> {
    const { dataclass } = stateOf(this);
    const state = findState(entity);
    if (state?.dataclass.name !== dataclass.name) {
      throw new TypeError(`An entity of ${dataclass.name} is expected.`);
    }
    if (state.isNew || state.key === null) return false;
    return (await this.query('__KEY = :1', state.key).count(options)) > 0;
  }

  async sum(path: string, options: RequestOptions = {}): Promise<never> {
    return ((await compute(stateOf(this), path, 'sum', options)) ?? 0) as never;
  }

  async average(path: string, options: RequestOptions = {}): Promise<never> {
    return (await compute(stateOf(this), path, 'average', options)) as never;
  }

  async min(path: string, options: RequestOptions = {}): Promise<never> {
    const state = stateOf(this);
    return decodeAt(state.dataclass, path, await compute(state, path, 'min', options)) as never;
  }

  async max(path: string, options: RequestOptions = {}): Promise<never> {
    const state = stateOf(this);
    return decodeAt(state.dataclass, path, await compute(state, path, 'max', options)) as never;
  }

  distinct(path: string, options: RequestOptions = {}): Promise<never[]> {
    const state = stateOf(this);
    return reading(state, options, async (reader) => {
      const values = await reader.values(path, { $distinct: 'true' });
      if (!Array.isArray(values)) throw new RestError(200, [{ message: 'No list.', errCode: 0 }]);
      return values.map((each) => decodeAt(state.dataclass, path, each) as never);
    });
  }

  async groupBy(
    keys: readonly string[],
    terms: readonly string[] = ['count'],
    options: GroupOptions = {},
  ): Promise<never[]> {
    const { top = Infinity, skip = 0, having, values = [], orderBy, onCount } = options;
    for (const each of [top, skip]) {
      if (each !== Infinity) checkPosition(each);
      if (each < 0) throw new RangeError(`${each} is not a position: it must be at least 0.`);
    }
    const state = stateOf(this);
    const params = paramsOf(values);
    const areApart = params !== undefined && state.filter?.params !== undefined;
    // Placeholders of two filters would take the same values.
    const grouped = areApart ? from(state, { kind: 'part', of: state }) : state;
    const query = {
      $groupby: keys.join(),
      $compute: terms.join(),
      $orderby: orderBy ?? keys.join(),
      ...(having === undefined ? {} : { $having: `"${having}"` }),
      ...(params === undefined ? {} : { $params: params }),
    };
    return reading(grouped, options, async (reader) => {
      const found: object[] = [];
      while (found.length < top) {
        const at = skip + found.length;
        const most = Math.min(top - found.length, state.pageSize);
        const page = await reader.groups(query, at, most);
        found.push(...page.groups);
        if (at === skip) onCount?.(page.count);
        if (page.groups.length === 0 || at + page.groups.length >= page.count) break;
      }
      return found as never[];
    });
  }

  async drop(options: RequestOptions = {}): Promise<void> {
    await this.#sendToAll({ $method: 'delete' }, options);
  }

  async update(values: object, options: ChangeOptions = {}): Promise<number> {
    const state = stateOf(this);
    const given = new ClientEntityState(state.dataclass);
    given.setAll(values);
    const body = await given.written({ ...signalOf(state), ...options });
    const { atMost } = options;
    const query = {
      $method: 'update',
      $atMost: atMost === undefined ? undefined : String(atMost),
    };
    const answer = await this.#sendToAll(query, options, body);
    return isRecord(answer) ? Number(answer['changed']) : 0;
  }

  /** Changes or deletes all entities by one request. */
  async #sendToAll(
    query: Readonly<Record<string, string | undefined>>,
    options: RequestOptions,
    body?: object,
  ): Promise<unknown> {
    const state = stateOf(this);
    const { dataclass, source, filter } = state;
    const { signal } = { ...state, ...options };
    const { connection, name } = dataclass;
    const send = (path: string, all: ClientRequest['query']): Promise<unknown> =>
      connection.json({ method: 'POST', path, ...(all && { query: all }), body, signal });
    const path = `/${encodeURIComponent(name)}`;
    return source.kind === 'all' && filter !== undefined
      ? send(path, { ...filterOf(state), ...query })
      : usingSet(state, options, (id) => send(`${path}/$entityset/${id}`, query));
  }

  async set(options: RequestOptions = {}): Promise<this> {
    const state = stateOf(this);
    const sets = new TemporarySets(state, options);
    try {
      const id = await sets.create(state);
      return this.#with(from(state, { kind: 'set', id }));
    } finally {
      await sets.release();
    }
  }

  async *changes(
    options: ChangesOptions = {},
  ): AsyncGenerator<SetChange<EntityTypes, unknown>, undefined> {
    const state = stateOf(this);
    if (isSet(state)) {
      yield* changesOfSet(state, setIdOf(this) ?? '', options);
      return;
    }
    for (let isNew = true; ;) {
      const sets = new TemporarySets(state, options);
      try {
        for await (const change of changesOfSet(state, await sets.idOf(state), options)) {
          isNew = false;
          yield change;
        }
        return;
      } catch (error) {
        // A server that was started again has forgotten the set, which is made again.
        if (isNew || !(error instanceof RestError && error.status === 404)) throw error;
        isNew = true;
      } finally {
        await sets.release();
      }
    }
  }

  async live({ onChange, ...options }: LiveOptions = {}): Promise<LiveEntities<unknown>> {
    const stop = new AbortController();
    const { signal: given = stateOf(this).signal } = options;
    const abort = (): void => {
      stop.abort(given?.reason);
    };
    if (given?.aborted === true) abort();
    else given?.addEventListener('abort', abort, { once: true });
    const changes = this.changes({ ...options, signal: stop.signal });
    const shown: unknown[] = [];
    const list = new LiveRows(shown);
    try {
      const first = await changes.next();
      if (first.done !== true) list.take(first.value);
    } catch (error) {
      given?.removeEventListener('abort', abort);
      throw error;
    }
    const follow = async (): Promise<unknown> => {
      try {
        for await (const change of changes) {
          list.take(change);
          onChange?.();
        }
      } catch (error) {
        return stop.signal.aborted ? undefined : error;
      } finally {
        given?.removeEventListener('abort', abort);
      }
    };
    const members = { stop: abort, ended: follow() };
    return Object.assign(shown, members);
  }

  async release(options: RequestOptions = {}): Promise<void> {
    const { source, dataclass } = stateOf(this);
    if (source.kind === 'set') await releaseSets(dataclass, [source.id], options.signal);
  }

  #with(state: ClientSelectionState): this {
    return state.make(state) as this;
  }

  /** @throws TypeError if the other one is not a selection of the same dataclass */
  #combined(operator: 'AND' | 'OR' | 'EXCEPT', other: object): this {
    const left = stateOf(this);
    const right = findSelection(other);
    if (right?.dataclass.name !== left.dataclass.name) {
      throw new TypeError(
        `A selection of ${left.dataclass.name} can only be combined with another selection of the same dataclass.`,
      );
    }
    return this.#with(from(left, { kind: 'combined', operator, left, right }));
  }
}

function signalOf({ signal }: ClientSelectionState): RequestOptions {
  return signal === undefined ? {} : { signal };
}

/** A selection of another source that keeps the selected paths, without a filter and an order. */
function from(
  { dataclass, pageSize, paths, expansions, signal, make }: ClientSelectionState,
  source: Source,
): ClientSelectionState {
  const selected = paths === undefined ? {} : { paths };
  const expanded = expansions === undefined ? {} : { expansions };
  return { dataclass, pageSize, source, signal, make, ...selected, ...expanded };
}

/** The values of placeholders as `$params`: a list for `:1`, or an object for `:name`. */
function paramsOf(values: readonly unknown[]): string | undefined {
  if (values.length === 0) return undefined;
  const [only] = values;
  const isNamed = values.length === 1 && isRecord(only) && isPlain(only) && !('vector' in only);
  const encoded = isNamed
    ? Object.entries(only).map(([name, value]) => [name, param(value, `:${name}`)] as const)
    : values.map((value, at) => param(value, `:${at + 1}`));
  return JSON.stringify(isNamed ? Object.fromEntries(encoded as [string, unknown][]) : encoded);
}

function param(value: unknown, name: string): unknown {
  return encodeValue(value, `The value of ${name}`, (object) => {
    const state = findState(object);
    if (state === undefined) return undefined;
    if (state.key !== null) return state.key;
    throw new TypeError(`The value of ${name} is an entity that has no key yet: save it first.`);
  });
}

function isPlain(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype && findState(value) === undefined;
}

/** @throws TypeError for a path that leads to no value of the model */
function checkPaths(dataclass: ClientDataclass, paths: readonly string[]): void {
  if (paths.length === 0) throw new TypeError('select() needs the names of attributes.');
  for (const path of paths) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let at = dataclass;
    for (const name of names) {
      const { one, many } = at.attributes.get(name) ?? {};
      const target = one ?? many;
      if (target === undefined)
        throw new TypeError(`${at.name}.${name} is not a relation (${path}).`);
      at = at.dataclass(target);
    }
    if (last === '*') continue;
    if (at.attributes.get(last)?.type === undefined) {
      throw new TypeError(`${at.name}.${last} is not an attribute with a value (${path}).`);
    }
  }
}

/** @throws TypeError for a path that is no to-many relation of `select()` */
function checkExpansion(
  { dataclass, paths = [] }: ClientSelectionState,
  path: string,
  { top }: ExpandOptions,
): void {
  checkPosition(top);
  if (!paths.some((each) => each.startsWith(`${path}.`))) {
    throw new TypeError(`select() names nothing behind ${path}.`);
  }
  const names = path.split('.');
  const last = names.pop() ?? '';
  const owner = names.reduce((at, name) => {
    const { one, many } = at.attributes.get(name) ?? {};
    return at.dataclass(one ?? many ?? '');
  }, dataclass);
  if (owner.attributes.get(last)?.many === undefined) {
    throw new TypeError(`${owner.name}.${last} is not a to-many relation (${path}).`);
  }
}

/** What a row reads of an entity: the paths of its values, and which entities of to-many relations. */
interface RowShape {
  readonly paths: readonly string[];
  readonly expansions: ReadonlyMap<string, ExpandOptions>;
  /** The JSON of the values of all filters. */
  readonly params: string | undefined;
}

/** The part of a shape behind a relation. */
function below({ paths, expansions, params }: RowShape, name: string): RowShape {
  const start = `${name}.`;
  const isBelow = (path: string): boolean => path.startsWith(start);
  const behind = [...expansions].filter(([path]) => isBelow(path));
  return {
    paths: paths.filter(isBelow).map((path) => path.slice(start.length)),
    expansions: new Map(behind.map(([path, options]) => [path.slice(start.length), options])),
    params,
  };
}

/** `$expand` for the expansions of a shape; empty if it has none. */
function expandText(shape: RowShape): string {
  const names = new Set([...shape.expansions.keys()].map((path) => path.split('.')[0] ?? ''));
  const items = [...names].map((name) => {
    const inside = below(shape, name);
    const { filter, orderBy, top } = shape.expansions.get(name) ?? {};
    const expand = expandText(inside);
    const options = [
      `$attributes=${inside.paths.join(',')}`,
      ...(filter === undefined ? [] : [`$filter=${quoted(filter)}`]),
      ...(orderBy === undefined ? [] : [`$orderby=${orderBy}`]),
      ...(top === undefined ? [] : [`$top=${top}`]),
      ...(expand === '' ? [] : [`$expand=${expand}`]),
    ];
    return `${name}(${options.join(';')})`;
  });
  return items.join(',');
}

/** A filter with both kinds of quotes ends where its parentheses do. */
function quoted(filter: string): string {
  const quote = ['"', "'"].find((each) => !filter.includes(each)) ?? '';
  return quote + filter + quote;
}

/** @throws RangeError for anything but a whole number */
function checkPosition(position: number): void {
  if (!Number.isSafeInteger(position))
    throw new RangeError(`${position} is not a position: it must be a whole number.`);
}

/** The request for the entities of a selection. */
interface Address {
  readonly kind: 'all' | 'related' | 'set';
  readonly path: string;
  readonly query: Readonly<Record<string, string | undefined>>;
}

interface Page {
  /** The entities of the page, without deleted ones. */
  readonly items: readonly unknown[];
  /** Entities that the server sent, deleted ones included. */
  readonly sent: number;
  /** The number of entities of the whole selection; 0 if they were not counted. */
  readonly count: number;
  /** The token of the next page, if the page was read by a token; null at the end. */
  readonly next: string | null;
}

/** Reads the entities of a selection at one address. */
class Reader {
  constructor(
    readonly state: ClientSelectionState,
    readonly address: Address,
    readonly signal: AbortSignal | undefined,
  ) {}

  page(skip: number, top: number): Promise<Page> {
    return this.#page(top, { $skip: skip === 0 ? undefined : String(skip) });
  }

  /** @param after the token of the page before; none for the first page */
  pageBehind(after: string | undefined, top: number): Promise<Page> {
    // To count all entities for each page may take longer than to read it.
    const count = readsLists(this.state) ? undefined : 'false';
    const place = after === undefined ? { $cursor: 'true' } : { $after: after };
    return this.#page(top, { ...place, $count: count });
  }

  async #page(top: number, place: Address['query']): Promise<Page> {
    const { state, address, signal } = this;
    const { dataclass, paths } = state;
    const params = paramsOfAll(state);
    const shape = { paths: paths ?? [], expansions: state.expansions ?? new Map(), params };
    const expand = [address.query['$expand'], expandText(shape)].filter(Boolean).join(',');
    const answer = await dataclass.connection.object({
      path: address.path,
      query: {
        ...address.query,
        ...filterOf(state),
        $params: params,
        ...(top === 0 ? {} : { $orderby: state.order, $attributes: paths?.join(',') }),
        $expand: expand === '' ? undefined : expand,
        ...place,
        $top: String(top),
      },
      mayAsk: true,
      signal,
    });
    const isCounted = place['$count'] !== 'false';
    return pageOf(state, isCounted ? answer : { ...answer, __COUNT: 0 }, shape, signal);
  }

  async groups(
    query: Readonly<Record<string, string>>,
    skip: number,
    top: number,
  ): Promise<{ readonly groups: readonly object[]; readonly count: number }> {
    const { state, address, signal } = this;
    const { dataclass } = state;
    const bounds = { $skip: String(skip), $top: String(top) };
    const all = { ...filterOf(state), ...query, ...bounds };
    const request = { path: address.path, query: all, mayAsk: true, signal };
    const answer = await dataclass.connection.object(request);
    const { __GROUPS: groups, __COUNT: count } = answer;
    if (!Array.isArray(groups) || typeof count !== 'number') {
      const message = `${dataclass.name} was not answered with groups.`;
      throw new RestError(200, [{ message, errCode: 0 }]);
    }
    return { groups: groups.filter(isRecord).map((each) => groupOf(dataclass, each)), count };
  }

  /** What `$compute` or `$distinct` answers for a path. */
  async values(path: string, query: Readonly<Record<string, string>>): Promise<unknown> {
    const { state, address, signal } = this;
    const { connection, name } = state.dataclass;
    const encoded = encodeURIComponent(path);
    const paths: Readonly<Record<Address['kind'], string>> = {
      all: `${address.path}/${encoded}`,
      related: `${address.path}.${encoded}`,
      set: address.path.replace(/(?=\/\$entityset\/)/, `/${encoded}`),
    };
    if (path === '') throw new TypeError(`Name an attribute of ${name}.`);
    const all = { ...filterOf(state), ...query };
    const mayAsk = address.kind !== 'set';
    return connection.json({ path: paths[address.kind], query: all, mayAsk, signal });
  }
}

/** Whether rows hold lists of related entities, whose counts say whether there are more. */
function readsLists({ dataclass, paths = [] }: ClientSelectionState): boolean {
  return paths.some((path) => {
    let at = dataclass;
    for (const name of path.split('.').slice(0, -1)) {
      const { one, many } = at.attributes.get(name) ?? {};
      if (one === undefined) return many !== undefined;
      at = at.dataclass(one);
    }
    return false;
  });
}

async function compute(
  state: ClientSelectionState,
  path: string,
  name: string,
  options: RequestOptions,
): Promise<unknown> {
  return reading(state, options, (reader) => reader.values(path, { $compute: name }));
}

async function pageOf(
  state: ClientSelectionState,
  answer: JsonRecord,
  shape: RowShape,
  signal: AbortSignal | undefined,
): Promise<Page> {
  const { __ENTITIES: entities, __COUNT: count, __NEXT: next } = answer;
  if (!Array.isArray(entities) || typeof count !== 'number') {
    const message = `${state.dataclass.name} was not answered with entities.`;
    throw new RestError(200, [{ message, errCode: 0 }]);
  }
  const { dataclass, paths } = state;
  const items: unknown[] = [];
  for (const each of entities.filter(isRecord)) {
    // An entity of a set that is deleted has no key.
    if (each['__KEY'] === undefined) continue;
    items.push(
      paths === undefined ? entityOf(dataclass, each) : await rowOf(dataclass, shape, each, signal),
    );
  }
  return { items, sent: entities.length, count, next: typeof next === 'string' ? next : null };
}

/** A row of `select()`. */
async function rowOf(
  dataclass: ClientDataclass,
  shape: RowShape,
  answer: JsonRecord,
  signal: AbortSignal | undefined,
): Promise<object> {
  const { paths } = shape;
  const row: [string, unknown][] = [
    ['key', decodeKey(dataclass, answer['__KEY'])],
    ['stamp', answer['__STAMP']],
  ];
  for (const [name, { type, one, many }] of dataclass.attributes) {
    const inside = below(shape, name);
    const value = answer[name];
    if (type !== undefined) {
      if (!paths.includes('*') && !paths.includes(name)) continue;
      const isMedia = type === 'image' || type === 'blob';
      row.push([
        memberName(name),
        isMedia ? mediaOf(dataclass, answer, name, type) : decodeValue(type, value),
      ]);
    } else if (inside.paths.length > 0) {
      const target = dataclass.dataclass(one ?? many ?? '');
      const isOne = one !== undefined;
      const isPart = shape.expansions.has(name);
      const related = isOne
        ? [value]
        : await relatedRows(value, dataclass, isPart ? undefined : inside, signal);
      const rows: object[] = [];
      for (const each of related.filter(isRecord)) {
        // What the session may not see is not expanded.
        if (each['__KEY'] !== undefined) rows.push(await rowOf(target, inside, each, signal));
      }
      row.push([memberName(name), isOne ? (rows[0] ?? null) : rows]);
    }
  }
  return Object.fromEntries(row);
}

/** An image or BLOB of a row. */
function mediaOf(
  dataclass: ClientDataclass,
  answer: JsonRecord,
  name: string,
  type: 'image' | 'blob',
): StoredMedia {
  const state = new ClientEntityState(dataclass);
  state.load(answer);
  return storedMedia(state, name, type);
}

/**
 * The related entities of an answer, which holds a first page of them, and the rest of them.
 * @param rest what to read of these; if left out, they are not wanted
 */
async function relatedRows(
  value: unknown,
  { connection }: ClientDataclass,
  rest: RowShape | undefined,
  signal: AbortSignal | undefined,
): Promise<readonly unknown[]> {
  if (!isRecord(value)) return [];
  const { __ENTITIES: first, __COUNT: count, __ENTITYSET: address } = value;
  if (!Array.isArray(first) || typeof count !== 'number') return [];
  const all = [...(first as readonly unknown[])];
  const [path = '', expand = ''] = String(address)
    .replace(/^\/rest/, '')
    .split('?$expand=');
  if (rest === undefined) return all;
  const further = expandText(rest);
  while (all.length < count) {
    const page = await connection.object({
      path,
      query: {
        $expand: decodeURIComponent(expand) + (further === '' ? '' : `,${further}`),
        $attributes: rest.paths.join(','),
        $params: further === '' ? undefined : rest.params,
        $skip: String(all.length),
      },
      signal,
    });
    const { __ENTITIES: more } = page;
    if (!Array.isArray(more) || more.length === 0) break;
    all.push(...(more as readonly unknown[]));
  }
  return all;
}

/** A group with its dates: keys, and what `min` and `max` found. */
function groupOf(dataclass: ClientDataclass, group: JsonRecord): object {
  return Object.fromEntries(
    Object.entries(group).map(([name, value]) => {
      const path = /^(?:min|max)\((.*)\)$/.exec(name)?.[1] ?? name;
      return [name, decodeAt(dataclass, path, value)];
    }),
  );
}

/** A value at the end of a path; what the client does not know stays as it is sent. */
function decodeAt(dataclass: ClientDataclass, path: string, value: unknown): unknown {
  let at: ClientDataclass | undefined = dataclass;
  const names = path.split('.');
  for (const [index, name] of names.entries()) {
    const attribute: ReturnType<ClientDataclass['attributes']['get']> = at?.attributes.get(name);
    if (attribute === undefined) return value;
    const isLast = index === names.length - 1;
    if (isLast && attribute.type !== undefined) return decodeValue(attribute.type, value);
    const target: string | undefined = attribute.one ?? attribute.many;
    at = target === undefined ? undefined : at?.dataclass(target);
  }
  return value;
}

/** The values of all filters of a selection. @throws TypeError for values of expansions beside a list */
function paramsOfAll({ filter, expansions }: ClientSelectionState): string | undefined {
  const named = [...(expansions?.values() ?? [])].flatMap(({ values }) =>
    Object.entries(values ?? {}),
  );
  if (named.length === 0) return filter?.params;
  const own: unknown = JSON.parse(filter?.params ?? '{}');
  if (Array.isArray(own)) {
    throw new TypeError('Beside the values of expand(), query() takes an object with names.');
  }
  const encoded = named.map(([name, value]) => [name, param(value, `:${name}`)] as const);
  return JSON.stringify({ ...(own as object), ...Object.fromEntries(encoded) });
}

/** Quoted, because the server removes one pair of quotes. */
function filterOf({ filter }: ClientSelectionState): Readonly<Record<string, string | undefined>> {
  return filter === undefined ? {} : { $filter: `"${filter.text}"`, $params: filter.params };
}

async function reading<R>(
  state: ClientSelectionState,
  options: RequestOptions,
  read: (reader: Reader) => Promise<R>,
): Promise<R> {
  const sets = new TemporarySets(state, options);
  try {
    return await read(new Reader(state, await sets.addressOf(state), sets.signal));
  } finally {
    await sets.release();
  }
}

/** Runs code with the entity set of a selection, which is released afterwards. */
export async function usingSet<R>(
  state: ClientSelectionState,
  options: RequestOptions,
  use: (id: string) => Promise<R>,
): Promise<R> {
  const sets = new TemporarySets(state, options);
  try {
    return await use(await sets.idOf(state));
  } finally {
    await sets.release();
  }
}

/** What does not fit on one page is read from a set, so that changes do not move entities between pages. */
async function* iterate(
  state: ClientSelectionState,
  options: RequestOptions,
): AsyncGenerator<unknown, undefined> {
  const sets = new TemporarySets(state, options);
  try {
    let reader = new Reader(state, await sets.addressOf(state), sets.signal);
    let page = await reader.page(0, state.pageSize);
    if (page.sent < page.count && !isSet(state)) {
      const id = await sets.idOf(state);
      const whole = from(state, { kind: 'set', id });
      reader = new Reader(whole, await sets.addressOf(whole), sets.signal);
      page = await reader.page(0, state.pageSize);
    }
    for (let skip = 0; ;) {
      yield* page.items;
      skip += page.sent;
      if (page.sent === 0 || skip >= page.count) return;
      page = await reader.page(skip, state.pageSize);
    }
  } finally {
    await sets.release();
  }
}

/** Reads a dataclass or a relation by tokens, which need no set. */
async function* iterateBehind(
  state: ClientSelectionState,
  options: RequestOptions,
): AsyncGenerator<unknown, undefined> {
  const sets = new TemporarySets(state, options);
  const reader = new Reader(state, await sets.addressOf(state), sets.signal);
  for (let after: string | undefined; ;) {
    const page: Page = await reader.pageBehind(after, state.pageSize);
    yield* page.items;
    if (page.next === null) return;
    after = page.next;
  }
}

function isSet({ source, filter, order }: ClientSelectionState): boolean {
  return source.kind === 'set' && filter === undefined && order === undefined;
}

/** Members of a set as a message lists them, with their values. */
interface Listed {
  readonly key: ClientKey;
  readonly stamp: number;
  readonly value: unknown;
}

interface ListedAt extends Listed {
  readonly at: number;
}

/** The changes of an entity set, with the values that a selection reads. */
async function* changesOfSet(
  state: ClientSelectionState,
  id: string,
  { interval, values: hasValues = true, signal = state.signal }: ChangesOptions,
): AsyncGenerator<SetChange<EntityTypes, unknown>, undefined> {
  const { dataclass, paths } = state;
  const params = paramsOfAll(from(state, { kind: 'set', id }));
  const shape = { paths: paths ?? [], expansions: state.expansions ?? new Map(), params };
  const expand = expandText(shape);
  const path = `/${encodeURIComponent(dataclass.name)}/$entityset/${id}/$changes`;
  const query = {
    $attributes: hasValues ? (paths?.join(',') ?? '*') : undefined,
    $expand: expand === '' || !hasValues ? undefined : expand,
    $params: params,
    $interval: interval === undefined ? undefined : String(interval),
  };
  const listed = async (each: JsonRecord): Promise<ListedAt> => {
    const { __KEY: key, __STAMP: stamp, __AT: at, ...values } = each;
    // An entity that is deleted meanwhile has no values; the next message says that it has left.
    const isThere = Object.keys(values).length > 0;
    const value = !isThere
      ? undefined
      : paths === undefined
        ? entityOf(dataclass, each)
        : await rowOf(dataclass, shape, each, signal);
    return { key: decodeKey(dataclass, key), stamp: Number(stamp), at: Number(at), value };
  };
  const all = (value: unknown): Promise<ListedAt[]> =>
    Promise.all((Array.isArray(value) ? value : []).filter(isRecord).map(listed));
  for await (const message of messagesOf(dataclass.connection, { path, query }, signal)) {
    const { __COUNT, __ENTITIES, __JOINED, __CHANGED, __LEFT } = message;
    const count = Number(__COUNT);
    if (Array.isArray(__ENTITIES)) {
      const entities = (await all(__ENTITIES)).map(({ key, stamp, value }) => ({
        key,
        stamp,
        value,
      }));
      yield { kind: 'all', count, entities };
      continue;
    }
    const left = (Array.isArray(__LEFT) ? __LEFT : []).map((key) => decodeKey(dataclass, key));
    const [joined, changed] = [await all(__JOINED), await all(__CHANGED)];
    yield { kind: 'difference', count, joined, changed, left };
  }
}

/** The rows of a list that is kept by messages. */
class LiveRows {
  #all: Listed[] = [];

  /** @param shown gets their values */
  constructor(private readonly shown: unknown[]) {}

  take(change: SetChange<EntityTypes, unknown>): void {
    if (change.kind === 'all') this.#all = [...change.entities] as Listed[];
    else {
      const placed = [...change.joined, ...change.changed] as ListedAt[];
      const moved = new Set<ClientKey>([
        ...(change.left as ClientKey[]),
        ...placed.map(({ key }) => key),
      ]);
      this.#all = this.#all.filter(({ key }) => !moved.has(key));
      for (const each of placed.sort((one, other) => one.at - other.at)) {
        this.#all.splice(each.at, 0, each);
      }
    }
    const values = this.#all.flatMap(({ value }) => (value === undefined ? [] : [value]));
    this.shown.splice(0, this.shown.length, ...values);
  }
}

/** The entity sets that one read needs; they are released when it ends. */
class TemporarySets {
  readonly #made: string[] = [];
  readonly signal: AbortSignal | undefined;
  readonly #dataclass: ClientDataclass;

  constructor({ dataclass, signal }: ClientSelectionState, options: RequestOptions) {
    this.#dataclass = dataclass;
    this.signal = options.signal ?? signal;
  }

  async addressOf(state: ClientSelectionState): Promise<Address> {
    const { source, dataclass } = state;
    const path = `/${encodeURIComponent(dataclass.name)}`;
    switch (source.kind) {
      case 'all':
        return { kind: 'all', path, query: {} };
      case 'related': {
        const { owner, key, relation } = source;
        const related = `${entityPath(owner, key)}/${encodeURIComponent(relation)}`;
        return { kind: 'related', path: related, query: { $expand: relation } };
      }
      case 'set':
        return { kind: 'set', path: `${path}/$entityset/${source.id}`, query: {} };
      case 'part': {
        const id = await this.idOf(source.of);
        return { kind: 'set', path: `${path}/$entityset/${id}`, query: {} };
      }
      case 'combined': {
        const id = await this.#combined(source, path);
        return { kind: 'set', path: `${path}/$entityset/${id}`, query: {} };
      }
    }
  }

  async idOf(state: ClientSelectionState): Promise<string> {
    if (isSet(state) && state.source.kind === 'set') return state.source.id;
    const id = await this.create(state);
    this.#made.push(id);
    return id;
  }

  /** Makes a set that is not released with the others. */
  async create(state: ClientSelectionState): Promise<string> {
    const { path, query, kind } = await this.addressOf(state);
    const method =
      kind === 'related'
        ? { $method: 'subentityset', $subOrderby: state.order }
        : { $method: 'entityset', $orderby: state.order };
    return this.#created({ path, query: { ...query, ...filterOf(state), ...method } });
  }

  async #combined(
    { operator, left, right }: Extract<Source, { kind: 'combined' }>,
    dataclass: string,
  ): Promise<string> {
    const path = `${dataclass}/$entityset/${await this.idOf(left)}`;
    const other = await this.idOf(right);
    const query = { $logicOperator: operator, $otherCollection: other, $method: 'entityset' };
    const id = await this.#created({ path, query });
    this.#made.push(id);
    return id;
  }

  async #created(request: Pick<ClientRequest, 'path' | 'query'>): Promise<string> {
    const { path, signal } = { path: request.path, signal: this.signal };
    const query = { ...request.query, $top: '0' };
    const answer = await this.#dataclass.connection.object({
      method: 'POST',
      path,
      query,
      mayAsk: true,
      signal,
    });
    return setId(answer);
  }

  /** Releases them even after the signal has aborted the read. */
  async release(): Promise<void> {
    if (this.#made.length === 0) return;
    try {
      await releaseSets(this.#dataclass, this.#made, undefined);
    } catch (error) {
      // The result of the read matters more, and unused sets expire.
      if (!(error instanceof RestError)) throw error;
    }
  }
}

/** The ID of the entity set that an answer names. */
export function setId({ __ENTITYSET: address }: JsonRecord): string {
  const id = /\/\$entityset\/(\w+)/.exec(String(address))?.[1];
  if (id !== undefined) return id;
  throw new RestError(200, [{ message: 'The server has made no entity set.', errCode: 0 }]);
}

async function releaseSets(
  { connection }: ClientDataclass,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const request = { method: 'POST', path: '/$entityset/$release', body: ids, signal } as const;
  const response = await connection.send(request);
  const body = await bodyOf(response, request);
  if (!response.ok) throw new RestError(response.status, reasonsOf(body));
}

/** The parameters of a call of a selection's function, where no set is needed. */
export function callAddress(
  state: ClientSelectionState,
): Readonly<Record<string, string | undefined>> | undefined {
  if (state.source.kind !== 'all') return undefined;
  return { ...filterOf(state), $orderby: state.order };
}
