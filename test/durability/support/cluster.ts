import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { kill, type Launched, launch } from '../../support/processes/server-process.js';

/** A server behind the proxy. */
export interface Member extends Launched {
  readonly origin: string;
}

interface ClusterOptions {
  readonly folder: string;
  readonly databaseUrl: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Servers in processes of their own, on one database, and a proxy that gives each request to the
 * next of them. A server that takes no connection is passed over, as proxies do; a connection that
 * breaks is answered with 502.
 */
export class Cluster {
  readonly #proxy: Server;
  readonly #all: Launched[] = [];
  #members: readonly Member[] = [];
  #next = 0;

  private constructor(private readonly options: ClusterOptions) {
    this.#proxy = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        this.#pass(incoming, Buffer.concat(chunks), outgoing, this.#members.length);
      });
    });
  }

  static async start(program: string, count: number, options: ClusterOptions): Promise<Cluster> {
    const cluster = new Cluster(options);
    cluster.#proxy.listen(0, '127.0.0.1');
    await once(cluster.#proxy, 'listening');
    try {
      // The first one creates the schema.
      await cluster.add(program);
      await Promise.all(Array.from({ length: count - 1 }, () => cluster.add(program)));
    } catch (error) {
      await cluster.close();
      throw error;
    }
    return cluster;
  }

  /** The address of the proxy. */
  get origin(): string {
    return `http://127.0.0.1:${(this.#proxy.address() as AddressInfo).port}`;
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  member(at: number): Member {
    const found = this.#members[at];
    if (found === undefined) throw new Error(`There is no server ${at}.`);
    return found;
  }

  /** Starts one more server; the proxy knows it when it is ready. */
  async add(program: string): Promise<Member> {
    const { folder, databaseUrl, environment } = this.options;
    const launched = launch(program, {
      folder,
      environment: {
        DATABASE_URL: databaseUrl,
        DATABASE_POOL: '4',
        // A busy machine is late by itself.
        MAX_WAIT: '600000',
        ...environment,
      },
    });
    this.#all.push(launched);
    const member = { ...launched, origin: await launched.listening };
    await ready(member);
    this.#members = [...this.#members, member];
    return member;
  }

  /** The proxy gives it no further requests. */
  remove(member: Member): void {
    this.#members = this.#members.filter((each) => each !== member);
  }

  async close(): Promise<void> {
    for (const launched of this.#all) {
      // A stopped process ends of this signal, too.
      await kill(launched);
    }
    this.#proxy.closeAllConnections();
    this.#proxy.close();
  }

  #pass(incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse, left: number): void {
    const member = this.#members[this.#next % this.#members.length];
    this.#next += 1;
    if (member === undefined || left === 0) {
      outgoing.writeHead(502).end();
      return;
    }
    const { method, headers, url = '/' } = incoming;
    const passed = request(
      `${member.origin}${url}`,
      { method, headers, agent: false },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.on('error', () => outgoing.destroy());
        answer.pipe(outgoing);
      },
    );
    passed.on('error', (error) => {
      const isRefused = 'code' in error && error.code === 'ECONNREFUSED';
      if (isRefused) this.#pass(incoming, body, outgoing, left - 1);
      else if (!outgoing.headersSent) outgoing.writeHead(502).end();
      else outgoing.destroy();
    });
    passed.end(body);
  }
}

/** Resolves when a server has a status of readiness. */
export async function ready({ origin }: { readonly origin: string }, status = 200): Promise<void> {
  for (;;) {
    const answer = await fetch(`${origin}/health/ready`);
    await answer.text();
    if (answer.status === status) return;
    await setTimeout(20);
  }
}
