import type { FastifyInstance } from 'fastify';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { seededRandom } from '../../bench/data/random.js';
import { sampled } from '../../support/long.js';
import { describePostgres, postgresDatabase, type TestDatabase } from '../../support/postgres.js';
import { modelOf, serverOf } from '../../support/server.js';

const model = `drs: 1
name: counts
dataclasses:
  Plot:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, indexed: true }
      trees: { to: Tree, many: true, inverse: plot }
      beds: { to: Bed, many: true, inverse: plot }
  Tree:
    restrict: true
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      species: { type: string, indexed: true }
      plot: { to: Plot, foreignKey: plotID }
      plotID: integer
  Bed:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      plot: { to: Plot, foreignKey: plotID, onDelete: restrict }
      plotID: integer
  Other:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
`;

/** Trees of a hidden plot are hidden. */
const classes = {
  'src/classes/Tree.ts': `import { TreeBase, type Restriction } from '../generated/api.js';
export class Tree extends TreeBase {
  restrict(): Restriction {
    return { filter: 'plot is null or plot.name != hidden' };
  }
}
`,
};

const instant = `'2020-01-01T00:00:00.000Z'`;
const plot = (name: string): string =>
  `insert into "Plot" ("name", "__folded_name", "__TIMESTAMP") values ('${name}', '${name}', ${instant})`;
const tree = (species: string, plotID: number | 'null' = 'null'): string =>
  `insert into "Tree" ("species", "__folded_species", "plotID", "__TIMESTAMP") values ('${species}', '${species}', ${plotID}, ${instant})`;
const other = `insert into "Other" ("__TIMESTAMP") values (${instant})`;

describePostgres('the number of entities of a selection, on PostgreSQL', () => {
  let database: TestDatabase;
  let app: FastifyInstance;
  const clients: Client[] = [];
  let foreign: Client;

  beforeAll(async () => {
    database = await postgresDatabase();
    app = await serverOf(
      { ...modelOf(model), databases: ['postgres'] },
      { databaseUrl: database.url },
      classes,
    );
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });
  beforeEach(async () => {
    foreign = await connected();
    await foreign.query('truncate "Plot", "Tree", "Bed", "Other" restart identity');
    for (const each of [plot('a'), plot('b'), tree('oak', 1), tree('elm')])
      await foreign.query(each);
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()));
  });

  async function connected(): Promise<Client> {
    const client = new Client({ connectionString: database.url });
    clients.push(client);
    await client.connect();
    // Whoever waits for a lock fails.
    await client.query(`set lock_timeout = '2s'`);
    return client;
  }

  async function read(
    path: string,
  ): Promise<{ readonly __COUNT: number; readonly __SENT: number }> {
    const response = await app.inject(`/rest/${path}`);
    expect(response.statusCode).toBe(200);
    return response.json();
  }

  async function count(path: string): Promise<number> {
    return (await read(path)).__COUNT;
  }

  /** Changes rows so that no trigger tells of it: whoever counts finds out. */
  async function secretly(statement: string): Promise<void> {
    await foreign.query('set session_replication_role = replica');
    await foreign.query(statement);
    await foreign.query('set session_replication_role = origin');
  }

  /** How often a request sends statements and waits for their answer. */
  async function roundTrips(path: string): Promise<number> {
    const query = vi.spyOn(Client.prototype, 'query');
    try {
      await read(path);
      return query.mock.calls.length;
    } finally {
      query.mockRestore();
    }
  }

  it('costs one round trip with the page, whether it is known or not', async () => {
    // The first one may open a connection.
    await read('Plot');
    for (const path of [
      'Plot?$filter=name=a&$top=1',
      'Plot(1)/trees?$expand=trees',
      'Plot?$format=looker&$top=1',
      'Tree?$filter=species=oak&$top=1',
    ]) {
      expect([path, await roundTrips(path)]).toEqual([path, 1]);
      expect([path, await roundTrips(path)]).toEqual([path, 1]);
      await foreign.query(plot('c'));
      await foreign.query(tree('ash', 1));
      expect([path, await roundTrips(path)]).toEqual([path, 1]);
    }
  });

  it('is remembered while others write elsewhere', async () => {
    const neighbour = await postgresDatabase();
    const stranger = new Client({ connectionString: neighbour.url });
    await stranger.connect();
    await stranger.query('create table "x" ("y" integer)');
    const paths = ['Plot', 'Plot?$filter=name=a', 'Plot?$format=looker', 'Plot?$expand=trees'];
    const before = await Promise.all(paths.map(count));
    expect(before).toEqual([2, 1, 2, 2]);
    await secretly(plot('a'));
    await foreign.query(other);
    await foreign.query(tree('oak', 1));
    await stranger.query('insert into "x" values (1)');
    expect(await Promise.all(paths.map(count))).toEqual(before);
    await foreign.query(`delete from "Plot" where "name" = 'b'`);
    expect(await Promise.all(paths.map(count))).toEqual([2, 2, 2, 2]);
    await stranger.end();
    await neighbour.drop();
  });

  it('follows all that others can do to a table', async () => {
    const own = await connected();
    await own.query('create role "guest" nologin');
    await own.query('grant all on "Tree" to "guest"');
    await own.query('grant all on all sequences in schema public to "guest"');
    const insert = tree('fir').replace('"Tree"', 'public."Tree"');
    const steps: readonly (readonly [string, number])[] = [
      [tree('fir'), 1],
      [
        `update "Tree" set "species" = 'fir', "__folded_species" = 'fir' where "species" = 'elm'`,
        2,
      ],
      [`delete from "Tree" where "ID" = (select max("ID") from "Tree" where "species" = 'fir')`, 1],
      [`begin; ${tree('fir')}; ${tree('fir')}; commit`, 3],
      [`begin; ${tree('fir')}; rollback`, 3],
      [`begin; savepoint "s"; ${tree('fir')}; rollback to "s"; ${tree('fir')}; commit`, 4],
      [`begin; ${tree('fir')}; savepoint "s"; ${tree('fir')}; rollback to "s"; commit`, 5],
      [`begin isolation level repeatable read; ${tree('fir')}; commit`, 6],
      [`begin isolation level serializable; ${tree('fir')}; ${tree('fir')}; commit`, 8],
      [`with "x" as (${tree('fir')} returning "ID") select * from "x"`, 9],
      [`set role "guest"; ${tree('fir')}; reset role`, 10],
      [`set search_path = pg_catalog; ${insert}; reset search_path`, 11],
      [`${tree('fir', 2)}; ${tree('fir', 2)}`, 13],
      // A foreign key of somebody's own takes them along.
      [
        'alter table "Tree" add constraint "own" foreign key ("plotID") references "Plot" ("ID") on delete cascade, drop constraint "Tree_plotID_fkey"',
        13,
      ],
      [`delete from "Plot" where "name" = 'b'`, 11],
      [
        `insert into "Tree" ("ID", "species", "__folded_species", "__TIMESTAMP") values (1000, 'fir', 'fir', ${instant}) on conflict do nothing`,
        12,
      ],
      [
        `merge into "Tree" t using (values (1000)) v (id) on t."ID" = v.id when matched then delete`,
        11,
      ],
      ['truncate "Tree"', 0],
    ];
    for (const [statement, expected] of steps) {
      await own.query(statement);
      expect([statement, await count('Tree?$filter=species=fir')]).toEqual([statement, expected]);
    }
    await own.query('drop owned by "guest"');
    await own.query('drop role "guest"');
  });

  it('follows changes by a role whose search path hides functions and operators of PostgreSQL', async () => {
    const own = await connected();
    await own.query(`create role "sly" nologin;
      create schema "sly" authorization "sly";
      grant all on "Other" to "sly"; grant all on all sequences in schema public to "sly"; set role "sly"`);
    const functions = [
      'current_setting(text, boolean) returns text',
      'current_setting(text) returns text',
      'set_config(text, text, boolean) returns text',
      'quote_ident(text) returns text',
      'random() returns double precision',
    ];
    const body = `language plpgsql as $$begin raise exception 'hidden'; end$$`;
    for (const each of functions) await own.query(`create function "sly".${each} ${body}`);
    await own.query(`create function "sly"."same"(text, text) returns boolean ${body};
      create operator "sly".= (leftarg = text, rightarg = text, function = "sly"."same");
      set search_path = "sly", pg_catalog, public`);
    expect(await count('Other')).toBe(0);
    await own.query(`begin; ${other}`);
    const { rows } = await own.query('show search_path');
    expect(rows).toEqual([{ search_path: 'sly, pg_catalog, public' }]);
    await own.query(`${other}; commit`);
    expect(await count('Other')).toBe(2);
    await own.query('reset all; reset role; drop owned by "sly"; drop role "sly"');
  });

  it('does not let other roles call the function that raises versions, from a trigger of their own', async () => {
    const own = await connected();
    await own.query('create role "sly" nologin; set role "sly"; create temp table "Plot" ()');
    const create = 'create trigger "t" after insert on "Plot" execute function drs_touch()';
    await expect(own.query(create)).rejects.toThrow('permission denied for function drs_touch');
    await own.query('reset role; drop owned by "sly"; drop role "sly"');
  });

  it('runs no code of a role that may write one table with the rights of the owner of the tables', async () => {
    const own = await connected();
    await own.query(`create role "sly" nologin; create schema "sly" authorization "sly"; grant all on "Other" to "sly";
      grant create on schema public to "sly"; grant all on all sequences in schema public to "sly"; set role "sly"`);
    // Each is a better match than that of PostgreSQL, unless arguments fit exactly or the name is qualified.
    const spy = (name: string): string =>
      `language plpgsql as $$begin raise exception '${name} ran as %', current_user; end$$`;
    await own.query(`
      create function pg_temp.spy(pg_catalog.text) returns boolean ${spy('text')};
      create domain pg_temp.text as pg_catalog.text check (pg_temp.spy(value::pg_catalog.text));
      create function public.add(integer, double precision) returns double precision ${spy('+')};
      create operator public.+ (leftarg = integer, rightarg = double precision, function = public.add);
      create function public.add(bigint, numeric) returns bigint ${spy('+')};
      create operator public.+ (leftarg = bigint, rightarg = numeric, function = public.add);
      create function public.times(double precision, integer) returns double precision ${spy('*')};
      create operator public.* (leftarg = double precision, rightarg = integer, function = public.times);
      create function public.concat(pg_catalog.text, oid) returns pg_catalog.text ${spy('concat')};
      create function public.quote_ident(name) returns pg_catalog.text ${spy('quote_ident')};`);
    expect(await count('Other')).toBe(0);
    await own.query(other);
    // The rows of many transactions are merged.
    await foreign.query(
      `insert into "__version" ("table", "value") select 'Other', 1 from generate_series(1, 300)`,
    );
    await own.query(other);
    expect(await count('Other')).toBe(2);
    await own.query('reset role; drop owned by "sly"; drop role "sly"');
  });

  it('follows saves of this server and of another one, and transactions that others have not ended', async () => {
    const { url } = database;
    const second = await serverOf(
      { ...modelOf(model), databases: ['postgres'] },
      { databaseUrl: url },
      classes,
    );
    const save = async (server: FastifyInstance, body: object): Promise<void> => {
      const payload = JSON.stringify(body);
      const answer = await server.inject({
        method: 'POST',
        url: '/rest/Plot?$method=update',
        payload,
      });
      expect([answer.statusCode, answer.body]).toEqual([200, answer.body]);
    };
    const open = await connected();
    await open.query(`begin; ${plot('open')}`);
    let expected = await count('Plot');
    for (let turn = 0; turn < 4; turn += 1) {
      for (const server of [app, second]) {
        // The first ones of a connection are in a transaction of several statements.
        for (const body of [{ name: `p ${expected}` }, [{ name: 'q' }, { name: 'r' }]]) {
          await save(server, body);
          expected += Array.isArray(body) ? body.length : 1;
          expect(await count('Plot')).toBe(expected);
        }
      }
    }
    await open.query('commit');
    expect(await count('Plot')).toBe(expected + 1);
    await second.close();
  });

  it('follows a transaction that began before the number was remembered', async () => {
    const [first, second] = [await connected(), await connected()];
    await first.query('begin');
    await first.query(tree('yew'));
    expect(await count('Tree?$filter=species=yew')).toBe(0);
    await second.query('begin');
    // Nobody waits for the first one.
    await second.query(tree('yew'));
    await foreign.query(tree('yew'));
    expect(await count('Tree?$filter=species=yew')).toBe(1);
    await second.query('commit');
    expect(await count('Tree?$filter=species=yew')).toBe(2);
    await first.query('commit');
    expect(await count('Tree?$filter=species=yew')).toBe(3);
  });

  it('does not let transactions that write two tables in opposite order wait for each other', async () => {
    const [first, second] = [await connected(), await connected()];
    await first.query(`begin; ${other}`);
    await second.query(`begin; ${plot('c')}`);
    await first.query(plot('d'));
    await second.query(other);
    await first.query('commit');
    await second.query('commit');
    expect([await count('Plot'), await count('Other')]).toEqual([4, 2]);
  });

  it('follows a change of the entities by which others are hidden', async () => {
    expect(await count('Tree')).toBe(2);
    await foreign.query(`update "Plot" set "name" = 'hidden', "__folded_name" = 'hidden'`);
    expect(await count('Tree')).toBe(1);
  });

  it.each(['$expand=beds', '$expand=beds&$format=looker'])(
    'is not remembered beyond the entity whose relation is read: %s',
    async (query) => {
      const path = `/rest/Plot(2)/beds?${query}`;
      const statuses = async (): Promise<number[]> => {
        const answers = await Promise.all([app.inject('/rest/Plot(2)'), app.inject(path)]);
        return answers.map(({ statusCode }) => statusCode);
      };
      expect(await statuses()).toEqual([200, 200]);
      expect(await statuses()).toEqual([200, 200]);
      // No foreign key touches the beds.
      await foreign.query('delete from "Plot" where "ID" = 2');
      expect(await statuses()).toEqual([404, 404]);
    },
  );

  it('is neither computed nor sent with $count=false', async () => {
    const statements: string[] = [];
    const onStatement = (sql: string): void => void statements.push(sql);
    const options = { databaseUrl: database.url, onStatement };
    const server = await serverOf({ ...modelOf(model), databases: ['postgres'] }, options, classes);
    try {
      for (const path of ['Tree?', 'Tree?$filter=species=oak&', 'Plot?$expand=trees&']) {
        statements.length = 0;
        const { statusCode, body } = await server.inject(`/rest/${path}$count=false`);
        expect([statusCode, body.includes('__COUNT')]).toEqual([200, false]);
        expect(body).toContain('"__SENT":');
        expect(statements.join()).not.toMatch(/__counted|count\(\*\) from/);
        expect((await server.inject(`/rest/${path}$count=true`)).body).toContain('__COUNT');
        expect(statements.join()).toContain('__counted');
      }
      const missing = await server.inject('/rest/Plot(99)/trees?$expand=trees&$count=false');
      expect(missing.statusCode).toBe(404);
    } finally {
      await server.close();
    }
  });

  it('keeps few slots, whatever isolation level writers have', async () => {
    const slots = async (): Promise<number> => {
      const { rows } = await foreign.query<{ count: string }>(
        `select count(*) from "__version" where "table" = 'Other'`,
      );
      return Number(rows[0]?.count);
    };
    for (let turn = 0; turn < 300; turn += 1) {
      await foreign.query(`begin isolation level repeatable read; ${other}; commit`);
    }
    expect(await count('Other')).toBe(300);
    await foreign.query(other);
    expect(await slots()).toBe(1);
    expect(await count('Other')).toBe(301);
    for (let turn = 0; turn < 10; turn += 1) await foreign.query(other);
    expect(await slots()).toBe(1);
  });

  it('is that of the page beside writers that begin, commit and roll back at random', async () => {
    let isOver = false as boolean;
    const saving = (async (): Promise<void> => {
      const random = seededRandom(0);
      while (!isOver) {
        const name = random.pick(['ivy', 'fern']);
        const payload = JSON.stringify(random.below(2) === 0 ? { name } : [{ name }, { name }]);
        const url = `/rest/${random.pick(['Plot', 'Other'])}?$method=update`;
        await app.inject({ method: 'POST', url, payload: url.includes('Plot') ? payload : '{}' });
      }
    })();
    // So many transactions that a page holds all entities, however slow the machine is.
    const writing = Promise.all(
      Array.from({ length: 4 }, async (_, seed) => {
        const client = await connected();
        const random = seededRandom(seed + 1);
        for (let turn = 0; turn < sampled(1000); turn += 1) {
          const level = random.pick(['read committed', 'repeatable read']);
          await client.query(`begin isolation level ${level}`);
          for (let step = random.below(3); step >= 0; step -= 1) {
            await client.query(random.pick([tree('ivy'), tree('oak'), plot('ivy'), other]));
          }
          await client.query(random.below(4) === 0 ? 'rollback' : 'commit');
        }
      }),
    ).finally(() => (isOver = true));
    const seen = new Set<number>();
    const paths = ['Tree?$filter=species=ivy&$top=10000', 'Plot?$filter=name=ivy&$top=10000'];
    while (!isOver) {
      for (const page of await Promise.all([...paths, ...paths].map(read))) {
        expect(page.__COUNT).toBe(page.__SENT);
        seen.add(page.__COUNT);
      }
    }
    await Promise.all([saving, writing]);
    expect(seen.size).toBeGreaterThan(10);
  });
});
