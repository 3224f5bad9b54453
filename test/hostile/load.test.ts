import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import type { AppOptions } from '../../runtime/http/create-server.js';
import { isLong } from '../support/long.js';
import { modelFile } from '../support/model-file.js';
import { getText, postText, type RawAnswer, RawClient } from '../support/raw-client.js';
import { create, serverOf } from '../support/server.js';

let app: FastifyInstance;
let port: number;
let clients: RawClient[] = [];

afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  clients = [];
  await app.close();
});

/** Milliseconds in which a request to `/spin` keeps the server from doing anything else, unless it says how many. */
const spin = 100;

async function listen(
  environment: Record<string, string>,
  logger: AppOptions['logger'] = false,
): Promise<void> {
  const extend = (server: FastifyInstance): void => {
    server.get('/spin', ({ query }) => {
      const { milliseconds = spin } = query as { readonly milliseconds?: string };
      const end = performance.now() + Number(milliseconds);
      while (performance.now() < end);
      return 'done';
    });
    server.get('/large', (_request, reply) => reply.send(Buffer.alloc(40_001)));
    server.get('/pieces', (_request, reply) => reply.send(Readable.from(['x'.repeat(40_001)])));
  };
  app = await serverOf(modelFile('staff'), { environment, logger, extend });
  await create(app, 'Company', [{ name: 'first' }]);
  await app.listen({ port: 0, host: '127.0.0.1' });
  ({ port } = app.server.address() as AddressInfo);
}

async function open(): Promise<RawClient> {
  const client = await RawClient.open(port);
  clients.push(client);
  return client;
}

function expectBusy(answer: RawAnswer | undefined): void {
  expect(answer?.status, answer?.body).toBe(503);
  expect(answer?.headers).toMatch(/^retry-after: 1$/im);
  expect(answer?.headers).toMatch(/^content-type: application\/json; charset=utf-8$/im);
  expect(JSON.parse(answer?.body ?? '')).toMatchObject({ __ERROR: [{ errCode: 1836 }] });
}

/** Retries like a client until the answer has that status. */
async function until(status: number, ask: () => Promise<RawAnswer | undefined>): Promise<void> {
  for (;;) {
    const answer = await ask();
    if (answer?.status === status) return;
    expect(answer).toBeDefined();
    await setImmediate();
  }
}

describe('requests while the server is late', () => {
  const target = '/rest/Company?$top=1';
  // A busy machine is late by itself, though not by as much.
  const MAX_WAIT = String(spin / 2);

  /** Keeps the server busy until it refuses a request. */
  async function refused(text: string): Promise<{ client: RawClient; answer: RawAnswer }> {
    const client = await open();
    const busy = await open();
    for (;;) {
      await busy.ask(getText('/spin'));
      const answer = await client.ask(text);
      if (answer?.status === 503) return { client, answer };
    }
  }

  it('are refused at once, until it is in time again', async () => {
    await listen({ MAX_WAIT });
    const { client, answer } = await refused(getText(target));
    expectBusy(answer);
    expectBusy(await client.ask(getText('/spin')));
    expect((await client.ask(getText('/health')))?.status).toBe(200);
    await until(200, () => client.ask(getText(target)));
    await until(200, async () => (await open()).ask(getText(target)));
  });

  it('are answered where it may be later than that', async () => {
    await listen({ MAX_WAIT: '60000' });
    const client = await open();
    for (let count = 0; count < (isLong ? 4 : 2); count += 1) {
      const answer = await client.ask(getText('/spin?milliseconds=1100'));
      expect(answer?.status).toBe(200);
    }
  });

  it('are refused with a body as well, and the next request of the connection is read', async () => {
    await listen({ MAX_WAIT });
    const body = JSON.stringify([{ name: 'x'.repeat(100_000) }]);
    const { client, answer } = await refused(postText('/rest/Company?$method=update', body));
    expectBusy(answer);
    await until(200, () => client.ask(getText(target)));
  });

  it('may be read by pages of other origins that may read answers', async () => {
    await listen({ MAX_WAIT, ORIGINS: 'https://pages.example' });
    const text = getText(target).replace('Host', 'Origin: https://pages.example\r\nHost');
    const { answer } = await refused(text);
    expect(answer.headers).toMatch(/^access-control-allow-origin: https:\/\/pages\.example$/im);
  });

  it('are logged together', async () => {
    const lines: string[] = [];
    const stream = { write: (line: string) => lines.push(line) };
    await listen({ MAX_WAIT }, { level: 'warn', stream });
    const { client } = await refused(getText(target));
    for (let count = 0; count < 9; count += 1) await client.ask(getText(target));
    const told = lines.filter((line) => line.includes('more to do'));
    expect(told).toHaveLength(1);
    expect(JSON.parse(told[0] ?? '')).toMatchObject({ refused: 1, cut: 0 });
  });
});

describe('Bodies', () => {
  const sizes = { BODY_SIZE: '40000', UPLOAD_SIZE: '40000', TRANSFER_MEMORY: '40000' };
  const update = '/rest/Company?$method=update';
  const body = JSON.stringify({ __KEY: '1', __STAMP: 99, city: '' }).padEnd(30_000);

  /** Sends a body without its end. */
  async function begin(): Promise<RawClient> {
    return (await open()).send(postText(update, body).slice(0, -1));
  }

  it('that arrive at the same time are refused while there is no room', async () => {
    await listen(sizes);
    const first = await begin();
    const second = await open();
    await until(503, () => second.ask(postText(update, body)));
    expectBusy(await second.ask(postText(update, body)));
    // Small bodies, and requests without a body, are still accepted.
    const small = JSON.stringify({ __KEY: '1', __STAMP: 99, city: '' });
    expect((await second.ask(postText(update, small)))?.status).toBe(409);
    expect((await second.ask(getText('/rest/Company')))?.status).toBe(200);
    expect((await first.ask(' '))?.status).toBe(409);
    await until(409, () => second.ask(postText(update, body)));
  });

  it.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'of %s, which has no route, count towards the same room',
    async (method) => {
      await listen(sizes);
      const text = postText('/rest/Company', body).replace('POST', method);
      const first = (await open()).send(text.slice(0, -1));
      const second = await open();
      await until(503, () => second.ask(postText(update, body)));
      expectBusy(await second.ask(text));
      expect((await first.ask(' '))?.status).toBeGreaterThanOrEqual(404);
      await until(409, () => second.ask(postText(update, body)));
    },
  );

  it('without a length are refused when they reach the limit', async () => {
    await listen(sizes);
    const first = await begin();
    const second = await open();
    await until(503, () => second.ask(postText(update, body)));
    const head = `POST ${update} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const chunk = `2710\r\n${' '.repeat(10_000)}\r\n`;
    const third = await open();
    expectBusy(await third.ask(head + chunk.repeat(2)));
    // The rest of the body is dropped.
    expect((await third.ask(`${chunk}0\r\n\r\n${getText('/health')}`))?.status).toBe(200);
    third.socket.destroy();
    expect((await first.ask(' '))?.status).toBe(409);
    const fourth = await open();
    const end = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    await until(409, () => fourth.ask(head + end));
  });

  it('that do not arrive take no room', async () => {
    await listen(sizes);
    for (const about of ['Transfer-Encoding: chunked', 'Content-Length: 40000']) {
      const idle = await open();
      idle.send(`POST ${update} HTTP/1.1\r\nHost: x\r\n${about}\r\n\r\n`);
      expect((await (await open()).ask(getText('/health')))?.status).toBe(200);
    }
    expect((await (await open()).ask(postText(update, body)))?.status).toBe(409);
  });

  it('that never end give up their room when their connection closes', async () => {
    await listen(sizes);
    for (let round = 0; round < 3; round += 1) {
      const first = await begin();
      const second = await open();
      await until(503, () => second.ask(postText(update, body)));
      first.socket.destroy();
      await until(409, () => second.ask(postText(update, body)));
    }
  });

  it('are accepted up to exactly the limit of size', async () => {
    await listen(sizes);
    const client = await open();
    expect((await client.ask(postText(update, body.padEnd(40_000))))?.status).toBe(409);
    const over = await client.ask(postText(update, body.padEnd(40_001)));
    expect(over?.status).toBe(413);
    expect(JSON.parse(over?.body ?? '')).toMatchObject({ __ERROR: [{ errCode: 1834 }] });
  });

  // More than the system keeps of a connection, so that the server has to read on.
  it.each(['keep-alive', 'close'])(
    'that are too large are answered although the client sends all of them first: Connection: %s',
    async (connection) => {
      await listen(sizes);
      const length = 32 * 1024 * 1024;
      const about = `Host: x\r\nConnection: ${connection}\r\nContent-Length: ${length}`;
      for (const [path, encoding, status] of [
        [update, 'identity', 413],
        ['/rest/$upload', 'identity', 413],
        [update, 'gzip', 415],
      ] as const) {
        const client = await open();
        client.socket.pause();
        client.send(`POST ${path} HTTP/1.1\r\nContent-Encoding: ${encoding}\r\n${about}\r\n\r\n`);
        await new Promise((resolve) => client.socket.write(Buffer.alloc(length), resolve));
        client.socket.resume();
        expect((await client.next())?.status).toBe(status);
        if (connection === 'close') await client.closed;
        else expect((await client.ask(getText('/health')))?.status).toBe(200);
      }
    },
  );

  it('that are compressed are refused before they are read', async () => {
    await listen(sizes);
    const client = await open();
    for (const [encoding, status] of [
      ['gzip', 415],
      ['identity, br', 415],
      ['Identity', 409],
    ] as const) {
      const text = postText(update, body).replace('\r\n', `\r\nContent-Encoding: ${encoding}\r\n`);
      const answer = await client.ask(text);
      expect([encoding, answer?.status]).toEqual([encoding, status]);
      expect(answer?.body).toContain(
        status === 415 ? `without Content-Encoding: ${encoding}.` : '"__STATUS"',
      );
    }
  });
});

it('An answer larger than TRANSFER_MEMORY is refused before its head, and a stream is sent in pieces', async () => {
  await listen({ BODY_SIZE: '40000', UPLOAD_SIZE: '40000', TRANSFER_MEMORY: '40000' });
  const extra = { text: 'é'.repeat(7_000) };
  const companies = ['a', 'b', 'c'].map((name) => ({ name, extra }));
  for (const company of companies) await create(app, 'Company', [company]);
  const client = await open();
  const page = '/rest/Company?$attributes=extra&$orderby=ID%20desc&$top=';
  expect((await client.ask(getText(`${page}2`)))?.status).toBe(200);
  const answer = await client.ask(getText(`${page}3`));
  expect(answer?.status).toBe(413);
  expect(answer?.body).toMatch(/"The answer has 4\d{4} bytes; .* at most 40000 .*TRANSFER_MEMORY/);
  expect(JSON.parse(answer?.body ?? '')).toMatchObject({ __ERROR: [{ errCode: 1834 }] });
  expect((await client.ask(getText('/large')))?.status).toBe(413);
  const pieces = await app.inject('/pieces');
  expect([pieces.statusCode, pieces.body.length]).toEqual([200, 40_001]);
});

describe('Clients that do not end', () => {
  it('get an error and a closed connection, wherever they stop', async () => {
    await listen({ REQUEST_TIMEOUT: '1' });
    const ended = [
      ['nothing', ''],
      ['half an address', 'GET /rest/Comp'],
      ['half its headers', 'GET /rest/Company HTTP/1.1\r\nHost: x\r\nX-A: b'],
      ['half its body', postText('/rest/Company?$method=update', '{"name":"x"}').slice(0, -1)],
    ].map(async ([what, text = '']) => {
      const slow = (await open()).send(text);
      const answer = await slow.next();
      expect(answer?.status, what).toBe(408);
      expect(JSON.parse(answer?.body ?? ''), what).toHaveProperty('__ERROR');
      await slow.closed;
    });
    await Promise.all(ended);
    // On a slow machine, a correct client may be too slow as well.
    await until(200, async () => (await open()).ask(getText('/rest/Company')));
  });

  it('have no more time when they send byte by byte', async () => {
    await listen({ REQUEST_TIMEOUT: '1' });
    const slow = (await open()).send('GET /rest/Company HTTP/1.1\r\nHost: x\r\n');
    const dripping = setInterval(() => {
      slow.send('X-A: b\r\n');
    }, 20);
    expect((await slow.next())?.status).toBe(408);
    clearInterval(dripping);
  });

  it('have their idle connections closed', async () => {
    await listen({ KEEP_ALIVE_TIMEOUT: '1' });
    const idle = await open();
    expect((await idle.ask(getText('/rest/Company')))?.status).toBe(200);
    await idle.closed;
  });
});

it('Connections beyond MAX_CONNECTIONS are closed until another one closes', async () => {
  await listen({ MAX_CONNECTIONS: '3' });
  const first = [await open(), await open(), await open()];
  for (const client of first) {
    expect((await client.ask(getText('/rest/Company')))?.status).toBe(200);
  }
  expect(await (await open()).ask(getText('/rest/Company'))).toBeUndefined();
  const [gone] = first;
  gone?.socket.destroy();
  let answer: RawAnswer | undefined;
  while (answer === undefined) answer = await (await open()).ask(getText('/rest/Company'));
  expect(answer.status).toBe(200);
});

it.each([
  [
    'MAX_WAIT',
    '0',
    'MAX_WAIT is "0"; it must be a whole number of milliseconds from 1 to 2147483647.',
  ],
  [
    'MAX_CONNECTIONS',
    'all',
    'MAX_CONNECTIONS is "all"; it must be a whole number from 1 to 2147483647.',
  ],
  [
    'REQUEST_TIMEOUT',
    '2147484',
    'REQUEST_TIMEOUT is "2147484"; it must be a whole number of seconds from 1 to 2147483.',
  ],
  [
    'KEEP_ALIVE_TIMEOUT',
    '-1',
    'KEEP_ALIVE_TIMEOUT is "-1"; it must be a whole number of seconds from 1 to 2147483.',
  ],
  [
    'TRANSFER_MEMORY',
    '1e9',
    'TRANSFER_MEMORY is "1e9"; it must be a whole number of bytes, at least 1.',
  ],
  [
    'TRANSFER_MEMORY',
    '1000',
    'TRANSFER_MEMORY is 1000; it must not be less than the largest body, ',
  ],
])('%s=%s stops the start', async (variable, value, message) => {
  await listen({});
  const started = serverOf(modelFile('staff'), { environment: { [variable]: value } });
  await expect(started).rejects.toThrow(message);
});
