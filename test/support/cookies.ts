import type { FastifyInstance } from 'fastify';

type Response = Awaited<ReturnType<FastifyInstance['inject']>>;

interface Sent {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly url: string;
  readonly payload?: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A client that keeps the cookies of its session, as a browser does. */
export class Client {
  /** `<name>=<value>`; `undefined` before there is one. */
  cookie: string | undefined;

  constructor(private readonly app: FastifyInstance) {}

  async send({ headers = {}, ...request }: Sent): Promise<Response> {
    const cookie = this.cookie === undefined ? {} : { cookie: this.cookie };
    const response = await this.app.inject({ ...request, headers: { ...cookie, ...headers } });
    for (const line of [response.headers['set-cookie'] ?? []].flat()) {
      const [pair = ''] = line.split(';');
      this.cookie = /max-age=0/i.test(line) ? undefined : pair;
    }
    return response;
  }

  get(url: string, headers?: Sent['headers']): Promise<Response> {
    return this.send({ method: 'GET', url, ...(headers === undefined ? {} : { headers }) });
  }

  /** A body as JSON. */
  post(url: string, body?: unknown, headers?: Sent['headers']): Promise<Response> {
    return this.send({
      method: 'POST',
      url,
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      ...(headers === undefined ? {} : { headers }),
    });
  }
}

const clients = new WeakMap<FastifyInstance, Client>();

/** One client for each server, for tests that are about something else. */
export function clientOf(app: FastifyInstance): Client {
  const client = clients.get(app) ?? new Client(app);
  clients.set(app, client);
  return client;
}
