import { expect, it } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import type { unsupported } from '../../generator/check/unsupported.js';

const key = 'ID: { type: integer, key: true }';

/** What the model file knows and no server has yet: each is refused by the generator, not left out of the server. */
const refusedModels: Readonly<Record<keyof typeof unsupported, string>> = {
  'unsupported/postgres': model('', 'database: postgres'),
};

function model(inDataclass: string, atTop = '', attribute = 'name: string'): string {
  const lines = ['drs: 1', 'name: small', atTop, 'dataclasses:', '  A:', `    ${inDataclass}`];
  return [...lines, '    attributes:', `      ${key}`, `      ${attribute}`].join('\n');
}

function codesOf(text: string): string[] {
  const input = { file: 'model.yaml', text, readBeside: () => undefined };
  return checkModel(input)
    .problems.filter((problem) => problem.severity === 'error')
    .map((problem) => problem.code);
}

it('takes the model without any of it', () => {
  expect(codesOf(model(''))).toEqual([]);
});

it.each(Object.entries(refusedModels))('%s stops the generator', (code, text) => {
  expect(codesOf(text)).toEqual([code]);
});
