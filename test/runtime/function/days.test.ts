import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeClient } from '../../support/built-client.js';
import { modelOf, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: days
dataclasses:
  Person: { attributes: { ID: { type: integer, key: true } } }
datastore:
  functions:
    after:
      exposed: true
      params: { day: { type: date, dateOnly: true }, more: { type: "date[]", dateOnly: true, optional: true } }
      returns: { type: date, dateOnly: true }
    listed: { exposed: true, params: { value: any }, returns: { type: "date[]", dateOnly: true, mandatory: true } }
    found: { exposed: true, params: { ID: integer }, returns: { type: Person, mandatory: true } }
`;

const classes = {
  'src/classes/DataStore.ts': `
import { DataStoreBase } from '../generated/api.js';
export class DataStore extends DataStoreBase {
  after(day, more = []) {
    return [day, ...more].toSorted().at(-1);
  }
  listed(value) { return value; }
  found(ID) { return this.Person.get(ID); }
}`,
};

let app: FastifyInstance;
const logged: string[] = [];

beforeAll(async () => {
  const stream = { write: (line: string) => logged.push(line) };
  app = await serverOf(model, { logger: { level: 'error', stream } }, classes);
});
afterAll(() => app.close());

async function called(name: string, ...args: readonly unknown[]) {
  const url = `/rest/$catalog/${name}`;
  const response = await app.inject({ method: 'POST', url, payload: JSON.stringify(args) });
  return [response.statusCode, response.json<unknown>()];
}

describe('A day', () => {
  it('is a text without time for class code and clients, as an argument and as a result', async () => {
    expect(await called('after', '2026-01-31')).toEqual([200, { result: '2026-01-31' }]);
    const later = ['2026-02-28', '2024-02-29'];
    expect(await called('after', '2026-01-31', later)).toEqual([200, { result: '2026-02-28' }]);
  });

  it.each([
    ['a day that does not exist', '2026-02-30'],
    ['a number', 20260131],
  ])('is refused as an argument if it is %s', async (_what, day) => {
    const [status, answer] = await called('after', day);
    expect([status, JSON.stringify(answer)]).toEqual([400, expect.stringContaining('1843')]);
    expect(JSON.stringify(answer)).toContain(
      '\\"day\\" of after must be a date, as a text such as',
    );
  });

  it('is described in the catalog and in OpenAPI', async () => {
    const { methods } = (await app.inject('/rest/$catalog')).json<{ methods: object[] }>();
    const day = { type: 'date', simpleDate: true };
    expect(methods).toMatchObject([
      {
        params: [
          { name: 'day', ...day },
          { name: 'more', type: 'list', items: day, optional: true },
        ],
        returns: day,
      },
      { returns: { type: 'list', items: day, mandatory: true } },
      { returns: { type: 'entity', dataClass: 'Person', mandatory: true } },
    ]);
    const { paths, components } = (await app.inject('/rest/$openapi')).json<{
      paths: Record<string, { post: { responses: { 200: { $ref: string } } } }>;
      components: { responses: Record<string, object> };
    }>();
    const answerOf = (path: string): string => {
      const name = paths[path]?.post.responses[200].$ref.split('/').at(-1) ?? '';
      return JSON.stringify(components.responses[name]);
    };
    const answer = answerOf('/rest/$catalog/listed');
    expect(answer).toContain('"items":{"type":"string","format":"date"}');
    expect(answer).not.toContain('null');
    const entity = answerOf('/rest/$catalog/found');
    expect(entity).toContain('Person');
    expect(entity).not.toContain('null');
  });

  it('is a text for callers of a typed client, too', async () => {
    const folder = await writeClient(modelOf(model));
    const { connect } = (await import(pathToFileURL(join(folder, 'client.js')).href)) as {
      connect: (url: string) => Record<'after' | 'listed', (value: unknown) => Promise<unknown>>;
    };
    const ds = connect(await app.listen({ port: 0 }));
    expect(await ds.after('2026-01-31')).toBe('2026-01-31');
    expect(await ds.listed(['2026-01-31'])).toEqual(['2026-01-31']);
  });
});

describe('A mandatory result', () => {
  it('is answered', async () => {
    expect(await called('listed', ['2026-01-31'])).toEqual([200, { result: ['2026-01-31'] }]);
  });

  it.each([
    ['listed', null, 'it is null, and the model declares it as mandatory'],
    ['listed', [null], 'item 0 is null, and the model declares it as mandatory'],
    ['listed', ['soon'], 'item 0 is a string, and declared as dateOnly'],
    ['found', 1, 'it is null, and the model declares it as mandatory'],
  ])('is 500, with the reason in the log, if %s returns %j', async (name, value, reason) => {
    logged.length = 0;
    expect(await called(name, value)).toMatchObject([500, { __ERROR: [{ errCode: 1837 }] }]);
    expect(logged.join('')).toContain(reason);
    expect(logged.join('')).toContain(`DataStore.${name}`);
  });
});
