import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';

/** A server whose code answers the number of its process and the user of the caller. */
export const severalModel = `
drs: 1
name: several
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, indexed: true }
      photo: image
datastore:
  functions:
    processNumber: { exposed: true, onHTTPGet: true, returns: number }
    remember: { exposed: true, params: { name: string, text: string } }
    recall: { exposed: true, onHTTPGet: true, params: { name: string }, returns: 'string[]' }
    limit: { exposed: true, params: { requests: integer } }
    become: { exposed: true, params: { privileges: string } }
    hold: { exposed: true, params: { ID: integer, name: string, file: string } }
roles:
  restrictedByDefault: false
  privileges:
    - { privilege: edit, includes: [] }
  permissions:
    allowed:
      - { applyTo: ds, type: datastore, read: [guest], create: [guest], execute: [guest], drop: [guest] }
      - { applyTo: Item, type: dataclass, read: [guest], create: [guest], update: [edit], drop: [edit] }
`;

export const severalClasses = {
  'src/classes/DataStore.ts': `
import { existsSync } from 'node:fs';
import { DataStoreBase } from '../generated/api.js';

export class DataStore extends DataStoreBase {
  processNumber(): number {
    return process.pid;
  }
  remember(name: string, text: string): void {
    const known = this.session.storage.get(name) as string[] | undefined;
    // An existing list is changed in place, without a call of the storage.
    if (known === undefined) this.session.storage.set(name, [text]);
    else known.push(text);
  }
  recall(name: string): readonly string[] {
    return (this.session.storage.get(name) as string[] | undefined) ?? [];
  }
  limit(requests: number): void {
    this.session.quotas.nbRequestsPerMin = requests;
  }
  become(privileges: string): void {
    this.session.setPrivileges(privileges);
  }
  // The transaction ends when there is a file.
  async hold(ID: number, name: string, file: string): Promise<void> {
    await this.ds.transaction(async () => {
      const item = await this.ds.Item.get(ID);
      if (item === null) throw new Error('There is no such item.');
      item.name = name;
      await item.save();
      while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10));
    });
  }
}
`,
  'src/login.ts': `
import type { Login } from './runtime/access/login-module.js';

export function login(user: string, password: string): Login | null {
  return password === 'right' ? { userName: user, privileges: ['edit'] } : null;
}
`,
};

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: unknown;
}

/** A client with one connection, which always reaches the same process, and its cookie. */
export class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(
    readonly origin: string,
    public cookie?: string,
  ) {}

  get(path: string): Promise<Answer> {
    return this.#send('GET', path);
  }

  post(path: string, body?: unknown): Promise<Answer> {
    const isRaw = body === undefined || body instanceof Uint8Array;
    return this.#send('POST', path, isRaw ? body : JSON.stringify(body));
  }

  /** The process that answers this client. */
  async process(): Promise<number> {
    const { json } = await this.get('/$catalog/processNumber');
    return (json as { readonly result: number }).result;
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(method: string, path: string, body?: string | Uint8Array): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = this.cookie === undefined ? {} : { cookie: this.cookie };
      const options = { method, agent: this.#agent, headers };
      const sent = request(`${this.origin}/rest${path}`, options, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          this.#keepCookie(answer.headers['set-cookie']);
          const isJson = answer.headers['content-type']?.includes('json') === true;
          const json: unknown = isJson ? JSON.parse(text) : undefined;
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, json });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  #keepCookie(cookies: readonly string[] | undefined): void {
    const [cookie] = cookies?.map((each) => each.split(';')[0] ?? '') ?? [];
    if (cookie !== undefined) this.cookie = cookie.endsWith('=') ? undefined : cookie;
  }
}

/** A client for each process of a server. */
export async function clientsOf(origin: string, processes: number): Promise<readonly Client[]> {
  const found = new Map<number, Client>();
  while (found.size < processes) {
    const client = new Client(origin);
    const process = await client.process().catch(() => undefined);
    if (process === undefined || found.has(process)) {
      client.close();
      await setTimeout(10);
    } else found.set(process, client);
  }
  return [...found.values()];
}
