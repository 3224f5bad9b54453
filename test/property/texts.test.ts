import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../support/server.js';
import { folded, foldedWithoutAccents } from './memory/comparison.js';
import { isPropertyAsWanted, type Positive } from './memory/held.js';
import type { TextRules } from './memory/text-match.js';
import { sampled } from '../support/long.js';

const runs = Number(process.env['PROPERTY_TEXTS'] ?? sampled(300));

/** Letters, characters next to them, combining marks, and characters with a meaning in patterns. */
const pieces = [
  ...['a', 'A', 'b', 'a', 'b', ' ', '-', '_', '1', '\u0332', '\u0301', 'é', 'ß', 'İ', 'σ', 'ς'],
  ...['@', '*', '@', '*', '%', '\\', "'", '"', '?', '[', '😀', '\u{10ffff}', '\0', '\u093f', 'ह'],
];
const short = fc.string({ unit: fc.constantFrom(...pieces), maxLength: 3 });
const held = fc.sample(fc.string({ unit: fc.constantFrom(...pieces), maxLength: 5 }), {
  seed: 1,
  numRuns: 300,
});

const comparators: readonly Positive[] = [
  ...(['=', '===', 'in', 'begin', 'contains', '%', '%', '<', '>='] as const),
];

const models = [
  { accentInsensitive: false, wildcard: false },
  { accentInsensitive: false, wildcard: true },
  { accentInsensitive: true, wildcard: true },
];

describe.each(models)('Comparisons of texts with %o', ({ accentInsensitive, wildcard }) => {
  const rules: TextRules = { fold: accentInsensitive ? foldedWithoutAccents : folded, wildcard };
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await serverOf(`
drs: 1
name: texts
protocol: { accentInsensitive: ${String(accentInsensitive)}, wildcard: ${String(wildcard)} }
dataclasses:
  Text:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      plain: string
      indexed: { type: string, indexed: true }
      extra: object
`);
    const texts = held.map((text) => ({
      plain: text,
      indexed: text,
      extra: { text, list: [text] },
    }));
    await create(app, 'Text', texts);
  });
  afterAll(async () => {
    await app.close();
  });

  it('agree with the folded texts, in columns, in indexes and in objects', async () => {
    const asked = fc.tuple(
      fc.oneof(short, fc.constantFrom(...held)),
      fc.constantFrom('plain', 'indexed', 'extra.text', 'extra.list[]'),
      fc.constantFrom(...comparators),
    );
    await fc.assert(
      fc.asyncProperty(asked, async ([value, path, comparator]) => {
        const params = encodeURIComponent(JSON.stringify([comparator === 'in' ? [value] : value]));
        const filter = encodeURIComponent(`${path} ${comparator} :1`);
        const response = await app.inject({
          url: `/rest/Text?$filter=${filter}&$params=${params}&$top=0`,
        });
        const matching = held.filter((text) =>
          isPropertyAsWanted(text, comparator, [value], rules),
        );
        expect(response.json()).toMatchObject({ __COUNT: matching.length });
      }),
      { numRuns: runs },
    );
  });
});
