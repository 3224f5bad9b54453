import { describe, expect, it } from 'vitest';
import { nearestName } from '../../../runtime/protocol/names.js';

const names = ['$filter', '$top', '$orderby', '$skip'];

describe('nearestName', () => {
  it.each([
    ['$fliter', '$filter'],
    ['$filtr', '$filter'],
    ['$FILTERS', '$filter'],
    ['$tpo', '$top'],
    ['$orderBy', '$orderby'],
    ['$sk', undefined],
    ['$foo', undefined],
    ['$', undefined],
    ['', undefined],
    ['$filter'.repeat(1000), undefined],
  ])('of %s is %s', (name, want) => {
    expect(nearestName(name, names)).toBe(want);
  });
});
