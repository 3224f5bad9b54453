import Database from 'better-sqlite3';
import fc from 'fast-check';
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Dialect, isIn, type Json, type Sql } from '../../../runtime/dialect/dialect.js';
import { attributeValue } from '../../../runtime/filter/value-condition.js';
import { ifNumber, jsonBangDate, jsonBoolean } from '../../../runtime/dialect/json-parts.js';
import { postgresDialect } from '../../../runtime/dialect/postgres/dialect.js';
import { postgresFunctions } from '../../../runtime/dialect/postgres/functions.js';
import { sqliteDialect } from '../../../runtime/dialect/sqlite/dialect.js';
import { registerFunctions } from '../../../runtime/dialect/sqlite/functions.js';
import { type Fold, fold, foldWithoutAccents } from '../../../runtime/protocol/fold.js';
import { numberJson } from '../../../runtime/protocol/numbers.js';
import { TextPattern, WordSearch } from '../../../runtime/protocol/text-match.js';
import { uriKey } from '../../../runtime/protocol/key.js';
import { inputsOf, numbers } from '../../support/random-model/values.js';
import { describePostgres, postgresDatabase, type TestDatabase } from '../../support/postgres.js';
import { sampled } from '../../support/long.js';

type Value = string | number | null;
type Write = (dialect: Dialect) => Sql;

const numRuns = sampled(300);
/** Numbers at which SQLite, PostgreSQL and JavaScript change the form in which they write them. */
const someDoubles = [
  ...[1e308, 1.5e300, 1e21, 123456789012345680000, 1e20, 1e17, 1e16, 1e15, 999999999999999.9, 1e11],
  ...[0.1, 1 / 3, 0.30000000000000004, 0.0001, 0.00001, 0.0000012, 1e-7, 1.5e-10, 5e-324, -1e-9],
];
const texts = (inputsOf('string', false) as fc.Arbitrary<string>).filter(
  (text) => !text.includes('\0'),
);
const documents = inputsOf('object', false)
  .map((value) => JSON.stringify(value))
  .filter((json) => !json.includes('\\u0000'));

/** Runs an expression on SQLite. */
class Sqlite {
  readonly #database = new Database(':memory:');
  readonly #dialect: Dialect;

  constructor(foldText: Fold) {
    registerFunctions(this.#database, foldText);
    this.#dialect = sqliteDialect(foldText);
  }

  ask(write: Write): Promise<readonly Value[]> {
    const { sql: text, bindings } = this.#dialect.compile(sql`select ${write(this.#dialect)}`);
    const rows = this.#database
      .prepare(text)
      .pluck()
      .all(...bindings);
    return Promise.resolve(rows as readonly Value[]);
  }
}

/** Runs an expression on PostgreSQL. */
class Postgres {
  readonly #client: Client;
  readonly #dialect: Dialect;

  constructor(client: Client, foldText: Fold) {
    this.#client = client;
    this.#dialect = postgresDialect(foldText);
  }

  async ask(write: Write): Promise<readonly Value[]> {
    const { sql: text, bindings } = this.#dialect.compile(sql`select ${write(this.#dialect)}`);
    const { rows } = await this.#client.query<unknown[]>({
      text,
      values: [...bindings],
      rowMode: 'array',
    });
    return rows.map(([value]) => (typeof value === 'boolean' ? Number(value) : (value as Value)));
  }
}

const text = (value: string | null): Sql => sql`cast(${value} as text)`;
const number = (value: number | null): Sql => sql`cast(${value} as double precision)`;
const integer = (value: number): Sql => sql`cast(${value} as bigint)`;

describePostgres('The SQL of both dialects', () => {
  let created: TestDatabase;
  let client: Client;
  let both: { readonly sqlite: Sqlite; readonly postgres: Postgres };
  beforeAll(async () => {
    created = await postgresDatabase();
    client = new Client({ connectionString: created.url });
    await client.connect();
    for (const statement of postgresFunctions()) await client.query(statement);
    both = { sqlite: new Sqlite(fold), postgres: new Postgres(client, fold) };
  });
  afterAll(async () => {
    await client.end();
    await created.drop();
  });

  /** Answers of both, which must be the same. */
  async function answer(
    write: Write,
    { sqlite, postgres } = both,
    form: (value: Value) => unknown = (value) => value,
  ): Promise<Value> {
    const [here, there] = await Promise.all([sqlite.ask(write), postgres.ask(write)]);
    expect(there.map(form)).toEqual(here.map(form));
    return there[0] ?? null;
  }

  async function always<T>(
    values: fc.Arbitrary<T>,
    check: (value: T) => Promise<void>,
  ): Promise<void> {
    await fc.assert(fc.asyncProperty(values, check), { numRuns });
  }

  describe.each([
    ['with accents', fold],
    ['without accents', foldWithoutAccents],
  ])('for texts %s', (_, foldText) => {
    it('folds them as JavaScript does', async () => {
      const own = { sqlite: new Sqlite(foldText), postgres: new Postgres(client, foldText) };
      await always(texts, async (value) => {
        expect(await answer((dialect) => dialect.fold(text(value)), own)).toBe(foldText(value));
      });
    });

    it('folds every character like that', async () => {
      const points: number[] = [];
      for (let point = 1; point < 0x1_f000; point += 1) {
        if (point < 0xd800 || point > 0xdfff) points.push(point);
      }
      const postgres = new Postgres(client, foldText);
      for (let at = 0; at < points.length; at += 500) {
        const some = points.slice(at, at + 500).map((point) => `${String.fromCodePoint(point)}.`);
        const list = JSON.stringify(some);
        const folded = await postgres.ask(
          (dialect) =>
            sql`cast(json_agg(${dialect.fold(sql`"value"`)} order by "key") as text) from ${dialect.each(sql`${list}`, 'text')} as "each"`,
        );
        // A mark that the Unicode version of PostgreSQL does not know has another order; nothing
        // else differs.
        expect(JSON.parse(String(folded[0]))).toEqual(some.map((each) => foldText(each)));
      }
    });
  });

  it('compares texts by their code points', async () => {
    await always(fc.tuple(texts, texts), async ([a, b]) => {
      const less = await answer(
        (dialect) =>
          sql`case when ${dialect.compare(dialect.fold(text(a)), '<', text(fold(b)), 'text')} then 1 else 0 end`,
      );
      const [first, second] = [fold(a), fold(b)].map((each) => Buffer.from(each));
      expect(less === 1).toBe(Buffer.compare(first as Buffer, second as Buffer) < 0);
    });
  });

  it('writes a text as equal JSON', async () => {
    await always(fc.option(texts), async (value) => {
      const parsed = (json: Value): unknown => JSON.parse(String(json));
      const json = await answer((dialect) => dialect.jsonText(text(value)), both, parsed);
      expect(parsed(json)).toBe(value);
    });
  });

  it('writes numbers as equal JSON', async () => {
    const finite = numbers.filter(Number.isFinite).map((value) => value + 0);
    await always(fc.option(finite), async (value) => {
      const parsed = (json: Value): unknown => JSON.parse(String(json));
      const json = await answer((dialect) => dialect.jsonRaw(number(value)), both, parsed);
      expect(parsed(json)).toBe(value === null ? null : value);
    });
  });

  it('writes a double as JavaScript does, but for the last digits of the same double', async () => {
    const doubles = fc.oneof(
      numbers.filter(Number.isFinite),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.tuple(fc.integer(), fc.nat(6)).map(([units, scale]) => units / 10 ** scale),
      fc.constantFrom(...someDoubles),
    );
    const form = (json: Value): unknown =>
      /e/i.test(String(json)) ? json : (JSON.parse(String(json)) as unknown);
    await always(fc.option(doubles), async (value) => {
      const json = await answer(
        (dialect) => sql`${dialect.concat([dialect.jsonReal(number(value))])}`,
        both,
        form,
      );
      expect(form(json)).toBe(form(JSON.stringify(value === null ? null : value + 0)));
    });
  });

  it('finds a double in a list that JavaScript writes', async () => {
    const all = [...someDoubles, 2 ** 53, 2 ** 62, 2 ** 63, -(2 ** 60)];
    for (const value of all) {
      const list = JSON.stringify([7, value]);
      const isListed = await answer(
        (dialect) =>
          sql`case when ${isIn(dialect, number(value), sql`${list}`, 'number')} then 1 else 0 end`,
      );
      expect(isListed).toBe(1);
    }
  });

  it('writes a number that is not finite as null', async () => {
    for (const value of [Infinity, -Infinity]) {
      expect(await answer((dialect) => dialect.jsonReal(number(value)))).toBe('null');
      expect(await answer(() => ifNumber(number(value)))).toBeNull();
    }
  });

  it('writes a text as a part of a URI', async () => {
    await always(texts, async (value) => {
      expect(await answer(() => sql`drs_uri(${text(value)})`)).toBe(uriKey(value));
    });
  });

  it('writes a date as d!m!yyyy', async () => {
    const write =
      (date: string | null): Write =>
      () =>
        jsonBangDate(text(date));
    expect(await answer(write('2026-03-01'))).toBe('"1!3!2026"');
    expect(await answer(write('0009-12-31'))).toBe('"31!12!0009"');
    expect(await answer(write(null))).toBe('null');
  });

  it('joins any number of pieces to one text', async () => {
    const parts = Array.from({ length: 1000 }, (_, index) => [`${index}:`, text(String(index))]);
    const whole = await answer((dialect) => dialect.concat(parts.flat()));
    expect(whole).toBe(parts.map((_, index) => `${index}:${index}`).join(''));
  });

  // PostgreSQL cuts the name of a column off after 63 bytes.
  it.each(['%s', 'a "name" \\ \u2028', 'é'.repeat(31), 'é'.repeat(32)])(
    'writes an object as JavaScript does: %j',
    async (name) => {
      const values = fc.record({
        text: fc.option(texts),
        real: fc.option(fc.constantFrom(...someDoubles, 0, -0, 5, -7.25)),
        boolean: fc.option(fc.boolean()),
        key: fc.option(fc.nat()),
      });
      await always(values, async ({ text: given, real, boolean, key }) => {
        const [t, r, b] = [
          text(given),
          number(real),
          sql`cast(${boolean === null ? null : Number(boolean)} as smallint)`,
        ];
        const k = sql`cast(${key} as bigint)`;
        const deferred: Json = ['{"uri":"/rest/A(', k, ')"}'];
        const write: Write = (dialect) => {
          const members = [
            { name, json: [{ value: t, type: 'text', json: [dialect.jsonText(t)] }] },
            { name: 'real', json: [{ value: r, type: 'real', json: [dialect.jsonReal(r)] }] },
            { name: 'boolean', json: [{ value: b, type: 'boolean', json: [jsonBoolean(b)] }] },
            { name: 'key', json: [{ isNull: sql`${k} is null`, parts: [{ short: deferred }] }] },
            {
              name: 'none',
              json: [{ from: sql`from (select 1) as "t" where 1 = 0`, json: [{ short: ['1'] }] }],
            },
          ] as const;
          return dialect.concat([{ members, isLong: false }]);
        };
        const parsed = (json: Value): unknown => JSON.parse(String(json));
        expect(parsed(await answer(write, both, parsed))).toEqual({
          [name]: given,
          real: real === null ? null : real + 0,
          boolean,
          key: key === null ? null : { uri: `/rest/A(${key})` },
          none: null,
        });
      });
    },
  );

  it('finds patterns and words as JavaScript does it', async () => {
    const pieces = fc.string({
      unit: fc.constantFrom(
        'a',
        'b',
        'ab',
        ' ',
        '@',
        '%',
        '_',
        '\\',
        'é',
        '\u0301',
        '1',
        '[',
        '.',
        '😀',
      ),
      maxLength: 8,
    });
    await always(fc.tuple(pieces, pieces), async ([given, wanted]) => {
      const truth = (value: Value): boolean => value === 1;
      const matches = await answer(
        (dialect) =>
          sql`case when ${dialect.matches(text(given), text(wanted), text(''))} then 1 else 0 end`,
        both,
        truth,
      );
      expect(truth(matches)).toBe(new TextPattern(wanted).matches(given));
      const has = await answer(
        () => sql`case when drs_has_word(${text(given)}, ${text(wanted)}) then 1 else 0 end`,
        both,
        truth,
      );
      expect(truth(has)).toBe(new WordSearch(wanted).isIn(given));
      const patterns = JSON.stringify({ [wanted]: '' });
      const any = await answer(
        (dialect) =>
          sql`case when ${dialect.matchesAny(text(given), sql`${patterns}`)} then 1 else 0 end`,
        both,
        truth,
      );
      expect(any).toBe(matches);
      const contains = await answer(
        (dialect) =>
          sql`case when ${dialect.contains(text(given), text(wanted))} then 1 else 0 end`,
        both,
        truth,
      );
      expect(truth(contains)).toBe(given.includes(wanted));
    });
  });

  it('finds a word after many places where it is only a part of one', async () => {
    for (const [given, expected] of [
      [`${'xab '.repeat(50)}ab`, 1],
      [`${'xab'.repeat(50)}ab`, 0],
      [`${'a-a'.repeat(40)}-a`, 1],
      [`x${'-aa'.repeat(40)}-a`, 0],
      [`x${'a-'.repeat(40)}a`, 1],
    ] as const) {
      const word = given.includes('-') ? 'a-a' : 'ab';
      const found = await answer(
        () => sql`case when drs_has_word(${text(given)}, ${text(word)}) then 1 else 0 end`,
      );
      expect(found).toBe(Number(new WordSearch(word).isIn(given)));
      expect(found).toBe(expected);
    }
  });

  it('compares integers with any number', async () => {
    const wanted = fc.oneof(numbers, fc.constantFrom(1.5, -1.5, 2, Infinity, -Infinity, 2 ** 60));
    const stored = fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -3, max: 3 }));
    await always(fc.tuple(stored, wanted), async ([value, other]) => {
      const truths = {
        '=': value === other,
        '!=': value !== other,
        '<': value < other,
        '<=': value <= other,
        '>': value > other,
        '>=': value >= other,
      };
      for (const [name, expected] of Object.entries(truths)) {
        const operator = name as keyof typeof truths;
        const rounded = attributeValue(
          { dialect: { foldText: fold } },
          { type: 'integer' },
          operator,
        );
        const bound = rounded({ value: other });
        if (bound === undefined) {
          // No integer equals it, and the condition is written without a value.
          expect([Number.isSafeInteger(other), operator]).toEqual([
            false,
            expect.stringMatching(/^!?=$/),
          ]);
          continue;
        }
        const found = await answer((dialect) => {
          const compared = dialect.compare(integer(value), operator, sql`${bound}`, 'integer');
          return sql`case when ${compared} then 1 else 0 end`;
        });
        expect(found, operator).toBe(Number(expected));
      }
      const list = `[${[other, 7, 0.5].map(numberJson).join()}]`;
      const isListed = await answer(
        (dialect) =>
          sql`case when ${isIn(dialect, integer(value), sql`${list}`, 'integer')} then 1 else 0 end`,
      );
      expect(isListed).toBe(Number([other, 7].includes(value)));
    });
  });

  it('reads properties of documents', async () => {
    const names = fc.array(fc.constantFrom('a', 'b', '0', 'length', '', '"', 'é', '$.a'), {
      minLength: 1,
      maxLength: 3,
    });
    const kinds = ['text', 'number', 'boolean'] as const;
    await always(fc.tuple(documents, names), async ([document, path]) => {
      for (const kind of kinds) {
        await answer((dialect) => {
          const place = dialect.json.property(text(document), path);
          const value = {
            text: place.value,
            number: dialect.json.typed(place.value, 'number'),
            boolean: dialect.json.typed(place.value, 'boolean'),
          }[kind];
          return dialect.json.byKind(place, { [kind]: value });
        });
      }
    });
  });

  it('reads the length and the elements of an array', async () => {
    const list = JSON.stringify({ a: [1, 'x', null, [2], { b: true }], b: { length: 'own' } });
    const length = (...names: readonly string[]): Promise<Value> =>
      answer((dialect) => {
        const place = dialect.json.property(text(list), [...names, 'length']);
        const value = dialect.concat([place.value]);
        return dialect.json.byKind(place, { number: value, text: value });
      });
    expect(await length('a')).toBe('5');
    expect(await length('b')).toBe('own');
    expect(await length('c')).toBeNull();
    const count = (...names: readonly string[]): Promise<Value> =>
      answer((dialect) => {
        const { clause } = dialect.json.elements(text(list), names, 'each');
        return sql`cast(count(*) as double precision) from ${clause}`;
      });
    expect(await count('a')).toBe(5);
    expect(await count('b')).toBe(0);
  });

  it('adds up without failing', async () => {
    const finite = numbers.filter(Number.isFinite).map((value) => value + 0);
    await always(fc.array(finite, { maxLength: 6 }), async (values) => {
      const list = `[${values.map(numberJson).join()}]`;
      const write: Write = (dialect) =>
        sql`${dialect.jsonReal(sql`"total"`)} from (select ${dialect.total(sql`"value"`)} as "total" from ${dialect.each(sql`${list}`, 'number')} as "each") as "sums"`;
      const [here, there] = await Promise.all([both.sqlite.ask(write), both.postgres.ask(write)]);
      const [a, b] = [here, there].map(([json]) => JSON.parse(String(json)) as number | null);
      // SQLite compensates rounding errors.
      const tolerance = Math.max(...values.map(Math.abs), 0) * 1e-12;
      const isInfinite = a === null || b === null;
      expect(isInfinite ? a === b : Math.abs((a as number) - (b as number)) <= tolerance).toBe(
        true,
      );
    });
  });

  it('divides without failing', async () => {
    expect(await answer((dialect) => dialect.quotient(number(1), number(0)))).toBeNull();
    expect(await answer((dialect) => dialect.quotient(number(5e-324), number(3)))).toBe(0);
    expect(await answer((dialect) => dialect.quotient(number(1e308), number(1e-10)))).toBe(
      Infinity,
    );
  });
});
