import type { FastifyInstance } from 'fastify';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FilterParams } from '../../runtime/filter/params.js';
import { FilterParser, filterInputs } from '../../runtime/filter/prepared-filter.js';
import { RequestError } from '../../runtime/protocol/errors.js';
import { parseOrderBy } from '../../runtime/query/order-by.js';
import { isLong, sampled } from '../support/long.js';
import { modelFile } from '../support/model-file.js';
import { create, serverOf } from '../support/server.js';
import { expectServed } from '../support/expect-served.js';
import { anyCharacter } from '../support/any-character.js';

const filterLength = 16_384;

/** Reads a filter like a request, but without its SQL. Each call parses it again. */
function read(text: string, params?: FilterParams): RequestError | undefined {
  const parser = new FilterParser({ filterLength, filterDepth: 64 }, { wildcard: true });
  try {
    const prepared = parser.prepare(text, params);
    filterInputs(prepared, params);
    const { orderBy } = prepared;
    if (orderBy !== undefined) {
      parseOrderBy(orderBy.text, { parameter: '$filter', start: orderBy.start });
    }
    return undefined;
  } catch (error) {
    if (error instanceof RequestError) return error;
    throw error;
  }
}

/** A refusal has the status, and a place in the filter. */
function expectRefusal({ status, message }: RequestError, text: string): void {
  expect(status).toBe(400);
  const [, character = '0'] = /^Character (\d+) of \$filter: [^]+\.$/.exec(message) ?? [];
  expect(Number(character), message).toBeGreaterThanOrEqual(1);
  expect(Number(character), message).toBeLessThanOrEqual(text.length + 1);
  expect(message.length, message).toBeLessThan(250);
}

function expectReadOrRefused(text: string, params?: FilterParams): void {
  const refusal = read(text, params);
  if (refusal !== undefined) expectRefusal(refusal, text);
}

const signs = [
  ...['=', '==', '===', '!=', '!==', '#', '<', '<=', '>', '>=', '%', '<>', '!', '~'],
  ...[
    '&',
    '&&',
    '|',
    '||',
    '(',
    ')',
    '[',
    ']',
    '[]',
    '[a]',
    '{',
    '}',
    '{2}',
    ',',
    '.',
    ':',
    '*',
    '@',
  ],
  ...[' ', '  ', '\t', '\n', "'", '"', '\\', '\\u0027', '\\ud800', '\\"'],
];
const words = [
  ...['a', 'b.c', 'extra.list', 'é', '𐐀', '__KEY', '__proto__', 'not', 'null', 'TRUE', 'false'],
  ...[
    'NOT',
    'not(',
    'AND',
    'or',
    'EXCEPT',
    'IS',
    'is not',
    'begin',
    'contains',
    'IN',
    'in [',
    'eval(',
  ],
  ...['order by', 'ORDER', 'by', 'desc', '1', '-2.5e3', '007', '2020-01-02', "'x'", '"x@"', 'x*'],
  ...[':1', ':2', ':0', ':128', ':name', ':a.b', ':__proto__', ':constructor.name'],
  ...['\u0000', '\u2028', '\ud800', '😀', '\u0301'],
];
const soup = fc
  .array(fc.constantFrom(...signs, ...words), { maxLength: 30 })
  .chain((parts) => fc.constantFrom('', ' ').map((glue) => parts.join(glue)));

const valid = [
  "city = 'Paris' AND (employer.name begin Nor OR NOT (salary >= 12.5)) EXCEPT a is not null",
  "city IN ['a', b c, 3, null, true, :1] order by city desc, employer.name",
  'staff{2}.name = :1 & extra.list[a].x # :name.first || extra.list[].y % word',
  ':1 = :2 and :3 in :4 and a contains "O\\u0027Re\\\\illy"',
  "(((a==1)))|NOT(NOT(b!==O'Reilly (and) sons))",
];

/** A valid filter with parts removed, inserted, swapped or repeated. */
const mutated = fc
  .tuple(
    fc.constantFrom(...valid),
    fc.array(fc.tuple(fc.nat(100), fc.nat(6), fc.constantFrom('', ...signs, ...words)), {
      minLength: 1,
      maxLength: 4,
    }),
  )
  .map(([text, edits]) =>
    edits.reduce((now, [place, cut, piece]) => {
      const at = Math.min(place, now.length);
      return now.slice(0, at) + piece + now.slice(at + cut);
    }, text),
  );

const path = fc.oneof(
  fc.constantFrom('a', 'a.b', 'a{2}.b[]', '', '.', 'a[', '__proto__', 'a.\ud800', 'a b."'),
  fc.array(fc.constantFrom(...signs, ...words), { maxLength: 6 }).map((each) => each.join('')),
);
const params = fc.oneof(
  fc.constant(undefined),
  fc.array(fc.oneof(path, fc.jsonValue()), { maxLength: 4 }),
  fc.dictionary(fc.constantFrom('name', 'a', '__proto__', 'x'), fc.oneof(path, fc.jsonValue())),
) as fc.Arbitrary<FilterParams | undefined>;

describe('Any text is parsed as a filter or refused:', () => {
  it.each([
    ['of tokens', soup, 8_000],
    ['that was a filter', mutated, 8_000],
    ['of any characters', fc.string({ unit: anyCharacter, maxLength: 60 }), 3_000],
  ] as const)('%s', (_, texts, all) => {
    fc.assert(fc.property(texts, params, expectReadOrRefused), { numRuns: sampled(all) });
  });

  it('every prefix and every suffix of a filter', () => {
    for (const text of valid) {
      for (let at = 0; at <= text.length; at += 1) {
        expectReadOrRefused(text.slice(0, at), ['a', 1, 'b', []]);
        expectReadOrRefused(text.slice(at), { name: 'x' });
      }
    }
  });
});

const starts = [
  ...['', 'a=', "a='", 'a=x ', 'a=(', 'a in [', 'a in [x ', "a in ['x',", 'a is ', 'a is not '],
  ...['a=:', ':', 'a{', 'a[', 'a.', 'a=1 order by ', 'a=1 and ', 'not ', 'a ', 'a=\\'],
];
const repeated = [
  ...signs,
  ...words,
  ...['a.', 'a[].', 'a{1}.', 'a=1&', 'a=null|', 'a=1,', 'x,', "'x',", ':1,', ':1=:1&', 'a in :1|'],
  ...[
    'a is not ',
    'order by ',
    'order  ',
    'not ',
    'not not(',
    'and ',
    'a=(',
    '((',
    ')(',
    ':a.',
    ':a',
  ],
];

describe('A filter as long as the limit', () => {
  const slowest = { milliseconds: 0, text: '' };
  afterAll(() => {
    const { milliseconds, text } = slowest;
    const shown = JSON.stringify(text.slice(0, 40));
    console.log(`slowest refusal: ${milliseconds.toFixed(2)} ms for ${shown}...`);
  });

  /** The minimum of a few runs, because a pause of the machine is not caused by the filter. */
  function measured(text: string): RequestError | undefined {
    let best = Infinity;
    let refusal: RequestError | undefined;
    for (let i = 0; i < 3; i += 1) {
      const begin = performance.now();
      refusal = read(text, ['a', 1]);
      best = Math.min(best, performance.now() - begin);
    }
    if (refusal !== undefined && best > slowest.milliseconds) {
      Object.assign(slowest, { milliseconds: best, text });
    }
    return refusal;
  }

  it.each(repeated.filter((_, at) => isLong || at % 3 === 0))(
    'is served or refused: %j',
    (piece) => {
      for (const start of starts) {
        for (const end of ['', ']', ')', "'", '=1']) {
          const count = Math.floor((filterLength - start.length - end.length) / piece.length);
          const text = start + piece.repeat(count) + end;
          const refusal = measured(text);
          if (refusal !== undefined) expectRefusal(refusal, text);
        }
      }
    },
  );

  it('is refused when it is one character longer', () => {
    const text = `a='${'x'.repeat(filterLength - 4)}'`;
    expect(read(text)).toBeUndefined();
    expect(measured(`${text} `)?.message).toContain('must not be longer than 16384 characters');
  });

  it('is served or refused when a path is in a parameter', () => {
    for (const piece of [...repeated, 'abc']) {
      for (const end of ['', 'a', '[]', '{2}']) {
        const long = piece.repeat(Math.floor(60_000 / piece.length)) + end;
        expectReadOrRefused(':1 = 1', [long]);
        expectReadOrRefused(':1 = 1', [long.slice(-filterLength)]);
      }
    }
  });
});

describe('A server', () => {
  let app: FastifyInstance;
  const model = modelFile('staff');

  beforeAll(async () => {
    app = await serverOf(model);
    const extra = {
      a: { 'odd name': 1, '"': [1, { x: 'é' }], '': null },
      list: [{ x: 1 }, { x: 2 }],
    };
    await create(app, 'Company', [{ name: 'first', city: 'Berlin', extra }, { name: 'second' }]);
    await create(app, 'Employee', [{ ID: '1'.repeat(32), lastName: 'one', employer: 1 }]);
  });
  afterAll(() => app.close());

  async function ask(filter: string, values: unknown): Promise<number> {
    const text = encodeURIComponent(Buffer.from(filter).toString());
    const json = encodeURIComponent(JSON.stringify(values));
    const url = `/rest/Company?$filter=${text}&$params=${json}`;
    const response = await app.inject(url);
    expectServed(response, url);
    return response.statusCode;
  }

  it('serves or refuses any of these filters', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(soup, mutated), params, async (filter, values) => {
        await ask(filter, values ?? []);
      }),
      { numRuns: sampled(1_500) },
    );
  });

  const names = fc.constantFrom(
    'name',
    'city',
    'ID',
    'revenue',
    'active',
    'staff',
    'manager',
    'extra',
  );
  const property = fc.oneof(
    fc.constantFrom(
      'a',
      'list',
      'x',
      'length',
      'odd name',
      '"',
      "'",
      '$',
      '\\',
      '#-1',
      '*',
      '?',
      ' ',
    ),
    fc.constantFrom('\u0000', '\n', '😀', '\u2028', '\uffff', 'a"."b', "a');--", '__proto__', '0'),
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 8 }),
  );
  const step = fc
    .tuple(property, fc.constantFrom('', '', '', '[]', '[a]', '{2}'))
    .map((each) => each.join(''));
  const odd = fc
    .tuple(names, fc.array(step, { maxLength: 4 }))
    .map(([name, steps]) => [name, ...steps].join('.'));
  const comparator = fc.constantFrom(
    ...['=', '!=', '===', '!==', '<', '<=', '>', '>=', 'begin', 'contains', '%', 'in'],
  );
  const value = fc.oneof(
    fc.constantFrom(1, -1.5, 'x', 'é@', '*', true, null, '', '\u0000'),
    fc.array(fc.constantFrom(1, 'x', null, true, '@'), { maxLength: 3 }),
    fc.jsonValue({ maxDepth: 2 }),
  );

  it('serves or refuses any path, comparator and value of parameters', async () => {
    const statuses = new Set<number>();
    const comparison = fc.tuple(odd, comparator, value);
    await fc.assert(
      fc.asyncProperty(
        fc.array(comparison, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(' AND ', ' OR ', ' EXCEPT '),
        async (comparisons, link) => {
          const filter = comparisons
            .map(([, each], i) => `:${2 * i + 1} ${each} :${2 * i + 2}`)
            .join(link);
          const values = comparisons.flatMap(([of, , operand]) => [of, operand]);
          statuses.add(await ask(filter, values));
        },
      ),
      { numRuns: sampled(3_000) },
    );
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400]));
  });
});
