import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { attributesOf, imported, workplace, type Imported, type Workplace } from './importer.js';

function databaseOf(sql: string): Workplace {
  const place = workplace();
  const database = new Database(join(place.folder, 'shop.sqlite'));
  database.exec(sql);
  database.close();
  return place;
}

async function importOf(sql: string, ...options: readonly string[]): Promise<Imported> {
  return imported(databaseOf(sql), 'sqlite:shop.sqlite', ...options);
}

describe('drs-gen import of a SQLite file', () => {
  it('maps declared types, and looks at values where the declaration says little', async () => {
    const result = await importOf(`
      CREATE TABLE types (
        id INTEGER PRIMARY KEY, whole INT, big BIGINT, flag BOOLEAN, bit TINYINT(1), day DATE, moment DATETIME,
        changed TIMESTAMP, clock TIME, json JSON, name VARCHAR(20), long TEXT, real DOUBLE, price DECIMAL(10,2) DEFAULT 0.5 CHECK (price >= 0.25),
        long_price NUMERIC(19, 2), no_scale DECIMAL(5),
        bytes BLOB, token CHAR(36), code CHAR(36), guid GUID, untyped, odd WHATEVER, texts STRANGE
      );
      INSERT INTO types (token, code, untyped, odd, texts) VALUES
        ('0f8fad5b-d9cb-469f-a165-70867728950e', 'short', 1, 1.5, 'a');
    `);
    expect(result.model['name']).toBe('shop');
    expect(attributesOf(result, 'types')).toEqual({
      id: { type: 'integer', key: true, generated: 'sequence' },
      whole: 'integer',
      big: 'integer',
      flag: 'boolean',
      bit: 'boolean',
      day: { type: 'date', dateOnly: true },
      moment: 'date',
      changed: 'date',
      clock: 'duration',
      json: 'object',
      name: { type: 'string', maxLength: 20 },
      long: 'string',
      real: 'number',
      price: { type: 'decimal', precision: 10, scale: 2, default: 0.5, min: 0.25 },
      long_price: 'number',
      no_scale: 'number',
      bytes: 'blob',
      token: 'uuid',
      code: { type: 'string', maxLength: 36 },
      guid: 'uuid',
      untyped: 'integer',
      odd: 'number',
      texts: 'string',
    });
  });

  it('makes decimals numbers where they are keys', async () => {
    const result = await importOf(`
      CREATE TABLE product (code NUMERIC(6, 2) PRIMARY KEY, price DECIMAL(8, 2));
      CREATE TABLE line (id INTEGER PRIMARY KEY, product_code NUMERIC(6, 2) REFERENCES product (code));
    `);
    expect(attributesOf(result, 'product')).toMatchObject({
      code: { type: 'number', key: true },
      price: { type: 'decimal', precision: 8, scale: 2 },
    });
    expect(attributesOf(result, 'line')).toMatchObject({
      product_code: { to: 'product' },
      product_code_id: { type: 'number' },
    });
    expect(result.told('decimal').length).toBe(2);
  });

  it('makes keys with integers beyond 2^53 strings, with all columns that refer to them', async () => {
    const result = await importOf(`
      CREATE TABLE post (id INTEGER PRIMARY KEY, number BIGINT UNIQUE);
      CREATE TABLE reply (post_id BIGINT PRIMARY KEY REFERENCES post (id), size BIGINT);
      CREATE TABLE mark (id INTEGER PRIMARY KEY, reply_id BIGINT REFERENCES reply, number BIGINT REFERENCES post (number));
      INSERT INTO post VALUES (9007199254740991, -9007199254740992), (9007199254740992, 2);
      INSERT INTO reply VALUES (9007199254740992, 9007199254740993);
    `);
    expect(attributesOf(result, 'post')).toMatchObject({
      id: { type: 'string', key: true },
      number: { type: 'string', unique: true },
    });
    expect(attributesOf(result, 'reply')).toMatchObject({
      post_id: { type: 'string', key: true },
      size: 'integer',
    });
    expect(attributesOf(result, 'mark')).toMatchObject({
      id: { type: 'integer', key: true, generated: 'sequence' },
      reply_id: 'string',
      number_id: { type: 'string', column: 'number' },
    });
    expect(attributesOf(result, 'post')['id']).not.toHaveProperty('generated');
    expect(result.told('long-key').map((each) => each.replace(/, so .*/, ''))).toEqual([
      'post.id: This key holds integers beyond 2^53',
      'post.number: This key holds integers beyond 2^53',
      'reply.post_id: This key holds integers beyond 2^53',
      'mark.reply_id: It refers to reply.post_id, which holds integers beyond 2^53',
      'mark.number: It refers to post.number, which holds integers beyond 2^53',
    ]);
  });

  it('tells of texts in unique columns that differ only in case, with a remedy', async () => {
    const result = await importOf(`
      CREATE TABLE link (slug TEXT PRIMARY KEY, code TEXT UNIQUE, note TEXT, mail TEXT COLLATE NOCASE UNIQUE);
      INSERT INTO link VALUES ('aB3', 'É', 'x', 'a'), ('ab3', 'é', 'X', NULL), ('AB3', 'e', NULL, 'b'), ('b', 'f', 'x', NULL), ('B', 'g', 'x', NULL);
    `);
    expect(result.told('case')).toEqual([
      expect.stringMatching(
        /^link\.slug: 2 texts occur in forms .*, as "AB3" and "ab3"; .* --key link=<column>/,
      ),
      expect.stringMatching(
        /^link\.code: 1 text .*, as "É" and "é"; .* Remove unique from the attribute/,
      ),
    ]);
  });

  it('maps defaults, NOT NULL, unique, indexes and CHECK rules', async () => {
    const result = await importOf(`
      CREATE TABLE rules (
        id TEXT PRIMARY KEY, state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'shut')),
        stars INT DEFAULT 3 CHECK (stars >= 1 AND stars <= 5), points INT CHECK (points > 0),
        code TEXT UNIQUE CHECK (length(code) <= 8), made DATETIME DEFAULT CURRENT_TIMESTAMP,
        on_ BOOLEAN DEFAULT 1, minus REAL DEFAULT -1.5, a INT, b INT, CHECK (a < b), CHECK (a > 3)
      );
      CREATE INDEX one ON rules (a);
      CREATE INDEX two ON rules (b, a);
      CREATE INDEX expression ON rules (lower(state));
      CREATE UNIQUE INDEX partial ON rules (b) WHERE b > 3;
      CREATE UNIQUE INDEX pair ON rules (a, b);
    `);
    expect(attributesOf(result, 'rules')).toEqual({
      id: { type: 'string', key: true },
      state: { type: 'string', mandatory: true, default: 'open', enum: ['open', 'shut'] },
      stars: { type: 'integer', default: 3, min: 1, max: 5 },
      points: { type: 'integer', min: 1 },
      code: { type: 'string', unique: true, maxLength: 8 },
      made: 'date',
      on_: { type: 'boolean', default: true },
      minus: { type: 'number', default: -1.5 },
      a: { type: 'integer', indexed: true, min: 4 },
      b: 'integer',
    });
    expect(result.model.dataclasses['rules']?.['indexes']).toEqual([
      { unique: true, attributes: ['a', 'b'] },
      ['b', 'a'],
    ]);
    expect(result.told('default-lost')).toEqual([
      expect.stringContaining('rules.made: The default CURRENT_TIMESTAMP'),
    ]);
    expect(result.told('rule-lost')).toEqual([expect.stringContaining('CHECK (a < b)')]);
    expect(result.told('index-left-out')).toEqual([expect.stringContaining('expression')]);
    expect(result.told('unique-left-out')).toEqual([expect.stringContaining('partial')]);
  });

  it('names relations after their columns, and both ways', async () => {
    const result = await importOf(`
      CREATE TABLE person (id INTEGER PRIMARY KEY, boss INTEGER REFERENCES person);
      CREATE TABLE book (
        id INTEGER PRIMARY KEY, author INT REFERENCES person(ID), editor_id INT NOT NULL REFERENCES Person ON DELETE CASCADE,
        shelf_fk INT REFERENCES shelf ON DELETE SET NULL, lost_id INT REFERENCES nowhere
      );
      CREATE TABLE shelf (id INTEGER PRIMARY KEY);
    `);
    expect(attributesOf(result, 'book')).toEqual({
      id: { type: 'integer', key: true, generated: 'sequence' },
      author_id: { type: 'integer', column: 'author' },
      editor_id: { type: 'integer', mandatory: true },
      shelf_fk: 'integer',
      lost_id: 'integer',
      author: {
        to: 'person',
        foreignKey: 'author_id',
        inverse: 'book_author',
        onDelete: 'restrict',
      },
      editor: {
        to: 'person',
        foreignKey: 'editor_id',
        inverse: 'book_editor',
        onDelete: 'cascade',
      },
      shelf: { to: 'shelf', foreignKey: 'shelf_fk', inverse: 'book' },
    });
    expect(attributesOf(result, 'person')).toMatchObject({
      boss: { to: 'person', foreignKey: 'boss_id', inverse: 'person' },
      person: { to: 'person', many: true, inverse: 'boss' },
    });
    expect(result.told('relation-lost')).toEqual([expect.stringContaining('book.lost_id')]);
  });

  it('gives link tables and tables without a key a key of their own', async () => {
    const sql = `
      CREATE TABLE a (id INTEGER PRIMARY KEY);
      CREATE TABLE link (a_id INT REFERENCES a, other_id INT REFERENCES a, PRIMARY KEY (a_id, other_id));
      CREATE TABLE log (what TEXT);
      CREATE TABLE coded (code TEXT NOT NULL UNIQUE, name TEXT);
    `;
    const result = await importOf(sql);
    expect(attributesOf(result, 'link')).toMatchObject({
      ID: { type: 'uuid', key: true, generated: 'uuid' },
      a: { to: 'a', foreignKey: 'a_id' },
      other: { to: 'a', foreignKey: 'other_id' },
    });
    expect(result.model.dataclasses['link']?.['indexes']).toEqual([
      { unique: true, attributes: ['a_id', 'other_id'] },
    ]);
    expect(attributesOf(result, 'coded')['code']).toEqual({ type: 'string', key: true });
    expect(result.told('composite-key').length).toBe(2);
    const skipped = await importOf(sql, '--keyless', 'skip');
    expect(Object.keys(skipped.model.dataclasses)).toEqual(['a', 'coded']);
  });

  it('lets a relation reference a unique column, others get a hidden foreign key, and --key makes a key', async () => {
    const sql = `
      CREATE TABLE product (id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, name TEXT);
      CREATE TABLE line (
        id INTEGER PRIMARY KEY, product_code TEXT REFERENCES product (code), label TEXT REFERENCES product (name)
      );
    `;
    const result = await importOf(sql);
    expect(attributesOf(result, 'line')).toMatchObject({
      product_code_id: { type: 'string', column: 'product_code' },
      product_code: { to: 'product', foreignKey: 'product_code_id', references: 'code' },
      label_ref: { type: 'integer', exposed: false },
      label: { to: 'product', foreignKey: 'label_ref' },
    });
    expect(result.told('by-value')).toEqual([expect.stringContaining('product.name')]);
    const exact = await importOf(sql, '--key', 'product=code');
    expect(attributesOf(exact, 'product')).toMatchObject({
      code: { type: 'string', key: true },
      id: { type: 'integer', unique: true },
    });
    expect(attributesOf(exact, 'line')).toMatchObject({
      product_code: { to: 'product', foreignKey: 'product_code_id' },
    });
    expect(exact.told('by-value')).toEqual([expect.stringContaining('product.name')]);
  });

  it('leaves views, virtual tables and tables of tools out, and counts triggers', async () => {
    const result = await importOf(`
      CREATE TABLE a (id INTEGER PRIMARY KEY, text TEXT);
      CREATE TABLE schema_migrations (version TEXT);
      CREATE VIEW v AS SELECT * FROM a;
      CREATE VIRTUAL TABLE search USING fts5 (text);
      CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM a; END;
    `);
    expect(Object.keys(result.model.dataclasses)).toEqual(['a']);
    expect(result.told('view').map((each) => each.split(':')[0])).toEqual(['v', 'search']);
    expect(result.told('engine-table')).toEqual([expect.stringContaining('schema_migrations')]);
    expect(result.told('trigger')).toEqual([expect.stringContaining('Triggers: t')]);
  });

  it('reports columns whose values are not what they declare', async () => {
    const result = await importOf(`
      CREATE TABLE a (id INTEGER PRIMARY KEY, n INT);
      INSERT INTO a (n) VALUES (1), ('many'), (2.5);
    `);
    expect(result.told('mixed-column')).toEqual([
      expect.stringMatching(/a\.n: .*real \(1\), text \(1\)/),
    ]);
  });

  it('takes names that SQL allows and models do not, and keeps the old ones as columns', async () => {
    const result = await importOf(`
      CREATE TABLE "order items" (id INTEGER PRIMARY KEY, "1st" TEXT, "key" TEXT, save TEXT, constructor TEXT,
        __proto__ TEXT, "naïve" TEXT, "a""b" TEXT, "null" TEXT, "x y" TEXT, x_y TEXT);
      CREATE TABLE ds (id INTEGER PRIMARY KEY);
      CREATE TABLE "Order_Items" (id INTEGER PRIMARY KEY);
      CREATE TABLE pragma_x (id INTEGER PRIMARY KEY);
    `);
    expect(Object.keys(result.model.dataclasses)).toEqual([
      'order_items',
      'ds_',
      'Order_Items_',
      'x_pragma_x',
    ]);
    expect(attributesOf(result, 'order_items')).toEqual({
      id: { type: 'integer', key: true, generated: 'sequence' },
      _1st: { type: 'string', column: '1st' },
      key: 'string',
      save_: { type: 'string', column: 'save' },
      constructor_: { type: 'string', column: 'constructor' },
      _proto__: 'string',
      naïve: 'string',
      a_b: { type: 'string', column: 'a"b' },
      null: 'string',
      x_y: { type: 'string', column: 'x y' },
      x_y_: 'string',
    });
  });

  it('makes camel case names with --names camel', async () => {
    const result = await importOf(
      `CREATE TABLE order_items (id INTEGER PRIMARY KEY, unit_price REAL, order_id INT REFERENCES sales_orders);
       CREATE TABLE sales_orders (id INTEGER PRIMARY KEY);`,
      '--names',
      'camel',
    );
    expect(result.model.dataclasses).toEqual({
      OrderItems: {
        table: 'order_items',
        attributes: {
          id: { type: 'integer', key: true, generated: 'sequence' },
          unitPrice: { type: 'number', column: 'unit_price' },
          orderId: { type: 'integer', column: 'order_id' },
          order: {
            to: 'SalesOrders',
            foreignKey: 'orderId',
            inverse: 'orderItems',
            onDelete: 'restrict',
          },
        },
      },
      SalesOrders: {
        table: 'sales_orders',
        attributes: {
          id: { type: 'integer', key: true, generated: 'sequence' },
          orderItems: { to: 'OrderItems', many: true, inverse: 'order' },
        },
      },
    });
  });

  it('reads generated columns as attributes that clients cannot write', async () => {
    const result = await importOf(
      'CREATE TABLE a (id INTEGER PRIMARY KEY, net REAL, gross REAL AS (net * 1.2) STORED)',
    );
    expect(attributesOf(result, 'a')['gross']).toEqual({ type: 'number', readOnly: true });
    expect(result.told('generated')).toEqual([expect.stringContaining('net * 1.2')]);
  });

  it('leaves the file as it is', async () => {
    const place = databaseOf('CREATE TABLE a (id INTEGER PRIMARY KEY)');
    const before = place.text('shop.sqlite');
    await imported(place, 'shop.sqlite');
    expect(place.text('shop.sqlite')).toBe(before);
    expect(place.files()).toEqual([
      '.drs-gen/import.lock.json',
      'import-report.md',
      'model.yaml',
      'shop.sqlite',
    ]);
  });

  it('refuses the database of a server of drs-gen', async () => {
    const place = databaseOf('CREATE TABLE a (id INTEGER PRIMARY KEY, "__STAMP" INTEGER)');
    const { code, err } = await place.import('sqlite:shop.sqlite');
    expect([code, err]).toEqual([2, expect.stringContaining('.drs-gen/model.lock.json')]);
  });

  it.each([
    ['no file', undefined, 1, 'import/unreadable'],
    ['no database', 'hello, this is no database at all', 1, 'import/unreadable'],
    ['an empty file', '', 1, 'import/empty'],
  ])('reports %s', async (_name, content, expected, said) => {
    const place = workplace();
    if (content !== undefined) place.put('shop.sqlite', content);
    const { code, err } = await place.import('sqlite:shop.sqlite');
    expect([code, err]).toEqual([expected, expect.stringContaining(said)]);
    expect(place.has('model.yaml')).toBe(false);
  });

  it('reads a structure that nests deeply, and one with unfinished texts', async () => {
    const nested = `${'('.repeat(900)}a > 1${')'.repeat(900)}`;
    const result = await importOf(`
      CREATE TABLE a (id INTEGER PRIMARY KEY, a INT CHECK (${nested}), "b' INT DEFAULT '" TEXT DEFAULT ')' /* ( ' */);
    `);
    expect(Object.keys(attributesOf(result, 'a'))).toEqual(['id', 'a', 'b__INT_DEFAULT__']);
    expect(result.told('rule-lost').length).toBe(1);
  });
});
