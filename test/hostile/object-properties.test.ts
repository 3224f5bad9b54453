import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isWellFormed } from '../../runtime/protocol/own-text.js';
import { sampled } from '../support/long.js';
import { create, serverOf } from '../support/server.js';
import { expectServed, type Response } from '../support/expect-served.js';
import { anyCharacter } from '../support/any-character.js';

const model = `
drs: 1
name: objects
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      extra: object
`;

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model);
});
afterAll(() => app.close());

async function ask(filter: string, params: readonly unknown[]): Promise<Response> {
  const query = new URLSearchParams({ $filter: filter, $params: JSON.stringify(params) });
  const response = await app.inject(`/rest/Item?${query.toString()}`);
  expectServed(response, `${filter} ${JSON.stringify(params)}`);
  return response;
}

/** Everything that a path in a parameter can contain; U+0000 is refused. */
const name = fc
  .string({ unit: anyCharacter, minLength: 1, maxLength: 8 })
  .filter((text) => !/[.[\]{}\0]/.test(text) && isWellFormed(text));
const text = fc.string({ unit: anyCharacter, maxLength: 12 }).filter((each) => isWellFormed(each));
const number = fc.double({ noNaN: true, noDefaultInfinity: true });
const scalar = fc.oneof(text, number, fc.boolean());

describe('A property with any name', () => {
  it('is found by its value, also in lists and arrays, and by no other one', async () => {
    await fc.assert(
      fc.asyncProperty(name, name, scalar, async (outer, inner, value) => {
        const nested = Object.fromEntries([[inner, value]]);
        const extra = Object.fromEntries([[outer, [nested, { [`${inner}x`]: 0 }]]]);
        const [item] = await create(app, 'Item', [{ extra }]);
        const path = `extra.${outer}[].${inner}`;
        const own = `ID = ${String(item?.['__KEY'])} AND `;
        const counted = async (filter: string, wanted: unknown): Promise<number> =>
          (await ask(own + filter, [path, wanted])).json<{ __COUNT: number }>().__COUNT;
        expect(await counted(':1 = :2', value)).toBe(1);
        expect(await counted(':1 in :2', [value])).toBe(1);
        expect(await counted(':1 >= :2 AND NOT (:1 != :2)', value)).toBe(1);
        const other = typeof value === 'string' ? 5 : String(value);
        expect(await counted(':1 = :2', other)).toBe(0);
        expect(await counted(':1 in :2', [other])).toBe(0);
      }),
      { numRuns: sampled(300) },
    );
  });
});

it('Paths of any shape are answered or refused', async () => {
  const step = fc.tuple(name, fc.constantFrom('', '[]', '[a]', '{2}', '{1}[b]'));
  const steps = fc.array(
    step.map(([before, mark]) => before + mark),
    { maxLength: 70 },
  );
  const comparator = fc.constantFrom('=', '!=', '<', 'begin', 'contains', '%', 'in');
  await fc.assert(
    fc.asyncProperty(steps, comparator, fc.jsonValue(), async (list, by, value) => {
      await ask(`:1 ${by} :2`, [['extra', ...list].join('.'), value]);
    }),
    { numRuns: sampled(300) },
  );
});

it('Filters with very many properties, elements and values are answered or refused', async () => {
  const long = 'p.'.repeat(62);
  const requests: readonly (readonly [string, readonly unknown[]])[] = [
    [`extra.${long}p = 1`, []],
    [Array.from({ length: 500 }, (_, at) => `extra.list[a].p${at} = ${at}`).join(' AND '), []],
    [Array.from({ length: 500 }, (_, at) => `extra.list[].p${at} = ${at}`).join(' OR '), []],
    [`extra${'.l[]'.repeat(62)}.x != 1`, []],
    [`extra${'.l[a]'.repeat(20)}.x != 1`, []],
    [`extra${'.l[a]'.repeat(62)}.x != 1`, []],
    [`${'NOT('.repeat(64)}extra${'.l[a]'.repeat(20)}.x begin 'x'${')'.repeat(64)}`, []],
    ['extra.a in :1', [Array.from({ length: 9_000 }, (_, at) => at)]],
    ['extra.a contains :1 OR extra.a % :1', ['x'.repeat(20_000)]],
  ];
  for (const [filter, params] of requests) await ask(filter, params);
});
