import { Connection } from '../client/connection.js';
import { open } from '../client/open.js';
import { selectionOfSet, setIdOf } from '../client/selection.js';
import type {
  DataclassObject,
  Datastore,
  Entity,
  EntitySelection,
  EntityTypes,
  Media,
  RelatedEntity,
} from '../client/types.js';
import { clientTable, type ExplorerModel, modelOf } from './model.js';

/** A row of the grid: `key`, `stamp`, and the selected values. */
export type Row = Readonly<Record<string, unknown>> & { readonly key: Key };

export type Key = string | number;

/** Entities of some dataclass: the explorer knows the model only when it runs. */
export type Selection = EntitySelection<EntityTypes, AnyEntity>;
export type Rows = EntitySelection<EntityTypes, Row>;
export type AnyEntity = Entity<EntityTypes> & Readonly<Record<string, unknown>>;
export type Related = RelatedEntity<EntityTypes>;
export type { Media };
export { selectionOfSet, setIdOf };

/** A request that the explorer has sent. */
export interface SentRequest {
  /** Counts the requests of the page. */
  readonly number: number;
  readonly method: string;
  readonly url: string;
  /** What it sent, if that is a text. */
  readonly body: string | undefined;
  /** The path with the query, decoded as people read it. */
  readonly address: string;
  readonly status: number;
  readonly milliseconds: number;
}

/** The server of this page, by the core of the typed client. */
export class Server {
  readonly #origin = location.origin;
  #sent = 0;
  /** Called after each answer. */
  #answered: (request: SentRequest) => void = () => undefined;

  onAnswer(answered: (request: SentRequest) => void): void {
    this.#answered = answered;
  }

  /** Sends a request of the client, and measures it. */
  readonly #fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const begin = performance.now();
    const response = await fetch(url, init);
    const { pathname, search } = new URL(url);
    // Do not show the passwords of logins.
    if (pathname.startsWith('/rest/$directory/')) return response;
    this.#answered({
      number: (this.#sent += 1),
      method: init.method ?? 'GET',
      url,
      body: typeof init.body === 'string' ? init.body : undefined,
      address: readable(pathname + search),
      status: response.status,
      milliseconds: performance.now() - begin,
    });
    return response;
  };

  /**
   * Reads the model as the session sees it.
   * @throws RestError with status 401 if that needs a login
   */
  async model(): Promise<ExplorerModel> {
    const connection = new Connection(this.#origin, { fetch: this.#fetch });
    return modelOf(await connection.object({ path: '/$catalog/$all' }));
  }

  /**
   * @param model as the session sees it
   * @param size how many entities a request reads
   */
  datastore(model: ExplorerModel, size = pageSize): ExplorerDatastore {
    const table = clientTable(model, size);
    const connection = new Connection(this.#origin, {});
    const datastore = open(table, this.#origin, { fetch: this.#fetch }) as Datastore;
    return new ExplorerDatastore(datastore, connection);
  }
}

/** The most entities that the server sends at once. */
const most = Number(document.getElementById('app')?.dataset['page']);

/** Rows of one page of the grid. */
export const pageSize = Math.min(100, most);

/** Rows that an export reads by one request. */
export const exportSize = Math.min(1000, most);

/** The datastore of a client, whose dataclasses are found by name. */
export class ExplorerDatastore {
  readonly session: Datastore['session'];

  /** @param unlisted sends requests that the page does not list */
  constructor(
    private readonly datastore: Datastore,
    private readonly unlisted: Connection,
  ) {
    this.session = datastore.session;
  }

  /** How the database answers the filter of a request: protocol P6.3. */
  async plan({ url }: SentRequest): Promise<string> {
    const { pathname, searchParams } = new URL(url);
    for (const name of ['$method', '$subOrderby', '$skip', '$timeout']) searchParams.delete(name);
    const answer = await this.unlisted.object({
      path: pathname.replace(/^\/rest/, ''),
      query: { ...Object.fromEntries(searchParams), $top: '0', $queryplan: 'true' },
    });
    return JSON.stringify(answer['__queryPlan']);
  }

  dataclass(name: string): DataclassObject<EntityTypes> {
    const members = this.datastore as unknown as Readonly<
      Record<string, DataclassObject<EntityTypes> | undefined>
    >;
    const found = Object.hasOwn(members, name) ? members[name] : undefined;
    if (found === undefined) throw new Error(`The session sees no dataclass ${name}.`);
    return found;
  }

  /** Saves all of them or none. */
  atomic(entities: readonly Entity<EntityTypes>[]): Promise<void> {
    return this.datastore.atomic(entities);
  }

  all(dataclass: string): Selection {
    return this.dataclass(dataclass).all() as Selection;
  }

  /** A singleton, whose members are its functions. */
  singleton(name: string): object {
    const { singletons } = this.datastore as unknown as { readonly singletons: object };
    const found = (singletons as Readonly<Record<string, object | undefined>>)[name];
    if (found === undefined) throw new Error(`The session sees no singleton ${name}.`);
    return found;
  }

  /** The object whose members are the functions of the datastore. */
  get own(): object {
    return this.datastore;
  }

  /** @returns `null` if there is none that the session sees */
  get(dataclass: string, key: string | number): Promise<AnyEntity | null> {
    return this.dataclass(dataclass).get(key) as Promise<AnyEntity | null>;
  }
}

/** An address as people read it; what cannot be decoded stays as it is. */
function readable(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}
