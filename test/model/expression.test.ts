import Database from 'better-sqlite3';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { postgresSchema } from '../../generator/emit/schema/postgres.js';
import { sqliteSchema } from '../../generator/emit/schema/sqlite.js';
import type { Model } from '../../generator/model/model.js';
import { expressionFunctions } from '../../runtime/dialect/postgres/expression-functions.js';
import { postgresFunctions } from '../../runtime/dialect/postgres/functions.js';
import { describePostgres, postgresDatabase, type TestDatabase } from '../support/postgres.js';
import { modelOf } from '../support/server.js';

/** Expressions by the type of their values: both databases compute the same. */
const expressions: Readonly<Record<string, readonly string[]>> = {
  string: [
    'name',
    `name || ', ' || city`,
    `coalesce(name, city, 'nobody')`,
    `ifnull(city, name) || 'x'`,
    'upper(name)',
    'LOWER(city)',
    'trim(city)',
    `ltrim(city, ' a') || rtrim(city, 'z ')`,
    'substr(name, 2, 3)',
    'substr(name, -3, 2)',
    'substr(name, 0, 2)',
    'substr(name, -30, 28)',
    'substr(name, 3, -2)',
    'substr(name, count)',
    'substring(name, 2)',
    `replace(name, 'a', 'ä')`,
    'count',
    'salary',
    `salary || ''`,
    `salary * 2 || ''`,
    `count / 2 || ''`,
    'flag',
    `flag || ''`,
    `case when salary > 100 then 'rich' when salary > 5 then 'fine' end`,
    `case count when 1 then 'one' when 2 then 'two' else name end`,
    `iif(flag, 'yes', 'no')`,
    `nullif(name, 'Ada')`,
    'min(name, city)',
    'max(name, city)',
    `concat(name, NULL, count)`,
    `concat_ws('-', name, city, count)`,
    `strftime('%Y-%m', born)`,
    `strftime('%d.%m.%Y %H:%M:%S', at)`,
    `strftime('%f|%j|%w|%u|%s|%%', at)`,
    `strftime('it''s "%H"', at)`,
    `date(at)`,
    `time(at, '+90 minutes')`,
    `datetime(at, 'start of month', '+1 month', '-1 day')`,
    `date(born, '+1 month')`,
    `date(born, '-13 months', '+3 years')`,
    `date(name)`,
    `date(city)`,
    `datetime(2460000.25)`,
    `json_extract(extra, '$.a')`,
    `json_extract(extra, '$.b.c[1]')`,
    `extra ->> 'a'`,
    `extra -> 'b'`,
    `extra ->> '$.d' || '!'`,
    `cast(salary as integer)`,
    `cast(name as text)`,
    'shown || note',
    'true',
    '"true" || x',
  ],
  integer: [
    'count',
    'count + 1',
    'count * count - 3',
    'count / 2',
    'count / 0',
    'count % 3',
    '-count % 3',
    '7 / 2 * 2',
    '24 * 60 * 60 * 1000 * 365',
    'length(name)',
    'length(salary)',
    `instr(name, 'a')`,
    'abs(-count)',
    'count & 6 | 1',
    '~count',
    'cast(salary as integer)',
    'cast(city as integer)',
    'cast(name as integer) + 1',
    `cast(strftime('%Y', born) as integer)`,
    `strftime('%Y', at) - strftime('%Y', born)`,
    'unicode(name)',
    'sign(salary)',
    'salary',
    'salary > 3',
    'flag + flag',
    'unixepoch(at)',
    'octet_length(name)',
    'span / 1000',
    `json_extract(extra, '$.n') + 1`,
    'total + 1',
    'NULL',
    'name',
    'x',
  ],
  number: [
    'salary',
    'salary / 2',
    'salary / 4.0',
    'salary / count',
    '(salary / 2) / 2',
    '(salary * 0.5) / 2',
    'salary % 7',
    'salary * 1.1 + 0.1',
    '-salary',
    'salary / 0',
    'round(salary)',
    'round(salary, 2)',
    'round(salary * 1.005, 1)',
    'round(count)',
    'floor(salary)',
    'ceil(salary)',
    'min(salary, count)',
    'max(salary, 2.5, count)',
    'coalesce(salary, count) / 2',
    'case when flag then salary else 3 end / 2',
    'sqrt(salary)',
    'julianday(at) - julianday(born)',
    'cast(count as real) / 2',
    'cast(name as real)',
    'cast(city as numeric) / 2',
    'half / 2',
    `count * 1.5`,
    '1e3',
    '.5 + 5.',
    'city',
    'x',
  ],
  boolean: [
    'flag',
    'salary > 100',
    'not flag',
    'salary > 100 and flag or count = 1',
    'name < city',
    `name = 'Ada'`,
    `name <> 'Ada'`,
    `name like 'a%'`,
    `name not like '%\\_a'`,
    `name in ('Ada', 'ada')`,
    `count not in (1, 2, NULL)`,
    `count between 1 and 10`,
    `count not between salary and 10`,
    'name is null',
    'name is not null',
    'name notnull',
    'name is city',
    'name is not city',
    'flag is false',
    'count is not false',
    'name isnull or city is not distinct from name',
    'salary',
    'count',
    'name',
    'x',
    `born < '2000-01-01'`,
    `born > at`,
  ],
  date: [
    'at',
    'born',
    `date(born, '+1 day')`,
    `datetime(at, '-1 hour')`,
    'name',
    'julianday(at) + 1',
  ],
};

const rows: readonly Readonly<Record<string, string | number | null>>[] = [
  {
    ID: 1,
    name: 'Ada',
    city: ' Aalen z ',
    count: 7,
    salary: 5,
    flag: 1,
    born: '1999-01-31',
    at: '2024-02-29T10:11:12.345Z',
    span: 90_500,
    extra: '{"a":"x","b":{"c":[1,2.50]},"d":true,"n":4}',
    true: 'column',
    x: '',
  },
  {
    ID: 2,
    name: 'ada lovelace 😀é',
    city: '12abc',
    count: -8,
    salary: 2.675,
    flag: 0,
    born: '2000-12-31',
    at: '1999-12-31T23:59:59.999Z',
    span: -1,
    extra: '{"a":null,"b":[],"d":false,"n":"7.5"}',
    true: null,
    x: 'y',
  },
  {
    ID: 3,
    name: '2023-02-31',
    city: '10:30',
    count: 0,
    salary: 1_000_000,
    flag: null,
    born: null,
    at: '0999-01-01T00:00:00.000Z',
    span: 0,
    extra: '[1,"a"]',
    true: '',
    x: null,
  },
  {
    ID: 4,
    name: '',
    city: '-3.5e2 x',
    count: 3_000_000_000,
    salary: -0.125,
    flag: 1,
    born: '2024-02-29',
    at: '2024-12-31T00:00:00.000Z',
    span: 9_007_199_254_740_991,
    extra: '{"a":{"é":"\\""},"n":12345678901234567890}',
    true: 't',
    x: '7',
  },
  {
    ID: 5,
    name: '7 days',
    city: '007 James',
    count: 2,
    salary: 123_456.789,
    flag: 0,
    born: '2001-01-01',
  },
  { ID: 6, name: '.5 x', city: '1e2 x', count: 3, salary: 0.1, at: '2000-01-01T12:00:00.000Z' },
  { ID: 7 },
];

const cases = Object.entries(expressions).flatMap(([type, texts]) =>
  texts.map((expression, index) => ({ type, expression, name: `${type}${index}` })),
);

const model = (): Model =>
  modelOf(
    [
      'drs: 1',
      'name: test',
      'database: [sqlite, postgres]',
      'dataclasses:',
      '  A:',
      '    attributes:',
      '      ID: { type: integer, key: true }',
      '      name: string',
      '      city: string',
      '      count: integer',
      '      salary: number',
      '      flag: boolean',
      '      born: { type: date, dateOnly: true }',
      '      at: date',
      '      span: duration',
      '      extra: object',
      '      "true": string',
      '      x: string',
      '      shown: { computed: string, expression: "name || count" }',
      `      note: { computed: string, expression: "'(' || shown || ')'" }`,
      '      total: { computed: integer, expression: "count * 2" }',
      '      half: { computed: number, expression: "salary / 2.0" }',
      ...cases.map(
        ({ type, expression, name }) =>
          `      ${name}: { computed: ${type}, expression: ${JSON.stringify(expression)} }`,
      ),
    ].join('\n'),
  );

describePostgres('An expression', () => {
  const sqlite = new Database(':memory:');
  let place: TestDatabase;
  let client: Client;
  let found: readonly Record<string, unknown>[];
  let expected: readonly Record<string, unknown>[];

  beforeAll(async () => {
    const sound = model();
    for (const statement of sqliteSchema(sound)) sqlite.exec(statement);
    place = await postgresDatabase();
    client = new Client(place.url);
    await client.connect();
    for (const statement of [
      ...postgresFunctions(),
      ...expressionFunctions,
      ...postgresSchema(sound),
    ]) {
      await client.query(statement);
    }
    for (const row of rows) {
      const columns = Object.keys(row).map((each) => `"${each}"`);
      const places = columns.map((_, index) => `$${index + 1}`).join(', ');
      const values = Object.values(row);
      const into = `insert into "A" ("__TIMESTAMP", ${columns.join(', ')}) values ('', ${places})`;
      await client.query(into, values);
      sqlite.prepare(into.replaceAll(/\$\d+/g, '?')).run(values);
    }
    found = (await client.query('select * from "A" order by "ID"')).rows;
    expected = sqlite.prepare('select * from "A" order by "ID"').all() as typeof expected;
  });
  afterAll(async () => {
    sqlite.close();
    await client.end();
    await place.drop();
  });

  it.each(cases)(
    'of the type $type has one result on both databases: $expression',
    ({ type, name }) => {
      const shown = (given: readonly Record<string, unknown>[]): unknown =>
        given.map((row) => {
          const value = row[name] ?? null;
          if (type === 'string' || type === 'date' || value === null) return value;
          const number = Number(value);
          // SQLite stores a text in a column of numbers, and the server sends null for it. A value
          // other than 0 and 1 is not a boolean.
          if (Number.isNaN(number) || (typeof value === 'string' && given === expected))
            return null;
          return type === 'boolean' && number !== 0 && number !== 1 ? null : number;
        });
      expect(shown(found)).toEqual(shown(expected));
    },
  );
});
