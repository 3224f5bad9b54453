import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type LoadLog, RequestGate, gatedServers } from '../../../runtime/http/request-gate.js';
import { getText, RawClient } from '../../support/raw-client.js';

/** The limit of waiting requests of one connection after the first. */
const behind = 100;

let server: Server;
let waiting: ServerResponse[];
let clients: RawClient[];

afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const log = (): LoadLog => ({ warn: () => undefined });

/** A server whose answers wait until they are released. */
async function listen(maxConnections: number): Promise<void> {
  waiting = [];
  clients = [];
  const load = {
    maxWait: 60_000,
    maxConnections,
    transferMemory: 1_000_000,
    requestTimeout: 60,
    keepAliveTimeout: 60,
  };
  const gate = new RequestGate(load, { log });
  const make = gatedServers(gate, load, { maxHeaderSize: 16_384 });
  const handler = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url === '/now' || request.url === '/health') response.end('now');
    else waiting.push(response);
  };
  server = make(handler, {});
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
}

async function open(): Promise<RawClient> {
  const client = await RawClient.open((server.address() as AddressInfo).port);
  clients.push(client);
  return client;
}

async function wait(count: number): Promise<void> {
  while (waiting.length < count) await setImmediate();
}

describe('Requests that a client sends without waiting for answers', () => {
  it('wait up to a limit, and their answers come in order', async () => {
    await listen(10_000);
    const client = await open();
    client.send(getText('/later').repeat(behind + 50));
    await wait(behind + 1);
    for (const [index, response] of [...waiting].reverse().entries()) response.end(`${index}`);
    for (let index = 0; index <= behind; index += 1) {
      expect(await client.next()).toMatchObject({ status: 200, body: `${behind - index}` });
    }
    for (let index = 0; index < 49; index += 1) {
      expect(await client.next()).toMatchObject({ status: 503 });
    }
    expect(waiting).toHaveLength(behind + 1);
    expect(await client.ask(getText('/now'))).toMatchObject({ status: 200 });
  });

  it('leave their places when the connection closes', async () => {
    await listen(150);
    for (let round = 1; round <= 5; round += 1) {
      const client = await open();
      client.send(getText('/later').repeat(behind + 1));
      await wait(round * (behind + 1));
      client.socket.destroy();
      const next = await open();
      while ((await next.ask(getText('/now')))?.status !== 200) await setImmediate();
    }
  });
});

it('Requests of all connections wait up to a limit; further ones, except for /health, are refused', async () => {
  await listen(150);
  for (let index = 0; index < 10; index += 1) {
    (await open()).send(getText('/later').repeat(15));
    await wait((index + 1) * 15);
  }
  const other = await open();
  expect(await other.ask(getText('/now'))).toMatchObject({ status: 503 });
  expect(await other.ask(getText('/health'))).toMatchObject({ status: 200 });
  for (const response of waiting) response.end();
  while ((await other.ask(getText('/now')))?.status !== 200) await setImmediate();
});
