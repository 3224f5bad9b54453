import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { filesOnDisk, idOf, mediaServer, upload } from '../support/served-media.js';

let app: FastifyInstance;
let port: number;

beforeAll(async () => {
  app = await mediaServer({
    UPLOAD_SIZE: '1000000',
    UPLOAD_SPACE: '5000000',
    UPLOAD_TIMEOUT: '3600',
    REQUEST_TIMEOUT: '3',
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  ({ port } = app.server.address() as AddressInfo);
  await idOf(app, 'one that stays');
});
afterAll(() => app.close());

function sizes(): readonly number[] {
  return filesOnDisk().flatMap((each) => each.sizes);
}

/** A connection that has sent the head of an upload. */
async function started(...headers: readonly string[]): Promise<{
  readonly socket: Socket;
  readonly answer: () => string;
}> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (data) => (text += data.toString()));
  // If the server closes the connection while data is sent, the socket reports an error.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`POST /rest/$upload HTTP/1.1\r\nHost: x\r\n${headers.join('\r\n')}\r\n\r\n`);
  return { socket, answer: () => text };
}

it('An upload can be the form of a browser', async () => {
  const body = new FormData();
  body.append('comment', 'x');
  body.append('photo', new Blob([Buffer.alloc(300_000, 7)]), 'ü"\r\n.png');
  body.append('other', new Blob(['second']), 'second.txt');
  const response = await fetch(`http://127.0.0.1:${port}/rest/$upload?$timeout=3`, {
    method: 'POST',
    body,
  });
  expect(response.status).toBe(200);
  expect(sizes()).toEqual([14, 300_000]);
  await expect.poll(sizes).toEqual([14]);
});

it('An upload that is interrupted leaves no file', async () => {
  const form = 'Content-Type: multipart/form-data; boundary=b';
  const part = '--b\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n';
  for (const [headers, beginning] of [
    [['Content-Length: 500000'], ''],
    [['Content-Length: 900000', form], part],
  ] as const) {
    const { socket } = await started(...headers);
    socket.write(beginning + 'x'.repeat(100_000));
    await expect.poll(sizes).toHaveLength(2);
    socket.destroy();
    await expect.poll(sizes).toEqual([14]);
  }
});

it('An upload whose headers announce too many bytes is refused before a byte is stored', async () => {
  const { socket, answer } = await started('Content-Length: 1000001');
  await expect.poll(answer).toMatch(/^HTTP\/1\.1 413 /);
  expect(answer()).toContain('"errCode":1834');
  expect(sizes()).toEqual([14]);
  socket.destroy();
});

it.each([['Content-Length: 1000000000'], ['Transfer-Encoding: chunked']])(
  'An upload that never ends is answered and its connection is closed: %s',
  async (header) => {
    const { socket, answer } = await started(header);
    const piece = Buffer.alloc(0x100000, 0x78);
    const chunk = header.startsWith('T')
      ? Buffer.concat([Buffer.from('100000\r\n'), piece, Buffer.from('\r\n')])
      : piece;
    while (!socket.closed) await new Promise((resolve) => socket.write(chunk, resolve));
    expect(answer()).toMatch(/^HTTP\/1\.1 413 /);
    expect(sizes()).toEqual([14]);
  },
);

it('An upload that is too large leaves its connection usable after its end', async () => {
  const both = /^HTTP\/1\.1 413 [^]*HTTP\/1\.1 200 /;
  let text = '';
  // If the machine stalls, the end may arrive too late for the server.
  for (let attempt = 0; attempt < 5 && !both.test(text); attempt += 1) {
    const { socket, answer } = await started('Content-Length: 1000001');
    socket.write(Buffer.alloc(1_000_001));
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await once(socket, 'close');
    text = answer();
  }
  expect(text).toMatch(both);
});

it('An upload may take longer than REQUEST_TIMEOUT while its bytes arrive, and ends without them', async () => {
  const own = await mediaServer({ REQUEST_TIMEOUT: '1' });
  await own.listen({ port: 0, host: '127.0.0.1' });
  const before = port;
  port = (own.server.address() as AddressInfo).port;
  try {
    const slow = await started('Content-Length: 60');
    const silent = await started('Content-Length: 60');
    for (let sent = 0; sent < 60 && slow.answer() === ''; sent += 1) {
      slow.socket.write('x');
      await setTimeout(50);
    }
    await expect.poll(slow.answer).toMatch(/^HTTP\/1\.1 200 /);
    await expect.poll(silent.answer).toMatch(/^HTTP\/1\.1 408 /);
    slow.socket.destroy();
  } finally {
    port = before;
    await own.close();
  }
});

it('Uploads at the same time cannot exceed the space of all together', async () => {
  const bytes = Buffer.alloc(900_000);
  const responses = await Promise.all(Array.from({ length: 20 }, () => upload(app, bytes)));
  const counts = responses.map((each) => each.statusCode);
  expect(new Set([200, 429, ...counts])).toEqual(new Set([200, 429]));
  expect(counts).toContain(429);
  const stored = sizes().reduce((sum, size) => sum + size, 0);
  expect(stored).toBeLessThanOrEqual(5_000_000);
  expect(sizes()).toHaveLength(1 + counts.filter((status) => status === 200).length);
  const refused = responses.find((each) => each.statusCode === 429);
  expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0);
});
