import { expect, it } from 'vitest';
import { gaps } from './known-gaps.js';

it('The list of known gaps is empty', () => {
  expect(gaps).toEqual([]);
});
