import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../runtime/dialect/sqlite/open-database.js';
import { fold } from '../../../runtime/protocol/fold.js';
import { itLong } from '../../support/long.js';

/** A start that rebuilds tables. */
let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drs-rebuild-'));
  file = join(folder, 'data.sqlite');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

async function start(...statements: readonly string[]): Promise<readonly string[]> {
  const { executor, added = [] } = await openDatabase(`sqlite:${file}`, statements, fold);
  await executor.close();
  return added;
}

function edit<T>(work: (database: Database.Database) => T): T {
  const database = new Database(file);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

function run(...statements: readonly string[]): void {
  edit((database) => {
    for (const each of statements) database.exec(each);
  });
}

function read(text: string): unknown[] {
  return edit((database) => database.prepare(text).raw().all());
}

/** The hash of all rows, in their order. */
function hashOf(query: string): string {
  const hash = createHash('sha256');
  edit((database) => {
    for (const row of database.prepare(query).raw().iterate()) hash.update(JSON.stringify(row));
  });
  return hash.digest('hex');
}

const limit = (length: number): string => `"name" TEXT CHECK (length("name") <= ${length})`;
const item = (...more: readonly string[]): string =>
  `CREATE TABLE "Item" ("ID" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, "__STAMP" INTEGER NOT NULL DEFAULT 1, ${more.join(', ')})`;

/** The start that raises a limit, for which SQLite needs a new table. */
async function raise(...more: readonly string[]): Promise<void> {
  const said = await start(item(limit(20), ...more));
  expect(said).toContain('table "Item": the rule LENGTH ( "name" ) <= 20 is added');
  expect(read('pragma integrity_check')).toEqual([['ok']]);
  const schema = read('select name, sql from sqlite_schema order by name');
  expect(await start(item(limit(20), ...more))).toEqual([]);
  expect(read('select name, sql from sqlite_schema order by name')).toEqual(schema);
}

describe('A table that is rebuilt keeps', () => {
  it('indexes, triggers and views that no server created, and those of other tables that name it', async () => {
    await start(item(limit(10)));
    run(
      'CREATE TABLE notes (text)',
      'CREATE INDEX mine ON "Item" (name COLLATE NOCASE) WHERE name > \'a\'',
      'CREATE TRIGGER t AFTER INSERT ON "Item" BEGIN INSERT INTO notes VALUES (new.name); END',
      'CREATE TRIGGER u AFTER INSERT ON notes BEGIN UPDATE "Item" SET name = new.text WHERE 0; END',
      'CREATE VIEW v AS SELECT "name" FROM "Item"',
    );
    const others =
      "select name, sql from sqlite_schema where name in ('mine', 't', 'u', 'v') order by name";
    const before = read(others);
    await raise();
    expect(read(others)).toEqual(before);
    run(`INSERT INTO "Item" ("name") VALUES ('x')`);
    expect(read('select * from notes')).toEqual([['x']]);
    expect(read('select * from v')).toEqual([['x']]);
  });

  it('the sequence of generated keys, including those of deleted rows, and the results of ANALYZE', async () => {
    await start(item(limit(10)), 'CREATE INDEX "__Item.name" ON "Item" ("name")');
    run(
      `INSERT INTO "Item" ("ID", "name") VALUES (7, 'a'), (90, 'b')`,
      'DELETE FROM "Item" WHERE "ID" = 90',
      'ANALYZE',
    );
    const statistics = read('select * from sqlite_stat1 order by tbl');
    await start(item(limit(20)), 'CREATE INDEX "__Item.name" ON "Item" ("name")');
    expect(read(`select seq from sqlite_sequence where name = 'Item'`)).toEqual([[90]]);
    expect(read('select * from sqlite_stat1 order by tbl')).toEqual(statistics);
    run(`INSERT INTO "Item" ("name") VALUES ('c')`);
    expect(read('select "ID" from "Item"')).toEqual([[7], [91]]);
  });

  it('the sequence of a table that never had a row', async () => {
    await start(item(limit(10)));
    await raise();
    run(`INSERT INTO "Item" ("name") VALUES ('c')`);
    expect(read('select "ID" from "Item"')).toEqual([[1]]);
  });

  it.each(['WITHOUT ROWID', 'STRICT', 'STRICT, WITHOUT ROWID'])(
    'its option %s',
    async (options) => {
      const table = (length: number): string =>
        `CREATE TABLE "Item" ("ID" TEXT PRIMARY KEY NOT NULL, "__STAMP" INTEGER NOT NULL DEFAULT 1, ${limit(length)})`;
      await start(table(10));
      run(
        'DROP TABLE "Item"',
        `${table(10)} ${options}`,
        `INSERT INTO "Item" VALUES ('b', 1, 'x'), ('a', 2, NULL)`,
      );
      await start(table(20));
      expect(read(`select sql from sqlite_schema where name = 'Item'`)).toEqual([
        [expect.stringMatching(new RegExp(`<= 20\\)\\s*\\) ${options.replace(',', ' ?,')}$`))],
      ]);
      expect(read('select * from "Item" order by "ID"')).toEqual([
        ['a', 2, null],
        ['b', 1, 'x'],
      ]);
      expect(await start(table(20))).toEqual([]);
    },
  );

  it('rows that refer to rows of the same table, and to others in a circle', async () => {
    const table = (name: string, other: string, length: number): string =>
      `CREATE TABLE "${name}" ("ID" INTEGER PRIMARY KEY NOT NULL, "__STAMP" INTEGER NOT NULL DEFAULT 1, ${limit(length)}, "self" INTEGER REFERENCES "${name}" ("ID"), "other" INTEGER REFERENCES "${other}" ("ID"))`;
    const all = (length: number): readonly string[] => [
      table('A', 'B', length),
      table('B', 'A', length),
    ];
    await start(...all(10));
    run(
      'PRAGMA foreign_keys = OFF',
      `INSERT INTO "A" VALUES (1, 1, 'x', 1, 2), (2, 1, 'y', 1, 2)`,
      `INSERT INTO "B" VALUES (2, 1, 'z', 2, 1)`,
    );
    await start(...all(20));
    expect(read('select * from "A"')).toHaveLength(2);
    expect(read('select * from "B"')).toHaveLength(1);
    expect(read('pragma foreign_key_check')).toEqual([]);
    expect(() => {
      run('PRAGMA foreign_keys = ON', 'DELETE FROM "A" WHERE "ID" = 1');
    }).toThrow('FOREIGN KEY');
    expect(() => {
      run('PRAGMA foreign_keys = ON', 'UPDATE "A" SET "self" = 9');
    }).toThrow('FOREIGN KEY');
    expect(await start(...all(20))).toEqual([]);
  });

  it('rows with references to missing rows that were written by hand', async () => {
    const other = '"other" INTEGER REFERENCES "Item" ("ID")';
    await start(item(limit(10), other));
    run('PRAGMA foreign_keys = OFF', 'INSERT INTO "Item" ("name", "other") VALUES (1, 99)');
    await raise(other);
    expect(read('select "other" from "Item"')).toEqual([[99]]);
  });

  it('its computed columns, in any order', async () => {
    const computed = [
      '"more" TEXT GENERATED ALWAYS AS ("twice" || 1) VIRTUAL',
      '"twice" TEXT GENERATED ALWAYS AS ("name" || "name") VIRTUAL',
    ];
    await start(item(limit(10), ...computed), 'CREATE INDEX "__Item.more" ON "Item" ("more")');
    run(
      `INSERT INTO "Item" ("name") VALUES ('a')`,
      `ALTER TABLE "Item" ADD COLUMN "hand" TEXT GENERATED ALWAYS AS (CASE "name" WHEN 'a' THEN 1.5 ELSE x'00' END) VIRTUAL`,
    );
    await start(item(limit(20), ...computed), 'CREATE INDEX "__Item.more" ON "Item" ("more")');
    expect(read('select "more", "hand" from "Item"')).toEqual([['aa1', '1.5']]);
  });

  it('names that are keywords of SQL', async () => {
    const names = [
      'select',
      'x"y',
      "it's",
      '[a]',
      '`',
      'ROWID',
      'a.b',
      ';--',
      'ä ö',
      'CHECK',
      'CONSTRAINT',
    ];
    const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
    const tables = (length: number): readonly string[] =>
      names.map(
        (name, index) =>
          `CREATE TABLE ${quoted(`${name}${index}`)} ("__STAMP" INTEGER NOT NULL DEFAULT 1, ${quoted(name)} TEXT PRIMARY KEY NOT NULL CHECK (length(${quoted(name)}) <= ${length} AND ${quoted(name)} NOT IN ('(', ')', ',', '''"')), "and" INTEGER NOT NULL)`,
      );
    await start(...tables(10));
    run(
      ...names.map((name, index) => `INSERT INTO ${quoted(`${name}${index}`)} VALUES (1, 'k', 2)`),
    );
    const unused = tables(20).map((each) => each.replace(', "and" INTEGER NOT NULL', ''));
    await start(...unused);
    names.forEach((name, index) => {
      run(`INSERT INTO ${quoted(`${name}${index}`)} (${quoted(name)}) VALUES ('new')`);
      expect(read(`select ${quoted(name)}, "and" from ${quoted(`${name}${index}`)}`)).toEqual([
        ['k', 2],
        ['new', null],
      ]);
    });
    expect(await start(...unused)).toEqual([]);
  });

  it('2,000 columns', async () => {
    const columns = Array.from({ length: 1997 }, (_, index) => `"c${index}" INTEGER`);
    await start(item(limit(10), ...columns));
    run(
      `INSERT INTO "Item" ("name", ${columns.map((_, index) => `"c${index}"`).join(', ')}) VALUES ('a', ${columns.map((_, index) => index).join(', ')})`,
    );
    const before = hashOf('select * from "Item"');
    await raise(...columns);
    expect(hashOf('select * from "Item"')).toBe(before);
  });

  it('constraints that no server created', async () => {
    await start(item(limit(10), '"a" INTEGER'));
    run('DROP TABLE "Item"', item(limit(10), '"a" INTEGER', 'UNIQUE ("a", "name")'));
    await raise('"a" INTEGER');
    expect(() => {
      run(`INSERT INTO "Item" ("name", "a") VALUES ('x', 1), ('x', 1)`);
    }).toThrow('UNIQUE');
  });

  itLong(
    'a million rows',
    async () => {
      await start(
        item(limit(10), '"size" INTEGER'),
        'CREATE INDEX "__Item.size" ON "Item" ("size")',
      );
      run(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
        INSERT INTO "Item" ("name", "size") SELECT 'n' || i, i * 7 % 1000 FROM n`,
      );
      const before = hashOf('select * from "Item"');
      await start(
        item(limit(20), '"size" INTEGER'),
        'CREATE INDEX "__Item.size" ON "Item" ("size")',
      );
      expect(read('select count(*) from "Item"')).toEqual([[1_000_000]]);
      expect(hashOf('select * from "Item"')).toBe(before);
      expect(read('select count(*) from "Item" where "size" = 7')).toEqual([[1000]]);
    },
    120_000,
  );
});

describe('An unused part of the schema', () => {
  it('keeps the rules of an unused column, and drops those that it shares with used ones', async () => {
    const unused = [
      '"a" INTEGER NOT NULL CHECK ("a" < 5)',
      '"b" INTEGER NOT NULL DEFAULT 3',
      'CHECK ("a" < length("name"))',
    ];
    await start(item(limit(10), ...unused));
    run(`INSERT INTO "Item" ("name", "a") VALUES ('abcdef', 4)`);
    expect(await start(item(limit(10)))).toEqual([
      'table "Item": column "a" may be empty',
      'table "Item": the rule "a" < LENGTH ( "name" ) is dropped',
      'table "Item": column "a" is kept with 1 value, and no attribute of the model uses it',
      'table "Item": column "b" is kept with 1 value, and no attribute of the model uses it',
    ]);
    run(`INSERT INTO "Item" ("name") VALUES ('')`);
    expect(read('select "a", "b" from "Item"')).toEqual([
      [4, 3],
      [null, 3],
    ]);
    expect(() => {
      run('UPDATE "Item" SET "a" = 6');
    }).toThrow('CHECK');
    expect(await start(item(limit(10)))).toEqual([]);
  });

  it('keeps an index over an unused column, but a unique one only if it has no other column', async () => {
    const columns = [limit(10), '"a" INTEGER', '"b" INTEGER'];
    const indexes = [
      'CREATE UNIQUE INDEX "__Item.a" ON "Item" ("a")',
      'CREATE UNIQUE INDEX "__Item.a,name" ON "Item" ("a", "name")',
      'CREATE INDEX "__Item.b,name" ON "Item" ("b", "name")',
      'CREATE INDEX "__Item.name" ON "Item" ("name")',
    ];
    await start(item(...columns), ...indexes);
    expect(await start(item(limit(10)))).toEqual([
      'table "Item": index "__Item.a,name" is dropped',
      'table "Item": index "__Item.name" is dropped',
      expect.stringContaining('"a" is kept with 0 values'),
      expect.stringContaining('"b" is kept with 0 values'),
    ]);
    expect(await start(item(...columns), ...indexes)).toEqual([]);
  });
});
