import { expect, it } from 'vitest';
import { isSameStored } from '../../../runtime/class/objects/typed-value.js';

it.each([
  ['{"a":1}', true],
  ['{ "a": 1 }', true],
  ['{"a":2}', false],
  ['no JSON', false],
  // A value that another program has stored.
  [`${'['.repeat(200_000)}${']'.repeat(200_000)}`, false],
])('A stored document is compared with a new one, whatever its form: %#', (stored, isSame) => {
  const definition = { kind: 'storage', name: 'a', column: 'a', type: 'object' } as const;
  expect(isSameStored(definition, stored, '{"a":1}')).toBe(isSame);
});
