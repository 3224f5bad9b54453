import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../support/server.js';
import { folded } from './memory/comparison.js';

const yaml = `
drs: 1
name: beginnings
dataclasses:
  Text:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      plain: string
      indexed: { type: string, indexed: true }
`;

/** The first and the last characters of ranges of code points and of their UTF-8 lengths, and what follows them. */
const edges = [
  ...['\0', '\u0001', '\u007f', '\u0080', '\u07ff', '\u0800', '\ud7ff', '\ue000', '\ufffd'],
  ...['\ufffe', '\uffff', '\u{10000}', '\u{10ffff}', 'a', 'A', 'ς', 'Σ', 'İ', '\u0307'],
];
const edgeTexts = fc.string({ unit: fc.constantFrom(...edges), maxLength: 3 });

let app: FastifyInstance;
const held = [...edges, ...fc.sample(edgeTexts, { seed: 1, numRuns: 300 })];
beforeAll(async () => {
  app = await serverOf(yaml);
  await create(
    app,
    'Text',
    held.map((text) => ({ plain: text, indexed: text })),
  );
});
afterAll(async () => {
  await app.close();
});

describe('$filter: begin and order', () => {
  it('agree with the folded texts at the boundaries of the ranges of code points', async () => {
    const comparators = {
      begin: (text: string, value: string) => text.startsWith(value),
      '=': (text: string, value: string) => text === value,
      '>=': (text: string, value: string) => !isBefore(text, value),
      '<': isBefore,
    };
    const asked = fc.tuple(
      edgeTexts,
      fc.constantFrom('plain', 'indexed'),
      fc.constantFrom('begin', '=', '>=', '<'),
    );
    await fc.assert(
      fc.asyncProperty(asked, async ([value, attribute, comparator]) => {
        const params = encodeURIComponent(JSON.stringify([value]));
        const filter = encodeURIComponent(`${attribute} ${comparator} :1`);
        const response = await app.inject({
          url: `/rest/Text?$filter=${filter}&$params=${params}&$top=0`,
        });
        const holds = comparators[comparator];
        const count = held.filter((text) => holds(folded(text), folded(value))).length;
        expect(response.json()).toMatchObject({ __COUNT: count });
      }),
      { numRuns: 400 },
    );
  });
});

/** The order of UTF-8, byte by byte, is the order of code points. */
function isBefore(left: string, right: string): boolean {
  return Buffer.compare(Buffer.from(left), Buffer.from(right)) < 0;
}
