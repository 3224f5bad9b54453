import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../runtime/dialect/sqlite/open-database.js';
import { fold } from '../../../runtime/protocol/fold.js';
import { packageRoot } from '../../support/server.js';

const track = (...more: readonly string[]): string =>
  `CREATE TABLE "Track" (\n  ${[
    '"ID" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL',
    '"__STAMP" INTEGER NOT NULL DEFAULT 1',
    '"title" TEXT CHECK (length("title") <= 20)',
    ...more,
  ].join(',\n  ')}\n)`;

const folded = '"__folded_title" TEXT';
const rating = '"rating" INTEGER CHECK ("rating" >= 0) CHECK ("rating" <= 5)';
const review = `CREATE TABLE "Review" (
  "ID" INTEGER PRIMARY KEY NOT NULL,
  "__STAMP" INTEGER NOT NULL DEFAULT 1,
  "track_id" INTEGER REFERENCES "Track" ("ID")
)`;
const byReview = 'CREATE INDEX "__Review.track_id" ON "Review" ("track_id")';
const byTitle = 'CREATE INDEX "__Track.title" ON "Track" ("__folded_title")';
const uniqueTitle = 'CREATE UNIQUE INDEX "__Track.title" ON "Track" ("__folded_title")';

const rows = [
  `INSERT INTO "Track" ("title") VALUES ('Ébène'), (NULL), ('ΟΔΟΣ')`,
  `UPDATE "__datastore" SET "value" = 3 WHERE "name" = 'globalStamp'`,
];

let folder: string;
let file: string;

beforeEach(() => {
  mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
  folder = mkdtempSync(join(packageRoot, '.tmp', 'additions-'));
  file = join(folder, 'data.sqlite');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Opens and closes; returns the additions. */
async function start(...statements: readonly string[]): Promise<readonly string[]> {
  const { executor, added = [] } = await openDatabase(`sqlite:${file}`, statements, fold);
  await executor.close();
  return added;
}

function run(...statements: readonly string[]): void {
  const database = new Database(file);
  for (const statement of statements) database.exec(statement);
  database.close();
}

function read(text: string): unknown {
  const database = new Database(file, { readonly: true });
  const all = database.prepare(text).raw().all();
  database.close();
  return all;
}

/** Everything except the rows of the server itself. */
function content(): unknown {
  return [
    read('select type, name, sql from sqlite_schema order by name'),
    read('select * from "Track"'),
    read(`select * from "__datastore" order by "name"`),
  ];
}

/** The message of a start that changes nothing. */
async function refusal(...statements: readonly string[]): Promise<string> {
  const before = content();
  const error = (await start(...statements).catch((reason: unknown) => reason)) as Error;
  expect(error).toBeInstanceOf(Error);
  expect(content()).toEqual(before);
  return error.message;
}

describe('A start adds what is missing, and does not change rows:', () => {
  beforeEach(async () => {
    await start(track());
    run(...rows);
  });

  it('a table with its indexes', async () => {
    expect(await start(track(), review, byReview)).toEqual(['table "Review" is added']);
    expect(await start(track(), review, byReview)).toEqual([]);
    expect(read('select "title" from "Track"')).toEqual([['Ébène'], [null], ['ΟΔΟΣ']]);
  });

  it('a column, which is empty and has its rules', async () => {
    expect(await start(track(rating))).toEqual(['table "Track": column "rating" is added']);
    expect(read('select "title", "rating" from "Track"')).toEqual([
      ['Ébène', null],
      [null, null],
      ['ΟΔΟΣ', null],
    ]);
    expect(() => {
      run('UPDATE "Track" SET "rating" = 6');
    }).toThrow('CHECK constraint failed');
    expect(await start(track(rating))).toEqual([]);
  });

  it('a foreign key', async () => {
    const key = '"next_id" INTEGER REFERENCES "Track" ("ID")';
    expect(await start(track(key))).toEqual(['table "Track": column "next_id" is added']);
    expect(() => {
      run('PRAGMA foreign_keys = ON', 'UPDATE "Track" SET "next_id" = 9');
    }).toThrow('FOREIGN KEY');
  });

  it('computed columns, in the order of their dependencies', async () => {
    const twice = '"twice" INTEGER GENERATED ALWAYS AS ("rating" * 2) VIRTUAL';
    const more = '"more" INTEGER GENERATED ALWAYS AS ("twice" + 1) VIRTUAL';
    expect(await start(track(more, twice, rating))).toHaveLength(3);
    run('UPDATE "Track" SET "rating" = 2 WHERE "ID" = 1');
    expect(read('select "more" from "Track"')).toEqual([[5], [null], [null]]);
  });

  it('an index with its column of folded text, which it fills', async () => {
    expect(await start(track(folded), byTitle)).toEqual([
      'table "Track": column "__folded_title" is added',
      'table "Track": index "__Track.title" is added',
      'table "Track": column "__folded_title" is filled for 2 rows',
    ]);
    expect(read('select "__folded_title" from "Track" order by "ID"')).toEqual([
      ['ébène'],
      [null],
      ['οδοσ'],
    ]);
  });

  it('a unique index', async () => {
    await start(track(folded), uniqueTitle);
    expect(() => {
      run(`INSERT INTO "Track" ("__folded_title") VALUES ('ébène')`);
    }).toThrow('UNIQUE');
  });

  it('a mandatory column, when there is no row', async () => {
    run('DELETE FROM "Track"');
    await start(track('"label" TEXT NOT NULL'));
    expect(await start(track('"label" TEXT NOT NULL'))).toEqual([]);
  });

  it('once, by one of many servers that start at the same time', async () => {
    const all = [track(rating, folded), byTitle, review, byReview];
    const added = await Promise.all(Array.from({ length: 6 }, () => start(...all)));
    expect(added.filter((each) => each.length > 0)).toHaveLength(1);
  });

  it('and reports once the table of a dataclass that no longer exists', async () => {
    const kept = 'table "Track" is kept with 3 rows, and no dataclass of the model uses it';
    expect(await start(review.replace('REFERENCES "Track" ("ID")', ''))).toContain(kept);
    expect(read('select count(*) from "Track"')).toEqual([[3]]);
    expect(await start(review.replace('REFERENCES "Track" ("ID")', ''), byReview)).not.toContain(
      kept,
    );
  });
});

describe('A start accepts parts that were added by hand:', () => {
  beforeEach(async () => {
    await start(track());
    run(...rows);
  });

  it.each([
    ['as the model has it', rating],
    ['with other spaces', '"rating"   INTEGER CHECK("rating">=0)CHECK("rating"<=5)'],
    ['in lower case', 'rating integer check ("rating" >= 0) check ("rating" <= 5)'],
    ['with a comment', '"rating" INTEGER /* 0, (1 */ CHECK ("rating" >= 0) CHECK ("rating" <= 5)'],
  ])('%s', async (_, definition) => {
    run(`ALTER TABLE "Track" ADD COLUMN ${definition}`);
    expect(await start(track(rating))).toEqual([]);
  });

  it('and gives them the rules of the model if they have others', async () => {
    run('ALTER TABLE "Track" ADD COLUMN "rating" INTEGER CHECK ("rating" <= 6)');
    expect(await start(track(rating))).toEqual([
      'table "Track": the rule "rating" <= 6 is dropped',
      'table "Track": the rule "rating" >= 0 is added',
      'table "Track": the rule "rating" <= 5 is added',
    ]);
    expect(await start(track(rating))).toEqual([]);
  });
});

describe('A column of folded text that does not match its text', () => {
  const all = [track(folded), byTitle];
  const anew = [
    'CREATE TABLE "new" AS SELECT * FROM "Track"',
    'DROP TABLE "Track"',
    all[0] ?? '',
    'INSERT INTO "Track" ("ID", "__STAMP", "title") SELECT "ID", "__STAMP", "title" FROM "new"',
    'DROP TABLE "new"',
    byTitle,
  ];

  it('is filled when the table was created again with the same text', async () => {
    await start(...all);
    run(...rows, ...anew);
    expect(await start(...all)).toEqual([
      'table "Track": column "__folded_title" is filled for 2 rows',
    ]);
    expect(read('select "__folded_title" from "Track" order by "ID"')).toEqual([
      ['ébène'],
      [null],
      ['οδοσ'],
    ]);
    expect(await start(...all)).toEqual([]);
  });

  it('is not checked when nothing in the schema has changed', async () => {
    await start(...all);
    run(...rows);
    expect(await start(...all)).toEqual([]);
    expect(read('select "__folded_title" from "Track" order by "ID"')).toEqual([
      [null],
      [null],
      [null],
    ]);
  });

  it('is refused when unique texts are equal', async () => {
    await start(track(folded), uniqueTitle);
    run(...rows, `INSERT INTO "Track" ("title") VALUES ('ébène')`, 'VACUUM');
    expect(await refusal(track(folded), uniqueTitle)).toContain(
      'column "__folded_title" cannot be filled: several rows have the same value',
    );
  });

  it('is filled for vectors too', async () => {
    const vector = ['"v" TEXT', '"__norm_v" REAL', '"__unit_v" BLOB'];
    await start(track('"v" TEXT'));
    run(`INSERT INTO "Track" ("v") VALUES ('[3,4]'), ('[0,0]'), (NULL)`);
    expect(await start(track(...vector))).toContain(
      'table "Track": column "__norm_v" is filled for 2 rows',
    );
    expect(read('select "__norm_v", length("__unit_v") from "Track"')).toEqual([
      [5, 8],
      [0, null],
      [null, null],
    ]);
  });
});

describe('A start that would break rows or lose data is refused, and adds nothing:', () => {
  beforeEach(async () => {
    await start(track());
    run(...rows);
  });

  it('a unique index over texts that are equal, with a query that lists them', async () => {
    run(`INSERT INTO "Track" ("title") VALUES ('a'), ('A')`);
    const message = await refusal(track(folded), uniqueTitle, review);
    expect(message).toContain(
      'table "Track": "title" must be unique, and 2 rows have a value that another row has, too',
    );
    expect(message).toMatch(/the server makes these changes itself[^]*table "Review" is added/);
    expect(read(/SELECT .*;/.exec(message)?.[0] ?? '')).toEqual([['a', 2]]);
  });

  it('a unique index over texts that are equal only after folding', async () => {
    run(`INSERT INTO "Track" ("title") VALUES ('ébène')`);
    expect(await refusal(track(folded), uniqueTitle)).toContain('2 rows have a value that another');
  });

  it('a mandatory column where there are rows', async () => {
    expect(await refusal(track('"label" TEXT NOT NULL'), review)).toMatch(
      /column "label" is mandatory, and 3 rows would have no value\n +Give the attribute a "default"/,
    );
  });

  it('a rule that rows without a value break', async () => {
    expect(await refusal(track('"label" TEXT CHECK ("label" IS NOT NULL)'))).toMatch(
      /table "Track" cannot be rebuilt: CHECK/,
    );
  });

  it('a name that differs in case', async () => {
    expect(await refusal(track().replace('"title" TEXT', '"Title" TEXT'))).toMatch(
      /column "Title" cannot be added, since there is "title"\n.*renamedFrom: title/,
    );
    expect(await refusal(track().replace('"Track"', '"track"'))).toMatch(
      /table "track" cannot be added, since there is "Track"\n.*renamedFrom: Track/,
    );
  });

  it('a new table that looks like the former one, until MIGRATE_KEEP says that it is another one', async () => {
    const song = track().replace('"Track"', '"Song"');
    expect(await refusal(song)).toMatch(
      /table "Track" has 3 rows and no dataclass.*"Song".*is similar\n.*renamedFrom: Track\n.*drs-gen migrate.*\n.*MIGRATE_KEEP=Track/,
    );
    const { executor, added } = await openDatabase(`sqlite:${file}`, [song], fold, {
      migration: { mode: 'auto', keep: new Set(['Track']) },
    });
    await executor.close();
    expect(added).toContain(
      'table "Track" is kept with 3 rows, and no dataclass of the model uses it',
    );
    expect(await start(song)).toEqual([]);
  });

  it('with a message that ends with what to do', async () => {
    run('UPDATE "Track" SET "title" = NULL');
    const message = await refusal(track().replace('"title" TEXT', '"title" TEXT NOT NULL'));
    expect(message).toContain('Nothing was changed');
    expect(message).toMatch(/Copy the database before you change it.*start the server again\.$/);
  });

  it('except for the options of a table, which stay', async () => {
    const pair = (options: string): string =>
      `CREATE TABLE "Pair" ("ID" TEXT PRIMARY KEY NOT NULL, "a" TEXT${options}`;
    run(pair(' CHECK ("a" <> 1)) WITHOUT ROWID'), `INSERT INTO "Pair" VALUES ('x', 'y')`);
    await start(track(), pair(')'));
    expect(read(`select sql from sqlite_schema where name = 'Pair'`)).toEqual([
      [expect.stringMatching(/"a" TEXT\n\) WITHOUT ROWID$/)],
    ]);
    expect(read('select * from "Pair"')).toEqual([['x', 'y']]);
    expect(await start(track(), pair(')'))).toEqual([]);
  });
});

describe('A database that no server created', () => {
  it('is not changed, and the start prints the SQL that would add the missing parts', async () => {
    run(track().replace('"title"', '"name"').replace('"title"', '"name"'));
    const error = (await start(track(), review).catch((reason: unknown) => reason)) as Error;
    expect(error.message).toContain('ALTER TABLE "Track" ADD COLUMN "title" TEXT CHECK');
    expect(error.message).toContain('CREATE TABLE "Review" (');
    expect(error.message).not.toContain('CREATE TABLE "__datastore"');
    expect(error.message).toContain('No server created this database');
    expect(read('select name from sqlite_schema')).toEqual([['Track'], ['sqlite_sequence']]);
  });
});
