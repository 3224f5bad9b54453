import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import { describeDatabases } from '../support/databases.js';
import { create, serverOf } from '../support/server.js';
import { sampled } from '../support/long.js';

/** `PROPERTY_DECIMALS=500` looks further than the ordinary run. */
const runs = Number(process.env['PROPERTY_DECIMALS'] ?? sampled(6));
const requestsPerRun = 20;

/** The attributes, each with its precision and its scale. */
const types = {
  amount: [18, 2],
  rate: [6, 4],
  whole: [18, 0],
  share: [18, 18],
  price: [5, 1],
} as const;

type Name = keyof typeof types;
const names = Object.keys(types) as readonly Name[];

const model = `
drs: 1
name: decimals
database: [sqlite, postgres]
dataclasses:
  Booking:
    attributes:
      ID: { type: integer, key: true }
${names.map((name) => `      ${name}: { type: decimal, precision: ${types[name][0]}, scale: ${types[name][1]}${name === 'amount' ? ', indexed: true' : ''} }`).join('\n')}
`;

/** Numbers as multiples of 10^-40: all that is compared here is one. */
const finest = 40n;

type Row = Readonly<Record<Name, bigint | null>>;

/** The value at a scale. */
function textOf(units: bigint, scale: number): string {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  const at = digits.length - scale;
  return `${units < 0n ? '-' : ''}${digits.slice(0, at)}${scale === 0 ? '' : `.${digits.slice(at)}`}`;
}

function unitsOf(name: Name): fc.Arbitrary<bigint> {
  const limit = 10n ** BigInt(types[name][0]) - 1n;
  return fc.oneof(
    { weight: 2, arbitrary: fc.bigInt({ min: -limit, max: limit }) },
    { weight: 2, arbitrary: fc.bigInt({ min: -30n, max: 30n }) },
    { weight: 1, arbitrary: fc.constantFrom(limit, -limit, limit - 1n, 0n) },
  );
}

const rows: fc.Arbitrary<readonly Row[]> = fc.array(
  fc.record(
    Object.fromEntries(
      names.map((name) => [name, fc.option(unitsOf(name), { freq: 8 })]),
    ) as Record<Name, fc.Arbitrary<bigint | null>>,
  ),
  { minLength: 1, maxLength: 25 },
);

/** A number that is compared with a value: near it, with other decimals, or far from all values. */
interface Wanted {
  /** Times 10^-40. */
  readonly finest: bigint;
  readonly text: string;
}

function wantedFor(name: Name, given: readonly Row[]): fc.Arbitrary<Wanted> {
  const scale = types[name][1];
  const unit = 10n ** (finest - BigInt(scale));
  const known = given.map((row) => row[name]).filter((each) => each !== null);
  const near = fc
    .tuple(
      known.length === 0 ? unitsOf(name) : fc.constantFrom(...known),
      fc.constantFrom(0n, 0n, 1n, -1n, unit / 2n, -unit / 2n, unit, -unit),
    )
    .map(([units, off]): Wanted => written(units * unit + off));
  const far = fc.constantFrom<Wanted>(
    { finest: 10n ** 90n, text: '1e50' },
    { finest: -(10n ** 90n), text: '-1E50' },
    { finest: 10n ** 10n, text: '1e-30' },
    { finest: 10n ** 39n, text: '10e-2' },
    { finest: 25n * 10n ** 39n, text: '+002.5' },
    { finest: 10n ** 60n, text: '1e99999999' },
    { finest: 1n, text: '1e-99999999' },
  );
  return fc.oneof({ weight: 4, arbitrary: near }, { weight: 1, arbitrary: far });
}

function written(value: bigint): Wanted {
  const text = textOf(value, Number(finest));
  return { finest: value, text: text.replace(/\.?0+$/, '') };
}

const comparators = {
  '=': (order: number) => order === 0,
  '<': (order: number) => order < 0,
  '<=': (order: number) => order <= 0,
  '>': (order: number) => order > 0,
  '>=': (order: number) => order >= 0,
} as const;

function compare(left: bigint, right: bigint): number {
  return left < right ? -1 : Number(left > right);
}

interface Trial {
  readonly app: FastifyInstance;
  readonly given: readonly Row[];
}

async function answerOf(app: FastifyInstance, url: string): Promise<unknown> {
  const response = await app.inject(url);
  expect([response.statusCode, response.body]).toEqual([200, expect.anything()]);
  return response.json();
}

function url(path: string, query: Readonly<Record<string, string>>): string {
  const parts = Object.entries(query).map(([key, each]) => `${key}=${encodeURIComponent(each)}`);
  return `/rest/Booking${path}?${parts.join('&')}`;
}

/** The keys of the entities that a filter finds, in an order. */
async function found(
  app: FastifyInstance,
  query: Readonly<Record<string, string>>,
): Promise<readonly number[]> {
  const address = url('', { $attributes: 'ID', $top: '1000', ...query });
  const { __ENTITIES: entities } = (await answerOf(app, address)) as {
    readonly __ENTITIES: readonly { readonly ID: number }[];
  };
  return entities.map(({ ID }) => ID);
}

/** How a value stands in a filter. */
const places = ['bare', 'quoted', 'placeholder', 'list', 'listed placeholder'] as const;

async function compareFilter(
  { app, given }: Trial,
  name: Name,
  comparator: keyof typeof comparators | '!=',
  { finest: wanted, text }: Wanted,
  place: (typeof places)[number],
): Promise<void> {
  const unit = 10n ** (finest - BigInt(types[name][1]));
  const holds = comparators[comparator === '!=' ? '=' : comparator];
  const isList = place === 'list' || place === 'listed placeholder';
  const test = isList ? comparators['='] : holds;
  const matching = given.flatMap((row, index) => {
    const value = row[name];
    const isMatch = value !== null && test(compare(value * unit, wanted));
    return isMatch !== (comparator === '!=' && !isList) ? [index + 1] : [];
  });
  const filters = {
    bare: { $filter: `${name} ${comparator} ${text}` },
    quoted: { $filter: `${name} ${comparator} '${text}'` },
    placeholder: { $filter: `${name} ${comparator} :1`, $params: JSON.stringify([text]) },
    list: { $filter: `${name} in [${text}, 1e70]` },
    'listed placeholder': { $filter: `${name} in :1`, $params: JSON.stringify([[text]]) },
  };
  expect([filters[place], await found(app, filters[place])]).toEqual([filters[place], matching]);
}

async function compareOrder({ app, given }: Trial, name: Name, isDescending: boolean) {
  const sign = isDescending ? -1 : 1;
  const expected = given
    .map((row, index) => ({ key: index + 1, value: row[name] }))
    .sort((a, b) => {
      if (a.value === null || b.value === null) {
        return sign * (Number(a.value !== null) - Number(b.value !== null)) || a.key - b.key;
      }
      return sign * compare(a.value, b.value) || a.key - b.key;
    });
  const order = `${name}${isDescending ? ' desc' : ''}`;
  expect(await found(app, { $orderby: order })).toEqual(expected.map(({ key }) => key));
}

async function compareAggregates({ app, given }: Trial, name: Name): Promise<void> {
  const [, scale] = types[name];
  const values = given.map((row) => row[name]).filter((each) => each !== null);
  const sorted = values.toSorted(compare);
  const ends = [sorted[0], sorted.at(-1)].map((each) =>
    each === undefined ? null : textOf(each, scale),
  );
  const sum = values.reduce((all, each) => all + each, 0n);
  const count = BigInt(values.length);
  // Half away from zero.
  const size = (sum < 0n ? -sum : sum) * 10_000n;
  const rounded = count === 0n ? 0n : (2n * size + count) / (2n * count);
  expect(await answerOf(app, url(`/${name}`, { $compute: '$all' }))).toEqual({
    [name]: {
      count: values.length,
      sum: textOf(sum, scale),
      average: count === 0n ? null : textOf(sum < 0n ? -rounded : rounded, scale + 4),
      min: ends[0],
      max: ends[1],
    },
  });
  const different = sorted.filter((each, index) => each !== sorted[index - 1]);
  expect(await answerOf(app, url(`/${name}`, { $distinct: 'true' }))).toEqual(
    different.map((each) => textOf(each, scale)),
  );
}

async function compareValues({ app, given }: Trial): Promise<void> {
  const query = { $attributes: names.join(), $top: '1000' };
  const json = { __ENTITIES: given.map((row) => expect.objectContaining(textsOf(row)) as object) };
  expect(await answerOf(app, url('', query))).toMatchObject(json);
  // JSON.parse would read doubles.
  const { body } = await app.inject(url('', { ...query, $format: 'looker' }));
  const lists = given.map((row) => Object.values(textsOf(row)).map((each) => each ?? 'null'));
  expect(body).toContain(`"rows":[${lists.map((each) => `{"values":[${each.join()}]}`).join()}]`);
}

function textsOf(row: Row): Readonly<Record<string, string | null>> {
  return Object.fromEntries(
    names.map((name) => {
      const units = row[name];
      return [name, units === null ? null : textOf(units, types[name][1])];
    }),
  );
}

describeDatabases('Decimals, compared with an evaluation by BigInt,', (databases) => {
  it('are stored, found, sorted and added exactly', { timeout: 600_000 }, async () => {
    const { url: databaseUrl, drop } = await databases.create();
    const app = await serverOf(model, { databaseUrl });
    try {
      const property = fc.asyncProperty(rows, fc.gen(), async (given, gen) => {
        await app.inject({ method: 'POST', url: '/rest/Booking?$method=delete&$filter=ID>0' });
        const bodies = given.map((row, index) => ({ ID: index + 1, ...textsOf(row) }));
        await create(app, 'Booking', bodies);
        const trial = { app, given };
        await compareValues(trial);
        for (let request = 0; request < requestsPerRun; request += 1) {
          const name = gen(() => fc.constantFrom(...names));
          const comparator = gen(() => fc.constantFrom(...signs));
          const place = gen(() => fc.constantFrom(...places));
          await compareFilter(trial, name, comparator, gen(wantedFor, name, given), place);
        }
        for (const name of names) {
          await compareOrder(trial, name, gen(fc.boolean));
          await compareAggregates(trial, name);
        }
      });
      await fc.assert(property, { numRuns: runs });
    } finally {
      await app.close();
      await drop();
    }
  });
});

const signs = ['=', '!=', '<', '<=', '>', '>='] as const;
