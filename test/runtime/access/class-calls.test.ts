import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Session } from '../../../runtime/access/session.js';
import {
  type Act,
  actClass,
  actFunctions,
  type ActingDatastore,
  actNamed,
} from '../../support/acts.js';
import { Client } from '../../support/cookies.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';

const model = `
drs: 1
name: calls
dataclasses:
  Secret:
    attributes: { ID: { type: integer, key: true }, text: string }
${actFunctions}
singletons:
  Keeper: { scope: shared, functions: { seen: { exposed: true, returns: any } } }
  Desk: { scope: session, functions: { seen: { exposed: true, returns: any } } }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: a }, { privilege: b }, { privilege: c, includes: [b] }]
  permissions:
    allowed:
      - { applyTo: Secret, type: dataclass, read: [a], create: [c], update: [c] }
`;

const singleton = (name: string): string => `
import { ${name}Base } from '../generated/api.js';
export class ${name} extends ${name}Base {
  readonly #first = this.ds.Secret.get(1).then((each) => each?.text);
  readonly #name = this.session.userName;
  async seen(): Promise<unknown> {
    const denied = await this.ds.Secret.get(1).then(() => false, () => true);
    return [await this.#first, this.#name, denied];
  }
}`;

interface Dataclasses extends ActingDatastore {
  readonly Secret: {
    all(): { count(): Promise<number> };
    get(key: number): Promise<{ text: string; save(): Promise<void> } | null>;
    readonly new: (values: object) => { save(): Promise<void> };
  };
}

let app: FastifyInstance;
let reader: Client;
let other: Client;

beforeAll(async () => {
  app = await rolesServerOf(
    model,
    {},
    {
      ...actClass,
      'src/classes/Keeper.ts': singleton('Keeper'),
      'src/classes/Desk.ts': singleton('Desk'),
    },
  );
  reader = await loggedIn(app, { privileges: ['a'] });
  other = await loggedIn(app, { privileges: ['b'] });
  const { datastore } = app as unknown as { datastore: Dataclasses };
  await datastore.Secret.new({ ID: 1, text: 'secret' }).save();
});
afterAll(() => app.close());

function post(client: Client, name: 'act' | 'send', work: (ds: Dataclasses) => unknown) {
  return client.post(`/rest/$catalog/${name}`, [actNamed(work as unknown as Act)]);
}

async function done(client: Client, work: (ds: Dataclasses) => unknown): Promise<unknown> {
  const answer = await post(client, 'act', work);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<{ result: unknown }>().result;
}

/** Whether the calling code may read. */
async function mayRead(ds: Dataclasses): Promise<boolean> {
  try {
    await ds.Secret.all().count();
    return true;
  } catch (error) {
    expect([401, 403]).toContain((error as { status: number }).status);
    return false;
  }
}

describe('A promotion', () => {
  it('adds privileges, and ends with its work, whether that fails or not', async () => {
    const work = async (ds: Dataclasses): Promise<unknown> => {
      const { session } = ds;
      const held = (): string =>
        ['a', 'b', 'c'].filter((each) => ds.session.hasPrivilege(each)).join('');
      const seen = [held()];
      await session.promote('A', async () => {
        seen.push(held(), String(await mayRead(ds)));
        await session.promote(['c'], () => seen.push(held()));
        await session
          .promote('c', () => {
            throw new Error(held());
          })
          .catch((error: unknown) => seen.push((error as Error).message));
        seen.push(held(), String(session.hasPrivilege('a')));
      });
      return [...seen, held(), String(await mayRead(ds))];
    };
    expect(await done(other, work)).toEqual([
      'b',
      'ab',
      'true',
      'abc',
      'abc',
      'ab',
      'false',
      'b',
      'false',
    ]);
  });

  it('is refused for an undeclared privilege, and changes nothing for one that the session has', async () => {
    const message = (ds: Dataclasses, name: string): Promise<unknown> =>
      ds.session.promote(name, () => 'done').catch((error: unknown) => (error as Error).message);
    expect(await done(other, (ds) => message(ds, 'A, d'))).toContain('"d"');
    expect(await done(other, (ds) => message(ds, 'none'))).toContain('"none"');
    expect(await done(other, (ds) => message(ds, 'guest, b'))).toBe('done');
  });

  it('applies only to its own async work, not to other work of the same call or of other calls', async () => {
    const turns = async (ds: Dataclasses, expected: boolean): Promise<boolean[]> => {
      const seen: boolean[] = [];
      for (let turn = 0; turn < 8; turn += 1) {
        await wait(turn % 3);
        seen.push((await mayRead(ds)) === expected);
      }
      return seen;
    };
    const work =
      (own: boolean) =>
      async (ds: Dataclasses): Promise<unknown> => {
        const results = await Promise.all([
          turns(ds, own),
          ds.session.promote('a', () => turns(ds, true)),
          turns(ds, own),
          ds.session.promote('b', () => turns(ds, own)),
          ds.session.promote('c', () => ds.transaction(() => turns(ds, own))),
        ]);
        return results.flat().every(Boolean);
      };
    const guest = new Client(app);
    const all = Array.from({ length: 12 }, (_, index) =>
      index % 3 === 0
        ? done(reader, work(true))
        : done(index % 3 === 1 ? other : guest, work(false)),
    );
    expect(await Promise.all(all)).toEqual(all.map(() => true));
  });

  it('is over for selections and entities that are read later', async () => {
    const work = async (ds: Dataclasses): Promise<unknown> => {
      const { all, entity } = await ds.session.promote('a', async () => ({
        all: ds.Secret.all(),
        entity: await ds.Secret.get(1),
      }));
      const status = (error: unknown): unknown => (error as { status: number }).status;
      return [
        await all.count().catch(status),
        await Promise.resolve()
          .then(() => entity?.text)
          .catch(status),
      ];
    };
    expect(await done(other, work)).toEqual([403, 403]);
  });
});

describe('Work that continues after a function has returned', () => {
  it('has the privileges of its caller, even after the caller has logged out', async () => {
    const leaving = await loggedIn(app, { privileges: ['a'] });
    let goOn = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let seen: Promise<boolean[]> = Promise.resolve([]);
    const later = (ds: Dataclasses): string => {
      seen = (async () => {
        const early = await mayRead(ds);
        await gate;
        await wait(1);
        return [
          early,
          await mayRead(ds),
          await ds.session.promote('b', () => mayRead(ds)),
          await ds.session.promote('a', () => mayRead(ds)),
        ];
      })();
      return 'begun';
    };
    expect(await done(leaving, later)).toBe('begun');
    const ofLeaving = seen;
    expect(await done(other, later)).toBe('begun');
    await leaving.post('/rest/$directory/logout');
    goOn();
    expect(await ofLeaving).toEqual([true, true, true, true]);
    expect(await seen).toEqual([false, false, false, true]);
  });

  it('reads a stream as its caller, however late the next part is requested', async () => {
    const { address, port } = await listening();
    const kinds: Readonly<Record<string, (ds: Dataclasses) => object>> = {
      generator: (ds) => Readable.from(chunks(ds)),
      readable: (ds) => new PolledStream(ds),
      web: (ds) => {
        const from = chunks(ds);
        return new ReadableStream({
          pull: async (controller) => {
            const { done: isDone, value } = await from.next();
            if (isDone === true) controller.close();
            else controller.enqueue(Buffer.from(value));
          },
        });
      },
      piped: (ds) =>
        Readable.from(chunks(ds)).compose(async function* (source: AsyncIterable<string>) {
          for await (const each of source) yield `${each}${String(await mayRead(ds)).padEnd(5)}`;
        }),
    };
    for (const [kind, make] of Object.entries(kinds)) {
      for (const [client, expected] of [
        [reader, 'true'],
        [other, 'false'],
      ] as const) {
        const name = actNamed(make as unknown as Act);
        const response = await fetch(`http://${address}:${port}/rest/$catalog/send`, {
          method: 'POST',
          body: JSON.stringify([name]),
          headers: { cookie: client.cookie ?? '' },
        });
        const seen = new Set<string>();
        // So slowly that the server has to wait for its client.
        for await (const part of response.body ?? []) {
          for (const found of Buffer.from(part as Uint8Array)
            .toString()
            .match(/true|false/g) ?? [])
            seen.add(found);
          await wait(1);
        }
        expect([...seen], kind).toEqual([expected]);
      }
    }
  });
});

it('A stream that waits for another answer of its connection is read as its own caller', async () => {
  const slow = actNamed(() => wait(150).then(() => 'done'));
  const stream = actNamed(((ds: Dataclasses) => Readable.from(chunks(ds))) as unknown as Act);
  const request = (client: Client, name: string, act: string): string => {
    const body = JSON.stringify([act]);
    const { cookie = '' } = client;
    return `POST /rest/$catalog/${name} HTTP/1.1\r\nhost: x\r\ncookie: ${cookie}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  };
  const { address, port } = await listening();
  const socket = connect(port, address);
  let received = '';
  socket.on('data', (data) => {
    received += data.toString();
  });
  try {
    // Pipelined: the stream is sent when the first answer has ended.
    socket.write(request(reader, 'act', slow) + request(other, 'send', stream));
    await expect.poll(() => received).toMatch(/\r\n0\r\n\r\n$/);
  } finally {
    socket.destroy();
  }
  expect(received).toContain('"done"');
  expect(new Set(received.match(/true|false/g))).toEqual(new Set(['false']));
});

describe('The server itself', () => {
  it('creates singletons, which are called with the privileges of their callers', async () => {
    const keeper = await other.post('/rest/$singleton/Keeper/seen', []);
    expect(keeper.json()).toEqual({ result: ['secret', 'system', true] });
    expect((await reader.post('/rest/$singleton/Keeper/seen', [])).json()).toEqual({
      result: ['secret', 'system', false],
    });
    const desk = await other.post('/rest/$singleton/Desk/seen', []);
    expect(desk.json()).toEqual({ result: ['secret', 'mia', true] });
  });

  it('runs the code that it starts itself', async () => {
    const { datastore } = app as unknown as { datastore: Dataclasses };
    expect(await mayRead(datastore)).toBe(true);
    expect(await datastore.session.promote('a', () => mayRead(datastore))).toBe(true);
    const { session }: { session: Session } = datastore;
    expect(session.userName).toBe('system');
  });
});

const blank = ' '.repeat(40_000);

async function* chunks(ds: Dataclasses): AsyncGenerator<string, undefined> {
  for (let turn = 0; turn < 25; turn += 1) {
    yield `${String(await mayRead(ds))}${blank}`;
    if (turn % 5 === 0) await wait(1);
  }
  return undefined;
}

/** Reads data with each read of the stream, on a connection without a call. */
class PolledStream extends Readable {
  #turn = 0;

  constructor(private readonly ds: Dataclasses) {
    super();
  }

  override _read(): void {
    this.#turn += 1;
    if (this.#turn > 25) this.push(null);
    else void mayRead(this.ds).then((may) => this.push(`${String(may)}${blank}`));
  }
}

async function listening(): Promise<AddressInfo> {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' });
  return app.server.address() as AddressInfo;
}
