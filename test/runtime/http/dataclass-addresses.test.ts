import fastify, { type FastifyInstance } from 'fastify';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { DataclassHandlers } from '../../../runtime/http/dataclass-handlers.js';
import {
  DataclassAddresses,
  registerAddresses,
} from '../../../runtime/http/dataclass-addresses.js';
import { guardRequests } from '../../../runtime/http/request-guards.js';
import { maxUrlLength } from '../../../runtime/http/reading-parameters.js';
import { sendJson } from '../../../runtime/http/reply.js';

/** As emitted code writes them, for a dataclass with functions of every level. */
const suffixes = [
  ['get', ''],
  ['post', ''],
  ['get', '/:attributes'],
  ['post', '/:attributes'],
  ['get', '(:key'],
  ['post', '(:key'],
  ['get', '(:key/:attributes'],
  ['post', '(:key/:attributes'],
  ['get', ':::lookup'],
  ['get', ':::lookup/:attributes'],
  ['get', '/$entityset/:set'],
  ['post', '/$entityset/:set'],
  ['get', '/:attributes/$entityset/:set'],
  ['get', '/total'],
  ['post', '/total'],
  ['get', '/total/$entityset'],
  ['post', '/total/$entityset/:set'],
  ['get', '/$entityset/:set/total'],
  ['post', '/totalOfAll'],
  ['post', '(:key/hire'],
] as const;

const dataclasses = ['A', 'AB', 'A_B', 'Größe'];

/** What Fastify's router finds when each address is a route of its own, which is what is wanted. */
function withRoutes(): FastifyInstance {
  const app = server();
  for (const name of dataclasses) {
    for (const [method, suffix] of suffixes) {
      const address = `/rest/${name}${suffix}`;
      app[method](address, ({ params }, reply) => sendJson(reply, shown(address, params)));
    }
  }
  return app;
}

function withAddresses(addresses: DataclassAddresses): FastifyInstance {
  const app = server();
  const sizes = { usual: 1000, images: 1000, imageAddresses: new Set<string>() };
  registerAddresses(app, addresses, sizes);
  const serve = addresses.serving(() => ({}) as DataclassHandlers, undefined);
  for (const name of dataclasses) {
    serve(name, (routes) => {
      for (const [method, suffix] of suffixes) {
        const address = `/rest/${name}${suffix}`;
        routes[method](address, ({ params }, reply) => sendJson(reply, shown(address, params)));
      }
    });
  }
  return app;
}

function server(): FastifyInstance {
  const app = fastify({
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: maxUrlLength },
  });
  guardRequests(app);
  app.get('/rest/$catalog', (_request, reply) => sendJson(reply, '"the catalog"'));
  return app;
}

function shown(address: string, params: unknown): string {
  return JSON.stringify({ address, params });
}

const wanted = withRoutes();
const addresses = new DataclassAddresses();
const served = withAddresses(addresses);
afterAll(() => Promise.all([wanted.close(), served.close()]));

async function expectSame(method: 'GET' | 'HEAD' | 'POST', url: string): Promise<void> {
  const [one, other] = await Promise.all(
    [wanted, served].map(async (app) => {
      const { statusCode, body } = await app.inject({ method, url });
      // The addresses know more to say of where nothing is.
      return statusCode === 404 ? { statusCode } : { statusCode, body };
    }),
  );
  expect({ url, ...other }).toEqual({ url, ...one });
}

/** The pieces that addresses are made of, and those that mislead. */
const piece = fc.oneof(
  fc.constantFrom(...dataclasses, ...dataclasses.map(encodeURIComponent)),
  fc.constantFrom('/', '/', '(', ')', ':', '$entityset', 'total', 'totalOfAll', 'hire', 'name'),
  fc.constantFrom(
    '%2F',
    '%28',
    '%3A',
    '%25',
    '%2525',
    '%24',
    '%C3%A9',
    '%',
    '%zz',
    '%41',
    ';',
    '#',
  ),
  fc.constantFrom('?x=1', '?x=%2F', '?', '//', '1', "'a'", '__proto__', 'constructor', '*'),
);

describe('the addresses of dataclasses', () => {
  it('lead where routes of Fastify would, with the same parameters', async () => {
    const address = fc.oneof(
      fc.array(piece, { maxLength: 8 }).map((pieces) => `/rest/${pieces.join('')}`),
      fc
        .tuple(fc.constantFrom(...dataclasses), fc.array(piece, { maxLength: 6 }))
        .map(([name, pieces]) => `/rest/${encodeURIComponent(name)}${pieces.join('')}`),
    );
    const method = fc.constantFrom('GET' as const, 'HEAD' as const, 'POST' as const);
    await fc.assert(fc.asyncProperty(method, address, expectSame), { numRuns: 2000 });
  });

  it.each([
    '/rest/A',
    '/rest/A/',
    '/rest/A//',
    '/rest/A(1)',
    '/rest/A(1)/',
    '/rest/A(a%2Fb)/name',
    '/rest/A%281)/name',
    '/rest/A(%2528)',
    '/rest/A:name(1)/x?y=%25',
    '/rest/A/total/$entityset',
    '/rest/A/total/$entityset/S',
    '/rest/A/$entityset/S/total',
    '/rest/A/other/$entityset/S',
    '/rest/Gr%C3%B6%C3%9Fe(1)',
    '/rest/a',
    '/rest/ABC',
    '/rest/$catalog',
    '/rest/$catalog/x/y',
    '/%72est/A(1)',
    '/rest',
    '/rest/',
    'http://localhost/rest/A(1)/name',
    'http://localhost/rest/A(1%20)/name?x=1',
  ])('%s is answered as by routes', async (url) => {
    await expectSame('GET', url);
    await expectSame('POST', url);
  });

  it('are made at the first request to their dataclass', async () => {
    const lazy = new DataclassAddresses();
    const app = withAddresses(lazy);
    expect(lazy.madeCount).toBe(0);
    expect((await app.inject('/rest/AB(1)')).statusCode).toBe(200);
    expect((await app.inject('/rest/AB(2)')).statusCode).toBe(200);
    expect((await app.inject('/rest/Other(2)')).statusCode).toBe(404);
    expect(lazy.madeCount).toBe(1);
    await app.close();
  });
});
