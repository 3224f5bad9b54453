import type { FastifyInstance } from 'fastify';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sampled } from '../support/long.js';
import { modelFile } from '../support/model-file.js';
import { create, serverOf } from '../support/server.js';
import { expectServed } from '../support/expect-served.js';
import { anyCharacter } from '../support/any-character.js';

const model = modelFile('staff');
let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model, { environment: { BODY_SIZE: '200000' } });
  await create(app, 'Company', [{ name: 'first', city: 'Berlin' }, { name: 'second' }]);
  await create(app, 'Employee', [{ ID: '1'.repeat(32), lastName: 'one', employer: 1 }]);
  await create(app, 'Note', [{ code: 'a', about: '1'.repeat(32) }]);
});
afterAll(() => app.close());

/** Percent-encoded; half of a surrogate pair becomes the replacement character. */
function encode(part: string): string {
  return encodeURIComponent(Buffer.from(part).toString());
}

const names = model.dataclasses.flatMap((each) => [
  each.name,
  ...each.attributes.map((attribute) => attribute.name),
]);
const word = fc.constantFrom(
  ...names,
  ...[
    '__KEY',
    '__STAMP',
    '__TIMESTAMP',
    '__proto__',
    'constructor',
    'length',
    'x',
    '1',
    '-1',
    '1.5',
  ],
  ...[
    'true',
    'null',
    "'a'",
    '"a"',
    "'",
    '"',
    ':1',
    ':2',
    ':0',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    '{2}',
  ],
  ...['AND', 'or', 'EXCEPT', 'NOT', 'begin', 'is', 'in', 'contains', 'eval(', 'order by', 'desc'],
  ...[
    '=',
    '==',
    '!=',
    '#',
    '<',
    '<=',
    '>',
    '%',
    '&',
    '|',
    '!',
    ',',
    '.',
    '*',
    ' ',
    '\\',
    '\\u0027',
  ],
  ...[
    '2020-01-01',
    '9!3!1999',
    'é',
    '😀',
    '\u0000',
    '\ud800',
    '字',
    '\t',
    '\n',
    '$',
    '@',
    '~',
    ';',
  ],
);
/** Texts of keywords of the language, and of any characters. */
const text = fc.oneof(
  fc.array(word, { maxLength: 12 }).map((each) => each.join('')),
  fc.array(word, { maxLength: 12 }).map((each) => each.join(' ')),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
);
const encoded = fc.oneof(
  text.map((each) => encode(each)),
  fc.stringMatching(/^[!-~]{0,40}$/),
  fc.constantFrom('%', '%E2%28', '%00', '%zz', '%2', '+', '%24', '%2F', '..', '.', '%2e%2e'),
);
const parameter = fc.oneof(
  fc.constantFrom(
    ...['$filter', '$orderby', '$attributes', '$expand', '$top', '$skip', '$limit', '$params'],
    ...['$method', '$compute', '$distinct', '$format', '$savedfilter', '$lock', '$queryplan'],
    ...[
      '$groupby',
      '$having',
      '%24filter',
      '$FILTER',
      'filter',
      '__proto__',
      'constructor',
      '',
      '$',
    ],
  ),
  encoded,
);
const query = fc
  .array(fc.tuple(parameter, encoded), { maxLength: 4 })
  .map((each) =>
    each.length === 0 ? '' : `?${each.map(([name, value]) => `${name}=${value}`).join('&')}`,
  );
const dataclass = fc.constantFrom(...model.dataclasses.map((each) => each.name));

/** A random address, which may exist. */
const address = fc
  .oneof(
    fc.tuple(dataclass, query).map((each) => each.join('')),
    fc.tuple(dataclass, encoded, query).map(([name, key, rest]) => `${name}(${key})${rest}`),
    fc.tuple(dataclass, encoded, query).map(([name, key, rest]) => `${name}[${key}]/${rest}`),
    fc.tuple(dataclass, encoded, query).map(([name, list, rest]) => `${name}/${list}${rest}`),
    fc.tuple(dataclass, word, encoded).map(([name, by, value]) => `${name}:${by}(${value})`),
    fc
      .tuple(fc.array(encoded, { maxLength: 4 }), query)
      .map(([path, rest]) => path.join('/') + rest),
  )
  .map((each) => `/rest/${each}`.replace(/[^\x21-\x7e]/g, (one) => encode(one)));

it('Any address is served or refused', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('GET', 'POST', 'HEAD', 'PUT'),
      address,
      async (method, url) => {
        const response = await app.inject({ method: method as 'GET', url });
        // Dots lead out of the base path, where Fastify answers.
        const isBelow = new URL(url, 'http://host').pathname.startsWith('/rest');
        if (!isBelow) expect([400, 404]).toContain(response.statusCode);
        else if (method !== 'HEAD') expectServed(response, `${method} ${url}`);
      },
    ),
    { numRuns: sampled(3_000) },
  );
});

it.each(['$filter', '$orderby', '$attributes', '$expand', '$params', '$top'])(
  'Any text of %s is served or refused',
  async (name) => {
    await fc.assert(
      fc.asyncProperty(dataclass, text, async (from, value) => {
        const url = `/rest/${from}?${name}=${encode(value)}`;
        expectServed(await app.inject(url), url);
      }),
      { numRuns: sampled(1_000) },
    );
  },
  120_000,
);

it('Any options of $expand are served or refused', async () => {
  const option = fc
    .tuple(
      fc.constantFrom('$filter', '$orderby', '$top', '$skip', '$expand', '$attributes', '$x', ''),
      fc.constantFrom('=', '="', "='", ''),
      text,
      fc.constantFrom('', '', '"', "'", ')'),
    )
    .map((parts) => parts.join(''));
  const item = fc
    .tuple(fc.constantFrom(...names), fc.array(option, { maxLength: 4 }), fc.constantFrom(')', ''))
    .map(([name, options, end]) => `${name}(${options.join(';')}${end}`);
  const list = fc
    .tuple(item, item)
    .map(([outer, inner]) => [
      outer,
      `${outer.slice(0, -1)};$expand=${inner})`,
      `${outer},${inner}`,
    ]);
  await fc.assert(
    fc.asyncProperty(dataclass, list, async (from, all) => {
      for (const value of all) {
        const url = `/rest/${from}?$expand=${encode(value)}&$params=["a",1,null]`;
        expectServed(await app.inject(url), url);
      }
    }),
    { numRuns: sampled(2_000) },
  );
}, 240_000);

/** Well-formed filters with any names and values. */
const path = fc
  .array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 })
  .map((each) => each.join('.'));
const comparator = fc.constantFrom('=', '!=', '<', '<=', '>', '>=', 'begin', 'IS', 'IS NOT');
const value = fc.oneof(
  fc.constantFrom('null', ':1', ':2', '1', '-1.5', 'true', '2020-01-01', 'x'),
  text.map((each) => `'${each.replaceAll(/['\\]/g, '\\$&')}'`),
);
const { filter } = fc.letrec<{ filter: string }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 4 },
    fc.tuple(path, comparator, value).map((each) => each.join(' ')),
    fc
      .tuple(tie('filter'), fc.constantFrom('AND', 'OR', 'EXCEPT'), tie('filter'))
      .map((each) => each.join(' ')),
    tie('filter').map((each) => `NOT (${each})`),
    tie('filter').map((each) => `(${each})`),
  ),
}));

it('Any well-formed filter is served or refused, with any values', async () => {
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(
      dataclass,
      filter,
      fc.array(fc.jsonValue(), { maxLength: 2 }),
      async (from, of, params) => {
        const values = encode(JSON.stringify(params));
        const url = `/rest/${from}?$filter=${encode(of)}&$params=${values}`;
        const response = await app.inject(url);
        expectServed(response, url);
        statuses.add(response.statusCode);
      },
    ),
    { numRuns: sampled(2_000) },
  );
  expect([...statuses]).toEqual(expect.arrayContaining([200, 400]));
});
