import { type ClientRequest, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { Client } from './support/client.js';
import { durabilityModel } from './support/model.js';
import { bundledProgram } from './support/program.js';
import { Scratch } from './support/scratch.js';

/** As many as a server lets wait, and the one whose turn it is. */
const taken = 1_001;
const surplus = 99;
const impatient = 300;

let program: string;
let scratch: Scratch;

beforeAll(() => {
  program = bundledProgram(durabilityModel);
}, 120_000);
beforeEach(() => {
  scratch = new Scratch(program);
});
afterEach(async () => {
  await scratch.remove();
});

interface Sent {
  readonly request: ClientRequest;
  readonly value: number;
  /** `undefined` when the connection was closed. */
  readonly status: Promise<number | undefined>;
}

function send(origin: string, value: number): Sent {
  const sent = request(`${origin}/rest/Counter?$method=update`, { method: 'POST', agent: false });
  const status = new Promise<number | undefined>((resolve) => {
    sent.on('error', () => {
      resolve(undefined);
    });
    sent.on('response', (response) => {
      response.resume();
      response.on('end', () => {
        resolve(response.statusCode);
      });
    });
  });
  sent.end(JSON.stringify({ owner: 'x', value }));
  return { request: sent, value, status };
}

it('1000 changes wait behind a slow one; more are refused at once, and reads go on', async () => {
  const server = await scratch.start();
  const client = new Client(server.origin);
  const slow = new Database(scratch.file);
  slow.exec('begin immediate');
  const all = Array.from({ length: taken + surplus }, (_, index) => send(server.origin, index));
  const statuses: (number | undefined)[] = [];
  for (const { status } of all) void status.then((each) => statuses.push(each));
  while (statuses.length < surplus) await setTimeout(5);
  await setTimeout(100);
  expect(statuses).toEqual(new Array<number>(surplus).fill(503));
  expect(await client.all('Counter', 'ID > 0')).toMatchObject({ __COUNT: 0 });
  // Some clients do not wait for their answer.
  for (const { request: sent } of all.slice(0, impatient)) sent.destroy();
  slow.exec('commit');
  slow.close();
  const answers = await Promise.all(all.map(({ status }) => status));
  const acknowledged = all.filter((_, index) => answers[index] === 200).map(({ value }) => value);
  expect(acknowledged.length).toBeGreaterThanOrEqual(taken - impatient);
  expect(answers.filter((each) => each === undefined).length).toBeLessThanOrEqual(impatient);
  // What a client did not wait for is stored or not.
  const { __ENTITIES: found } = await client.all('Counter', 'ID > 0');
  const stored = new Set(found.map((each) => Number(each['value'])));
  expect(stored.size).toBe(found.length);
  expect(stored.size).toBeLessThanOrEqual(taken);
  expect(acknowledged.every((value) => stored.has(value))).toBe(true);
  expect(await send(server.origin, 5_000).status).toBe(200);
  expect(server.stderr()).toBe('');
});
