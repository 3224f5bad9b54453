import type { FastifyInstance } from 'fastify';
import fc from 'fast-check';
import { afterAll, beforeAll, it } from 'vitest';
import { sampled } from '../support/long.js';
import { modelFile } from '../support/model-file.js';
import { create, serverOf } from '../support/server.js';
import { expectServed } from '../support/expect-served.js';

const model = modelFile('staff');
let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model, { environment: { BODY_SIZE: '200000' } });
  await create(app, 'Company', [{ name: 'first', city: 'Berlin' }, { name: 'second' }]);
  await create(app, 'Employee', [{ ID: '1'.repeat(32), lastName: 'one', employer: 1 }]);
  await create(app, 'Note', [{ code: 'a', about: '1'.repeat(32) }]);
});
afterAll(() => app.close());

const names = model.dataclasses.flatMap((each) => [
  each.name,
  ...each.attributes.map((attribute) => attribute.name),
]);
const dataclass = fc.constantFrom(...model.dataclasses.map((each) => each.name));

const json = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(
    null,
    1e308,
    -0,
    2 ** 53,
    '',
    '1',
    '2020-01-01',
    '\ud800',
    [[]],
    { __KEY: 1 },
    { __deferred: {} },
  ),
);
const entity = fc.dictionary(
  fc.oneof(fc.constantFrom(...names, '__KEY', '__STAMP', 'uri'), fc.string()),
  json,
  { maxKeys: 6 },
);

it('Any entity is stored or refused', async () => {
  await fc.assert(
    fc.asyncProperty(
      dataclass,
      fc.oneof(entity, fc.array(entity, { maxLength: 3 })),
      async (of, body) => {
        const payload = JSON.stringify(body);
        const url = `/rest/${of}?$method=update`;
        expectServed(await app.inject({ method: 'POST', url, payload }), payload);
      },
    ),
    { numRuns: sampled(2_000) },
  );
});

it('Any change of an entity, in any mode, is stored or refused', async () => {
  const existing = fc.constantFrom(
    'Company(1)',
    'Company(2)',
    `Employee(${'1'.repeat(32)})`,
    'Note(a)',
  );
  const mode = fc.constantFrom('update', 'update&$atomic=true', 'update&$refresh=true', 'validate');
  await fc.assert(
    fc.asyncProperty(existing, mode, entity, async (address, method, values) => {
      const read = await app.inject(`/rest/${address}`);
      const { __KEY, __STAMP } = read.json<{ __KEY: string; __STAMP: number }>();
      const payload = JSON.stringify({ ...values, __KEY, __STAMP });
      const url = `/rest/${address}?$method=${method}`;
      expectServed(await app.inject({ method: 'POST', url, payload }), `${url} ${payload}`);
    }),
    { numRuns: sampled(2_000) },
  );
});

it('Any body is read or refused', async () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map((each) => Buffer.from(each)),
    fc.json().map((each) => Buffer.from(each)),
    fc
      .tuple(fc.json(), fc.uint8Array({ maxLength: 4 }))
      .map(([of, rest]) => Buffer.concat([Buffer.from(of), rest])),
  );
  const types = fc.constantFrom(
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'x',
    '',
  );
  await fc.assert(
    fc.asyncProperty(bytes, types, async (payload, type) => {
      const url = '/rest/Company?$method=update';
      const headers = type === '' ? {} : { 'content-type': type };
      expectServed(
        await app.inject({ method: 'POST', url, payload, headers }),
        payload.toString('hex'),
      );
    }),
    { numRuns: sampled(1_500) },
  );
});
