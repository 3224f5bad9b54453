/** The server died before the answer: it is unknown whether the request was executed. */
export class ServerGone extends Error {}

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
  readonly headers: Headers;
}

export interface ErrorItem {
  readonly errCode: number;
  readonly message: string;
}

/** An entity, or the result of a refused one. */
export interface Entity {
  readonly __KEY: string;
  readonly __STAMP: number;
  readonly __ERROR?: readonly ErrorItem[];
  readonly [attribute: string]: unknown;
}

export interface Collection {
  readonly __COUNT: number;
  readonly __GlobalStamp: number;
  readonly __ENTITIES: readonly Entity[];
}

/**
 * Sends requests to one server process, one after the other, in a separate session. A complete
 * answer is an acknowledgement.
 */
export class Client {
  cookie: string | undefined;

  constructor(readonly origin: string) {}

  get<T = Collection>(path: string): Promise<Answer<T>> {
    return this.#json<T>(path);
  }

  post<T>(path: string, body: unknown): Promise<Answer<T>> {
    const bytes = body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body);
    return this.#json<T>(path, { method: 'POST', body: bytes });
  }

  /** A read that must succeed. */
  async all(dataclass: string, filter: string, ...params: readonly unknown[]): Promise<Collection> {
    const query = new URLSearchParams({
      $filter: filter,
      $params: JSON.stringify(params),
      $top: '10000',
    });
    const { status, body } = await this.get(`/rest/${dataclass}?${query.toString()}`);
    if (status !== 200) throw new Error(`${dataclass}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  async bytes(path: string): Promise<Buffer> {
    return Buffer.from(await (await this.#fetched(path, {})).arrayBuffer());
  }

  async #json<T>(path: string, init: RequestInit = {}): Promise<Answer<T>> {
    const response = await this.#fetched(path, init);
    let text: string;
    try {
      text = await response.text();
    } catch (error) {
      throw new ServerGone(path, { cause: error });
    }
    return {
      status: response.status,
      body: JSON.parse(text) as T,
      headers: response.headers,
    };
  }

  async #fetched(path: string, init: RequestInit): Promise<Response> {
    try {
      const headers = this.cookie === undefined ? {} : { cookie: this.cookie };
      const response = await fetch(this.origin + path, { ...init, headers });
      const [cookie] = response.headers.getSetCookie();
      if (cookie !== undefined) this.cookie = cookie.split(';')[0];
      return response;
    } catch (error) {
      throw new ServerGone(path, { cause: error });
    }
  }
}

/** The saved entity; anything except an acknowledged save makes the test fail. */
export function saved({ status, body }: Answer<Entity>): Entity {
  if (status === 200 && body.__ERROR === undefined) return body;
  throw new Error(`Not saved: ${status} ${JSON.stringify(body)}`);
}

/** The entities that were all saved. */
export function allSaved({
  status,
  body,
}: Answer<Pick<Collection, '__ENTITIES'>>): readonly Entity[] {
  if (status === 200 && body.__ENTITIES.every((each) => each.__ERROR === undefined)) {
    return body.__ENTITIES;
  }
  throw new Error(`Not saved: ${status} ${JSON.stringify(body).slice(0, 500)}`);
}
