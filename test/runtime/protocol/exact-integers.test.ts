import fc from 'fast-check';
import { expect, it } from 'vitest';
import { firstRoundedInteger } from '../../../runtime/protocol/json-problem.js';

const digits = fc
  .integer({ min: 1, max: 40 })
  .chain((length) =>
    fc.string({ unit: fc.nat(9).map(String), minLength: length, maxLength: length }),
  );
const integers = digits.map((text) => text.replace(/^0+(?=\d)/, ''));
const values = fc.oneof(
  { weight: 3, arbitrary: integers },
  integers.map((text) => `-${text}`),
  digits.map((text) => `"${text}"`),
  digits.map((text) => `0.${text}`),
  fc.string().map((text) => JSON.stringify(text)),
  fc.constantFrom('9007199254740992', '9007199254740993', '1e400', 'true', 'null', '""'),
);

it('firstRoundedInteger finds the first integer that a double cannot hold, wherever it is', () => {
  fc.assert(
    fc.property(fc.array(values, { maxLength: 12 }), (list) => {
      const text = `[${list.join(', ')}]`;
      const found = list.find(
        (each) =>
          /^-?\d+$/.test(each) &&
          String(Number(each)) !== each &&
          (!Number.isFinite(Number(each)) || BigInt(Number(each)) !== BigInt(each)),
      );
      expect(firstRoundedInteger(text)).toBe(found);
    }),
    { numRuns: 2_000 },
  );
});
