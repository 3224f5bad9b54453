import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fastifyPlugin } from 'fastify-plugin';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import type { AppOptions } from '../../../runtime/http/create-server.js';
import type { Client } from '../../support/cookies.js';
import { importFrom } from '../../support/compiled-server.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';
import { modelOf, packageRoot, serverOf, writeServer } from '../../support/server.js';

const example = join(packageRoot, 'examples/staff');
const classFolder = 'src/classes';
const classFiles = Object.fromEntries(
  readdirSync(join(example, 'server', classFolder)).map((name) => [
    `${classFolder}/${name}`,
    readFileSync(join(example, 'server', classFolder, name), 'utf8'),
  ]),
);
const model = readFileSync(join(example, 'model.yaml'), 'utf8');

/** The emitted types of the datastore of the example. */
interface Staff {
  readonly Employee: Rows;
  readonly Company: Rows & {
    get(key: number): Promise<{ readonly staff: { sum(path: string): Promise<number> } } | null>;
  };
  transaction<T>(work: () => Promise<T>): Promise<T>;
}
interface Rows {
  all(): { count(): Promise<number>; sum(path: string): Promise<number> };
  new: (values: object) => { save(): Promise<void> };
  query(filter: string): { count(): Promise<number> };
}

let app: FastifyInstance;

afterEach(async () => {
  await app.close();
});

/** The server of the example, with a user's own code, on two companies with two employees. */
async function staff(
  add: (app: FastifyInstance) => void,
  options: AppOptions = {},
): Promise<{ readonly hr: Client; readonly viewer: Client }> {
  app = await rolesServerOf(model, options, classFiles);
  add(app);
  const hr = await loggedIn(app, { roles: ['HR'] });
  const viewer = await loggedIn(app, { privileges: ['viewStaff'] });
  const companies = [{ name: 'Blue' }, { name: 'Grey', active: false }];
  await hr.post('/rest/Company?$method=update', companies);
  const employees = [
    { lastName: 'A', salary: 100, employer: 1 },
    { lastName: 'B', salary: 200, employer: 2 },
  ];
  const created = await hr.post('/rest/Employee?$method=update', employees);
  expect(created.statusCode, created.body).toBe(200);
  return { hr, viewer };
}

const ds = (from: { readonly ds: object }): Staff => from.ds as Staff;

describe('A route of the user', () => {
  it('has its JSON parsed and validated by Fastify, whose errors it answers with', async () => {
    app = await serverOf(
      'drs: 1\nname: a\ndataclasses: { T: { attributes: { ID: { type: integer, key: true } } } }',
    );
    const schema = {
      body: { type: 'object', required: ['size'], properties: { size: { type: 'integer' } } },
    };
    app.post('/sizes', { schema }, (request) => request.body);
    const post = (payload: string): Promise<unknown> =>
      app
        .inject({
          method: 'POST',
          url: '/sizes',
          payload,
          headers: { 'content-type': 'application/json' },
        })
        .then((answer) => answer.json());
    expect(await post('{"size":3}')).toEqual({ size: 3 });
    expect(await post('{}')).toEqual({
      statusCode: 400,
      code: 'FST_ERR_VALIDATION',
      error: 'Bad Request',
      message: "body must have required property 'size'",
    });
    expect(await post('{')).toMatchObject({ statusCode: 400, error: 'Bad Request' });
    expect((await app.inject('/missing')).json()).toEqual({
      statusCode: 404,
      error: 'Not Found',
      message: 'Route GET:/missing not found',
    });
    expect((await app.inject('/%zz')).json()).toMatchObject({ code: 'FST_ERR_BAD_URL' });
    // Below /rest, all is as the protocol says.
    for (const [url, payload] of [
      ['/rest/T?$method=update', '{'],
      ['/rest/Missing', '{}'],
      ['/rest/%zz', '{}'],
    ] as const) {
      const answer = await app.inject({ method: 'POST', url, payload });
      expect(answer.json()).toHaveProperty('__ERROR');
    }
  });

  it('requires a session like /rest: 401 for guests, 403 for users without the privilege', async () => {
    const { hr, viewer } = await staff((own) => {
      own.get('/payroll/:company', async (request) => {
        request.session.require('manageStaff');
        const { company } = request.params as { readonly company: string };
        const found = await ds(request).Company.get(Number(company));
        return { user: request.session.userName, total: await found?.staff.sum('salary') };
      });
    });
    expect((await hr.get('/payroll/2')).json()).toEqual({ user: 'mia', total: 200 });
    const denied = await viewer.get('/payroll/2');
    expect(denied.json()).toEqual({
      statusCode: 403,
      error: 'Forbidden',
      message: 'No permission to do this.',
    });
    expect((await app.inject('/payroll/2')).statusCode).toBe(401);
    await hr.post('/rest/$directory/logout', undefined);
    expect((await hr.get('/payroll/2')).statusCode).toBe(401);
  });

  it('reads in its hooks, too, only what its caller may see', async () => {
    const hooks = ['onRequest', 'preValidation', 'preHandler', 'preSerialization', 'onSend'];
    const counts: number[] = [];
    const count = async (): Promise<void> => {
      counts.push(await (own?.datastore as Staff).Employee.all().count());
    };
    let own: FastifyInstance | undefined;
    await staff((server) => {
      own = server;
      for (const hook of hooks) {
        server.post(`/${hook}`, { [hook]: count }, () => Promise.resolve({}));
      }
    });
    for (const hook of hooks) {
      for (const payload of [undefined, { some: 'body' }]) {
        const options = payload === undefined ? {} : { payload };
        const answer = await app.inject({ method: 'POST', url: `/${hook}`, ...options });
        expect(answer.statusCode, hook).toBe(401);
      }
    }
    expect(counts).toEqual([]);
  });

  it('hides names when it sends an error of the datastore itself, with the status of the error', async () => {
    await staff((own) => {
      own.setErrorHandler((error: { statusCode?: number; message: string }, _request, reply) =>
        reply.code(error.statusCode ?? 500).send({ told: error.message }),
      );
      own.get('/sent', (request, reply) => {
        ds(request)
          .Employee.all()
          .count()
          .then(
            (count) => reply.send({ count }),
            (error: unknown) => reply.send(error),
          );
        return reply;
      });
      own.get('/required', (request) => {
        request.session.require('manageStaff');
        return {};
      });
    });
    const sent = await app.inject('/sent');
    expect(sent.statusCode, sent.body).toBe(401);
    expect(sent.body).not.toContain('Employee');
    const required = await app.inject('/required');
    expect([required.statusCode, required.json()]).toEqual([
      401,
      { told: 'No permission to do this.' },
    ]);
  });

  it('fails for a privilege that the model does not declare, whoever the caller is', async () => {
    const { hr } = await staff((own) => {
      own.get('/misspelt', (request) => {
        request.session.require('manageStaf');
        return {};
      });
    });
    const answer = await hr.get('/misspelt');
    expect(answer.statusCode).toBe(500);
    expect(answer.body).toContain('it has no \\"manageStaf\\"');
  });

  it('reads only what its caller may see, unless it is promoted', async () => {
    const { hr, viewer } = await staff((own) => {
      own.get('/count', (request) => ds(request).Employee.all().count());
      own.get('/app-count', () => (own.datastore as Staff).Employee.all().count());
      own.get('/promoted', (request) =>
        request.session.promote('manageStaff', () => ds(request).Employee.all().count()),
      );
      own.post('/in-transaction', (request) =>
        ds(request).transaction(() => ds(request).Employee.all().count()),
      );
      own.get('/salaries', (request) => ds(request).Employee.all().sum('salary'));
    });
    // Users without manageStaff see only the employees of active companies.
    for (const url of ['/count', '/app-count']) {
      expect((await hr.get(url)).body).toBe('2');
      expect((await viewer.get(url)).body).toBe('1');
      expect((await app.inject(url)).statusCode).toBe(401);
    }
    expect((await viewer.post('/in-transaction')).body).toBe('1');
    expect((await viewer.get('/promoted')).body).toBe('2');
    const denied = await viewer.get('/salaries');
    expect(denied.json()).toEqual({
      statusCode: 403,
      error: 'Forbidden',
      message: 'No permission to do what this needs.',
    });
  });

  it('cannot read data if the caller is unknown', async () => {
    const { hr } = await staff((own) => {
      const lost: (() => void)[] = [];
      const timer = setInterval(() => {
        for (const each of lost.splice(0)) each();
      }, 1);
      own.addHook('onClose', () => {
        clearInterval(timer);
      });
      const later = (work: () => Promise<number>): Promise<string> =>
        new Promise((resolve) => {
          lost.push(() => {
            Promise.resolve()
              .then(work)
              .then(String, (error: unknown) => (error as Error).message)
              .then(resolve, resolve);
          });
        });
      own.get('/lost', (request) => later(() => ds(request).Employee.all().count()));
      own.get('/lost-selection', (request) => {
        const all = ds(request).Employee.all();
        return later(() => all.count());
      });
      own.get('/lost-transaction', (request) =>
        later(() => ds(request).transaction(() => ds(request).Employee.all().count())),
      );
      own.get('/lost-promotion', (request) =>
        later(() =>
          request.session.promote([], () => ds(request).Employee.query('lastName = "A"').count()),
        ),
      );
    });
    const refused = 'is used where its request is unknown';
    expect((await hr.get('/lost')).body).toContain(refused);
    expect((await hr.get('/lost-selection')).body).toContain(refused);
    expect((await hr.get('/lost-transaction')).body).toContain(refused);
    // A promotion identifies the session.
    expect((await hr.get('/lost-promotion')).body).toBe('1');
    const guest = await app.inject('/lost-promotion');
    expect(guest.body).toContain('No permission');
  });

  it('uses no session for a change from a page of another site', async () => {
    const { hr } = await staff((own) => {
      own.post('/change', (request) => request.session.userName);
      own.post('/hook', () => 'no session is asked for');
      own.post('/data', (request) => ds(request).Employee.all().count());
    });
    expect((await hr.post('/change')).body).toBe('mia');
    const foreign = { 'sec-fetch-site': 'cross-site', cookie: String(hr.cookie) };
    const post = (url: string): Promise<{ readonly statusCode: number }> =>
      app.inject({ method: 'POST', url, headers: foreign });
    expect((await post('/change')).statusCode).toBe(403);
    expect((await post('/data')).statusCode).toBe(403);
    expect((await post('/hook')).statusCode).toBe(200);
  });

  it('can read a bearer token of its own, which is not used for a session', async () => {
    const environment = { TOKEN_KEY: 'k'.repeat(40) };
    app = await serverOf(
      model,
      {
        environment,
        login: { login: () => null, loginWithToken: ({ sub }) => ({ userName: String(sub) }) },
      },
      classFiles,
    );
    app.get('/own', (request) => request.headers.authorization);
    app.get('/who', (request) => request.session.userName);
    const headers = { authorization: 'Bearer of-mine' };
    expect((await app.inject({ url: '/own', headers })).body).toBe('Bearer of-mine');
    expect((await app.inject({ url: '/who', headers })).statusCode).toBe(401);
  });
});

describe('Code that is added after buildApp()', () => {
  it('applies to the routes below /rest: hooks, hooks of routes, plugins', async () => {
    const folder = writeServer(modelOf(model), classFiles);
    const { buildApp } = (await importFrom(folder, 'src/generated/app')) as {
      readonly buildApp: (options: AppOptions) => FastifyInstance;
    };
    const early: string[] = [];
    const listed = (urls: string[]) => (route: RouteOptions) => {
      urls.push(route.url);
    };
    const late: string[] = [];
    const seen: string[] = [];
    app = buildApp({
      databaseUrl: 'sqlite::memory:',
      logger: false,
      environment: {},
      login: { login: () => null },
      extend: (own) => {
        own.register(
          fastifyPlugin((plugin, _options, done) => {
            plugin.addHook('onRoute', listed(early));
            done();
          }),
        );
      },
    });
    app.addHook('onRoute', listed(late));
    app.addHook('onRequest', (request, _reply, done) => {
      seen.push(`request ${request.url}`);
      done();
    });
    app.register(
      fastifyPlugin((plugin, _options, done) => {
        plugin.addHook('onResponse', (request, _reply, responded) => {
          seen.push(`response ${request.routeOptions.url ?? ''}`);
          responded();
        });
        done();
      }),
    );
    await app.ready();
    for (const urls of [early, late]) {
      expect(urls).toContain('/rest/Employee(:key');
      expect(urls).toContain('/rest/$catalog');
    }
    await app.inject('/rest/Employee(1)');
    expect(seen).toEqual(['request /rest/Employee(1)', 'response /rest/Employee(:key']);
  });

  it('answers with what its own error handler returns, or later resolves to', async () => {
    await staff((own) => {
      const fails = (): never => {
        throw new Error('no');
      };
      own.get('/now', { errorHandler: () => ({ oops: 1 }) }, fails);
      const later = async (): Promise<object> => Promise.resolve({ oops: 2 });
      own.get('/later', { errorHandler: later }, fails);
    });
    expect((await app.inject('/now')).json()).toEqual({ oops: 1 });
    expect((await app.inject('/later')).json()).toEqual({ oops: 2 });
  });

  it('may use the database until its hooks of onClose have run', async () => {
    const options = { databaseUrl: 'sqlite::memory:', logger: false, environment: {} };
    const folder = writeServer(modelOf(model), classFiles);
    const { buildApp } = (await importFrom(folder, 'src/generated/app')) as {
      readonly buildApp: (options: AppOptions) => FastifyInstance;
    };
    app = buildApp({ ...options, login: { login: () => null } });
    const own = app;
    const counts: number[] = [];
    const count = async (): Promise<void> => {
      counts.push(await (own.datastore as Staff).Company.all().count());
    };
    let job: Promise<void> | undefined;
    app.addHook('onReady', () => {
      job = (own.datastore as Staff).Company.new({ name: 'made by a job' }).save();
    });
    app.addHook('onClose', count);
    app.register((plugin, _options, done) => {
      plugin.addHook('onClose', count);
      done();
    });
    await app.ready();
    await job;
    await app.close();
    expect(counts).toEqual([1, 1]);
  });

  it('has a datastore where the model has no class code', async () => {
    app = await serverOf(`
drs: 1
name: plain
dataclasses:
  Thing:
    attributes: { ID: { type: integer, key: true, generated: sequence }, name: string }
`);
    app.get('/count', (request) => (request.ds as Things).Thing.all().count());
    const things = app.datastore as Things;
    const thing = things.Thing.new({ name: 'a' });
    await thing.save();
    expect([thing.ID, thing.name]).toEqual([1, 'a']);
    expect((await app.inject('/count')).body).toBe('1');
    expect((await app.inject('/rest/Thing')).json()).toMatchObject({ __COUNT: 1 });
  });
});

interface Things {
  readonly Thing: {
    all(): { count(): Promise<number> };
    new: (values: object) => { readonly ID: number; readonly name: string; save(): Promise<void> };
  };
}
