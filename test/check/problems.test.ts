import { describe, expect, it } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import { messages } from '../../generator/check/report.js';
import { functionCases, roleCases } from './cases/access-cases.js';
import { computedCases, storageCases } from './cases/attribute-cases.js';
import { fileCases, shapeCases } from './cases/file-cases.js';
import { nameCases } from './cases/name-cases.js';
import { postgresCases } from './cases/postgres-cases.js';
import { relationCases } from './cases/relation-cases.js';
import { renameCases } from './cases/rename-cases.js';
import { expectProblems, metCodes } from './expect-problems.js';

const families = {
  'the file': fileCases,
  'the shape of the file': shapeCases,
  names: nameCases,
  'storage attributes': storageCases,
  'computed attributes and aliases': computedCases,
  relations: relationCases,
  renames: renameCases,
  functions: functionCases,
  roles: roleCases,
  postgres: postgresCases,
};

for (const [family, cases] of Object.entries(families)) {
  describe(`Problems are reported for ${family}:`, () => {
    for (const { name, expected, ...given } of cases) {
      it(name, () => {
        expectProblems(given, expected);
      });
    }
  });
}

const nothingBeside = (): undefined => undefined;

describe('The bytes of a model file', () => {
  it('must be UTF-8', () => {
    const text = Uint8Array.from([0x61, 0x3a, 0x20, 0xff, 0x0a]);
    const { problems } = checkModel({ file: 'm.yaml', text, readBeside: nothingBeside });
    expect(problems[0]).toMatchObject({ code: 'yaml/not-utf8', origin: { start: 3, end: 4 } });
    metCodes.add('yaml/not-utf8');
  });

  it('may begin with a byte order mark', () => {
    const text = new TextEncoder().encode('\uFEFFdrs: 2');
    const { problems } = checkModel({ file: 'm.yaml', text, readBeside: nothingBeside });
    expect(problems.find(({ code }) => code === 'shape/unknown-value')?.origin.start).toBe(5);
  });
});

describe('The aliases of a model file', () => {
  it('cannot make a small file large', () => {
    const lines = ['a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]'];
    for (let level = 1; level < 12; level += 1) {
      lines.push(`a${level}: &a${level} [${`*a${level - 1}, `.repeat(10)}]`);
    }
    const { problems } = checkModel({
      file: 'm',
      text: lines.join('\n'),
      readBeside: nothingBeside,
    });
    expect(problems.map(({ code }) => code)).toEqual(['yaml/too-many-aliases']);
    metCodes.add('yaml/too-many-aliases');
  });
});

describe('The table of messages', () => {
  it('has a test case for each code', () => {
    expect([...metCodes].toSorted()).toEqual(Object.keys(messages).toSorted());
  });

  it('holds whole sentences', () => {
    for (const { meaning } of Object.values(messages)) expect(meaning).toMatch(/^\S.*\.$/);
  });
});
