import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../support/server.js';
import { inputsOf } from '../support/random-model/values.js';
import { anyCharacter } from '../support/any-character.js';
import { sampled } from '../support/long.js';

/** @param own attributes that the other dataclass does not have */
function dataclass(name: string, ...own: readonly string[]): string {
  return `
  ${name}:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      indexedText: { type: string, indexed: true }
      mandatoryText: { type: string, mandatory: true, default: '' }
      number: number
      mandatoryNumber: { type: number, mandatory: true, default: 0 }
      integer: integer
      duration: duration
      boolean: boolean
      instant: date
      day: { type: date, dateOnly: true }
      uuid: uuid
      ${own.join('\n      ')}
      self: { to: ${name}, foreignKey: ID_of_self }
      ID_of_self: integer
      same: { alias: self.text }`;
}

// Without documents, PostgreSQL writes entities as rows.
const yaml = `
drs: 1
name: values
dataclasses:
  ${dataclass('Value', 'object: object', 'vector: { type: vector, dimensions: 3 }')}
  ${dataclass('Plain', 'price: { type: decimal, scale: 3 }')}
`;

const dataclasses = ['Value', 'Plain'];

const runs = Number(process.env['PROPERTY_VALUES'] ?? sampled(150));

let app: FastifyInstance;
beforeAll(async () => {
  app = await serverOf(yaml);
});
afterAll(async () => {
  await app.close();
});

/** The attributes of an entity that was just created, read by its key. */
async function readBack(body: object, dataclass = 'Value'): Promise<Record<string, unknown>> {
  const [created] = await create(app, dataclass, [body]);
  const url = `/rest/${dataclass}(${String(created?.['__KEY'])})`;
  return (await app.inject({ url })).json();
}

/** The value after JSON: -0 becomes 0, and nothing else changes. */
function throughJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Each code unit from the first to U+00FF, so every character that JSON escapes. */
const controls = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));

const doubles = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.double({ noNaN: true, min: -1e-300, max: 1e-300 }),
  fc.constantFrom(5e-324, -5e-324, 2 ** -1022, Number.MAX_VALUE, -Number.MAX_VALUE, -0),
  fc.constantFrom(Number.EPSILON, 0.1 + 0.2, 2 ** 53, 2 ** 63, 2 ** 64, 1e15, 1e16, 1e21, 1e22),
  fc.maxSafeInteger().map((each) => each / 1_000),
);

const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 20 }),
  fc.string({ unit: fc.constantFrom(...controls), maxLength: 20 }),
  fc.string({ unit: 'grapheme', maxLength: 10 }),
);

describe('Values in answers', () => {
  it.each(dataclasses)('are the numbers that were sent, to the last bit: %s', async (dataclass) => {
    await fc.assert(
      fc.asyncProperty(doubles, async (number) => {
        const read = await readBack({ number, mandatoryNumber: number }, dataclass);
        expect(read['number']).toBe(throughJson(number));
        expect(read['mandatoryNumber']).toBe(throughJson(number));
      }),
      { numRuns: runs },
    );
  });

  it.each(dataclasses)('are the texts that were sent, to the character: %s', async (dataclass) => {
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        const [created] = await create(app, dataclass, [
          { text, indexedText: text, mandatoryText: text },
        ]);
        const read = await readBack({ self: created?.['__KEY'] }, dataclass);
        expect(created).toMatchObject({ text, indexedText: text, mandatoryText: text });
        expect(read['same']).toBe(text);
      }),
      { numRuns: runs },
    );
  });

  it('contain every control character, also NUL in the middle', async () => {
    const text = `${controls.join('')}\0end`;
    const read = await readBack({ text, indexedText: text, object: { [text]: [text] } });
    expect(read).toMatchObject({ text, indexedText: text, object: { [text]: [text] } });
  });

  it('are the objects and vectors that were sent', async () => {
    const json = fc.oneof(
      fc.dictionary(anyText, fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' })),
      fc.array(fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' })),
    );
    const vectors = fc.array(doubles, { minLength: 3, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(json, vectors, async (object, vector) => {
        const read = await readBack({ object, vector });
        expect(read['object']).toEqual(throughJson(object));
        expect(read['vector']).toEqual(throughJson(vector));
      }),
      { numRuns: runs },
    );
  });

  it.each(dataclasses)(
    'are the dates, days, integers and booleans that were sent: %s',
    async (dataclass) => {
      const bodies = fc.record({
        instant: fc
          .date({
            min: new Date('0001-01-01T00:00:00Z'),
            max: new Date('9999-12-31T23:59:59.999Z'),
            noInvalidDate: true,
          })
          .map((each) => each.toISOString()),
        integer: fc.maxSafeInteger(),
        duration: fc.maxSafeInteger(),
        boolean: fc.boolean(),
        uuid: fc.uuid().map((each) => each.replaceAll('-', '').toUpperCase()),
      });
      await fc.assert(
        fc.asyncProperty(bodies, async (body) => {
          const day = body.instant.slice(0, 10);
          expect(await readBack({ ...body, day }, dataclass)).toMatchObject({ ...body, day });
        }),
        { numRuns: runs },
      );
    },
  );

  it('are the same again when they are sent back as they were read', async () => {
    const bodies = fc.record({
      text: inputsOf('string', false),
      number: inputsOf('number', false),
      instant: inputsOf('date', false),
      day: inputsOf('date', true),
      uuid: inputsOf('uuid', false),
      object: inputsOf('object', false),
      vector: inputsOf('vector', false),
    });
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const first = attributesOf(await readBack(body));
        expect(attributesOf(await readBack(first))).toEqual(first);
      }),
      { numRuns: runs },
    );
  });
});

function attributesOf(entity: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = Object.entries(entity).filter(([name]) => !name.startsWith('__') && name !== 'ID');
  return Object.fromEntries(kept);
}

describe('Texts that are not Unicode', () => {
  it.each(['"\\ud800"', '"a\\udc00b"', '"\\udc00\\ud800"', '"\\ud83d"'])(
    'are refused: %s',
    async (json) => {
      for (const body of [
        `{"text":${json}}`,
        `{"object":{"a":[${json}]}}`,
        `{"object":{${json}:1}}`,
      ]) {
        const response = await app.inject({
          method: 'POST',
          url: '/rest/Value?$method=update',
          payload: body,
        });
        expect(response.statusCode, body).toBe(400);
      }
    },
  );
});
