import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { expectProblems, type Expected } from './expect-problems.js';

const yaml = readFileSync(new URL('models/mistakes.txt', import.meta.url), 'utf8');

/** In the order of the file: the code at each marker, from c01 on. */
const codes: readonly Expected['code'][] = [
  'name/datastore',
  'name/report-format',
  'shape/unknown-key',
  'shape/out-of-range',
  'shape/wrong-type',
  'shape/unknown-key',
  'shape/unknown-value',
  'shape/wrong-type',
  'sql/bad-name',
  'storage/generated-type',
  'storage/bad-default',
  'name/duplicate',
  'shape/unknown-value',
  'name/bad-character',
  'storage/bad-bound',
  'storage/rule-type',
  'storage/not-indexable',
  'storage/dimensions',
  'storage/range',
  'storage/bad-pattern',
  'relation/unknown-target',
  'relation/inverse-unknown',
  'computed/bad-expression',
  'computed/not-deterministic',
  'computed/not-one-expression',
  'name/reserved',
  'attribute/no-kind',
  'index/not-indexable',
  'index/unknown-attribute',
  'shape/unknown-value',
  'shape/unknown-key',
  'dataclass/no-key',
  'name/collection',
  'dataclass/several-keys',
  'sql/bad-name',
  'relation/foreign-key-type',
  'relation/set-null-mandatory',
  'shape/wrong-type',
  'relation/foreign-key-name',
  'alias/unknown-step',
  'alias/bad-path',
  'shape/unknown-value',
  'attribute/several-kinds',
  'function/get-not-exposed',
  'function/unknown-type',
  'function/name-taken',
  'name/reserved',
  'shape/unknown-value',
  'roles/unknown-privilege',
  'roles/unknown-resource',
  'roles/unknown-privilege',
];

it('A model with many mistakes has all of them reported in one run, each at its place', () => {
  const expected = codes.map((code, index) => ({
    code,
    at: `c${String(index + 1).padStart(2, '0')}`,
  }));
  expect(expected.length).toBeGreaterThan(40);
  expect(expectProblems({ yaml }, expected)).toBeUndefined();
});
