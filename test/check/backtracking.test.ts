import { describe, expect, it } from 'vitest';
import { backtrackingOf } from '../../generator/check/backtracking.js';

function growthOf(pattern: string): string | undefined {
  return backtrackingOf(new RegExp(pattern, 'u'))?.growth;
}

describe('backtrackingOf', () => {
  it.each([
    String.raw`^(a+)+$`,
    String.raw`^(a|a)*$`,
    String.raw`^(\w+\s?)*$`,
    String.raw`(a*)*b`,
    String.raw`^(.*,)*x$`,
    String.raw`^(\p{L}+\s?)+$`,
    String.raw`^(\w|\d)+$`,
    String.raw`^(a|ab|b)*$`,
    String.raw`^(?:x(?:(a|b)|a))+$`,
    String.raw`^(a?b?)*$`,
    String.raw`^(([-.]|[_]+)?([a-zA-Z0-9]+))*@$`,
    `${'(a|'.repeat(80)}b${')*'.repeat(80)}`,
  ])('finds that %s can take exponential time', (pattern) => {
    expect(growthOf(pattern)).toBe('exponential');
  });

  it.each([
    String.raw`^\d+\d+$`,
    String.raw`\s+$`,
    String.raw`a.*b.*c.*d`,
    String.raw`^[^@\s]+@[^@\s]+\.[^@\s]+$`,
  ])('finds that %s can take polynomial time', (pattern) => {
    expect(growthOf(pattern)).toBe('polynomial');
  });

  it.each([
    String.raw`^[A-Z]{2}\d+$`,
    String.raw`^[a-z]+(-[a-z]+)*$`,
    String.raw`^(a|ab)*x$`,
    String.raw`^(\d|[a-z])+$`,
    String.raw`^[\p{L}\p{N}]+([ .-][\p{L}\p{N}]+)*$`,
    String.raw`^[\w.-]+@[\w-]+(\.[\w-]+)+$`,
    String.raw`^(?:[a-z]{1,10}\s?){1,4}$`,
    String.raw`^((?=a)b|\bc|(x)\1)+$`,
    String.raw`^([01]\d|2[0-3]):[0-5]\d$`,
    String.raw`^https?://`,
    // Too large to be analysed.
    String.raw`^([a-z]{1,1000}){1,1000}$`,
    `^(${Array.from({ length: 200 }, (_, i) => `w${i}`).join('|')})+$`,
  ])('accepts %s', (pattern) => {
    expect(growthOf(pattern)).toBe(undefined);
  });
});
