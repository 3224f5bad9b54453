import { fold } from '../../../runtime/protocol/fold.js';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../runtime/dialect/sqlite/open-database.js';
import { SchemaMismatchError } from '../../../runtime/dialect/schema-mismatch.js';
import { packageRoot } from '../../support/server.js';

const schema = [
  `CREATE TABLE "Item" (
  "ID" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  "__STAMP" INTEGER NOT NULL DEFAULT 1,
  "__TIMESTAMP" TEXT NOT NULL,
  "name" TEXT NOT NULL CHECK (length("name") <= 10),
  "size" INTEGER,
  "owner_id" INTEGER REFERENCES "Owner" ("ID") ON DELETE SET NULL,
  "double" INTEGER GENERATED ALWAYS AS ("size" * 2) VIRTUAL
)`,
  `CREATE TABLE "Owner" ("ID" INTEGER PRIMARY KEY NOT NULL, "code" TEXT)`,
  'CREATE INDEX "Item.size" ON "Item" ("size")',
  'CREATE UNIQUE INDEX "Owner.code" ON "Owner" ("code")',
];

let folder: string;
let file: string;

beforeEach(() => {
  mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
  folder = mkdtempSync(join(packageRoot, '.tmp', 'schema-'));
  file = join(folder, 'data.sqlite');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Opens and closes; returns the identity of the datastore. */
async function start(statements: readonly string[] = schema): Promise<string> {
  const { executor, uniqueId } = await openDatabase(`sqlite:${file}`, statements, fold);
  await executor.close();
  return uniqueId;
}

function edit(work: (database: Database.Database) => void): void {
  const database = new Database(file);
  work(database);
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
}

function run(...statements: readonly string[]): void {
  edit((database) => {
    for (const statement of statements) database.exec(statement);
  });
}

/** The message of a refused start; the file is unchanged. */
async function differences(statements: readonly string[] = schema): Promise<readonly string[]> {
  const before = content();
  const error: unknown = await start(statements).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SchemaMismatchError);
  expect(content()).toEqual(before);
  const mismatch = error as SchemaMismatchError;
  expect(mismatch.message).toContain('Nothing was changed');
  for (const each of mismatch.differences) expect(mismatch.message).toContain(each);
  return mismatch.differences;
}

/** Everything in the database. */
function content(): unknown {
  const database = new Database(file, { readonly: true });
  const objects = database
    .prepare('select type, name, sql from sqlite_schema order by type, name')
    .all() as { type: string; name: string }[];
  const rows = objects
    .filter((each) => each.type === 'table')
    .map(({ name }) => database.prepare(`select * from "${name}"`).all());
  database.close();
  return { objects, rows };
}

describe('An empty database', () => {
  it('gets the schema, and keeps its identity at every later start', async () => {
    const id = await start();
    expect(id).toMatch(/^[0-9A-F]{32}$/);
    const before = content();
    expect(await start()).toBe(id);
    expect(await start()).toBe(id);
    expect(content()).toEqual(before);
  });

  it('gets a table of the server that an older version did not create', async () => {
    const identity = await start();
    run('DROP TABLE "__entityset"');
    expect(await start()).toBe(identity);
    edit((database) => {
      expect(database.prepare('select count(*) from "__entityset"').pluck().get()).toBe(0);
    });
  });

  it('does not get such a table if its schema does not match', async () => {
    await start();
    run('DROP TABLE "__entityset"', 'ALTER TABLE "Owner" RENAME COLUMN "code" TO "CODE"');
    expect(await differences()).toHaveLength(3);
  });

  it('gets nothing of a schema that fails in the middle', async () => {
    await expect(start([...schema, 'CREATE TABLE "Item" ("x")'])).rejects.toThrow('already exists');
    expect(content()).toEqual({ objects: [], rows: [] });
    await start();
  });

  it('may be an empty file', async () => {
    run('PRAGMA user_version = 0');
    await start();
    expect(readFileSync(file).length).toBeGreaterThan(0);
  });
});

describe('A database that still matches starts', () => {
  it.each([
    ['analysed', 'INSERT INTO "Item" ("__TIMESTAMP", "name", "size") VALUES (1, 2, 3); ANALYZE'],
    ['vacuumed', 'VACUUM'],
    ['with a table of somebody else', 'CREATE TABLE other (x); INSERT INTO other VALUES (1)'],
    ['with an index of somebody else', 'CREATE INDEX mine ON "Item" ("name")'],
    [
      'with a view and a trigger',
      'CREATE VIEW v AS SELECT 1; CREATE TRIGGER t AFTER INSERT ON "Owner" BEGIN SELECT 1; END',
    ],
    ['in another journal mode', 'PRAGMA journal_mode = DELETE'],
    ['with another version', 'PRAGMA user_version = 42'],
    [
      'with an index that was made again',
      'DROP INDEX "Item.size"; CREATE INDEX "Item.size" ON  "Item"\n("size")',
    ],
  ])('%s', async (_, statements) => {
    const id = await start();
    run(statements);
    expect(await start()).toBe(id);
    expect(await start()).toBe(id);
  });
});

/** The reported changes of a start; the next one makes none. */
async function changes(statements: readonly string[] = schema): Promise<readonly string[]> {
  const { executor, added = [] } = await openDatabase(`sqlite:${file}`, statements, fold);
  await executor.close();
  const before = content();
  await start(statements);
  expect(content()).toEqual(before);
  return added;
}

describe('A database that differs is changed to the model:', () => {
  it.each([
    [
      'a column with another name',
      'ALTER TABLE "Owner" RENAME COLUMN "code" TO "label"',
      [
        'table "Owner": column "code" is added',
        'table "Owner": index "Owner.code" is rebuilt',
        'table "Owner": column "label" is kept with 1 value, and no attribute of the model uses it. If the attribute of the new column "code" has its values, add this line to it in the model: renamedFrom: label',
      ],
    ],
    [
      'a column too many, which rows may be without',
      'ALTER TABLE "Owner" ADD COLUMN "extra" TEXT NOT NULL DEFAULT 1',
      ['table "Owner": column "extra" is kept with 1 value, and no attribute of the model uses it'],
    ],
    [
      'an index that is not unique',
      'DROP INDEX "Owner.code"; CREATE INDEX "Owner.code" ON "Owner" ("code")',
      ['table "Owner": index "Owner.code" is rebuilt'],
    ],
    [
      'an index on another column',
      'DROP INDEX "Item.size"; CREATE INDEX "Item.size" ON "Item" ("name")',
      ['table "Item": index "Item.size" is rebuilt'],
    ],
  ])('%s', async (_, statements, expected) => {
    await start();
    run(`INSERT INTO "Owner" ("ID", "code") VALUES (1, 'a')`, statements);
    expect(await changes()).toEqual(expected);
  });

  it.each([
    [
      'a CHECK',
      '<= 10',
      '<= 20',
      [
        'table "Item": the rule LENGTH ( "name" ) <= 10 is dropped',
        'table "Item": the rule LENGTH ( "name" ) <= 20 is added',
      ],
    ],
    [
      'a generated column',
      '"size" * 2',
      '"size" * 3',
      ['table "Item": column "double" is computed again for 1 row'],
    ],
    [
      'what a deletion does',
      'SET NULL',
      'CASCADE',
      [
        'table "Item": the foreign key "owner_id" to "Owner" ("ID") is dropped',
        'table "Item": the foreign key "owner_id" to "Owner" ("ID") ON DELETE CASCADE is added',
      ],
    ],
    [
      'NOT NULL',
      '"name" TEXT NOT NULL',
      '"name" TEXT',
      ['table "Item": column "name" may be empty'],
    ],
    ['a default', 'DEFAULT 1', 'DEFAULT 2', []],
  ])('a model with another %s', async (_, from, to, expected) => {
    await start();
    run(`INSERT INTO "Item" ("__TIMESTAMP", "name", "size") VALUES ('t', 'a', 3)`);
    const changed = schema.map((statement) => statement.replace(from, to));
    expect(changed).not.toEqual(schema);
    expect(await changes(changed)).toEqual(expected);
    edit((database) => {
      expect(database.prepare('select "name", "size" from "Item"').raw().all()).toEqual([['a', 3]]);
      expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
    });
  });
});

describe('A database that differs too much is refused with every difference, and not changed:', () => {
  it.each([
    [
      'a type',
      '"size" INTEGER',
      '"size" TEXT',
      'table "Item": column "size" is INTEGER, the model wants TEXT',
    ],
    [
      'a key',
      '"ID" INTEGER PRIMARY KEY NOT NULL, "code" TEXT',
      '"ID" INTEGER NOT NULL, "code" TEXT PRIMARY KEY',
      'table "Owner": column "ID" is the primary key, the model wants it to be not the primary key',
    ],
    [
      'way to draw keys',
      ' AUTOINCREMENT',
      '',
      'table "Item": the values of the key "ID" are generated by the database, the model wants them to be sent by clients',
    ],
  ])('a model with another %s', async (_, from, to, expected) => {
    await start();
    const changed = schema.map((statement) => statement.replace(from, to));
    expect(changed).not.toEqual(schema);
    expect(await differences(changed)).toContain(expected);
    expect(await differences(changed)).toContain(expected);
    await start();
  });

  it('a database of another program', async () => {
    run(
      'CREATE TABLE "Item" ("ID" INTEGER)',
      'CREATE TABLE notes (text)',
      "INSERT INTO notes VALUES ('x')",
    );
    const found = await differences();
    expect(found.join('\n')).toMatch(/table "__datastore" is missing/);
    expect(found.join('\n')).toMatch(/table "Owner" is missing/);
    expect(found.join('\n')).not.toContain('notes');
  });

  it('a database of another program keeps every byte', async () => {
    run('CREATE TABLE notes (text)');
    const before = readFileSync(file);
    await differences();
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('a database whose tables match, but that no server created', async () => {
    run(...schema);
    expect(await differences()).toEqual([
      'table "__datastore" is missing',
      'table "__entityset" is missing',
      'table "__schema" is missing',
      'table "__form" is missing',
      'table "__migration" is missing',
      'table "__server" is missing',
    ]);
  });
});

describe('A database that cannot be opened is named in the message:', () => {
  it('a folder', async () => {
    await expect(openDatabase(`sqlite:${folder}`, schema, fold)).rejects.toThrow(folder);
  });

  it('a file in a folder that does not exist', async () => {
    const missing = join(folder, 'none', 'data.sqlite');
    await expect(openDatabase(`sqlite:${missing}`, schema, fold)).rejects.toThrow(missing);
  });

  it('a file that is not a database', async () => {
    edit((database) => database.exec('CREATE TABLE x (y)'));
    rmSync(file);
    const { writeFileSync } = await import('node:fs');
    writeFileSync(file, 'This is a letter, and no database at all.'.repeat(50));
    await expect(start()).rejects.toThrow(/not a database/);
    expect(readFileSync(file, 'utf8')).toContain('a letter');
  });

  it.each(['', 'sqlite', 'sqlite:', 'postgres://localhost/x', 'file.sqlite', 'SQLITE:x'])(
    'the address %j',
    async (url) => {
      await expect(openDatabase(url, schema, fold)).rejects.toThrow(
        `DATABASE_URL is ${JSON.stringify(url)}`,
      );
    },
  );
});
