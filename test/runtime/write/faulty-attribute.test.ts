import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';
import { serverOf } from '../../support/server.js';
import { eventedServer, type EventedServer } from '../../support/evented-server.js';
import { RestError } from '../../../runtime/protocol/errors.js';

const dataclasses = `
dataclasses:
  Team:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true, maxLength: 5 }
      kind: { type: string, enum: [a, b], default: a }
      code: { type: string, pattern: '^x' }
      size: { type: integer, min: 1, max: 9 }
      fixed: { type: string, readOnly: true }
      secret: { type: string, exposed: false, unique: true, default: s }
      needed: { type: string, mandatory: true }
      parent: { to: Team }
`;

interface Error {
  readonly message: string;
  readonly attribute?: string;
}

type Answer = { readonly __ERROR?: readonly Error[]; readonly __ENTITIES?: readonly Answer[] };

/** The attributes in errors; undefined for an error without one. */
function named(answer: unknown): readonly unknown[] | undefined {
  const { __ERROR: errors, __ENTITIES: [first] = [] } = answer as Answer;
  return (errors ?? first?.__ERROR)?.map((each) => each.attribute);
}

describe('An error of a refused entity names its attribute:', () => {
  let app: FastifyInstance;

  async function post(method: string, body: unknown): Promise<unknown> {
    const url = `/rest/Team?$method=${method}`;
    return (await app.inject({ method: 'POST', url, payload: JSON.stringify(body) })).json();
  }

  beforeAll(async () => {
    app = await serverOf(`drs: 1\nname: teams\n${dataclasses}`);
    // No second one can be stored, because clients cannot set another value of the hidden
    // attribute.
    await post('update', { name: 'one', needed: 'n' });
  });
  afterAll(() => app.close());

  it.each([
    ['mandatory', {}, ['needed']],
    ['maxLength', { name: '123456' }, ['name', 'needed']],
    ['enum', { needed: '', kind: 'c' }, ['kind']],
    ['pattern', { needed: '', code: 'y' }, ['code']],
    ['min', { needed: '', size: 0 }, ['size']],
    ['max', { needed: '', size: 10 }, ['size']],
    ['another type', { needed: '', size: 'many' }, ['size']],
    ['a value of no JSON form', { needed: '', size: {} }, ['size']],
    ['readOnly', { needed: '', fixed: 'x' }, ['fixed']],
    ['an unknown attribute', { needed: '', nothing: 1 }, ['nothing']],
    ['what is not exposed, as what does not exist', { needed: '', secret: 1 }, ['secret']],
    ['a relation that is no key', { needed: '', parent: [] }, ['parent']],
    [
      'a related entity that is not there',
      { needed: '', parent: 99, secret: 1 },
      ['secret', 'parent'],
    ],
    ['a key of another type', { needed: '', __KEY: 'x' }, ['ID']],
    ['a change of the key', { __KEY: '1', __STAMP: 1, ID: 2 }, ['ID']],
    ['a change of what is readOnly', { __KEY: '1', __STAMP: 1, fixed: 'x' }, ['fixed']],
    ['null in a change', { __KEY: '1', __STAMP: 1, needed: null }, ['needed']],
  ] as const)('%s', async (_, body, names) => {
    for (const method of ['update', 'validate', 'update&$atomic=true', 'update&$refresh=true']) {
      // Errors of the whole entity, and of hidden attributes, name none.
      const isNamed = (name: unknown): boolean => name !== undefined;
      expect(named(await post(method, body))?.filter(isNamed), method).toEqual(names);
      expect(named(await post(method, [body]))?.filter(isNamed), method).toEqual(names);
    }
  });

  it('the unique attribute of another entity, if the client may know it', async () => {
    for (const method of ['update', 'validate']) {
      const answer = await post(method, { name: 'ONE', needed: 'n' });
      expect(named(answer), method).toEqual(['name', undefined, undefined, undefined]);
      expect(JSON.stringify(answer)).not.toContain('secret');
    }
  });
});

describe('An error of a refused entity, when roles hide attributes,', () => {
  const model = `drs: 1
name: hidden
${dataclasses}
roles:
  restrictedByDefault: false
  privileges: [{ privilege: work, includes: [] }, { privilege: boss, includes: [] }]
  permissions:
    allowed:
      - { applyTo: Team, type: dataclass, create: [work], read: [work], update: [work] }
      - { applyTo: Team.needed, type: attribute, read: [boss], create: [boss] }
      - { applyTo: Team.size, type: attribute, update: [boss] }
`;

  it('names none of the hidden ones', async () => {
    const app = await rolesServerOf(model, { environment: {} });
    const user = await loggedIn(app, { privileges: ['work'] });
    const response = await user.post('/rest/Team?$method=update', { name: '123456' });
    expect(named(response.json())).toEqual(['name', undefined, undefined, undefined]);
    expect(response.body).not.toContain('needed');
    await app.close();
  });
});

it('An error names no attribute whose name is longer than a model allows', async () => {
  const app = await serverOf(`drs: 1\nname: teams\n${dataclasses}`);
  const payload = JSON.stringify({ needed: 'n', ['x'.repeat(100_000)]: 1 });
  const response = await app.inject({ method: 'POST', url: '/rest/Team?$method=update', payload });
  expect(response.statusCode).toBe(400);
  expect(response.body.length).toBeLessThan(1000);
  await app.close();
});

describe('Class code names the attribute of its own error', () => {
  let server: EventedServer;

  beforeAll(async () => {
    server = await eventedServer();
  });
  afterAll(() => server.close());

  async function answer(body: unknown): Promise<unknown> {
    const url = '/rest/Company?$method=update';
    const { app } = server;
    return (await app.inject({ method: 'POST', url, payload: JSON.stringify(body) })).json();
  }

  it.each([
    ['name', 'name'],
    ['hidden', undefined],
  ])('%s', async (attribute, told) => {
    const error = { errCode: 1, message: 'no', attribute };
    const wanted = [told];
    server.handlers.Company = { validateSave: () => error };
    expect(named(await answer({ name: 'a' }))).toEqual(wanted);
    expect(named(await answer([{ name: 'a' }]))).toEqual(wanted);
    server.handlers.Company = {
      saving: () => {
        throw new RestError(422, 1, 'no', { attribute });
      },
    };
    expect(named(await answer({ name: 'a' }))).toEqual(wanted);
    expect(named(await answer([{ name: 'a' }]))).toEqual(wanted);
    server.handlers.Company = {};
    const { __KEY: key } = (await answer({ name: 'dropped' })) as { readonly __KEY: string };
    server.handlers.Company = { validateDrop: () => error };
    const deletion = await server.app.inject({
      method: 'POST',
      url: `/rest/Company(${key})?$method=delete`,
    });
    expect(named(deletion.json())).toEqual(wanted);
  });

  it('by its name', async () => {
    server.handlers.Company = {
      saving: () => ({ errCode: 1, message: 'no', attribute: 7 }),
    };
    expect(await answer({ name: 'a' })).toMatchObject({ __ERROR: [{ errCode: 1837 }] });
    expect(server.logged.join('')).toContain('attribute must be the name of an attribute.');
  });

  it('and finds it in a SaveError', async () => {
    server.handlers.Company = {};
    const entity = server.ds.Company.new({ name: 'a', size: -1 });
    await expect(entity.save()).rejects.toMatchObject({
      errors: [{ attribute: 'size' }, {}, {}],
    });
  });
});
