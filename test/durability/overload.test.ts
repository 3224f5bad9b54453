import { type ClientRequest, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { Client } from '../support/processes/client.js';
import { durabilityModel } from './support/model.js';
import { scratchOfEach } from '../support/processes/scratch.js';

/** The number that a server queues, and the running one. */
const taken = 1_001;
const surplus = 99;
const impatient = 300;

const scratch = scratchOfEach(durabilityModel);

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

interface Sent {
  readonly request: ClientRequest;
  readonly value: number;
  /** `undefined` when the connection was closed. */
  readonly answer: Promise<Answer | undefined>;
}

function send(origin: string, value: number): Sent {
  const sent = request(`${origin}/rest/Counter?$method=update`, { method: 'POST', agent: false });
  const answer = new Promise<Answer | undefined>((resolve) => {
    sent.on('error', () => {
      resolve(undefined);
    });
    sent.on('response', (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => {
        resolve({ status: response.statusCode, text });
      });
    });
  });
  sent.end(JSON.stringify({ owner: 'x', value }));
  return { request: sent, value, answer };
}

it('1000 changes wait behind a slow one; more are refused at once, and reads continue', async () => {
  const server = await scratch().start({ environment: { MAX_WAIT: '2147483647' } });
  const client = new Client(server.origin);
  const slow = new Database(scratch().file);
  slow.exec('begin immediate');
  const all = Array.from({ length: taken + surplus }, (_, index) => send(server.origin, index));
  const early: (Answer | undefined)[] = [];
  for (const { answer } of all) void answer.then((each) => early.push(each));
  while (early.length < surplus) await setTimeout(5);
  expect(new Set(early.map((each) => each?.status))).toEqual(new Set([503]));
  expect(await client.all('Counter', 'ID > 0')).toMatchObject({ __COUNT: 0 });
  // Some clients do not wait for their answer.
  for (const { request: sent } of all.slice(0, impatient)) sent.destroy();
  slow.exec('commit');
  slow.close();
  const answers = await Promise.all(all.map(({ answer }) => answer));
  const acknowledged = all
    .filter((_, index) => answers[index]?.status === 200)
    .map(({ value }) => value);
  const refused = answers.filter((each) => each?.status === 503);
  const tooMany = refused.filter((each) => each?.text.includes('Too many changes wait'));
  expect(tooMany.length).toBeGreaterThan(0);
  expect(tooMany.length).toBeLessThanOrEqual(surplus);
  // The first ones of the queue time out after a while, which makes room for others.
  expect(refused.length).toBeGreaterThanOrEqual(surplus);
  expect(answers.filter((each) => each === undefined).length).toBeLessThanOrEqual(impatient);
  expect(acknowledged.length).toBeGreaterThanOrEqual(all.length - refused.length - impatient);
  // A change whose client did not wait is stored or not.
  const { __ENTITIES: found } = await client.all('Counter', 'ID > 0');
  const stored = new Set(found.map((each) => Number(each['value'])));
  expect(stored.size).toBe(found.length);
  expect(stored.size).toBeLessThanOrEqual(taken);
  expect(acknowledged.every((value) => stored.has(value))).toBe(true);
  expect(await send(server.origin, 5_000).answer).toMatchObject({ status: 200 });
  const logged = server.stderr().split('\n');
  expect(logged.filter((line) => !line.includes('locked by another process'))).toEqual(['']);
});
