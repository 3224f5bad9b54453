import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { send } from '../support/ask.js';
import { fill, filledServer, moment } from '../support/staff-fixture.js';
import { modelFile } from '../support/model-file.js';
import { restoredServer } from '../support/restored-server.js';
import { isOnPostgres, serverOf } from '../support/server.js';
import { type Case, readCases, writeCases } from './cases.js';

vi.useFakeTimers({ toFake: ['Date'], now: new Date(moment) });
afterAll(() => {
  vi.useRealTimers();
});

/** Statements since the last request began. */
const statements: string[] = [];

function onStatement(sql: string, values: readonly unknown[]): void {
  const lines = sql.replaceAll(
    / (?=(?:from|where|left join|order by|limit|values|returning) )/g,
    '\n',
  );
  statements.push(`${lines}\n-- ${JSON.stringify(values)}\n`);
}

/** Sends a case's request; its answer as a text. */
async function record(app: FastifyInstance, { url, body }: Case): Promise<string> {
  statements.length = 0;
  const response = await send(
    app,
    body === undefined ? { method: 'GET', url } : { method: 'POST', url, body },
  );
  return [
    `${body === undefined ? 'GET' : 'POST'} ${url}`,
    ...(body === undefined ? [] : ['', JSON.stringify(body, undefined, 2)]),
    '',
    String(response.statusCode),
    ...Object.entries(response.headers)
      .filter(([name]) => ['content-type', 'cache-control', 'allow'].includes(name))
      .map(([name, value]) => `${name}: ${String(value)}`),
    '',
    JSON.stringify(response.json(), undefined, 2),
    '',
  ].join('\n');
}

/** Compares the answer and its SQL with what is expected; on PostgreSQL the answer alone. */
async function matchSnapshot(each: Case, answer: string): Promise<void> {
  const file = `expected/${each.topic}/${each.name.replaceAll(' ', '-')}.txt`;
  if (isOnPostgres) {
    const expected = readFileSync(new URL(file, import.meta.url), 'utf8');
    expect(answer).toBe(expected.slice(0, answer.length));
    return;
  }
  const text = [answer, ...statements.map((statement) => `${statement}\n`)].join('\n');
  await expect(text).toMatchFileSnapshot(file);
}

/** On PostgreSQL, the statement of a page counts too, so that no case needs a server which has not counted yet. */
let shared: ReturnType<typeof filledServer> | undefined;

describe('A read runs one statement, and one more for a count that is not known yet', () => {
  afterAll(async () => {
    await (await shared)?.close();
  });

  it.each(readCases)('$topic: $name', async (each) => {
    if (isOnPostgres) {
      const { app } = await (shared ??= filledServer({ onStatement }));
      const text = await record(app, each);
      expect(statements.length, statements.join('\n')).toBe(each.statements);
      await matchSnapshot(each, text);
      return;
    }
    const { app, close } = await filledServer({ onStatement });
    try {
      const text = await record(app, each);
      expect(statements.length, statements.join('\n')).toBeLessThanOrEqual(each.statements + 1);
      await matchSnapshot(each, text);
      await record(app, each);
      expect(statements.length, statements.join('\n')).toBe(each.statements);
    } finally {
      await close();
    }
  });
});

describe('A change runs two statements for each entity, and few more', () => {
  const server = restoredServer(async () => {
    const app = await serverOf(modelFile('staff'), { onStatement });
    await fill(app);
    return { app, close: () => app.close() };
  });

  it.each(writeCases)('$topic: $name', async (each) => {
    const { app, close } = await server();
    try {
      const text = await record(app, each);
      // On PostgreSQL, one statement locks the entities of a list, and one reads the lock of an
      // entity that is refused, or stays as it is.
      const stays = text.includes('"__ERROR"') || each.name === 'unchanged';
      const locks = isOnPostgres ? Number(Array.isArray(each.body)) + Number(stays) : 0;
      expect(statements.length, statements.join('\n')).toBeGreaterThanOrEqual(each.statements);
      expect(statements.length, statements.join('\n')).toBeLessThanOrEqual(each.statements + locks);
      await matchSnapshot(each, text);
    } finally {
      await close();
    }
  });
});
