import { type AddressInfo, connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RequestGate } from '../../../runtime/http/request-gate.js';
import { getText, postText, RawClient } from '../../support/raw-client.js';
import { isLong } from '../../support/long.js';

/** The limit of waiting requests of one connection after the first. */
const behind = 100;

/** More than the system buffers for a connection. */
const large = Buffer.alloc(32 * 1024 * 1024, 'x');
const transferMemory = 80 * 1024 * 1024;

let app: FastifyInstance;
let waiting: FastifyReply[];
let clients: (RawClient | { readonly socket: Socket })[];
/** The connections of the server that are closed. */
let closed: Socket[];
let logged: object[];

beforeEach(() => {
  waiting = [];
  clients = [];
  closed = [];
  logged = [];
});
afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  await app.close();
});

async function listen({ maxConnections = 10_000, requestTimeout = 60 } = {}): Promise<void> {
  const load = {
    maxWait: 60_000,
    maxConnections,
    transferMemory,
    requestTimeout,
    keepAliveTimeout: 60,
  };
  const gate = new RequestGate(load, { headersFor: () => ({}) });
  app = fastify({ serverFactory: gate.servers(16_384) });
  gate.guard(app, { warn: (what: object) => logged.push(what) });
  app.get('/now', () => 'now');
  app.get('/health', () => 'now');
  app.get('/small', () => Buffer.alloc(15_500));
  app.get('/written', (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200);
    reply.raw.write(large);
  });
  app.route({
    method: ['GET', 'POST'],
    url: '/later',
    handler: (_request, reply) => {
      waiting.push(reply);
    },
  });
  const ofThis = closed;
  app.server.on('connection', (socket: Socket) => {
    socket.once('close', () => ofThis.push(socket));
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

async function open(): Promise<RawClient> {
  const client = await RawClient.open(portOf());
  clients.push(client);
  return client;
}

function portOf(): number {
  return (app.server.address() as AddressInfo).port;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setImmediate();
}

/** Waits until so many requests for `/later` have come in all. */
async function wait(count: number): Promise<void> {
  await until(() => waiting.length >= count);
}

describe('Requests that a client sends without waiting for answers', () => {
  it('wait up to a limit, and their answers come in order', async () => {
    await listen();
    const client = await open();
    client.send(getText('/later').repeat(behind + 50));
    await wait(behind + 1);
    for (const [index, reply] of [...waiting].reverse().entries()) reply.send(`${index}`);
    for (let index = 0; index <= behind; index += 1) {
      expect(await client.next()).toMatchObject({ status: 200, body: `${behind - index}` });
    }
    for (let index = 0; index < 49; index += 1) {
      expect(await client.next()).toMatchObject({ status: 503 });
    }
    expect(waiting).toHaveLength(behind + 1);
    expect(await client.ask(getText('/now'))).toMatchObject({ status: 200 });
  });

  it.each([
    ['GET', getText('/later')],
    ['POST', postText('/later', '{}').replace('Host', 'Content-Type: application/json\r\nHost')],
  ])('leave their places when the connection closes (%s)', async (_method, text) => {
    await listen({ maxConnections: 150 });
    for (let round = 1; round <= 5; round += 1) {
      const client = await open();
      client.send(text.repeat(behind + 1));
      await wait(round * (behind + 1));
      client.socket.destroy();
      await until(() => closed.length === round);
    }
    expect(logged).toEqual([]);
  });

  it('leave nothing behind when the connection closes, even those that were refused', async () => {
    await listen();
    const server = new Promise<WeakRef<Socket>>((resolve) => {
      app.server.once('connection', (socket: Socket) => {
        resolve(new WeakRef(socket));
      });
    });
    const client = await open();
    client.send(getText('/later').repeat(behind + 10) + getText('/health'));
    await wait(behind + 1);
    expect((await (await open()).ask(getText('/now')))?.status).toBe(200);
    client.socket.destroy();
    await until(() => closed.length === 1);
    waiting = [];
    closed.length = 0;
    const socket = await server;
    // Node still holds a closed socket for a moment.
    await until(() => {
      collectGarbage();
      return socket.deref() === undefined;
    });
  });

  it('wait up to a limit of all connections; further ones, except for /health, are refused', async () => {
    await listen({ maxConnections: 150 });
    for (let index = 1; index <= 10; index += 1) {
      (await open()).send(getText('/later').repeat(16));
      await wait(index * 16);
    }
    const other = await open();
    expect(await other.ask(getText('/now'))).toMatchObject({ status: 200 });
    other.send(getText('/later') + getText('/now') + getText('/health'));
    await wait(161);
    for (const reply of waiting) reply.send('');
    const statuses = [await other.next(), await other.next(), await other.next()];
    expect(statuses.map((each) => each?.status)).toEqual([200, 503, 200]);
    expect(logged).toEqual([{ refused: 1, cut: 0 }]);
  });
});

/** @returns a client that reads nothing until it is resumed */
function ask(times = 1): Socket {
  const socket = connect(portOf(), '127.0.0.1');
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(getText('/later').repeat(times));
  clients.push({ socket });
  return socket;
}

/** Answers all requests for `/later` that have come. */
function answer(payload: unknown): void {
  for (const reply of waiting.splice(0)) reply.send(payload);
}

async function answered(client: Socket, payload: unknown = large): Promise<Socket> {
  await wait(1);
  answer(payload);
  return client;
}

/** Reads on until the answer has come. */
async function bytesRead(client: Socket, most = large.length): Promise<number> {
  let bytes = 0;
  client.on('data', (chunk) => {
    bytes += chunk.length;
  });
  client.resume();
  await until(() => bytes > most || client.closed);
  return bytes;
}

describe('Answers that nobody reads', () => {
  it.each([
    ['bytes', large],
    ['texts, by their bytes', '€'.repeat(large.length / 3 + 1)],
  ])(
    'are limited: %s. The connections that have not read for longest are cut',
    async (_what, payload) => {
      await listen();
      const asked: Socket[] = [];
      for (let count = 0; count < 10; count += 1) asked.push(await answered(ask(), payload));
      await until(() => closed.length === 8);
      const [oldest, ...others] = asked;
      expect(await Promise.all(others.slice(-2).map((each) => bytesRead(each)))).toEqual([
        expect.any(Number),
        expect.any(Number),
      ]);
      expect(await bytesRead(oldest as Socket)).toBeLessThan(large.length);
      expect(closed).toHaveLength(8);
      expect(logged).toEqual([{ refused: 0, cut: 1 }]);
    },
  );

  it('are limited for one connection that requests many at once', async () => {
    await listen();
    ask(1_000);
    await wait(behind + 1);
    answer(large);
    await until(() => closed.length === 1);
  });

  it('are forgotten when they are read, and with their connection', async () => {
    await listen();
    const last = await answered(ask());
    for (let count = 0; count < 4; count += 1) {
      expect(await bytesRead(await answered(ask()))).toBeGreaterThan(large.length);
      const gone = ask(3);
      await wait(3);
      answer(large.subarray(0, 10_000_000));
      gone.destroy();
      await until(() => closed.length === count + 1);
    }
    expect(await bytesRead(last)).toBeGreaterThan(large.length);
    expect(logged).toEqual([]);
  });

  it.each([
    ['a whole', () => large],
    [
      'a stream',
      () => {
        const stream = new PassThrough();
        stream.write(large);
        return stream;
      },
    ],
  ])('%s: its connection is cut after a time', async (_what, payload) => {
    await listen({ requestTimeout: 1 });
    await answered(ask(), payload());
    await until(() => closed.length === 1);
  });
});

it.each([
  ['that its handler writes itself', '/written', 1] as const,
  ...(isLong ? [['that are small, and more and more', '/small', 1_000] as const] : []),
])('A connection is cut that does not read answers %s', async (_what, target, times) => {
  await listen({ requestTimeout: 1 });
  const client = ask(0);
  for (let count = 0; count < times; count += 1) {
    client.write(getText(target));
    await setTimeout(4);
  }
  await expect.poll(() => closed.length, { timeout: 15_000 }).toBe(1);
});

it('A stream that pauses is not cut while its client has read everything', async () => {
  await listen({ requestTimeout: 1 });
  const stream = new PassThrough();
  const client = await answered(ask(), stream);
  let text = '';
  client.on('data', (chunk: Buffer) => (text += chunk.toString()));
  client.resume();
  stream.write('begin');
  await setTimeout(1_500);
  stream.end('finish');
  await until(() => text.endsWith('0\r\n\r\n'));
  expect(text).toMatch(/begin[^]*finish/);
  expect(closed).toEqual([]);
});
