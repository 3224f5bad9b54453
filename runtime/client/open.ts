import { bodyOf, Connection, type ClientRequest } from './connection.js';
import {
  type AnySaveOptions,
  type ClientDataclass,
  entityClass,
  ClientEntity,
  entityOf,
  findState,
  getEntity,
  ClientEntityState,
  type ClientKey,
  saveEntities,
  upload,
} from './entity.js';
import { isRecord, reasonsOf, RestError } from './errors.js';
import {
  callAddress,
  findSelection,
  SelectionObject,
  type ClientSelectionState,
  setId,
  usingSet,
} from './selection.js';
import { sessionOf } from './session.js';
import type { FunctionTable, ModelTable, ResultType } from './table.js';
import type { ConnectOptions, Datastore, HistoryOptions, RequestOptions } from './types.js';
import { asBlob, decodeValue, encodeValue, entityPath } from './values.js';

/** Connects to a server; the emitted part of a client calls it with what it knows of the model. */
export function open(model: ModelTable, url: string, options: ConnectOptions = {}): object {
  const connection = new Connection(url, options);
  return datastoreOf(new Client(model, connection, options.pageSize ?? model.pageSize), undefined);
}

/** @param signal aborts the requests that do not belong to an entity */
function datastoreOf(client: Client, signal: AbortSignal | undefined): object {
  const { model, connection } = client;
  const datastore: Datastore = {
    session: sessionOf(connection, signal),
    atomic: (entities, given) => saveAtomically(entities, { ...optionsOf(signal), ...given }),
    with: ({ signal: other }) => datastoreOf(client, other) as never,
  };
  defineAll(datastore, client.members(signal));
  const singletons = {};
  for (const [name, functions] of Object.entries(model.singletons ?? {})) {
    const path = `/$singleton/${encodeURIComponent(name)}`;
    const singleton = {};
    defineAll(
      singleton,
      client.functions(functions, () => path, signal),
    );
    defineAll(singletons, [[name, singleton]]);
  }
  defineAll(datastore, [['singletons', singletons]]);
  defineAll(
    datastore,
    client.functions(model.functions, () => '/$catalog', signal),
  );
  return datastore;
}

/** A plain assignment to `__proto__` would not make a member. */
function defineAll(target: object, members: Iterable<readonly [string, unknown]>): void {
  for (const [name, value] of members) {
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true });
  }
}

async function saveAtomically(entities: readonly object[], options: AnySaveOptions): Promise<void> {
  const states = entities.map((entity) => {
    const state = findState(entity);
    if (state === undefined) throw new TypeError('atomic() takes a list of entities.');
    return state;
  });
  const [first] = states;
  const stranger = states.find(({ dataclass }) => dataclass.name !== first?.dataclass.name);
  if (stranger !== undefined) {
    throw new TypeError(
      `atomic() saves entities of one dataclass, not of ${first?.dataclass.name ?? ''} and ${stranger.dataclass.name}.`,
    );
  }
  await saveEntities([...new Set(states)], options, true);
}

type Member = readonly [name: string, value: unknown];

/** A function of the model and where it is called. */
interface CalledFunction {
  readonly returns: ResultType;
  /** The path of the function below `/rest`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal | undefined;
}

/** The dataclasses of a model, with the classes of their objects. */
class Client {
  readonly #dataclasses = new Map<string, ClientDataclass>();
  readonly #selections = new Map<string, (state: ClientSelectionState) => object>();

  constructor(
    readonly model: ModelTable,
    readonly connection: Connection,
    private readonly pageSize: number,
  ) {
    for (const [name, table] of Object.entries(model.dataclasses)) {
      const attributes = new Map(Object.entries(table.attributes));
      const { entity, selection } = table.functions ?? {};
      const Entity = this.#entityClass(name, attributes, entity);
      this.#selections.set(name, this.#selectionMaker(name, selection));
      this.#dataclasses.set(name, {
        name,
        key: table.key,
        attributes,
        connection,
        dataclass: (other) => this.#dataclass(other),
        make: (state) => objects.get(state) ?? remembered(state, new Entity(state)),
        related: (key, relation, target) =>
          this.#selection(target, { kind: 'related', owner: name, key, relation }, undefined),
      });
    }
  }

  /** The dataclasses as members of the datastore. */
  members(signal: AbortSignal | undefined): readonly Member[] {
    return Object.entries(this.model.dataclasses).map(([name, { functions, audit }]) => {
      const own = this.#dataclass(name);
      const all = (): object => this.#selection(name, { kind: 'all' }, signal);
      const object = {
        all,
        query: (filter: string, ...values: readonly unknown[]) =>
          (all() as SelectionObject).query(filter, ...values),
        get: (key: ClientKey, options: RequestOptions = {}) =>
          getEntity(own, key, { ...optionsOf(signal), ...options }),
        groupBy: (...given: Parameters<SelectionObject['groupBy']>) =>
          (all() as SelectionObject).groupBy(...given),
        new: (values: object = {}) => newEntity(own, values),
        upsert: (attribute: string, values: object, options: RequestOptions = {}) =>
          upsert(own, attribute, values, { ...optionsOf(signal), ...options }),
        ...(audit === true
          ? {
              history: (options: HistoryOptions<ClientKey> = {}) =>
                readHistory(own, { ...optionsOf(signal), ...options }),
            }
          : {}),
      };
      const path = `/${encodeURIComponent(name)}`;
      defineAll(
        object,
        this.functions(functions?.dataclass, () => path, signal),
      );
      return [name, object];
    });
  }

  /** @param pathOf of the object that the functions belong to */
  functions(
    table: FunctionTable | undefined,
    pathOf: (target: object) => string,
    signal: AbortSignal | undefined,
  ): readonly Member[] {
    const call = this.#call.bind(this);
    return Object.entries(table ?? {}).map(([name, returns]) => [
      name,
      async function (this: object, ...args: readonly unknown[]): Promise<unknown> {
        const path = `${pathOf(this)}/${encodeURIComponent(name)}`;
        return call({ returns, path, signal }, args);
      },
    ]);
  }

  #entityClass(
    dataclass: string,
    attributes: ClientDataclass['attributes'],
    functions: FunctionTable | undefined,
  ): new (state: ClientEntityState) => object {
    const Entity = entityClass(attributes);
    const pathOf = (entity: object): string => {
      const state = findState(entity);
      if (state === undefined) throw new TypeError(`This is not an entity of ${dataclass}.`);
      return state.path;
    };
    defineAll(Entity.prototype as object, this.functions(functions, pathOf, undefined));
    return Entity;
  }

  #selectionMaker(
    dataclass: string,
    functions: FunctionTable | undefined,
  ): (state: ClientSelectionState) => object {
    class DataclassSelection extends SelectionObject {}
    const call = this.#callOnSelection.bind(this);
    const members = Object.entries(functions ?? {}).map(([name, returns]): Member => {
      const path = `/${encodeURIComponent(dataclass)}/${encodeURIComponent(name)}`;
      return [
        name,
        async function (this: object, ...args: readonly unknown[]): Promise<unknown> {
          const state = findSelection(this);
          if (state === undefined) throw new TypeError(`This is not a selection of ${dataclass}.`);
          return call(state, { returns, path, signal: state.signal }, args);
        },
      ];
    });
    defineAll(DataclassSelection.prototype, members);
    return (state) => new DataclassSelection(state);
  }

  async #callOnSelection(
    state: ClientSelectionState,
    called: CalledFunction,
    args: readonly unknown[],
  ): Promise<unknown> {
    const query = callAddress(state);
    if (query === undefined) {
      return usingSet(state, {}, (id) =>
        this.#call({ ...called, path: `${called.path}/$entityset/${id}` }, args),
      );
    }
    const isAll = Object.values(query).every((each) => each === undefined);
    const path = isAll ? called.path : `${called.path}/$entityset/`;
    return this.#call({ ...called, path, query }, args);
  }

  #dataclass(name: string): ClientDataclass {
    const found = this.#dataclasses.get(name);
    if (found === undefined) throw new Error(`The client does not know ${name}.`);
    return found;
  }

  #selection(
    name: string,
    source: ClientSelectionState['source'],
    signal: AbortSignal | undefined,
  ): object {
    const dataclass = this.#dataclass(name);
    const make = this.#selections.get(name) ?? ((state) => new SelectionObject(state));
    return make({ dataclass, pageSize: this.pageSize, source, signal, make });
  }

  async #call(called: CalledFunction, given: readonly unknown[]): Promise<unknown> {
    const { returns, path, query, signal } = called;
    const args = [...given];
    while (args.length > 0 && args.at(-1) === undefined) args.pop();
    const isSelection = typeof returns === 'object' && 'selection' in returns;
    const method = isSelection ? { $method: 'entityset', $top: '0' } : {};
    return this.#withArguments(args, optionsOf(signal), async (body) => {
      const all = { ...query, ...method };
      const request = { method: 'POST', path, query: all, body, signal } as const;
      return this.#result(called, await this.connection.send(request), request);
    });
  }

  /** Selections are sent as entity sets, which live as long as the call. */
  async #withArguments<R>(
    args: readonly unknown[],
    options: RequestOptions,
    use: (body: readonly unknown[]) => Promise<R>,
  ): Promise<R> {
    const selections = [...new Set(args.flatMap((each) => findSelection(each) ?? []))];
    const sets = new Map<ClientSelectionState, string>();
    const withSets = async (at: number): Promise<R> => {
      const state = selections[at];
      if (state !== undefined) {
        return usingSet(state, options, (id) => {
          sets.set(state, id);
          return withSets(at + 1);
        });
      }
      const body: unknown[] = [];
      for (const [index, each] of args.entries()) {
        body.push(await this.#argument(each, `The argument ${index + 1}`, { sets, options }));
      }
      return use(body);
    };
    return withSets(0);
  }

  async #argument(value: unknown, what: string, given: GivenWith): Promise<unknown> {
    if (value === undefined) return null;
    const bytes = asBlob(value);
    if (bytes !== undefined) return upload(this.connection, bytes, given.options);
    const selection = findSelection(value);
    if (selection !== undefined) return { __DATASET: given.sets.get(selection), __ENTITIES: true };
    const entity = findState(value);
    if (entity !== undefined) return entityArgument(entity, given.options);
    if (!Array.isArray(value)) return encodeValue(value, what);
    const list: unknown[] = [];
    for (const [at, each] of value.entries()) {
      list.push(await this.#argument(each, `${what}[${at}]`, given));
    }
    return list;
  }

  async #result(
    { returns, signal }: CalledFunction,
    response: Response,
    request: ClientRequest,
  ): Promise<unknown> {
    const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
    if (returns === 'message') {
      const reasons = isJson && !response.ok ? reasonsOf(await response.clone().json()) : [];
      if (reasons.length > 0) throw new RestError(response.status, reasons);
      return response;
    }
    const isBytes = returns === 'image' || returns === 'blob';
    if (response.ok && !isJson && isBytes) return response.blob();
    const answer = await bodyOf(response, request);
    const reasons = reasonsOf(answer);
    if (!response.ok || reasons.length > 0) throw new RestError(response.status, reasons);
    if (returns === 'void') return undefined;
    const isPlain = isRecord(answer) && !('__entityModel' in answer) && 'result' in answer;
    return this.#decoded(returns, isPlain ? answer['result'] : answer, signal);
  }

  #decoded(type: ResultType, value: unknown, signal: AbortSignal | undefined): unknown {
    if (value === null || value === undefined) return null;
    if (type === 'void' || type === 'message') return value;
    if (typeof type === 'string') return decodeValue(type, value);
    if ('list' in type) {
      const list = value as readonly unknown[];
      return list.map((each) => this.#decoded(type.list, each, signal));
    }
    if (!isRecord(value)) return value;
    if ('entity' in type) return entityOf(this.#dataclass(type.entity), value);
    return this.#selection(type.selection, { kind: 'set', id: setId(value) }, signal);
  }
}

/** What arguments are sent with. */
interface GivenWith {
  readonly sets: ReadonlyMap<ClientSelectionState, string>;
  readonly options: RequestOptions;
}

/** The entity object of each state. */
const objects = new WeakMap<ClientEntityState, object>();

function remembered(state: ClientEntityState, entity: object): object {
  objects.set(state, entity);
  return entity;
}

function newEntity(dataclass: ClientDataclass, values: object): object {
  const entity = dataclass.make(new ClientEntityState(dataclass));
  return entity instanceof ClientEntity ? entity.fromObject(values) : entity;
}

/** @param values those of one entity, or a list of them */
async function upsert(
  dataclass: ClientDataclass,
  attribute: string,
  values: object,
  options: RequestOptions,
): Promise<object> {
  const isList = Array.isArray(values);
  const list: readonly object[] = isList ? values : [values];
  const entities = list.map((each) => newEntity(dataclass, each));
  const states = entities.flatMap((each) => findState(each) ?? []);
  await saveEntities(states, options, isList, attribute);
  return isList ? entities : (entities[0] as object);
}

/** Reads a page of recorded changes, the newest first. */
async function readHistory(
  { connection, name }: ClientDataclass,
  { key, filter, values, skip, top, signal }: HistoryOptions<ClientKey>,
): Promise<readonly object[]> {
  const root = key === undefined ? `/${encodeURIComponent(name)}` : entityPath(name, key);
  const params = values && JSON.stringify(encodeValue(values, 'The values'));
  const answer = await connection.object({
    path: `${root}/$history`,
    query: {
      $filter: filter === undefined ? undefined : `"${filter}"`,
      $params: params,
      $skip: skip?.toString(),
      $top: top?.toString(),
      $count: 'false',
    },
    signal,
  });
  const entries = answer['__ENTITIES'] as readonly (object & { readonly time: string })[];
  return entries.map((each) => ({ ...each, time: new Date(each.time) }));
}

async function entityArgument(state: ClientEntityState, options: RequestOptions): Promise<object> {
  const { key, stamp, isNew, dataclass } = state;
  const identity = isNew ? {} : { __KEY: String(key), __STAMP: stamp };
  const written = await state.written(options);
  return { ...written, ...identity, __DATACLASS: dataclass.name, __ENTITY: true };
}

function optionsOf(signal: AbortSignal | undefined): RequestOptions {
  return signal === undefined ? {} : { signal };
}

export { RestError };
