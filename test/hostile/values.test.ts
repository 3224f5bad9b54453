import type { FastifyInstance } from 'fastify';
import fc from 'fast-check';
import { afterAll, beforeAll, it, expect } from 'vitest';
import { create, modelOf, serverOf } from '../support/server.js';
import { anyCharacter } from '../support/any-character.js';

const model = modelOf(`
drs: 1
name: values
dataclasses:
  Thing:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      real: number
      firmReal: { type: number, mandatory: true }
      whole: integer
      span: duration
      text: string
      firmText: { type: string, mandatory: true, indexed: true }
      thing: object
      firmThing: { type: object, mandatory: true }
      vector: { type: vector, dimensions: 2 }
      at: date
      day: { type: date, dateOnly: true }
      next: { to: Thing, inverse: previous }
      previous: { to: Thing, many: true, inverse: next }
      double: { computed: number, expression: real * 2 }
`);

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model);
});
afterAll(() => app.close());

const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => each + 0);
const whole = fc.maxSafeInteger().map((each) => each + 0);
const text = fc.string({ unit: anyCharacter });
const json = fc
  .oneof(fc.dictionary(text, fc.jsonValue({ stringUnit: 'binary' })), fc.array(fc.jsonValue()))
  // A JSON text cannot express negative zero.
  .map((each): unknown => JSON.parse(JSON.stringify(each)));
const date = fc.date({
  min: new Date('0000-01-01T00:00:00.000Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
});
const thing = fc.record({
  real: finite,
  firmReal: finite,
  whole,
  span: whole,
  text,
  firmText: text,
  thing: json,
  firmThing: json,
  vector: fc.tuple(finite, finite),
  at: date.map((each) => each.toISOString()),
  day: date.map((each) => each.toISOString().slice(0, 10)),
});

async function read(url: string): Promise<unknown> {
  const response = await app.inject(url);
  expect(response.statusCode, `${url} ${response.body}`).toBe(200);
  return response.json();
}

it('Every value is returned as it was sent, by every read', async () => {
  await fc.assert(
    fc.asyncProperty(thing, async (sent) => {
      const { at, ...rest } = sent;
      const expected = { ...rest, at: at.padStart(24, '0') };
      const [made] = await create(app, 'Thing', [sent]);
      expect(made).toMatchObject(expected);
      const key = String(made?.['__KEY']);
      await create(app, 'Thing', [{ firmReal: 0, firmText: '', firmThing: [], next: key }]);
      expect(await read(`/rest/Thing(${key})`)).toMatchObject(expected);
      expect(await read(`/rest/Thing?$filter=ID=${key}`)).toMatchObject({
        __ENTITIES: [expected],
      });
      const others = `/rest/Thing?$filter=next=${key}&$expand=next,next.previous`;
      expect(await read(others)).toMatchObject({
        __ENTITIES: [{ next: { ...expected, previous: { __COUNT: 1 } } }],
      });
      const names = Object.keys(sent).join();
      for (const name of Object.keys(sent)) {
        const listed = `/rest/Thing?$filter=ID=${key}&$attributes=${name}`;
        expect(await read(listed)).toMatchObject({
          __ENTITIES: [{ [name]: expected[name as keyof typeof expected] }],
        });
      }
      expect(await read(`/rest/Thing(${key})/${names}`)).toMatchObject(expected);
    }),
    { numRuns: 200 },
  );
});

it('Every comparable value finds its entity', async () => {
  await fc.assert(
    fc.asyncProperty(thing, async (sent) => {
      const [made] = await create(app, 'Thing', [sent]);
      for (const name of ['real', 'firmReal', 'whole', 'span', 'text', 'firmText', 'at', 'day']) {
        const value = sent[name as keyof typeof sent];
        const params = encodeURIComponent(JSON.stringify([value, made?.['ID']]));
        for (const comparator of ['=', '>=', '<=']) {
          const url = `/rest/Thing?$filter=${name}${comparator}:1 and ID=:2&$params=${params}`;
          expect(await read(url), url).toMatchObject({ __COUNT: 1 });
        }
        const unequal = `/rest/Thing?$filter=${name}!=:1 and ID=:2&$params=${params}`;
        expect(await read(unequal)).toMatchObject({ __COUNT: 0 });
      }
    }),
    { numRuns: 150 },
  );
});

it('A computed number beyond the range of JSON is answered', async () => {
  const [made] = await create(app, 'Thing', [
    { real: 1.7e308, firmReal: 0, firmText: '', firmThing: {} },
  ]);
  const found = (await read(`/rest/Thing(${String(made?.['__KEY'])})`)) as Record<string, unknown>;
  expect(found['real']).toBe(1.7e308);
  expect([null, 3.4e308]).toContain(found['double']);
});
