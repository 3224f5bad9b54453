import { rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import type { Dataclass, Model, StorageAttribute } from '../../generator/model/model.js';
import { load, opened } from '../property/memory/load.js';
import { Store } from '../property/memory/store.js';
import { isPortable } from '../support/random-model/portable.js';
import { randomModel } from '../support/random-model/random-model.js';
import { Random } from '../support/random-model/random.js';
import { compiledServer } from '../support/compiled-server.js';
import { describeDatabases, testDatabases, type TestDatabases } from '../support/databases.js';
import { describePostgres, hasPostgres, postgresDatabase } from '../support/postgres.js';
import { serverOf, writeServer } from '../support/server.js';
import { imported, runIn, workplace, type Workplace } from './importer.js';
import { isLong, itOnOne } from '../support/long.js';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==',
  'base64',
);

function storageOf({ attributes }: Dataclass): readonly StorageAttribute[] {
  return attributes.filter((each) => each.kind === 'storage');
}

/** A value of a column of a server, in the same form for both systems. */
function comparable({ type }: StorageAttribute, value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  if (type === 'object' || type === 'vector') {
    return typeof value === 'string' ? (JSON.parse(value) as unknown) : value;
  }
  // SQLite holds multiples of the last decimal.
  if (type === 'decimal') return String(BigInt(String(value).replace('.', '')));
  const isNumber = ['number', 'integer', 'duration', 'boolean'].includes(type);
  return isNumber ? Number(value) : value;
}

type Content = Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>>;

/** All that the tables of a model hold, by dataclass and key, without what the server adds. */
async function contentOf(
  { run }: TestDatabases,
  url: string,
  { dataclasses }: Model,
): Promise<Content> {
  const content: Record<string, Content[string]> = {};
  for (const dataclass of dataclasses) {
    const stored = storageOf(dataclass);
    const columns = stored.map(({ column, type }) =>
      type === 'decimal' ? `cast(${quoted(column)} as text)` : quoted(column),
    );
    const rows = await run(url, `select ${columns.join(', ')} from ${quoted(dataclass.table)}`);
    const key = stored.findIndex(({ name }) => name === dataclass.key);
    content[dataclass.name] = Object.fromEntries(
      rows.map((row) => [
        String(row[key]),
        stored.map((attribute, at) => comparable(attribute, row[at] ?? null)),
      ]),
    );
  }
  return content;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Over REST, a blank text stands for null in a unique attribute that may be null, and so does an empty BLOB. */
function overRest(content: Content, { dataclasses }: Model): Content {
  return Object.fromEntries(
    dataclasses.map((dataclass) => {
      const stored = storageOf(dataclass);
      const isBlankNull = stored.map(
        ({ type, unique, mandatory }) => type === 'blob' || (unique && !mandatory),
      );
      const rows = Object.entries(content[dataclass.name] ?? {}).map(([key, row]) => [
        key,
        row.map((value, at) => (value === '' && isBlankNull[at] === true ? null : value)),
      ]);
      return [dataclass.name, Object.fromEntries(rows)];
    }),
  );
}

interface Copied {
  readonly code: number;
  readonly outcomes: readonly {
    readonly dataclass: string;
    readonly rows: number;
    readonly entities: number;
    readonly rejectedRows: number;
    readonly incompleteRows: number;
  }[];
  readonly differences: readonly string[];
  /** The lines of all files of rejected rows. */
  readonly rejects: readonly string[];
}

async function copy(
  place: Workplace,
  source: string,
  server: string,
  url: string,
): Promise<Copied> {
  const argv = ['import-data', source, '-o', server, '--batch', '7', '--json'];
  const { code, out, err } = await runIn(place.folder, argv, { DATABASE_URL: url });
  const result = JSON.parse(out) as Copied & { readonly error?: string };
  if (result.error !== undefined) throw new Error(`${result.error}\n${err}`);
  const files = place.files().filter((each) => each.startsWith('rejects/'));
  return { ...result, code, rejects: files.map((each) => place.text(each)) };
}

/** Serves a database, and copies it into another one over REST. */
async function copyServed(model: Model, from: string, to: string): Promise<Copied> {
  const place = workplace();
  place.put('model.yaml', 'drs: 1\n');
  const app = await serverOf(model, { databaseUrl: from });
  try {
    const address = await app.listen({ port: 0, host: '127.0.0.1' });
    return await copy(place, address, compiledServer(writeServer(model)), to);
  } finally {
    await app.close();
  }
}

/** Writes images and BLOBs, which random requests do not. */
function fillMedia(url: string, { dataclasses }: Model, random: Random): void {
  const database = new Database(url.slice('sqlite:'.length));
  try {
    for (const dataclass of dataclasses) {
      for (const { type, column } of storageOf(dataclass)) {
        if (type !== 'image' && type !== 'blob') continue;
        const bytes =
          type === 'image'
            ? png
            : Buffer.from([0, random.int(0, 255), 255].slice(random.int(0, 3)));
        database
          .prepare(
            `update ${quoted(dataclass.table)} set ${quoted(column)} = ? where abs(random()) % 2 = 0`,
          )
          .run(bytes);
      }
    }
  } finally {
    database.close();
  }
}

describePostgres('drs-gen import-data between the databases of random models', () => {
  it('carries every value over REST from SQLite to PostgreSQL, and back', async () => {
    const { sqlite, postgres } = testDatabases;
    const seeds = fc.noShrink(fc.integer());
    const carry = async (seed: number): Promise<void> => {
      const random = new Random(seed);
      const drawn = randomModel(random);
      const model = opened({
        ...drawn.model,
        name: 'both-ways',
        databases: ['sqlite', 'postgres'],
      });
      fc.pre(isPortable(model));
      const databases = await Promise.all([sqlite.create(), postgres.create(), sqlite.create()]);
      const [first, second, third] = databases;
      try {
        const app = await serverOf(model, { databaseUrl: first.url });
        await load(app, new Store({ model, computes: drawn.computes }), random);
        await app.close();
        fillMedia(first.url, model, random);
        const expected = overRest(await contentOf(sqlite, first.url, model), model);
        const there = await copyServed(model, first.url, second.url);
        expect({ seed, ...there }).toMatchObject({
          rejects: [],
          code: 0,
          differences: [],
        });
        expect(await contentOf(postgres, second.url, model)).toEqual(expected);
        const back = await copyServed(model, second.url, third.url);
        expect({ seed, ...back }).toMatchObject({
          rejects: [],
          code: 0,
          differences: [],
        });
        expect(await contentOf(sqlite, third.url, model)).toEqual(expected);
      } finally {
        for (const { drop } of databases) await drop();
        rmSync(writeServer(model), { recursive: true });
      }
    };
    await fc.assert(fc.asyncProperty(seeds, carry), { numRuns: isLong ? 50 : 1 });
  });
});

/** A refused value: part of the reason. */
class Refused {
  constructor(readonly reason: string) {}
}
const refused = (reason: string): Refused => new Refused(reason);

/** Values of a type of a source, as SQL, with what a server of SQLite holds then. */
type TypeCase = readonly [type: string, ...values: (readonly [sql: string, stored: unknown])[]];

const beyond = refused('is beyond 2^53');
const year = refused('must be a date');
/** What `--odd-values null` stores as null. */
const odd = refused('--odd-values null makes it null');
const long = 'x'.repeat(70_000);
const uuid = '0F8FAD5BD9CB469FA16570867728950E';
const dashed = '0f8fad5b-d9cb-469f-a165-70867728950e';

const ofBoth: readonly TypeCase[] = [
  [
    'TEXT',
    [`''`, ''],
    [`'it''s "ñ" 😀'`, 'it\'s "ñ" 😀'],
    [`'e\u0301 é'`, 'e\u0301 é'],
    [`' a '`, ' a '],
    [`'\u{10ffff}\ufeff\uffff'`, '\u{10ffff}\ufeff\uffff'],
    [`'${long}'`, long],
    [`'null'`, 'null'],
    [`'line\n\ttab\r'`, 'line\n\ttab\r'],
  ],
  ['VARCHAR(5)', [`'abcde'`, 'abcde'], [`'a ñ😀'`, 'a ñ😀']],
  [
    'DECIMAL(18, 2)',
    ['0', 0],
    ['-0.01', -1],
    ['1234567.25', 123456725],
    ['99999999999.99', 9999999999999],
  ],
  ['DECIMAL(18, 0)', ['999999999999999999', '999999999999999999'], ['-1', -1]],
  ['NUMERIC', ['1.5', 1.5], ['-3', -3], ['0', 0]],
  [
    'DATE',
    [`'0001-01-01'`, '0001-01-01'],
    [`'9999-12-31'`, '9999-12-31'],
    [`'2024-02-29'`, '2024-02-29'],
  ],
  [
    'TIMESTAMP',
    [`'0001-01-01 00:00:00'`, '0001-01-01T00:00:00.000Z'],
    [`'9999-12-31 23:59:59.999'`, '9999-12-31T23:59:59.999Z'],
    [`'2024-02-29 23:59:59.1239'`, '2024-02-29T23:59:59.123Z'],
  ],
  [
    'TIME',
    [`'00:00:00'`, 0],
    [`'23:59:59.999'`, 86_399_999],
    [`'01:02:03.0009'`, 3_723_000],
    [`'24:00:00'`, 86_400_000],
  ],
  ['UUID', [`'${dashed}'`, uuid], [`'${uuid}'`, uuid]],
  [
    'JSON',
    [`'{}'`, {}],
    [`'[]'`, []],
    [`'{"a":{"b":[1,null,"é","\\u0000x"]},"":0.1}'`, { a: { b: [1, null, 'é', '\0x'] }, '': 0.1 }],
    [
      `'{"__proto__":1,"constructor":{"x":[]}}'`,
      JSON.parse('{"__proto__":1,"constructor":{"x":[]}}'),
    ],
    [`'[9007199254740991,-1e300]'`, [9007199254740991, -1e300]],
    [`'{"a":9007199254740993}'`, refused('holds a number beyond 2^53')],
    [`'"text"'`, refused('must be a JSON object or array')],
  ],
];

const ofSqlite: readonly TypeCase[] = [
  ...ofBoth,
  [
    'INT',
    ['0', 0],
    ['9007199254740991', 9007199254740991],
    ['-9007199254740991', -9007199254740991],
    ['9007199254740992', beyond],
    ['-9223372036854775808', beyond],
    ['9223372036854775807', beyond],
    [`'12'`, 12],
    [`'a'`, refused('must be a whole number')],
    ['1.5', refused('must be a whole number')],
  ],
  [
    'BOOLEAN',
    ['0', 0],
    ['1', 1],
    [`'true'`, 1],
    [`'F'`, 0],
    ['2', refused('is not true or false')],
  ],
  ['TINYINT(1)', ['0', 0], ['1', 1]],
  [
    'DOUBLE',
    ['0.1', 0.1],
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['5e-324', 5e-324],
    ['-0.0', 0],
    ['9e999', odd],
    [`'a'`, refused('must be a number')],
  ],
  [
    'DECIMAL(9,3)',
    ['999999.999', 999999999],
    ['1.0005', refused('decimals')],
    ['1e9', refused('')],
  ],
  [
    'DATE',
    [`'2024-02-29 00:00:00'`, '2024-02-29'],
    [`'2023-02-29'`, year],
    ['2460369.5', '2024-02-29'],
    ['-86400', '1969-12-31'],
    [`'2024-02-29 10:00'`, refused('holds a time of day')],
    [`'soon'`, year],
  ],
  [
    'DATETIME',
    ['-1', '1969-12-31T23:59:59.000Z'],
    ['1709251199123', '2024-02-29T23:59:59.123Z'],
    ['2460370.25', '2024-02-29T18:00:00.000Z'],
    [`'2024-02-29T23:59:59+14:00'`, '2024-02-29T09:59:59.000Z'],
    [`'0001-01-01T00:00:00+14:00'`, '0000-12-31T10:00:00.000Z'],
    [`'9999-12-31T23:59:59-14:00'`, odd],
  ],
  [
    'TIME',
    ['86399999', 86399999],
    [`'-01:00:00'`, -3_600_000],
    [`'838:59:59'`, 3_020_399_000],
    [`'noon'`, refused('whole number of milliseconds')],
  ],
  ['UUID', [`x'${uuid}'`, uuid], [`'${dashed}'`, uuid]],
  ['VARCHAR(3)', [`'abcd'`, refused('at most 3')], [`'abc'`, 'abc']],
  [
    'TEXT',
    [`x'00ff'`, refused('holds bytes, which are no text')],
    [`CAST(x'61ff' AS TEXT)`, refused('is no UTF-8')],
    [`'\ufffd'`, '\ufffd'],
    ['12', '12'],
  ],
  [
    'BLOB',
    [`x''`, Buffer.alloc(0)],
    [`x'00ff'`, Buffer.from([0, 255])],
    ['zeroblob(70000)', Buffer.alloc(70_000)],
    [`'abc'`, Buffer.from('abc')],
    ['1', refused('is neither bytes nor text')],
  ],
  ['', ['1', 1], ['9007199254740991', 9007199254740991]],
  ['', [`'a'`, 'a'], ['1', '1'], ['0.1', '0.1']],
  ['MONEY', ['0.1', 0.1], ['12', 12]],
];

const ofPostgres: readonly TypeCase[] = [
  ...ofBoth,
  ['int2', ['-32768', -32768], ['32767', 32767]],
  ['int4', ['-2147483648', -2147483648], ['2147483647', 2147483647]],
  [
    'int8',
    ['9007199254740991', 9007199254740991],
    ['-9007199254740991', -9007199254740991],
    ['9007199254740992', refused('must be a whole number')],
    ['-9223372036854775808', refused('must be a whole number')],
  ],
  ['oid', ['4294967295', 4294967295]],
  ['numeric(15)', ['999999999999999', 999999999999999], ['-999999999999999', -999999999999999]],
  ['numeric', ['12345678901234567890', 12345678901234567000], [`'NaN'`, odd], ['1e-20', 1e-20]],
  [
    'numeric(18, 18)',
    ['0.999999999999999999', '999999999999999999'],
    ['-0.000000000000000001', -1],
  ],
  ['money', ['12.5', 1250], ['-92233720368547758.08', refused('')]],
  ['float4', ['0.1', 0.1], ['3.4028235e38', 3.4028235e38], ['1.4e-45', 1e-45]],
  [
    'float8',
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['5e-324', 5e-324],
    [`'-0'`, 0],
    [`'Infinity'`, odd],
    [`'NaN'`, odd],
  ],
  ['uuid', [`'${'0'.repeat(32)}'`, '0'.repeat(32)]],
  ['bool', ['true', 1], ['false', 0]],
  ['char(5)', [`'ab'`, 'ab'], [`'abcde'`, 'abcde']],
  ['name', [`'pg'`, 'pg']],
  [
    'date',
    [`'infinity'`, odd],
    [`'-infinity'`, odd],
    [`'0044-03-15 BC'`, odd],
    [`'10000-01-01'`, odd],
  ],
  [
    'timestamp',
    [`'9999-12-31 23:59:59.999999'`, '9999-12-31T23:59:59.999Z'],
    [`'infinity'`, odd],
    [`'0001-12-31 BC'`, odd],
    [`'294276-12-31'`, odd],
  ],
  [
    'timestamptz',
    [`'2024-02-29 23:59:59.1239+05:30'`, '2024-02-29T18:29:59.123Z'],
    [`'0001-01-01 00:00:00+14'`, odd],
    [`'9999-12-31 23:59:59.999+00'`, '9999-12-31T23:59:59.999Z'],
  ],
  ['timetz', [`'23:59:59.999+14'`, 86_399_999]],
  [
    'interval',
    [`'1 day 01:00:00'`, 90_000_000],
    [`'-1 day'`, -86_400_000],
    [`'1.9999 s'`, 1999],
    [`'-1.9999 s'`, -1999],
    [`'1 mon'`, refused('whole number of milliseconds')],
    [`'2 y'`, refused('whole number of milliseconds')],
    [`'178000 days'`, 15_379_200_000_000],
  ],
  [
    'jsonb',
    [`'{"a":1e2,"b":[true]}'`, { a: 100, b: [true] }],
    [`'{"a":0.1000}'`, { a: 0.1 }],
    [`'{"a":12345678901234567890}'`, refused('holds a number beyond 2^53')],
  ],
  [
    'int[]',
    [`'{1,NULL}'`, [1, null]],
    [`'{}'`, []],
    [
      `'{{1,2},{3,4}}'`,
      [
        [1, 2],
        [3, 4],
      ],
    ],
  ],
  ['int8[]', [`'{9007199254740993}'`, refused('holds a number beyond 2^53')]],
  ['text[]', [`'{"a,b","",NULL}'`, ['a,b', '', null]]],
  [
    'numrange',
    [
      `'[1.5,)'`,
      { lower: 1.5, upper: null, lowerInclusive: true, upperInclusive: false, isEmpty: false },
    ],
    [
      `'empty'`,
      { lower: null, upper: null, lowerInclusive: false, upperInclusive: false, isEmpty: true },
    ],
  ],
  [
    'bytea',
    [`'\\x'`, Buffer.alloc(0)],
    [`'\\x00ff'`, Buffer.from([0, 255])],
    [`decode(repeat('00', 70000), 'hex')`, Buffer.alloc(70_000)],
  ],
  ['mood', [`'sad'`, 'sad'], [`'it''s'`, "it's"]],
  ['positive', ['1', 1]],
  ['pair', [`'(1,"a b")'`, { a: 1, b: 'a b' }], [`'(,)'`, { a: null, b: null }]],
  ['inet', [`'10.0.0.1/8'`, '10.0.0.1/8'], [`'::1'`, '::1/128']],
  ['cidr', [`'10.0.0.0/8'`, '10.0.0.0/8']],
  ['macaddr', [`'08:00:2b:01:02:03'`, '08:00:2b:01:02:03']],
  ['bit(4)', [`B'1010'`, '1010']],
  ['varbit', [`B''`, ''], [`B'1'`, '1']],
  ['point', [`'(1,2)'`, '(1,2)']],
];

const postgresTypes = `
  CREATE TYPE mood AS ENUM ('sad', 'it''s');
  CREATE DOMAIN positive AS int CHECK (VALUE > 0);
  CREATE TYPE pair AS (a int, b text);
`;

/** One table for each case, whose rows have the numbers of the values; the last row has null. */
function tablesOf(cases: readonly TypeCase[]): string {
  return cases
    .map(([type, ...values], at) => {
      const rows = [...values, ['NULL']].map(
        ([sql = ''], index) => `(${String(index + 1)}, ${sql})`,
      );
      const name = `t${String(at)}`;
      return `CREATE TABLE ${name} (id INTEGER PRIMARY KEY, v ${type}); INSERT INTO ${name} VALUES ${rows.join(', ')};`;
    })
    .join('\n');
}

async function carryCases(
  place: Workplace,
  source: string,
  cases: readonly TypeCase[],
  { driver }: TestDatabases,
): Promise<void> {
  const { model: found } = await imported(place, source);
  const checked = found.checked.value;
  if (checked === undefined) throw new Error('The model has errors.');
  const model: Model = { ...checked, databases: ['sqlite', 'postgres'] };
  const target = testDatabases[driver];
  const other = testDatabases[driver === 'sqlite' ? 'postgres' : 'sqlite'];
  const database = await target.create();
  try {
    const server = compiledServer(writeServer(model));
    const { differences } = await copy(place, source, server, database.url);
    expect(differences).toEqual([]);
    const content = await contentOf(target, database.url, model);
    for (const [at, [type, ...values]] of cases.entries()) {
      const name = `t${String(at)}`;
      const rows = content[name] ?? {};
      const dataclass = model.dataclasses.find((each) => each.name === name) as Dataclass;
      const attribute = storageOf(dataclass).find((each) => each.name === 'v') as StorageAttribute;
      const stored = values.map(([sql, value], index) => {
        const expected = value instanceof Refused ? 'refused' : comparable(attribute, value);
        return [type, sql, rows[String(index + 1)]?.[1] ?? 'refused', expected];
      });
      expect(stored.map(([a, b, c]) => [a, b, c])).toEqual(stored.map(([a, b, , d]) => [a, b, d]));
      expect([type, rows[String(values.length + 1)]?.[1]]).toEqual([type, null]);
      const path = `rejects/${name}.jsonl`;
      const lines = place.has(path) ? place.text(path).trimEnd().split('\n') : [];
      const reasons = new Map(
        lines.map((line) => {
          const { number, reasons: found } = JSON.parse(line) as {
            number: number;
            reasons: { message: string }[];
          };
          return [number, found.map(({ message }) => message).join('; ')] as const;
        }),
      );
      for (const [index, [sql, value]] of values.entries()) {
        const isRefused = value instanceof Refused;
        expect([type, sql, reasons.has(index + 1)]).toEqual([type, sql, isRefused]);
        if (value instanceof Refused) expect(reasons.get(index + 1)).toContain(value.reason);
      }
    }
    if (!hasPostgres || !isLong) return;
    const back = await other.create();
    try {
      const done = await copyServed(model, database.url, back.url);
      expect(done.differences).toEqual([]);
      expect(await contentOf(other, back.url, model)).toEqual(overRest(content, model));
    } finally {
      await back.drop();
    }
  } finally {
    await database.drop();
  }
}

describeDatabases('drs-gen import-data, for each type at its limits,', (databases) => {
  itOnOne(databases)(
    'stores the values of SQLite, or tells why not, and carries them on over REST',
    async () => {
      const place = workplace();
      const old = new Database(join(place.folder, 'old.sqlite'));
      old.exec(tablesOf(ofSqlite));
      old.close();
      await carryCases(place, 'sqlite:old.sqlite', ofSqlite, databases);
    },
  );
});

describePostgres('drs-gen import-data from PostgreSQL, for each type at its limits,', () => {
  it.each(['sqlite', 'postgres'] as const)('stores the values in %s', async (driver) => {
    const source = await postgresDatabase();
    try {
      const client = new Client({ connectionString: source.url });
      await client.connect();
      await client.query(postgresTypes + tablesOf(ofPostgres));
      await client.end();
      await carryCases(workplace(), source.url, ofPostgres, testDatabases[driver]);
    } finally {
      await source.drop();
    }
  });
});
