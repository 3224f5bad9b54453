import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Executor } from '../../../../runtime/dialect/executor.js';
import { postgresFunctions } from '../../../../runtime/dialect/postgres/functions.js';
import { describePostgres } from '../../../support/postgres.js';
import { database, statement } from './opened.js';

const smallest = Number.MIN_VALUE;
const largest = Number.MAX_VALUE;

const operations = [
  ['+', 'drs_added', (a: number, b: number) => a + b],
  ['*', 'drs_product', (a: number, b: number) => a * b],
  ['/', 'drs_quotient', (a: number, b: number) => a / b],
] as const;

/** Numbers of any size, with those at the limits of a double as often as others. */
const numbers = fc
  .tuple(fc.double({ min: 0.5, max: 1, minExcluded: true }), fc.integer({ min: -1073, max: 1024 }))
  .map(([digits, power]) => digits * 2 ** (power / 2) * 2 ** (power / 2))
  .filter((each) => each !== 0 && Number.isFinite(each));

describePostgres('An operation on doubles that PostgreSQL would refuse', () => {
  let opened: Awaited<ReturnType<typeof database>>;
  let executor: Executor;

  beforeAll(async () => {
    opened = await database(...postgresFunctions());
    executor = (await opened.open()).executor;
  });
  afterAll(async () => {
    await executor.close();
    await opened.drop();
  });

  /** Also with one constant operand, with which PostgreSQL computes as it plans. */
  async function compared(pairs: readonly (readonly [number, number])[]): Promise<void> {
    for (const [operator, name, expected] of operations) {
      const calls = pairs.map(([a, b]) => {
        const each = (value: number): string =>
          `from unnest(array['${String(value)}'::double precision]) as "given" ("x")`;
        const left = `(select ${name}('${String(a)}', "x") ${each(b)})`;
        const right = `(select ${name}("x", '${String(b)}') ${each(a)})`;
        return `(${name}('${String(a)}', '${String(b)}'), ${left}, ${right})`;
      });
      const { rows } = await executor.table(statement(`values ${calls.join(', ')}`), []);
      // The sign of zero does not count.
      const answers = pairs.map(([a, b]) => {
        const result = expected(a, b) + 0;
        return [a, operator, b, result, result, result];
      });
      expect(pairs.map(([a, b], row) => [a, operator, b, ...(rows[row] ?? [])])).toEqual(answers);
    }
  }

  it('has the result of IEEE 754', async () => {
    await compared([
      [smallest, 0.5],
      [smallest, 0.5000000000000001],
      [smallest, 2],
      [5.4e-323, 0.5],
      [5.4e-323, 2],
      [smallest, -largest],
      [1e-200, 1e-124],
      [-1e-200, 1e-123],
      [largest, 1.0000000000000002],
      [largest, 0.9999999999999999],
      [-largest, 0.5],
      [1e200, 1.7e108],
      [1e200, 1.8e108],
      [largest, largest],
      [largest, 9.9e291],
      [-largest, -1e292],
      [largest, -largest],
      [smallest, smallest],
      [1, largest],
      [1, smallest],
    ]);
  });

  it('has that result for any two numbers', async () => {
    const pairs = fc.array(fc.tuple(numbers, numbers), { minLength: 50, maxLength: 50 });
    await fc.assert(fc.asyncProperty(fc.noShrink(pairs), compared), { numRuns: 20 });
  });
});
