import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { isLong } from '../support/long.js';
import { getText, RawClient } from '../support/raw-client.js';
import { durabilityModel } from './support/model.js';
import { scratchOfEach } from '../support/processes/scratch.js';

/**
 * The long run has the number in the guide, if the system allows this process so many; a few are
 * reserved for other purposes.
 */
const wanted = Math.min(isLong ? 10_000 : 2_000, openFiles() - 500);
/** The number of new connections that a system accepts at once. */
const atOnce = 200;
/** A connection may wait long for its first request, and a request for its turn. */
const environment = {
  KEEP_ALIVE_TIMEOUT: '3600',
  REQUEST_TIMEOUT: '3600',
  MAX_WAIT: '2147483647',
};

const scratch = scratchOfEach(durabilityModel);

function openFiles(): number {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? 1024);
}

async function openAll(port: number, count: number): Promise<RawClient[]> {
  const clients: RawClient[] = [];
  while (clients.length < count) {
    const more = Array.from({ length: Math.min(atOnce, count - clients.length) }, () =>
      RawClient.open(port),
    );
    clients.push(...(await Promise.all(more)));
  }
  return clients;
}

/** Sends requests over all connections, many at a time. */
async function statusesOf(clients: readonly RawClient[]): Promise<number[]> {
  const statuses: number[] = [];
  for (let start = 0; start < clients.length; start += atOnce) {
    const some = clients.slice(start, start + atOnce);
    const answers = await Promise.all(some.map((each) => each.ask(getText('/rest/Counter'))));
    statuses.push(...answers.map((answer) => answer?.status ?? 0));
  }
  return statuses;
}

/**
 * Opens connections until all of them are answered: a server at its limit closes new ones until it
 * notices the end of the old ones, and may have no file descriptor left for an answer.
 */
async function untilServed(port: number, count: number): Promise<void> {
  for (;;) {
    const clients = await openAll(port, count);
    const statuses = await statusesOf(clients);
    for (const { socket } of clients) socket.destroy();
    if (statuses.every((status) => status === 200)) return;
    expect([0, 200, 503]).toEqual(expect.arrayContaining(statuses));
    await delay(100);
  }
}

it('Thousands of open connections are all served repeatedly, and closed by a stop', async () => {
  const server = await scratch().start({ environment });
  const clients = await openAll(Number(new URL(server.origin).port), wanted);
  const all = new Array<number>(wanted).fill(200);
  expect(await statusesOf(clients)).toEqual(all);
  expect(await statusesOf(clients)).toEqual(all);
  expect(await statusesOf([...clients].reverse())).toEqual(all);
  server.child.kill('SIGTERM');
  await Promise.all(clients.map(({ closed }) => closed));
  expect(await server.ended).toMatchObject({ code: 0, stderr: '' });
});

it('Connections beyond the limit of the system wait, and are served when others close', async () => {
  const server = await scratch().start({
    wrapper: ['sh', '-c', 'ulimit -n 400 && exec "$@"', 'sh'],
    environment,
  });
  const port = Number(new URL(server.origin).port);
  const clients = await openAll(port, 700);
  const asked = clients.map(async (client) => ({
    client,
    status: (await client.ask(getText('/rest/Counter')))?.status,
  }));
  // A connection that is answered or closed makes room for others.
  const served = asked.map(async (each) => {
    const { client, status } = await each;
    client.socket.destroy();
    return status;
  });
  const statuses = await Promise.all(served);
  expect(statuses).toContain(200);
  expect([undefined, 200, 503]).toEqual(expect.arrayContaining(statuses));
  await untilServed(port, 20);
});
