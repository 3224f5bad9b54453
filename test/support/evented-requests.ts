import type { EventedServer } from './evented-server.js';

export type Json = Readonly<Record<string, unknown>>;

/** The answer to a request. */
export interface Answer {
  readonly status: number;
  readonly json: Json;
}

/** Sends requests to one server like a client. */
export class EventedClient {
  constructor(private readonly server: EventedServer) {}

  async post(url: string, body?: unknown, cookie?: string): Promise<Answer> {
    const response = await this.server.app.inject({
      method: 'POST',
      url: `/rest/${url}`,
      ...(cookie === undefined ? {} : { headers: { cookie } }),
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    return { status: response.statusCode, json: response.json() };
  }

  /** Removes the events, then the entities. */
  async empty(): Promise<void> {
    const { handlers, logged } = this.server;
    handlers.Company = {};
    handlers.Person = {};
    const all = [
      ['Person', 'boss != null'],
      ['Person', 'ID != null'],
      ['Company', 'ID > -1'],
      ['Log', 'ID > -1'],
    ] as const;
    for (const [name, filter] of all) {
      const { status, json } = await this.remove(name, filter);
      if (status !== 200) throw new Error(JSON.stringify(json));
    }
    logged.length = 0;
  }

  /** Deletes what a filter matches. */
  remove(dataclass: string, filter: string): Promise<Answer> {
    return this.post(`${dataclass}?$method=delete&$filter=${encodeURIComponent(filter)}`);
  }

  /** Creates entities without any event. */
  async create(dataclass: string, entities: readonly Json[]): Promise<readonly Json[]> {
    const { Company, Person } = this.server.handlers;
    Object.assign(this.server.handlers, { Company: {}, Person: {} });
    const { json } = await this.post(`${dataclass}?$method=update&$atomic=true`, entities);
    Object.assign(this.server.handlers, { Company, Person });
    const created = json['__ENTITIES'] as readonly Json[];
    if (created.some((each) => '__ERROR' in each)) throw new Error(JSON.stringify(created));
    return created;
  }

  /** All entities, in the order of their keys. */
  async stored(dataclass: string): Promise<readonly Json[]> {
    const response = await this.server.app.inject(`/rest/${dataclass}?$top=1000`);
    return response.json<{ readonly __ENTITIES: readonly Json[] }>().__ENTITIES;
  }

  async count(dataclass: string): Promise<number> {
    const response = await this.server.app.inject(`/rest/${dataclass}?$top=0`);
    return response.json<{ readonly __COUNT: number }>().__COUNT;
  }

  async globalStamp(): Promise<number> {
    const response = await this.server.app.inject('/rest/Log?$top=0');
    return response.json<{ readonly __GlobalStamp: number }>().__GlobalStamp;
  }
}
