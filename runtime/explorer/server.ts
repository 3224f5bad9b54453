import { Connection } from '../client/connection.js';
import { open } from '../client/open.js';
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
export type Row = Readonly<Record<string, unknown>> & { readonly key: string | number };

/** Entities of some dataclass: the explorer knows the model only when it runs. */
export type Selection = EntitySelection<EntityTypes, AnyEntity>;
export type Rows = EntitySelection<EntityTypes, Row>;
export type AnyEntity = Entity<EntityTypes> & Readonly<Record<string, unknown>>;
export type Related = RelatedEntity<EntityTypes>;
export type { Media };

/** A request that the explorer has sent. */
export interface SentRequest {
  readonly method: string;
  /** The path with the query, decoded as people read it. */
  readonly address: string;
  readonly status: number;
  readonly milliseconds: number;
}

/** The server of this page, by the core of the typed client. */
export class Server {
  readonly #origin = location.origin;
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
    this.#answered({
      method: init.method ?? 'GET',
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

  /** @param model as the session sees it */
  datastore(model: ExplorerModel): ExplorerDatastore {
    const table = clientTable(model, pageSize);
    return new ExplorerDatastore(open(table, this.#origin, { fetch: this.#fetch }) as Datastore);
  }
}

/** Rows of one page of the grid. */
export const pageSize = 100;

/** The datastore of a client, whose dataclasses are found by name. */
export class ExplorerDatastore {
  readonly session: Datastore['session'];

  constructor(private readonly datastore: Datastore) {
    this.session = datastore.session;
  }

  dataclass(name: string): DataclassObject<EntityTypes> {
    const members = this.datastore as unknown as Readonly<
      Record<string, DataclassObject<EntityTypes> | undefined>
    >;
    const found = Object.hasOwn(members, name) ? members[name] : undefined;
    if (found === undefined) throw new Error(`The session sees no dataclass ${name}.`);
    return found;
  }

  all(dataclass: string): Selection {
    return this.dataclass(dataclass).all() as Selection;
  }

  /** A singleton, whose members are its functions. */
  singleton(name: string): object {
    const { singletons } = this.datastore as unknown as { readonly singletons: object };
    return (singletons as Readonly<Record<string, object | undefined>>)[name] ?? {};
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
