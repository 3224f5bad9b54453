import type { FastifyInstance } from 'fastify';
import fc from 'fast-check';
import { afterAll, beforeAll, it, expect } from 'vitest';
import { create, modelOf, serverOf } from '../support/server.js';
import { anyCharacter } from '../support/any-character.js';
import { sampled } from '../support/long.js';

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
    { numRuns: sampled(200) },
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
    { numRuns: sampled(150) },
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

it.each([
  ['real', '1e-400', 'must be 0, or a number that is not too near to 0'],
  ['real', '-0.1e-330', 'must be 0, or a number that is not too near to 0'],
  ['real', '"1e-400"', 'must be 0, or a number that is not too near to 0'],
  ['whole', '5.00000000000000000001', 'must be a whole number'],
  ['whole', '4.99999999999999999999', 'must be a whole number'],
  ['span', '1e-400', 'must be a whole number of milliseconds'],
  ['text', '0.10000000000000001', 'must be a text'],
  ['thing', '0.10000000000000001', 'must be a JSON object or array'],
  ['thing', '{"a":[1e-400]}', 'holds a number too near to 0 to be kept'],
  ['vector', '[1e-400,1]', 'must be an array of numbers'],
  ['next', '1.00000000000000000001', 'must be a key'],
  ['ID', '9.00000000000000000001', 'must be a whole number'],
  ['__KEY', '9.00000000000000000001', 'must be a whole number'],
])('%s that is sent as %s is refused: %s', async (name, json, reason) => {
  const firm = '"firmReal":1,"firmText":"","firmThing":[]';
  for (const payload of [`{${firm},"${name}":${json}}`, `[{${firm}, "${name}" :\n ${json}}]`]) {
    const response = await app.inject({
      method: 'POST',
      url: '/rest/Thing?$method=update',
      payload,
    });
    expect(response.body).toContain(reason);
    expect(response.body).not.toContain('"success":true');
  }
});

it('A number of more digits than a double holds is kept as the nearest double, where one is kept', async () => {
  const sent = '0.1000000000000000055511151231257827';
  const payload = `{"firmReal":${sent},"firmText":"","firmThing":{"a":[${sent}]},"vector":[${sent},5e-324]}`;
  const response = await app.inject({ method: 'POST', url: '/rest/Thing?$method=update', payload });
  expect(response.json()).toMatchObject({
    firmReal: 0.1,
    firmThing: { a: [0.1] },
    vector: [0.1, 5e-324],
  });
  const listed = await app.inject({
    method: 'POST',
    url: '/rest/Thing?$method=update',
    payload: '[1e-400]',
  });
  expect(listed.json()).toMatchObject({ __ERROR: [{ errCode: 1833 }] });
});

it('A number nearer to 0 than a double is compared as another number than 0', async () => {
  await create(app, 'Thing', [{ real: 0, text: 'zero', firmReal: 0, firmText: '', firmThing: [] }]);
  const count = async (condition: string, params: string): Promise<unknown> => {
    const url = `/rest/Thing?$filter="text=zero and real ${condition}"&$params=${params}&$top=0`;
    return read(url);
  };
  for (const number of ['1e-400', '-1e-400']) {
    const isBelow = number.startsWith('-');
    for (const given of [number, ':1', `"${number}"`.replaceAll('"', "'")]) {
      expect(await count(`= ${given}`, `[${number}]`)).toMatchObject({ __COUNT: 0 });
      expect(await count(`>= ${given}`, `[${number}]`)).toMatchObject({ __COUNT: Number(isBelow) });
      expect(await count(`< ${given}`, `[${number}]`)).toMatchObject({ __COUNT: Number(!isBelow) });
    }
    expect(await count('IN :1', `[[${number}]]`)).toMatchObject({ __COUNT: 0 });
  }
});
