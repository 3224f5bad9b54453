import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverOf } from '../../support/server.js';

const model = `drs: 1
name: answered
limits: { expandDepth: 2 }
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, maxLength: 10 }
  Employee:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      lastName: { type: string, mandatory: true }
      employer: { to: Company }
      boss: { to: Employee }
`;

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model);
  await post('Company?$method=update', [{ name: 'one' }, { name: 'two' }]);
});

afterAll(() => app.close());

type Entity = Readonly<Record<string, unknown>> & { readonly __ENTITIES: readonly Entity[] };

async function post(path: string, body: unknown): Promise<{ status: number; json: Entity }> {
  const url = `/rest/${path}`;
  const response = await app.inject({ method: 'POST', url, payload: JSON.stringify(body) });
  return { status: response.statusCode, json: response.json() };
}

async function read(path: string): Promise<Entity> {
  return (await app.inject(`/rest/${path}`)).json();
}

describe('The answer to $method=update', () => {
  it('expands what $expand names, like a read: for one entity, a list, and an atomic list', async () => {
    const one = await post('Employee?$method=update&$expand=employer', {
      lastName: 'a',
      employer: 1,
    });
    const { employer } = await read(`Employee(${String(one.json['__KEY'])})?$expand=employer`);
    expect(employer).toMatchObject({ __KEY: '1', name: 'one' });
    expect(one.json['employer']).toEqual(employer);
    for (const atomic of ['', '&$atomic=true']) {
      const { json } = await post(`Employee?$method=update&$expand=employer${atomic}`, [
        { lastName: 'b', employer: 2 },
        { lastName: 'c' },
      ]);
      expect(json.__ENTITIES).toMatchObject([
        { __STATUS: { success: true }, lastName: 'b', employer: { name: 'two', __STAMP: 1 } },
        { __STATUS: { success: true }, lastName: 'c', employer: null },
      ]);
    }
    const refreshed = await post('Employee?$method=update&$refresh=true&$expand=employer', {
      lastName: 'd',
      employer: 2,
    });
    expect(refreshed.json).toMatchObject({ lastName: 'd', employer: { name: 'two' } });
  });

  it('expands it in the stored state of a refused entity', async () => {
    const { json: made } = await post('Employee?$method=update', { lastName: 'e', employer: 1 });
    const body = { __KEY: made['__KEY'], __STAMP: 7, employer: 2 };
    const { status, json } = await post('Employee?$method=update&$expand=employer', body);
    expect([status, json]).toMatchObject([409, { lastName: 'e', employer: { name: 'one' } }]);
  });

  it('has the attributes that $attributes names', async () => {
    const { json } = await post('Employee?$method=update&$attributes=employer.name', {
      lastName: 'f',
      employer: 1,
    });
    const key = String(json['__KEY']);
    const { employer } = await read(`Employee(${key})?$attributes=employer.name`);
    expect(json).toMatchObject({ __STATUS: { success: true }, __STAMP: 1, employer });
    expect(json).not.toHaveProperty('lastName');
    expect(employer).toMatchObject({ name: 'one' });
  });

  it.each([
    ['$expand=nobody', [1500, 1805]],
    ['$attributes=nobody', [1500, 1804]],
    ['$expand=boss.boss.boss', [1805]],
  ])('is refused before anything is stored if it cannot be given: %s', async (query, codes) => {
    const before = await read('Employee?$top=0');
    const { status, json } = await post(`Employee?$method=update&${query}`, { lastName: 'g' });
    const errors = json['__ERROR'] as readonly { readonly errCode: number }[];
    expect([status, errors.map(({ errCode }) => errCode)]).toEqual([400, codes]);
    expect(await read('Employee?$top=0')).toEqual(before);
  });
});
