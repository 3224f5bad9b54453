import { expect, it } from 'vitest';
import { gaps } from './known-gaps.js';

it('there are no known gaps', () => {
  expect(gaps).toEqual([]);
});
