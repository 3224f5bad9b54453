import { expect, it } from 'vitest';
import { MadeOfParameters } from '../../../runtime/query/made-of-parameters.js';
import { makeLasting, type Parameters, readParameters } from '../../../runtime/query/parameters.js';

function lasting(skip: number): Parameters {
  return makeLasting(readParameters({ $skip: String(skip) }, 'read'));
}

const short = { sql: 'select 1' };

it('remembers what was made of parameters that later requests have', () => {
  const [of, others] = [new MadeOfParameters<string>(), new MadeOfParameters<string>()];
  const [first, second] = [lasting(1), lasting(2)];
  of.set(first, 'first', short);
  others.set(first, 'of another', short);
  expect([first, second].map((each) => of.get(each))).toEqual(['first', undefined]);
  expect(others.get(first)).toBe('of another');
  const once = readParameters({ $skip: '3' }, 'read');
  of.set(once, 'once', short);
  of.set(second, 'long', { sql: 'x'.repeat(20_000) });
  expect([once, second].map((each) => of.get(each))).toEqual([undefined, undefined]);
});

it('takes no more memory than it may, however many dataclasses there are', () => {
  const all = Array.from({ length: 50 }, (_, index) => lasting(index));
  const dataclasses = Array.from({ length: 100 }, () => new MadeOfParameters<string>());
  const sql = 'x'.repeat(8_000);
  for (const of of dataclasses) for (const each of all) of.set(each, 'made', { sql });
  const known = dataclasses.flatMap((of) => all.filter((each) => of.get(each) !== undefined));
  expect(known.length * sql.length * 4).toBeLessThanOrEqual(16 * 1024 * 1024);
  expect(known.length).toBeGreaterThan(0);
});

it('remembers all of many requests that have one statement', () => {
  const all = Array.from({ length: 2_000 }, (_, index) => lasting(index));
  const of = new MadeOfParameters<string>();
  const statement = { sql: 'x'.repeat(15_000) };
  const known = (): number => all.filter((each) => of.get(each) !== undefined).length;
  for (let times = 0; times < 2; times += 1) {
    for (const each of all) if (of.get(each) === undefined) of.set(each, 'made', statement);
  }
  expect(known()).toBe(2_000);
});
