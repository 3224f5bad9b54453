import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HeldAnswers, watchedResponse } from '../../../runtime/http/held-answers.js';
import { AnswerMemory } from '../../../runtime/http/answer-memory.js';

/** More than the system buffers for a connection. */
const large = Buffer.alloc(32 * 1024 * 1024, 'x');
const most = 80 * 1024 * 1024;

let held: HeldAnswers;
let cut: number;
let server: Server;
let clients: Socket[];
let patience: number;

beforeEach(() => {
  patience = 60_000;
  clients = [];
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  await new Promise((resolve) => server.close(resolve));
});

async function listen(answer: (response: ServerResponse) => void): Promise<void> {
  cut = 0;
  held = new HeldAnswers(most, patience, () => {
    cut += 1;
  });
  server = createServer(
    { ServerResponse: watchedResponse(held, new AnswerMemory()) },
    (_request, response) => {
      answer(response);
    },
  );
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
}

/** @returns a client that reads nothing until it is resumed */
function ask(times = 1): Socket {
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  client.pause();
  client.on('error', () => undefined);
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(times));
  clients.push(client);
  return client;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setImmediate();
}

function closed(client: Socket): Promise<unknown> {
  // A client that does not read notices nothing.
  client.resume();
  return new Promise((resolve) => client.once('close', resolve));
}

describe('Answers that nobody reads', () => {
  it('are counted until they are read', async () => {
    let answered = 0;
    await listen((response) => {
      response.end(large);
      answered += 1;
    });
    const [first, second] = [ask(), ask()];
    await until(() => answered === 2);
    expect(held.bytes).toBeGreaterThan(large.length);
    first.resume();
    second.resume();
    await until(() => held.bytes === 0);
    expect(cut).toBe(0);
  });

  it('are counted by their bytes, not by the characters of their texts', async () => {
    const text = '€'.repeat(8 * 1024 * 1024);
    let answered = false;
    await listen((response) => {
      response.end(text);
      answered = true;
    });
    ask();
    await until(() => answered);
    expect(held.bytes).toBeGreaterThan(2 * text.length);
  });

  it('are limited: the connection that has not read for the longest time is cut', async () => {
    let answered = 0;
    await listen((response) => {
      response.end(large);
      answered += 1;
      expect(held.bytes).toBeLessThanOrEqual(most);
    });
    for (let asked = 1; asked <= 10; asked += 1) {
      ask();
      await until(() => answered === asked);
    }
    const [oldest = ask()] = clients;
    await closed(oldest);
    expect(cut).toBe(8);
    const last = clients.slice(-2).map(async (client) => {
      let bytes = 0;
      client.on('data', (chunk) => {
        bytes += chunk.length;
      });
      client.resume();
      await until(() => bytes > large.length);
    });
    await Promise.all(last);
    await until(() => held.bytes === 0);
  });

  it('are limited for one connection that requests many at once', async () => {
    let answered = 0;
    await listen((response) => {
      response.end(large);
      answered += 1;
      expect(held.bytes).toBeLessThanOrEqual(most);
    });
    await closed(ask(1000));
    expect(cut).toBe(1);
    expect(answered).toBeLessThanOrEqual(1000);
    await until(() => held.bytes === 0);
  });

  it('are forgotten with their connection', async () => {
    let answered = 0;
    await listen((response) => {
      response.end(large.subarray(0, 10_000_000));
      answered += 1;
    });
    const client = ask(3);
    await until(() => answered === 3);
    expect(held.bytes).toBeGreaterThan(0);
    client.destroy();
    await until(() => held.bytes === 0);
  });

  it.each(['a whole', 'a stream that stalls'])('%s: its connection is cut', async (what) => {
    patience = 50;
    await listen((response) => {
      if (what === 'a whole') response.end(large);
      else response.write(large);
    });
    const client = ask();
    await new Promise((resolve) =>
      server.once('connection', (socket) => socket.once('close', resolve)),
    );
    await closed(client);
    expect(held.bytes).toBe(0);
  });
});

it('An answer that the system accepts at once is not counted', async () => {
  const seen: number[] = [];
  await listen((response) => {
    response.end('short');
    seen.push(held.bytes);
  });
  const client = ask(5);
  client.resume();
  await until(() => seen.length === 5);
  expect(seen[0]).toBe(0);
  await until(() => held.bytes === 0);
});
