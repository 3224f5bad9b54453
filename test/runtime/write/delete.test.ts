import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import type { Entity } from '../../../runtime/class/objects/entity.js';
import type { EntityTypes } from '../../../runtime/class/objects/types.js';
import { create, serverOf } from '../../support/server.js';

let app: FastifyInstance | undefined;
let database: Database.Database | undefined;
let folder: string | undefined;
let statements: string[] = [];

afterEach(async () => {
  await app?.close();
  database?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true });
  app = database = folder = undefined;
});

async function serve(dataclasses: string): Promise<FastifyInstance> {
  folder = mkdtempSync(join(tmpdir(), 'drs-delete-'));
  const file = join(folder, 'data.sqlite');
  app = await serverOf(`drs: 1\nname: deletion\ndataclasses:\n${dataclasses}`, {
    databaseUrl: `sqlite:${file}`,
    onStatement: (sql) => statements.push(sql),
  });
  database = new Database(file);
  return app;
}

interface Entities {
  get(key: number): Promise<Entity<EntityTypes> | null>;
  new: (values: object) => Entity<EntityTypes>;
}

interface Ds {
  readonly A: Entities;
  readonly B: Entities;
  transaction(work: () => Promise<void>): Promise<void>;
}

function datastoreOf(server: FastifyInstance): Ds {
  return server.datastore as Ds;
}

interface Answer {
  readonly status: number;
  readonly ok?: boolean;
  readonly messages: readonly string[];
}

async function remove(url: string): Promise<Answer> {
  statements = [];
  const separator = url.includes('?') ? '&' : '?';
  const response = await (app as FastifyInstance).inject({
    method: 'POST',
    url: `/rest/${encodeURI(url)}${separator}$method=delete`,
  });
  const { __ERROR = [], ...rest } = response.json<{
    readonly ok?: boolean;
    readonly __ERROR?: readonly { readonly message: string }[];
  }>();
  return { status: response.statusCode, ...rest, messages: __ERROR.map((each) => each.message) };
}

const done: Answer = { status: 200, ok: true, messages: [] };

function rows(text: string): unknown[] {
  return (database as Database.Database).prepare(text).all();
}

function value(text: string): unknown {
  return (database as Database.Database).prepare(text).pluck().get();
}

const stamp = `select "value" from "__datastore" where "name" = 'globalStamp'`;

/** The whole content of the database. */
function dump(): unknown {
  const tables = rows("select name from sqlite_schema where type = 'table'") as { name: string }[];
  return tables.map(({ name }) => [name, rows(`select * from "${name}"`)]);
}

const staff = `
  Company: { attributes: { ID: { type: integer, key: true, generated: sequence }, n: integer } }
  Person:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      employer: { to: Company, onDelete: restrict }
      former: { to: Company }
      next: { to: Company }
      boss: { to: Person, onDelete: cascade }
`;

describe('A deletion of many entities', () => {
  it('runs a number of statements that does not grow with the entities', async () => {
    const server = await serve(staff);
    await create(server, 'Company', [{ n: 0 }]);
    expect(await remove('Company?$filter=n=0')).toEqual(done);
    const few = statements;
    const all = Array.from({ length: 10_000 }, (_, n) => ({ n: (n % 2) + 1 }));
    await create(server, 'Company', all);
    await create(server, 'Person', [{ former: 2, next: 3 }, { former: 4 }]);
    const before = Number(value(stamp));
    expect(await remove('Company?$filter=n>=1 and n<=2')).toEqual(done);
    expect(statements.length).toBeLessThanOrEqual(few.length + 1);
    expect(value('select count(*) from "Company"')).toBe(0);
    expect(value(stamp)).toBe(before + 10_002);
    expect(rows('select "former_id", "next_id", "__STAMP" from "Person"')).toEqual([
      { former_id: null, next_id: null, __STAMP: 2 },
      { former_id: null, next_id: null, __STAMP: 2 },
    ]);
  });

  it('lets reads be answered meanwhile, which do not see it', async () => {
    const server = await serve(staff);
    await create(server, 'Company', [{ n: 1 }, { n: 2 }]);
    const counting =
      'with recursive c(i) as (select 1 union all select i + 1 from c where i < 60000)';
    (database as Database.Database).exec(
      `insert into "Person" ("ID", "__TIMESTAMP", "former_id", "next_id") ${counting} select printf('%032X', i), '2026-01-01T00:00:00.000Z', 1, 2 from c`,
    );
    const running = { deletion: true };
    const deletion = remove('Company?$filter=n>=1').finally(() => {
      running.deletion = false;
    });
    const statuses = new Set<number>();
    while (running.deletion) {
      // Found by its key: such a read is never offloaded, so it does not wait for the start of a
      // process.
      const { statusCode } = await server.inject('/rest/Company(1)');
      statuses.add(statusCode);
      await new Promise(setImmediate);
    }
    expect(await deletion).toEqual(done);
    const begin = statements.findIndex((sql) => sql.startsWith('insert into "__deletion"'));
    const end = statements.findIndex((sql) => sql.startsWith('delete from "Company"'));
    const between = statements.slice(begin, end);
    expect(between.filter((sql) => sql.includes('"__entityModel"'))).not.toEqual([]);
    expect([...statuses].filter((status) => status !== 404)).toEqual([200]);
  });

  it('changes nothing when one of them is refused', async () => {
    const server = await serve(staff);
    await create(
      server,
      'Company',
      Array.from({ length: 5000 }, (_, n) => ({ n })),
    );
    await create(server, 'Person', [{ employer: 2500, former: 1 }]);
    const before = dump();
    const { status, ok, messages } = await remove('Company?$filter=n>=0');
    expect({ status, ok }).toEqual({ status: 409, ok: false });
    const key = String(value('select "ID" from "Person"'));
    expect(messages).toEqual([
      `Nothing was deleted: 1 entity of the "Person" dataclass ("${key}") refers by "employer" to what would be deleted of "Company".`,
    ]);
    expect(dump()).toEqual(before);
    expect(await remove('Company?$filter=n!=2499')).toEqual(done);
    expect(rows('select "ID" from "Company"')).toEqual([{ ID: 2500 }]);
  });

  it('finds references by indexes', async () => {
    await serve(`
  A: { attributes: { ID: { type: integer, key: true } } }
  T: { attributes: { ID: { type: string, key: true }, a: { to: A, onDelete: cascade }, up: { to: T, onDelete: cascade } } }
  U: { attributes: { ID: { type: uuid, key: true }, t: { to: T, onDelete: restrict }, a: { to: A } } }
  N: { attributes: { ID: { type: number, key: true }, a: { to: A }, b: { to: A }, t: { to: T, onDelete: cascade }, u: { to: U, onDelete: restrict } } }
`);
    const server = app as FastifyInstance;
    await create(server, 'A', [{ ID: 1 }]);
    expect(await remove('A(1)')).toEqual(done);
    const list = statements.find((sql) => sql.startsWith('create temporary table'));
    (database as Database.Database).exec(String(list));
    const plans = statements
      .filter((sql) => /^(?:select|insert|update|delete)/.test(sql))
      .flatMap((sql) =>
        (database as Database.Database)
          .prepare(`explain query plan ${sql}`)
          .all(...Array.from(sql.matchAll(/\?/g), () => null))
          .map((row) => `${(row as { readonly detail: string }).detail} in ${sql}`),
      );
    expect(plans.filter((each) => each.startsWith('SEARCH')).length).toBeGreaterThan(15);
    // Only the list, which is needed completely, and the rows of the recursion are scanned.
    const scans = plans.filter((each) => each.startsWith('SCAN'));
    expect(scans.filter((each) => !/^SCAN (?:__deletion|__reached|listed)\b/.test(each))).toEqual(
      [],
    );
    // By the list's number and the key, not by the number alone.
    const others = plans.filter((each) => each.includes('SEARCH __other'));
    expect(others.length).toBeGreaterThan(2);
    expect(others.filter((each) => !each.includes('(list=? AND key=?)'))).toEqual([]);
  });
});

describe('A cascade', () => {
  it('follows a chain of any length, and a ring', async () => {
    const server = await serve(`
  Link: { attributes: { ID: { type: integer, key: true }, next: { to: Link, onDelete: cascade } } }
`);
    const length = 20_000;
    await create(
      server,
      'Link',
      Array.from({ length }, (_, ID) => ({ ID, ...(ID === 0 ? {} : { next: ID - 1 }) })),
    );
    expect(await remove(`Link(${length - 10})`)).toEqual(done);
    expect(value('select count(*) from "Link"')).toBe(length - 10);
    (database as Database.Database).exec('update "Link" set "next_id" = 9000 where "ID" = 0');
    expect(await remove('Link(5)')).toEqual(done);
    expect(value('select count(*) from "Link"')).toBe(0);
    expect(value(stamp)).toBe(2 * length);
  });

  it('follows more relations than one statement can follow', async () => {
    const last = 249;
    const many = Array.from(
      { length: last + 1 },
      (_, n) => `      r${n}: { to: S, onDelete: cascade }\n`,
    );
    const server = await serve(`
  S: { attributes: { ID: { type: integer, key: true }, back: { to: E, onDelete: cascade } } }
  E:
    attributes:
      ID: { type: integer, key: true }
${many.join('')}`);
    await create(server, 'S', [{ ID: 1 }]);
    await create(server, 'E', [{ ID: 1, [`r${last}`]: 1 }]);
    await create(server, 'S', [{ ID: 2, back: 1 }, { ID: 3 }]);
    // Found by the first statement, and only after the second one has found the entity before.
    await create(server, 'E', [
      { ID: 2, r0: 2 },
      { ID: 3, r0: 3 },
    ]);
    expect(await remove('S(1)')).toEqual(done);
    expect(statements.filter((sql) => sql.includes('recursive')).length).toBeGreaterThan(2);
    expect(rows('select "ID" from "S"')).toEqual([{ ID: 3 }]);
    expect(rows('select "ID" from "E"')).toEqual([{ ID: 3 }]);
    expect(value(stamp)).toBe(6 + 4);
  });

  it('ends where dataclasses refer to each other in a circle', async () => {
    const server = await serve(`
  A: { attributes: { ID: { type: integer, key: true }, b: { to: B, onDelete: cascade }, c: { to: B, onDelete: restrict } } }
  B: { attributes: { ID: { type: string, key: true }, a: { to: A, onDelete: cascade }, d: { to: A, onDelete: restrict } } }
`);
    await create(server, 'A', [{ ID: 1 }, { ID: 2 }]);
    await create(server, 'B', [
      { ID: 'x', a: 1, d: 1 },
      { ID: 'y', a: 2 },
    ]);
    (database as Database.Database).exec(
      `update "A" set "b_id" = 'x', "c_id" = 'x' where "ID" = 1`,
    );
    // The referring entity is deleted as well, so it does not forbid the deletion.
    expect(await remove("B('X')")).toEqual(done);
    expect(rows('select "ID" from "A"')).toEqual([{ ID: 2 }]);
    expect(rows('select "ID" from "B"')).toEqual([{ ID: 'y' }]);
  });
});

describe('An entity that loses a relation', () => {
  it('keeps its other relations, and is saved once', async () => {
    const server = await serve(`
  Word: { attributes: { ID: { type: string, key: true } } }
  Pair:
    attributes:
      ID: { type: integer, key: true }
      one: { to: Word, foreignKey: left }
      left: { type: string, unique: true }
      two: { to: Word }
      three: { to: Word, onDelete: setNull }
`);
    await create(server, 'Word', [{ ID: 'Ä' }, { ID: 'B' }]);
    await create(server, 'Pair', [
      { ID: 1, one: 'Ä', two: 'B', three: 'ä' },
      { ID: 2, one: 'B', two: 'B' },
    ]);
    const [before] = rows('select "__TIMESTAMP" as "time" from "Pair"') as { time: string }[];
    expect(await remove("Word('ä')")).toEqual(done);
    const columns =
      '"left", "__folded_left" as "foldedLeft", "two_id" as "two", "__folded_two_id" as "foldedTwo", "three_id" as "three", "__folded_three_id" as "foldedThree", "__STAMP" as "stamp"';
    expect(rows(`select ${columns} from "Pair"`)).toEqual([
      {
        left: null,
        foldedLeft: null,
        two: 'B',
        foldedTwo: 'b',
        three: null,
        foldedThree: null,
        stamp: 2,
      },
      {
        left: 'B',
        foldedLeft: 'b',
        two: 'B',
        foldedTwo: 'b',
        three: null,
        foldedThree: null,
        stamp: 1,
      },
    ]);
    const times = rows('select "__TIMESTAMP" as "time" from "Pair"') as { time: string }[];
    expect(times[0]?.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(times[1]).toEqual(before);
    expect(value(stamp)).toBe(6);
  });

  it('forbids the deletion if a computed attribute fails without the relation', async () => {
    const server = await serve(`
  A: { attributes: { ID: { type: integer, key: true } } }
  B:
    attributes:
      ID: { type: integer, key: true }
      a: { to: A }
      odd: { computed: integer, expression: "json_extract(iif(n = 1 and a_id is null, '{', '1'), '$')" }
      n: integer
`);
    await create(server, 'A', [{ ID: 1 }]);
    await create(server, 'B', [{ ID: 1, a: 1, n: 1 }]);
    const before = dump();
    expect(await remove('A(1)')).toMatchObject({ status: 409, ok: false });
    expect(dump()).toEqual(before);
  });
});

describe('What prevents a deletion', () => {
  const secrets = `
  Shown: { attributes: { ID: { type: integer, key: true }, n: integer } }
  Secret:
    exposed: false
    attributes: { ID: { type: integer, key: true }, hiddenOwner: { to: Shown, onDelete: restrict } }
  Partly:
    attributes:
      ID: { type: integer, key: true }
      hiddenRelation: { to: Shown, foreignKey: shownKey, onDelete: restrict, exposed: false }
      shownKey: integer
      hiddenToo: { to: Shown, onDelete: restrict, exposed: false, foreignKey: hiddenKey }
      hiddenKey: { type: integer, exposed: false }
`;

  it('is not named when it is not exposed', async () => {
    const server = await serve(secrets);
    await create(server, 'Shown', [{ ID: 1 }, { ID: 2 }, { ID: 3 }]);
    (database as Database.Database).exec(
      `insert into "Secret" ("ID", "__TIMESTAMP", "hiddenOwner_id") values (4711, '', 1)`,
    );
    const hidden =
      'Nothing was deleted: entities that are not exposed depend on what would be deleted.';
    expect((await remove('Shown(1)')).messages).toEqual([hidden]);
    await create(server, 'Partly', [{ ID: 8, shownKey: 2 }]);
    expect((await remove('Shown(2)')).messages).toEqual([
      'Nothing was deleted: 1 entity of the "Partly" dataclass ("8") refers by "shownKey" to what would be deleted of "Shown".',
    ]);
    (database as Database.Database).exec(`update "Partly" set "hiddenKey" = 3, "shownKey" = null`);
    expect((await remove('Shown(3)')).messages).toEqual([hidden]);
    (database as Database.Database).exec(`update "Partly" set "shownKey" = 2`);
    expect((await remove('Shown?$filter=ID>0')).messages).toHaveLength(2);
    expect(value('select count(*) from "Shown"')).toBe(3);
  });

  it('is named with only a few keys', async () => {
    const server = await serve(`
  A: { attributes: { ID: { type: integer, key: true } } }
  B: { attributes: { ID: { type: string, key: true }, a: { to: A, mandatory: true } } }
`);
    await create(server, 'A', [{ ID: 1 }]);
    const long = 'x'.repeat(100_000);
    await create(
      server,
      'B',
      ['a"1', long, 'c', 'd', 'e'].map((ID) => ({ ID, a: 1 })),
    );
    const { messages } = await remove('A(1)');
    expect(messages).toEqual([
      'Nothing was deleted: 5 entities of the "B" dataclass ("a\\"1", "c", "d" and others) refer by "a" to what would be deleted of "A".',
    ]);
    await remove("B?$filter=ID IN ['c', 'd', 'e']");
    expect((await remove('A(1)')).messages[0]?.length).toBeLessThan(250);
  });

  it('may be a constraint that is not in the model', async () => {
    const server = await serve(`
  A: { attributes: { ID: { type: integer, key: true }, b: { to: B, onDelete: cascade } } }
  B: { attributes: { ID: { type: integer, key: true }, a: { to: A, onDelete: cascade } } }
  C: { attributes: { ID: { type: integer, key: true } } }
`);
    await create(server, 'A', [{ ID: 1 }]);
    await create(server, 'C', [{ ID: 1 }]);
    (database as Database.Database).exec(
      'create table "own" ("a" references "A" ("ID"), "c" references "C" ("ID")); insert into "own" values (1, 1)',
    );
    const before = dump();
    // Checked when the transaction ends, since A and B make a circle, and when the statement ends.
    expect(await remove('A(1)')).toMatchObject({ status: 409, ok: false });
    expect(await remove('C(1)')).toMatchObject({ status: 409, ok: false });
    expect(dump()).toEqual(before);
    // Code that catches the refusal may continue.
    await datastoreOf(server).transaction(async () => {
      const a = await datastoreOf(server).A.get(1);
      await expect(a?.drop()).rejects.toMatchObject({ httpStatus: 409 });
    });
    expect(dump()).toEqual(before);
    (database as Database.Database).exec('delete from "own"');
    expect(await remove('A(1)')).toEqual(done);
  });
});

describe('Class code that deletes entities whose dataclasses make a circle', () => {
  it('is told by later saves of the transaction when a foreign key leads nowhere', async () => {
    const server = await serve(`
  A: { attributes: { ID: { type: integer, key: true }, b: { to: B } } }
  B: { attributes: { ID: { type: integer, key: true }, a: { to: A, onDelete: cascade } } }
`);
    await create(server, 'A', [{ ID: 1 }]);
    await create(server, 'B', [{ ID: 1, a: 1 }]);
    await datastoreOf(server).transaction(async () => {
      await (await datastoreOf(server).A.get(1))?.drop();
      const lost = datastoreOf(server).B.new({ ID: 2, a: 4711 });
      await expect(lost.save()).rejects.toMatchObject({ name: 'SaveError' });
      await datastoreOf(server).B.new({ ID: 3 }).save();
    });
    expect(rows('select "ID" from "B"')).toEqual([{ ID: 3 }]);
  });
});

it('Tables and columns may have the names that the statements use', async () => {
  const key = (name: string, type: string): string =>
    `${name}: { type: ${type}, key: true, column: key }`;
  const server = await serve(`
  listed: { attributes: { ${key('ID', 'integer')}, list: { to: listed, onDelete: cascade } } }
  referring: { attributes: { ${key('ID', 'string')}, listed: { to: listed, foreignKey: list }, list: integer, other: { to: other, onDelete: cascade } } }
  other: { attributes: { ${key('list', 'integer')}, it: { to: listed, onDelete: cascade }, changed: { to: referring } } }
  changed: { table: reached, attributes: { "true": { type: integer, key: true }, other: { to: other, foreignKey: select }, select: integer } }
`);
  await create(server, 'listed', [{ ID: 1 }, { ID: 2, list: 1 }]);
  await create(server, 'other', [{ list: 7, it: 2 }]);
  await create(server, 'referring', [
    { ID: 'a', listed: 2 },
    { ID: 'b', other: 7 },
  ]);
  await create(server, 'changed', [{ true: 1, other: 7 }]);
  expect(await remove('listed(1)')).toEqual(done);
  expect(rows('select * from "listed"')).toEqual([]);
  expect(rows('select * from "other"')).toEqual([]);
  expect(rows('select "key", "list" from "referring"')).toEqual([{ key: 'a', list: null }]);
  expect(rows('select "true", "select" from "reached"')).toEqual([{ true: 1, select: null }]);
});
