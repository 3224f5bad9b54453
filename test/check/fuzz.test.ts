import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Ajv } from 'ajv';
import { parse, stringify } from 'yaml';
import { checkModel } from '../../generator/check/check-model.js';
import { messages } from '../../generator/check/report.js';
import { definitions, modelDefinition, modelSchema } from '../../generator/source/model.schema.js';
import { anyCharacter } from '../support/any-character.js';
import { sampled } from '../support/long.js';

const complete = readFileSync(new URL('../support/models/complete.yaml', import.meta.url), 'utf8');

const words = [
  ...[...Object.values(definitions), modelDefinition].flatMap((each) => [
    ...Object.keys(each.properties ?? {}),
    ...(each.enum ?? []).map(String),
  ]),
  'Company',
  'Employee',
  'Company.selection',
  'employer.name',
  'ID',
  'sequence',
  '__proto__',
  'constructor',
  'toString',
  'random()',
];

const isPublishedShape = new Ajv({ strict: false }).compile(modelSchema);

/** Checks a text, and that the answer keeps what every answer promises. */
function check(text: string | Uint8Array): void {
  const readBeside = (path: string): string | undefined =>
    path === 'Company' ? complete : undefined;
  const input = { file: 'model.yaml', text, readBeside };
  const { problems, value, sources } = checkModel(input);
  const hasErrors = problems.some(({ severity }) => severity === 'error');
  expect(value === undefined).toBe(hasErrors);
  // An error that an editor would underline is always reported.
  if (value !== undefined) expect(isPublishedShape(parse(String(text)))).toBe(true);
  for (const { code, origin, message } of problems) {
    expect(messages).toHaveProperty([code]);
    expect(message).not.toMatch(/undefined|\[object/);
    const length = sources.get(origin.file)?.length ?? -1;
    expect(origin.start).toBeGreaterThanOrEqual(0);
    expect(origin.start).toBeLessThanOrEqual(origin.end);
    expect(origin.end).toBeLessThanOrEqual(length);
  }
}

describe('checks never throw', () => {
  it('over texts', () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), check));
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), check));
  });

  it('for trees that look like models', () => {
    const word = fc.constantFrom(...words);
    const scalar = fc.oneof(word, fc.boolean(), fc.integer(), fc.double(), fc.constant(null));
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 6, withCrossShrink: true },
        scalar,
        fc.dictionary(word, tie('tree'), { maxKeys: 5, noNullPrototype: false }),
        fc.array(tie('tree'), { maxLength: 3 }),
      ),
    }));
    const root = fc.record({
      drs: fc.constant(1),
      name: fc.constant('x'),
      roles: tree,
      dataclasses: fc.dictionary(
        word,
        fc.record({ attributes: tree, functions: tree, indexes: tree }),
      ),
    });
    fc.assert(
      fc.property(fc.oneof(root, tree), (value) => {
        check(stringify(value));
      }),
      { numRuns: sampled(300) },
    );
  });

  it('for the complete example with a word replaced, a line removed or characters changed', () => {
    const lines = complete.split('\n');
    const replaced = fc
      .tuple(fc.nat(lines.length - 1), fc.nat(10), fc.constantFrom(...words))
      .map(([line, at, word]) => {
        let seen = 0;
        const changed = (lines[line] ?? '').replace(/[\p{L}_]+/gu, (found) =>
          seen++ === at ? word : found,
        );
        return lines.with(line, changed).join('\n');
      });
    const lost = fc
      .nat(lines.length - 1)
      .map((line) => lines.filter((_, index) => index !== line).join('\n'));
    const changed = fc
      .tuple(fc.nat(complete.length), fc.nat(8), fc.string({ maxLength: 4 }))
      .map(([at, length, text]) => complete.slice(0, at) + text + complete.slice(at + length));
    fc.assert(fc.property(fc.oneof(replaced, lost, changed), check), { numRuns: sampled(400) });
  });
});
