import Database from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelFile } from '../../support/model-file.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';
import { create, serverOf } from '../../support/server.js';

const model = `drs: 1
name: cursors
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      lastName: { type: string, indexed: true, mandatory: true }
      city: { type: string, indexed: true }
      age: { type: integer, indexed: true }
      code: { type: uuid, indexed: true }
roles: { restrictedByDefault: false }
`;

interface Page {
  readonly __NEXT: string | null;
  readonly __ENTITIES: readonly { readonly ID: number }[];
}

describe('The statement of a page behind a token', () => {
  const sent: string[] = [];
  let folder: string;
  let file: string;
  let app: FastifyInstance;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'drs-cursors-'));
    file = join(folder, 'data.sqlite');
    app = await open();
    const people = Array.from({ length: 600 }, (_, index) => ({
      lastName: `N${index % 200}`,
      city: index % 3 === 0 ? null : `C${index % 50}`,
      age: index % 5 === 0 ? null : index % 70,
    }));
    await create(app, 'Person', people);
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  function open(): Promise<FastifyInstance> {
    return serverOf(model, {
      databaseUrl: `sqlite:${file}`,
      onStatement: (sql) => sent.push(sql),
    });
  }

  async function page(query: Readonly<Record<string, string>>, from = app): Promise<Page> {
    const response = await from.inject({ url: '/rest/Person', query });
    expect(response.statusCode, response.body).toBe(200);
    return response.json<Page>();
  }

  function stepsSent(): readonly string[] {
    const database = new Database(file, { readonly: true });
    database.function('drs_fold', { deterministic: true }, (text) => text);
    const steps = sent.flatMap((sql) => {
      // The values do not decide the plan.
      const values = Array.from({ length: sql.split('?').length - 1 }, () => 1);
      const rows = database.prepare(`explain query plan ${sql}`).all(...values);
      return (rows as { readonly detail: string }[]).map(({ detail }) => detail);
    });
    database.close();
    return steps;
  }

  it.each([
    '',
    'ID desc',
    'lastName',
    'lastName desc',
    'lastName desc, ID desc',
    'city',
    'city desc',
    'age',
    'age desc',
  ])('searches the index of the order %s, and sorts nothing', async (order) => {
    const query = { $top: '50', $count: 'false', ...(order === '' ? {} : { $orderby: order }) };
    let { __NEXT: next, __ENTITIES: entities } = await page({ ...query, $cursor: 'true' });
    const seen = entities.length;
    let all = seen;
    while (next !== null) {
      sent.length = 0;
      ({ __NEXT: next, __ENTITIES: entities } = await page({ ...query, $after: next }));
      all += entities.length;
      expect(sent).toHaveLength(1);
      const steps = stepsSent().filter((step) => /Person|TEMP B-TREE/.test(step));
      expect(steps).not.toEqual([]);
      for (const step of steps) {
        expect(step, order).toMatch(/^SEARCH Person USING |TEMP B-TREE FOR LAST/);
      }
    }
    expect(all).toBe(600);
  });

  it('takes a token that the server has made before it was started again', async () => {
    const { __NEXT: next } = await page({ $top: '10', $cursor: 'true' });
    await app.close();
    app = await open();
    const { __ENTITIES: entities } = await page({ $top: '1', $after: next ?? '' });
    expect(entities).toEqual([expect.objectContaining({ ID: 11 })]);
  });

  it('refuses an order by values that are too long for an address', async () => {
    await create(app, 'Person', [
      { lastName: 'N', city: 'x'.repeat(40_000) },
      { lastName: 'N', city: 'z' },
    ]);
    const query = { $orderby: 'city', $filter: 'city begin x or city = z', $top: '1' };
    const response = await app.inject({
      url: '/rest/Person',
      query: { ...query, $cursor: 'true' },
    });
    expect([response.statusCode, response.body]).toEqual([
      400,
      expect.stringContaining('too long for a token'),
    ]);
  });
});

describe('A token in a server with roles', () => {
  it('belongs to sessions that see the same, and orders by nothing that is hidden', async () => {
    const app = await rolesServerOf(modelFile('access'));
    try {
      const hr = await loggedIn(app, { roles: ['hr'] });
      await hr.post('/rest/Company?$method=update', [
        { name: 'A', code: 'x' },
        { name: 'B', code: 'y' },
      ]);
      const next = async (client: typeof hr, url: string): Promise<unknown> => {
        const response = await client.get(url);
        return response.json<{ readonly __NEXT?: unknown }>().__NEXT;
      };
      const url = '/rest/Company?$top=1&$orderby=name';
      const token = String(await next(hr, `${url}&$cursor=true`));
      const other = await loggedIn(app, { roles: ['hr'] });
      expect(await next(other, `${url}&$after=${token}`)).toBeNull();
      const viewer = await loggedIn(app, { privileges: ['VIEW'] });
      const refused = await viewer.get(`${url}&$after=${token}`);
      expect([refused.statusCode, refused.body]).toEqual([
        400,
        expect.stringContaining('no token of this request'),
      ]);
      const hidden = await viewer.get('/rest/Company?$orderby=code&$cursor=true');
      const unknown = await viewer.get('/rest/Company?$orderby=cod&$cursor=true');
      expect(hidden.statusCode).toBe(400);
      expect(hidden.body).toBe(unknown.body.replace('"cod\\"', '"code\\"'));
    } finally {
      await app.close();
    }
  });
});
