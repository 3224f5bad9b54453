import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import { describePostgres, postgresDatabase } from '../../../support/postgres.js';
import { serverOf } from '../../../support/server.js';

const model = (...attributes: readonly string[]): string => `
drs: 1
name: music
database: postgres
dataclasses:
  Track:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      ${attributes.join('\n      ')}
`;

const older = model(
  'title: { type: string, maxLength: 20 }',
  'genre: { type: string, enum: [rock, folk] }',
  'fax: { type: string, mandatory: true }',
);

const newer = model(
  'title: { type: string, maxLength: 30, indexed: true }',
  'genre: { type: string, enum: [rock, folk, jazz] }',
  'rating: { type: integer, mandatory: true, default: 3, min: 0 }',
);

describePostgres('Servers of two models on one PostgreSQL', () => {
  it('run at the same time, and each finds what the other one writes', async () => {
    const { url: databaseUrl, drop } = await postgresDatabase();
    const environment = { DATABASE_POOL: '3' };
    const former = await serverOf(older, { databaseUrl, environment });
    const ending = new AbortController();
    const answers: unknown[] = [];
    const writing = (async () => {
      while (!ending.signal.aborted) {
        const title = `Title ${answers.length}`;
        const saved = await save(former, { title, genre: 'rock', fax: 'none' });
        answers.push(saved['__ERROR']);
      }
    })();
    await expect.poll(() => answers.length).toBeGreaterThan(10);
    const latter = await serverOf(newer, { databaseUrl, environment });
    const written = answers.length;
    await expect.poll(() => answers.length).toBeGreaterThan(written + 10);
    ending.abort();
    await writing;
    expect(answers.filter((each) => each !== undefined)).toEqual([]);

    expect(await count(latter, '"rating = 3"')).toBe(answers.length);
    expect(await count(latter, `"title = 'TITLE ${answers.length - 1}'"`)).toBe(1);
    expect(await save(latter, { title: 'New', genre: 'jazz' })).toMatchObject({ rating: 3 });
    expect(await count(former, `"title = 'new'"`)).toBe(1);
    const changed = { __KEY: '1', __STAMP: 1, title: 'Changed' };
    expect(await save(former, changed)).toMatchObject({ title: 'Changed' });
    expect(await count(latter, `"title = 'changed'"`)).toBe(1);

    // The way back: the former server starts again.
    await Promise.all([former.close(), latter.close()]);
    const again = await serverOf(older, { databaseUrl, environment });
    expect(await count(again, `"title = 'new'"`)).toBe(1);
    expect(await save(again, { title: 'Last', fax: 'none' })).not.toHaveProperty('__ERROR');
    await again.close();
    await drop();
  });
});

async function save(app: FastifyInstance, body: object): Promise<Record<string, unknown>> {
  const response = await app.inject({ method: 'POST', url: '/rest/Track?$method=update', body });
  return response.json();
}

async function count(app: FastifyInstance, filter: string): Promise<unknown> {
  const query = new URLSearchParams({ $filter: filter, $top: '1' });
  return (await app.inject(`/rest/Track?${query.toString()}`)).json<{ __COUNT: number }>().__COUNT;
}
