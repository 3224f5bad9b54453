import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withDoubles, withRounded } from '../../../runtime/protocol/json-problem.js';
import { RoundedNumber } from '../../../runtime/protocol/numbers.js';

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
  fc.tuple(integers, digits).map((each) => each.join('.')),
  fc.tuple(integers, fc.integer({ min: -15, max: 15 })).map((each) => each.join('e')),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => JSON.stringify(each)),
  fc.string().map((text) => JSON.stringify(text)),
  fc
    .array(fc.constantFrom(': ', ',', '.', '-', 'e', 'e-400', '0.1', '12345678', '00000000'))
    .map((parts) => JSON.stringify(parts.join(''))),
  fc.constantFrom(
    '9007199254740992',
    '9007199254740993',
    '1e400',
    '1E-400',
    '0e-400',
    '-0.0',
    'true',
    'null',
    '""',
  ),
);

/** Whether JSON.parse reads another number than the one that is written. */
function isRounded(token: string): boolean {
  const value = Number(token);
  if (!/^-?\d/.test(token) || !Number.isFinite(value)) return false;
  // As JavaScript writes the double.
  if (String(value) === token) return false;
  if (/^-?\d+$/.test(token)) return BigInt(value) !== BigInt(token);
  return exact(token) !== exact(String(value));
}

/** Sign, digits without zeros around them, and the place of the first digit. */
function exact(token: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(token) ?? [];
  const all = `${whole}${fraction}`;
  const first = all.search(/[1-9]/);
  if (first < 0) return '0';
  return `${sign}${all.slice(first).replace(/0+$/, '')} ${whole.length - first + Number(exponent)}`;
}

it('withRounded finds each number that a double does not hold, wherever it is', () => {
  fc.assert(
    fc.property(fc.array(values, { maxLength: 12 }), fc.boolean(), (list, isMember) => {
      const text = isMember
        ? `{${list.map((each, at) => `"${at}" : ${each}`).join(',\n')}}`
        : `[${list.join(', ')}]`;
      const parsed: unknown = JSON.parse(text);
      const members = Object.values(parsed as object) as unknown[];
      const found = Object.values(
        withRounded(text, parsed, isMember ? 'members' : 'all') as object,
      ) as unknown[];
      expect(found).toEqual(
        list.map((each, at) => (isRounded(each) ? new RoundedNumber(each) : members[at])),
      );
      const integer = list.find((each) => /^-?\d+$/.test(each) && isRounded(each));
      const refused = (): unknown =>
        withRounded(text, parsed, 'members', (token) => {
          throw new Error(token);
        });
      if (integer === undefined) refused();
      else expect(refused).toThrow(integer);
      expect(JSON.stringify(found)).toBe(JSON.stringify(members));
      const doubles = members.map((each, at) =>
        isRounded(list[at] ?? '') && each === 0 ? found[at] : each,
      );
      expect(withDoubles(found)).toEqual(doubles);
    }),
    { numRuns: 2_000 },
  );
});

it('withRounded reads a text with members of any name once more', () => {
  const text = '{"__proto__":{"a":1e-400},"toJSON":0.10000000000000001,"b":[{"":"1e-400"}]}';
  const found = withRounded(text, JSON.parse(text), 'members') as Record<string, unknown>;
  expect(Object.keys(found)).toEqual(['__proto__', 'toJSON', 'b']);
  expect(Object.getPrototypeOf(found)).toBe(Object.prototype);
  expect(found['toJSON']).toEqual(new RoundedNumber('0.10000000000000001'));
  expect(found['b']).toEqual([{ '': '1e-400' }]);
});
