import { Client } from 'pg';
import { expect, it } from 'vitest';
import { describePostgres, postgresDatabase } from '../support/postgres.js';
import { attributesOf, imported, workplace, type Imported } from './importer.js';

async function withDatabase<Result>(
  sql: string,
  use: (url: string) => Promise<Result>,
): Promise<Result> {
  const { url, drop } = await postgresDatabase();
  try {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(sql);
    await client.end();
    return await use(url);
  } finally {
    await drop();
  }
}

function importOf(sql: string, ...options: readonly string[]): Promise<Imported> {
  return withDatabase(sql, (url) => imported(workplace(), url, ...options));
}

describePostgres('drs-gen import of a PostgreSQL database', () => {
  it('maps types', async () => {
    const result = await importOf(`
      CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
      CREATE TYPE pair AS (a int, b text);
      CREATE DOMAIN percent AS int NOT NULL CHECK (VALUE >= 0 AND VALUE <= 100);
      CREATE DOMAIN half AS percent CHECK (VALUE <= 50);
      CREATE DOMAIN code AS varchar(5) CHECK (VALUE <> 'x');
      CREATE TABLE types (
        id bigserial PRIMARY KEY, small smallint, whole int, big bigint, exact numeric(8, 0), price numeric(10, 2),
        any_number numeric, cash money, single real, "double" double precision, flag boolean, name text,
        short varchar(20), fixed char(3), token uuid DEFAULT gen_random_uuid(), day date, moment timestamp,
        zoned timestamptz, clock time, span interval, doc json, docs jsonb, list int[], both_ pair, span_ int4range,
        bytes bytea, mood mood, rate percent, less half, code code, ip inet, words tsvector, drawn int GENERATED ALWAYS AS IDENTITY
      );
    `);
    expect(result.model['database']).toBe('postgres');
    expect(attributesOf(result, 'types')).toEqual({
      id: { type: 'integer', key: true, generated: 'sequence' },
      small: 'integer',
      whole: 'integer',
      big: 'integer',
      exact: 'integer',
      price: { type: 'decimal', precision: 10, scale: 2 },
      any_number: 'number',
      cash: { type: 'decimal', precision: 18, scale: 2 },
      single: 'number',
      double: 'number',
      flag: 'boolean',
      name: 'string',
      short: { type: 'string', maxLength: 20 },
      fixed: { type: 'string', maxLength: 3 },
      token: { type: 'uuid', generated: 'uuid' },
      day: { type: 'date', dateOnly: true },
      moment: 'date',
      zoned: 'date',
      clock: 'duration',
      span: 'duration',
      doc: 'object',
      docs: 'object',
      list: 'object',
      both_: 'object',
      span_: 'object',
      bytes: 'blob',
      mood: { type: 'string', enum: ['sad', 'ok', 'happy'] },
      rate: { type: 'integer', mandatory: true, min: 0, max: 100 },
      less: { type: 'integer', mandatory: true, min: 0, max: 50 },
      code: { type: 'string', maxLength: 5 },
      ip: { type: 'string', readOnly: true },
      drawn: { type: 'integer', generated: 'sequence', mandatory: true },
    });
    expect(result.told('decimal').map((each) => each.split(':')[0])).toEqual(['types.any_number']);
    expect(result.told('integer64').length).toBe(2);
    expect(result.told('type').map((each) => each.split(':')[0])).toEqual([
      'types.ip',
      'types.words',
    ]);
  });

  it('makes keys beyond 2^53 strings, and tells of unique texts that differ only in case', async () => {
    const result = await importOf(`
      CREATE TABLE post (id bigserial PRIMARY KEY, slug varchar(9) UNIQUE, big bigint);
      CREATE TABLE "Odd ""Reply" (id bigint PRIMARY KEY, post_id bigint REFERENCES post);
      INSERT INTO post VALUES (9007199254740992, 'Ab', 1), (2, 'aB', 9007199254740992), (3, 'c', NULL);
      INSERT INTO "Odd ""Reply" VALUES (1, 2);
    `);
    expect(attributesOf(result, 'post')).toEqual({
      id: { type: 'string', key: true },
      slug: { type: 'string', maxLength: 9, unique: true },
      big: 'integer',
      Odd__Reply: { to: 'Odd__Reply', many: true, inverse: 'post' },
    });
    expect(attributesOf(result, 'Odd__Reply')).toMatchObject({
      id: { type: 'integer', key: true },
      post_id: 'string',
    });
    expect(result.told('long-key').length).toBe(2);
    expect(result.told('integer64').map((each) => each.split(':')[0])).toEqual([
      'Odd "Reply.id',
      'post.big',
    ]);
    expect(result.told('case')).toEqual([expect.stringContaining('post.slug: 1 text ')]);
  });

  it('maps defaults, rules, indexes, comments and generated columns', async () => {
    const result = await importOf(`
      CREATE TABLE rules (
        id int PRIMARY KEY, state varchar(10) NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'shut')),
        stars int DEFAULT 3 CHECK (stars BETWEEN 1 AND 5), price numeric CHECK (price >= 0.5), name text CHECK (char_length(name) <= 8),
        made timestamptz DEFAULT now(), day date DEFAULT '2020-01-31', flag boolean NOT NULL DEFAULT false,
        a int, b int, net int GENERATED ALWAYS AS (a + b) STORED, CHECK (a < b)
      );
      COMMENT ON TABLE rules IS 'What is allowed';
      COMMENT ON COLUMN rules.name IS 'How it is called';
      CREATE INDEX ON rules (name);
      CREATE INDEX ON rules (a, b) INCLUDE (day);
      CREATE INDEX lowered ON rules (lower(name));
      CREATE UNIQUE INDEX part ON rules (b) WHERE b > 3;
      CREATE UNIQUE INDEX day_once ON rules (day);
    `);
    expect(result.model.dataclasses['rules']).toEqual({
      description: 'What is allowed',
      attributes: {
        id: { type: 'integer', key: true },
        state: {
          type: 'string',
          mandatory: true,
          default: 'open',
          enum: ['open', 'shut'],
          maxLength: 10,
        },
        stars: { type: 'integer', default: 3, min: 1, max: 5 },
        price: { type: 'number', min: 0.5 },
        name: { type: 'string', indexed: true, maxLength: 8, description: 'How it is called' },
        made: 'date',
        day: { type: 'date', dateOnly: true, unique: true, default: '2020-01-31' },
        flag: { type: 'boolean', mandatory: true, default: false },
        a: 'integer',
        b: 'integer',
        net: { type: 'integer', readOnly: true },
      },
      indexes: [['a', 'b']],
    });
    expect(result.told('default-lost')).toEqual([expect.stringContaining('now()')]);
    expect(result.told('rule-lost')).toEqual([expect.stringContaining('a < b')]);
  });

  it('maps relations, and names tables of several schemas apart', async () => {
    const result = await importOf(`
      CREATE SCHEMA shop;
      CREATE TABLE person (id int PRIMARY KEY, code text UNIQUE NOT NULL, UNIQUE (id, code));
      CREATE TABLE shop.person (id int PRIMARY KEY REFERENCES person ON DELETE CASCADE);
      CREATE TABLE shop.sale (
        id int PRIMARY KEY, buyer_id int NOT NULL REFERENCES shop.person, seller int REFERENCES shop.person ON DELETE SET NULL,
        code text REFERENCES person (code), other_id int, other_code text, FOREIGN KEY (other_id, other_code) REFERENCES person (id, code)
      );
    `);
    expect(Object.keys(result.model.dataclasses)).toEqual(['person', 'shop_person', 'sale']);
    expect(attributesOf(result, 'sale')).toEqual({
      id: { type: 'integer', key: true },
      buyer_id: { type: 'integer', mandatory: true },
      seller_id: { type: 'integer', column: 'seller' },
      code_id: { type: 'string', column: 'code' },
      other_id: 'integer',
      other_code: 'string',
      buyer: { to: 'shop_person', foreignKey: 'buyer_id', inverse: 'sale_buyer' },
      seller: { to: 'shop_person', foreignKey: 'seller_id', inverse: 'sale_seller' },
      code: {
        to: 'person',
        foreignKey: 'code_id',
        references: 'code',
        inverse: 'sale_code',
        onDelete: 'restrict',
      },
    });
    expect(result.told('relation-lost')).toEqual([expect.stringContaining('over several columns')]);
  });

  it('takes one schema with --schema, and some tables with --tables', async () => {
    const sql = `
      CREATE SCHEMA a; CREATE SCHEMA b;
      CREATE TABLE a.one (id int PRIMARY KEY); CREATE TABLE a.two (id int PRIMARY KEY); CREATE TABLE b.one (id int PRIMARY KEY);
    `;
    const ofSchema = await importOf(sql, '--schema', 'a');
    expect(Object.keys(ofSchema.model.dataclasses)).toEqual(['one', 'two']);
    const some = await importOf(sql, '--tables', 't*');
    expect(Object.keys(some.model.dataclasses)).toEqual(['two']);
    const { code, err } = await withDatabase(sql, (url) =>
      workplace().import(url, '--schema', 'c'),
    );
    expect([code, err]).toEqual([2, expect.stringContaining('schema c')]);
  });

  it('leaves views, partitions and tables of extensions out', async () => {
    const result = await importOf(`
      CREATE TABLE part (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
      CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
      CREATE TABLE base (id int PRIMARY KEY); CREATE TABLE derived (more text) INHERITS (base);
      CREATE VIEW shown AS SELECT * FROM base;
      CREATE MATERIALIZED VIEW stored AS SELECT * FROM base;
      CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'begin return new; end';
      CREATE TRIGGER hook BEFORE INSERT ON base EXECUTE FUNCTION f();
      ALTER TABLE base ENABLE ROW LEVEL SECURITY;
    `);
    expect(Object.keys(result.model.dataclasses)).toEqual(['base', 'derived', 'part']);
    expect(result.told('view').length).toBe(2);
    expect(result.told('inheritance').length).toBe(1);
    expect(result.told('trigger')).toEqual([expect.stringContaining('hook')]);
    expect(result.told('rule-lost')).toEqual([expect.stringContaining('Row security')]);
  });

  it('gives names that are too long for a folded column a shorter one', async () => {
    const long = 'ä'.repeat(31);
    const result = await importOf(`
      CREATE TABLE "${long}" (id int PRIMARY KEY, "${long}" text UNIQUE, "${'b'.repeat(63)}" text UNIQUE);
      CREATE TABLE pg_odd (id int PRIMARY KEY, "a.b" text, "drop table" text);
    `);
    expect(Object.keys(result.model.dataclasses)).toEqual(['x_pg_odd', long]);
    expect(attributesOf(result, 'x_pg_odd')).toMatchObject({
      a_b: { column: 'a.b' },
      drop_table: { column: 'drop table' },
    });
  });

  it('names neither the password nor a stack when the server cannot be reached', async () => {
    const place = workplace();
    const { code, err } = await place.import('postgres://me:secret@127.0.0.1:1/none');
    expect([code, err]).toEqual([1, expect.stringContaining('import/unreadable')]);
    expect(err).toContain('postgres://127.0.0.1:1/none');
    expect(err).not.toMatch(/secret|at .*\.ts/);
  });

  it('does not write the password into any file', async () => {
    await withDatabase('CREATE TABLE a (id int PRIMARY KEY)', async (url) => {
      const place = workplace();
      const secret = new URL(url);
      await imported(place, secret.href);
      const { username, password } = secret;
      const texts = place
        .files()
        .map((path) => place.text(path))
        .join('\n');
      expect(texts).not.toContain(`${username}:${password}@`);
      expect(texts).not.toContain('@');
    });
  });

  it('refuses the database of a server of drs-gen', async () => {
    const sql = 'CREATE TABLE a (id int PRIMARY KEY, "__STAMP" bigint)';
    const { code } = await withDatabase(sql, (url) => workplace().import(url));
    expect(code).toBe(2);
  });
});
