import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { check, format, util } from 'prettier';
import { describe, expect, it } from 'vitest';
import { emitServer } from '../../generator/emit/emit-server.js';
import {
  call,
  declaration,
  docComment,
  type Literal,
  RawCode,
  stringLiteral,
  width,
} from '../../generator/emit/layout.js';
import { anyCharacter } from '../support/any-character.js';
import { isLong, sampled } from '../support/long.js';
import { modelOf, packageRoot } from '../support/server.js';

const options = { parser: 'typescript', printWidth: 100, singleQuote: true } as const;

/** Text with characters that have a meaning in TypeScript. */
const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 130, size: 'max' }),
  fc.string({ maxLength: 130, size: 'max' }),
  fc.string({ maxLength: 20 }),
  fc
    .array(
      fc.constantFrom(
        ...["'", '"', '`', '\\', '/', '*/', '/*', '//', '${', '}', '\n', '\r\n', '\r', '\t', '\0'],
        ...[
          '\u2028',
          '\u2029',
          '\ufeff',
          '\u200d',
          '\u00ad',
          'é',
          'e\u0301',
          '字',
          '😀',
          'ｱ',
          '한',
        ],
        ...['1', '0', 'x', '</script>', '\ud800', '\u{e0001}', '\u{10ffff}', '{{a}}', '}}', ' '],
      ),
      { maxLength: 80, size: 'max' },
    )
    .map((each) => each.join('')),
);
const name = fc.oneof(
  fc.stringMatching(/^[A-Za-z_$][A-Za-z0-9_$]{0,5}$/),
  fc.stringMatching(/^[A-Za-z_$][A-Za-z0-9_$]{0,70}$/, { size: 'max' }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    '1',
    '1a',
    'a-b',
    'class',
    'é',
    '字'.repeat(20),
    '',
    '0x1',
    '1e3',
    '01',
  ),
  text,
);
const number = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1e21, -1e21, 1e-7, 5e-324, 1.7976931348623157e308),
);
const scalar: fc.Arbitrary<Literal> = fc.oneof(text, number, fc.boolean(), fc.constant(null));
const raw = fc.stringMatching(/^x[a-z]{1,60}$/, { size: 'max' }).map((each) => new RawCode(each));

const { any } = fc.letrec<{ any: Literal }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { weight: 4, arbitrary: scalar },
    raw,
    fc.array(number, { maxLength: 30, size: 'max' }),
    fc.array(text, { maxLength: 10 }),
    fc.array(tie('any'), { maxLength: 6 }),
    fc.dictionary(name, tie('any'), { maxKeys: 6 }),
    fc.array(fc.dictionary(name, tie('any'), { maxKeys: 3 }), { maxLength: 4 }),
    fc.array(fc.array(scalar, { maxLength: 3 }), { maxLength: 4 }),
  ),
}));

async function expectFormatted(code: string): Promise<void> {
  expect(code).toBe(await format(code, options));
}

/** The value of a literal when its code runs. */
function evaluated(code: string): unknown {
  return runInNewContext(`(${code})`);
}

describe('Emitted code has the layout of prettier', () => {
  it('for any declaration', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.array(any, { maxLength: 6 }), fc.dictionary(name, any, { maxKeys: 6 })),
        fc.integer({ min: 1, max: 90 }),
        async (value, length) => {
          const head = `export const ${'x'.repeat(length)}: T`;
          await expectFormatted(`${declaration(head, value)}\n`.replace(/\n+$/, '\n'));
        },
      ),
      { numRuns: sampled(600) },
    );
  });

  it('for any call', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.stringMatching(/^x[a-z]{1,60}$/, { size: 'max' }),
        fc.array(
          fc.oneof(
            text.map(stringLiteral),
            raw.map(({ code }) => code),
          ),
          {
            minLength: 1,
            maxLength: 4,
          },
        ),
        async (callee, args) => {
          await expectFormatted(`{\n  ${call(callee, args, 2)};\n}\n`);
        },
      ),
      { numRuns: sampled(500) },
    );
  });

  it('for attributes with names of any width', async () => {
    const relations = ['up', '上'.repeat(30)];
    const attributes = relations.map((each) => `${each}: { to: Thing }`);
    for (const character of ['a', '字']) {
      for (let length = 1; length < 63; length += isLong ? 1 : 3) {
        const name = character.repeat(length);
        attributes.push(
          `s${name}: { type: string, unique: true }`,
          `x${name}: { alias: ${String(relations[0])}.s${name} }`,
          `y${name}: { alias: ${relations.join('.')}.s${name} }`,
        );
      }
    }
    const model = `drs: 1\nname: wide\ndataclasses:\n  Thing:\n    attributes:\n      ID: { type: integer, key: true }\n      ${attributes.join('\n      ')}\n`;
    const files = emitServer(modelOf(model), { packageRoot, modelFileName: 'model.yaml' });
    const wrong: string[] = [];
    for (const { path, text: code } of files) {
      if (!/^src\/.*\.ts$/.test(path)) continue;
      if (!(await check(code, options))) wrong.push(path);
    }
    expect(wrong).toEqual([]);
  });

  it('for any doc comment', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, fc.lorem({ mode: 'sentences' })), async (description) => {
        await expectFormatted(`${docComment(description)}export const x = 1;\n`);
        await expectFormatted(
          `export interface I {\n${docComment(description, 2)}  x: number;\n}\n`,
        );
      }),
      { numRuns: sampled(700) },
    );
  });
});

describe('The width of a line is counted as prettier counts it', () => {
  it('for any character', () => {
    const different: string[] = [];
    const step = isLong ? 1 : 11;
    for (let point = 0x20; point <= 0x10ffff; point += step) {
      if (point === 0x7f || (point >= 0xd800 && point <= 0xdfff)) continue;
      const character = String.fromCodePoint(point);
      if (width(character) !== util.getStringWidth(character)) different.push(point.toString(16));
    }
    expect(different).toEqual([]);
  });

  it('for emoji of several characters', () => {
    for (const each of ['👍🏽', '❤️', '©️', '🇫🇷', '1️⃣', '👩‍👩‍👧', '🏴󠁧󠁢󠁷󠁬󠁳󠁿', '👁️‍🗨️', '☝🏿', 'e\u0301', '각']) {
      for (const text of [each, `${each}${each}`, `a${each}字`]) {
        expect(width(text), text).toBe(util.getStringWidth(text));
      }
    }
  });
});

describe('Emitted code means what the model says', () => {
  it('for any text', () => {
    fc.assert(
      fc.property(text, (each) => {
        expect(evaluated(stringLiteral(each))).toBe(each);
      }),
      { numRuns: sampled(1500) },
    );
  });

  it('for any value', () => {
    const plain = fc.oneof(fc.array(scalar), fc.dictionary(name, scalar));
    fc.assert(
      fc.property(plain, (value) => {
        const code = declaration('x', value).trim();
        const body = code.replace(/^x =\s*/, '').replace(/;$/, '');
        expect(evaluated(body)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: sampled(700) },
    );
  });

  it('with no comment that ends too early', () => {
    fc.assert(
      fc.property(text, (description) => {
        const comment = docComment(description);
        expect(comment === '' || comment.indexOf('*/') === comment.trimEnd().length - 2).toBe(true);
      }),
      { numRuns: sampled(1000) },
    );
  });
});
