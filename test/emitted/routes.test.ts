import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emitServer } from '../../generator/emit/emit-server.js';
import { builtRuntime } from '../support/built-runtime.js';
import { create, modelOf, packageRoot, serverOf } from '../support/server.js';

const model = `
drs: 1
name: routes
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true }
      logo: image
    functions:
      selection: { total: { exposed: true, onHTTPGet: true, returns: number } }
      entity: { hire: { exposed: true } }
  Größe:
    attributes: { ID: { type: integer, key: true }, x: { type: string, unique: true } }
  Hidden:
    exposed: false
    attributes: { ID: { type: integer, key: true } }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }, { privilege: edit, includes: [view] }]
  permissions:
    allowed:
      - { applyTo: Größe, type: dataclass, read: [view], create: [edit], update: [edit], drop: [none] }
      - { applyTo: Company.hire, type: method, execute: [edit] }
`;

describe('The routes of dataclasses', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await serverOf(model);
    await create(app, 'Company', [{ name: 'a/b' }, { name: 'c%d' }, { name: '(e)' }]);
  });
  afterAll(() => app.close());

  it('are shown by printRoutes, and none of a dataclass that is not exposed', () => {
    const routes = app.printRoutes({ commonPrefix: false });
    expect(routes).toContain('/rest/Company (GET, HEAD');
    expect(routes).toContain('(:key');
    expect(routes).toContain('/rest/Größe');
    expect(routes).not.toContain('Hidden');
  });

  it.each([
    ['GET', '/rest/Company', { dataclass: 'Company' }],
    ['POST', '/rest/Company(:key', { dataclass: 'Company' }],
    ['GET', '/rest/Größe/*', { dataclass: 'Größe' }],
    ['POST', '/rest/Company(:key/hire', { function: 'CompanyEntity.hire' }],
    ['GET', '/rest/Company/total', { function: 'CompanySelection.total' }],
  ])('name in their config what they call: %s %s', async (method, url, config) => {
    const found = app.findRoute({ method, url });
    expect(found).not.toBeNull();
    let told: unknown;
    const seen = await serverOf(model);
    seen.addHook('onRequest', (request, _reply, done) => {
      told = request.routeOptions.config;
      done();
    });
    await seen.inject({
      method: method as 'GET' | 'POST',
      url: url.replace(':key', '1)').replace('*', 'ID'),
    });
    await seen.close();
    expect(told).toMatchObject(config);
  });

  it.each([
    ['/rest/Company/name', 200],
    ['/rest/Company/name/', 200],
    ['/rest/Company(1)', 200],
    ['/rest/Company(1)/', 200],
    ['/rest/Company(1)/name', 200],
    ['/rest/Company[1]', 200],
    ['/rest/Company%281)', 200],
    ['/rest/Company:name(a%2Fb)', 200],
    ['/rest/Company:name(a%2Fb)/ID,name', 200],
    ['/rest/Company:name(a%2Fb)/ID%2Cname/', 200],
    ['/rest/Company:name(c%25d)', 200],
    ['/rest/Company:name("(e)")', 200],
    ['/rest/Company:name(a/b)', 400],
    ['/rest/Company:name(a%2Fb)/ID/name', 404],
    ['/rest/Company:', 404],
    ['/rest/Company/name/ID', 404],
    ['/rest/Company/a%2Fb', 400],
    ['/rest/Company//', 404],
    ['/rest/Company/name/$entityset/', 404],
    ['/rest/Company/$entityset/00000000000000000000000000000000', 404],
    ['/rest/Gr%C3%B6%C3%9Fe', 401],
    ['/rest/Gr%C3%B6%C3%9Fe:x(a%2Fb)', 401],
    ['/rest/company', 404],
    ['/rest/CompanyX', 404],
    ['/rest/Hidden', 404],
    ['/rest/Hidden(1)', 404],
    ['/rest/__proto__', 404],
    ['/nothing?x=/rest/%zz', 404],
    ['/%72est/Company/a%2Fb?x=/rest/%zz', 404],
  ])('answer %s with %i', async (url, status) => {
    const response = await app.inject(url);
    expect({ url, status: response.statusCode, body: response.body }).toMatchObject({ status });
    expect((await app.inject({ method: 'HEAD', url })).statusCode).toBe(status);
  });

  it('delete no entity set at an address that lists attributes', async () => {
    const made = await app.inject('/rest/Company?$method=entityset');
    const { __ENTITYSET: set } = made.json<{ readonly __ENTITYSET: string }>();
    const url = `${set.replace('/Company/', '/Company/name/')}?$method=delete`;
    expect((await app.inject(url.replace('?$method=delete', ''))).statusCode).toBe(200);
    expect((await app.inject({ method: 'POST', url })).statusCode).toBe(404);
    expect((await app.inject('/rest/Company')).json()).toMatchObject({ __COUNT: 3 });
  });

  it('leave the hooks of routes that a user adds in place', async () => {
    const own = await serverOf(model);
    const calls: string[] = [];
    const hook = (name: string) => (_request: unknown, _reply: unknown, done: () => void) => {
      calls.push(name);
      done();
    };
    own.post('/one', { onRequest: hook('one') }, () => 'ok');
    own.route({
      method: ['GET', 'POST'],
      url: '/two',
      onRequest: [hook('two'), hook('three')],
      handler: () => 'ok',
    });
    for (const url of ['/one', '/two']) {
      expect((await own.inject({ method: 'POST', url })).body).toBe('ok');
    }
    expect((await own.inject({ url: '/two' })).body).toBe('ok');
    expect(calls).toEqual(['one', 'two', 'three', 'two', 'three']);
    await own.close();
  });

  it('answer for a dataclass that is not exposed as for one that does not exist', async () => {
    const [hidden, missing] = [await app.inject('/rest/Hidden'), await app.inject('/rest/Missin')];
    expect(hidden.body.replace('Hidden', 'Missin')).toBe(missing.body);
  });
});

describe('What is edited in an emitted file', () => {
  const guarded = `
drs: 1
name: guarded
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      secret: string
    functions:
      dataclass: { clear: { exposed: true } }
  Plan:
    attributes: { ID: { type: integer, key: true, generated: sequence }, text: string }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: edit }]
  permissions:
    allowed:
      - { applyTo: Note, type: dataclass, create: [guest], update: [edit], drop: [edit] }
      - { applyTo: Plan, type: dataclass, read: [edit], create: [guest] }
      - { applyTo: Note.secret, type: attribute, read: [edit] }
      - { applyTo: Note.clear, type: method, execute: [edit] }
`;
  const classes = {
    'src/classes/Note.ts': `import { NoteBase } from '../generated/api.js';
export class Note extends NoteBase {
  clear(): undefined {}
}
`,
  };
  const note = 'src/generated/dataclasses/Note.ts';
  type Edit = readonly [file: string, before: string, now: string];

  interface Described {
    readonly paths: object;
    readonly components: {
      readonly schemas: Readonly<Record<string, { readonly properties?: object }>>;
    };
  }

  /** What a guest gets of reads, changes and calls, and finds in the OpenAPI document. */
  async function answers(...edits: readonly Edit[]): Promise<unknown> {
    const context = { packageRoot, modelFileName: 'model.yaml', runtimeFolder: builtRuntime() };
    const emitted = emitServer(modelOf(guarded), context);
    const written: Record<string, string> = { ...classes };
    for (const [path, before, now] of edits) {
      const text = written[path] ?? emitted.find((each) => each.path === path)?.text ?? '';
      expect(text).toContain(before);
      written[path] = text.replace(before, now);
    }
    const app = await serverOf(guarded, {}, written);
    try {
      await create(app, 'Note', [{ ID: 1, text: 'a', secret: 'b' }]);
      const save = { method: 'POST', url: '/rest/Note?$method=update' } as const;
      await create(app, 'Plan', [{ text: 'a' }]);
      const read = await app.inject('/rest/Note(1)');
      const plans = {
        one: await app.inject('/rest/Plan(1)'),
        all: await app.inject('/rest/Plan'),
      };
      const { paths, components } = (await app.inject('/rest/$openapi')).json<Described>();
      const { 'Note.Values': values, 'Note.Change': change } = components.schemas;
      return {
        read: read.statusCode,
        attributes: Object.keys(read.json<object>()).filter((name) => !name.startsWith('__')),
        update: (await app.inject({ ...save, payload: { __KEY: 1, __STAMP: 1, text: 'c' } }))
          .statusCode,
        plans: {
          one: plans.one.statusCode,
          text: plans.one.json<{ text?: string }>().text,
          all: plans.all.statusCode,
        },
        drop: (await app.inject({ method: 'POST', url: '/rest/Plan(1)?$method=delete' }))
          .statusCode,
        call: (await app.inject({ method: 'POST', url: '/rest/Note/clear' })).statusCode,
        described: {
          attributes: Object.keys(values?.properties ?? {}),
          update: change !== undefined,
          call: '/rest/Note/clear' in paths,
        },
      };
    } finally {
      await app.close();
    }
  }

  const before = {
    read: 200,
    attributes: ['ID', 'text'],
    update: 401,
    plans: { one: 401, text: undefined, all: 401 },
    drop: 401,
    call: 401,
    described: { attributes: ['ID', 'text'], update: false, call: false },
  };
  const { described } = before;

  it('opens and closes what its constant is for', async () => {
    expect(await answers()).toEqual(before);
    expect(await answers([note, 'update: bits.edit, ', ''])).toEqual({
      ...before,
      update: 200,
      described: { ...described, update: true },
    });
    const closed = 'create: bits.edit, update: bits.edit, ';
    await expect(answers([note, 'update: bits.edit, ', closed])).rejects.toThrow(
      'No permission to create entities of the \\"Note\\" dataclass.',
    );
    const shown = ['ID', 'text', 'secret'];
    expect(await answers([note, 'access: { read: bits.edit }', 'access: {}'])).toEqual({
      ...before,
      attributes: shown,
      described: { ...described, attributes: shown },
    });
  });

  it('opens the route whose check it removes, and only that', async () => {
    const ofRead = ', preHandler: allow(access.read)';
    const one = "'/rest/Plan(:key', { config";
    const plan = 'src/generated/routes/Plan.ts';
    expect(await answers([plan, one + ofRead, one])).toEqual({
      ...before,
      plans: { one: 200, text: 'a', all: 401 },
    });
    const check = '    preHandler: allow(bits.edit),\n';
    expect(await answers(['src/generated/routes/Note.ts', check, ''])).toEqual({
      ...before,
      call: 200,
    });
  });

  it('is no opening for a hook that replaces the config of a route', async () => {
    const extend = (app: FastifyInstance): void => {
      app.addHook('onRoute', (route) => {
        if (/^\/rest\/(?:Note|Plan)/.test(route.url)) route.config = {};
      });
    };
    const app = await serverOf(guarded, { extend }, classes);
    for (const [method, url] of [
      ['GET', '/rest/Plan'],
      ['POST', '/rest/Note(1)?$method=delete'],
      ['POST', '/rest/Note/clear'],
    ] as const) {
      expect((await app.inject({ method, url })).statusCode, url).toBe(401);
    }
    await app.close();
  });
});
