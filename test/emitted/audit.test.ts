import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { compiledServer } from '../support/compiled-server.js';
import { Client } from '../support/cookies.js';
import { describeDatabases } from '../support/databases.js';
import type { TestDatabase } from '../support/postgres.js';
import { runHere } from '../support/processes/run-here.js';
import { create, modelOf, packageRoot, serverOf, writeServer } from '../support/server.js';

interface Entry {
  readonly key: string;
  readonly kind: string;
  readonly before?: object;
  readonly after?: object;
}

describeDatabases('A database whose model begins, changes and ends audit', (databases) => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await databases.create();
  });
  afterEach(async () => {
    await database.drop();
  });

  const modelWith = (body: string, others = ''): string => `
drs: 1
name: audited
database: ${databases.driver}
dataclasses:
${body}
${others}`;
  const person = (attributes: string, audit = '', name = 'Person'): string => `  ${name}:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
${attributes}
${audit === '' ? '' : `    audit: ${audit}`}`;
  const names = '      name: string\n      size: number';

  const serving = async (
    model: string,
    use: (app: FastifyInstance) => Promise<void> = () => Promise.resolve(),
    written: Readonly<Record<string, string>> = {},
    environment: Readonly<Record<string, string>> = {},
  ): Promise<void> => {
    const app = await serverOf(model, { databaseUrl: database.url, environment }, written);
    try {
      await app.ready();
      await use(app);
    } finally {
      await app.close();
    }
  };
  const entries = async (app: FastifyInstance, path: string): Promise<readonly Entry[]> => {
    const response = await app.inject(`/rest/${path}/$history`);
    expect(response.statusCode, response.body).toBe(200);
    return response.json<{ readonly __ENTITIES: readonly Entry[] }>().__ENTITIES;
  };
  const rows = (sql: string): Promise<readonly (readonly unknown[])[]> =>
    databases.run(database.url, sql);

  it('records the user of a request if class code has functions only', async () => {
    const others = `datastore: { functions: { ping: { exposed: true, returns: number } } }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: edit }]
  permissions:
    allowed:
      - { applyTo: Person, type: dataclass, read: [edit], create: [edit], update: [edit], drop: [edit] }
`;
    const written = {
      'src/login.ts': `export const login = (userName: string): object => ({ userName, privileges: ['edit'] });\n`,
      'src/classes/DataStore.ts': `import { DataStoreBase } from '../generated/api.js';

export class DataStore extends DataStoreBase {
  ping(): number {
    return 1;
  }
}
`,
    };
    const use = async (app: FastifyInstance): Promise<void> => {
      const client = new Client(app);
      await client.post('/rest/$directory/login', ['mia', 'right']);
      const saved = await client.post('/rest/Person?$method=update', { name: 'Ada' });
      expect(saved.statusCode, saved.body).toBe(200);
      const history = await client.get('/rest/Person/$history');
      expect(history.json()).toMatchObject({ __ENTITIES: [{ kind: 'created', user: 'mia' }] });
    };
    await serving(modelWith(person(names, 'true'), others), use, written);
  });

  it('records from the start on that switches it on, until the start that switches it off', async () => {
    await serving(modelWith(person(names)), async (app) => {
      await create(app, 'Person', [{ name: 'before', size: 1 }]);
    });
    await serving(modelWith(person(names, '[name]')), async (app) => {
      await create(app, 'Person', [{ name: 'during', size: 1 }]);
      await rows(`update "Person" set "size" = 2, "name" = 'changed' where "ID" = 1`);
    });
    await serving(modelWith(person(names, 'true')), async (app) => {
      await rows(`update "Person" set "size" = 3 where "ID" = 1`);
      expect(await entries(app, 'Person(1)')).toMatchObject([
        { kind: 'changed', before: { size: 2 }, after: { size: 3 } },
        { kind: 'changed', before: { name: 'before' }, after: { name: 'changed' } },
      ]);
    });
    // The model that the database had before would be that of an older server, which changes nothing.
    const more = `${names}\n      note: string`;
    await serving(modelWith(person(more)), async (app) => {
      await create(app, 'Person', [{ name: 'after' }]);
    });
    expect(await rows('select count(*) from "__audit"')).toEqual([[3]]);
    await serving(modelWith(person(more, 'true')), async (app) => {
      expect(await entries(app, 'Person(3)')).toEqual([]);
      await rows(`delete from "Person" where "ID" = 3`);
      expect(await entries(app, 'Person(3)')).toMatchObject([{ kind: 'deleted' }]);
    });
  });

  it('records what npm run seed stores, without a user', async () => {
    const model = modelWith(person(names, 'true'));
    const folder = mkdtempSync(join(packageRoot, '.tmp', 'audited-'));
    try {
      writeFileSync(join(folder, 'Person.csv'), 'name,size\nann,1\nben,2\n');
      const program = join(
        compiledServer(writeServer(modelOf(model))),
        'dist/src/generated/seed.js',
      );
      const environment = { DATABASE_URL: database.url };
      expect(await runHere(program, ['Person.csv'], { cwd: folder, environment })).toMatchObject({
        err: '',
        code: 0,
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
    expect(await rows('select "key", "kind", "user" from "__audit" order by "position"')).toEqual([
      ['1', 'created', null],
      ['2', 'created', null],
    ]);
  });

  it('records tables and columns of any name, and many attributes', async () => {
    const odd = `      name: { type: string, column: "it's 100% \\"odd\\" \\\\ $body$" }`;
    const many = Array.from({ length: 150 }, (_, at) => `      n${at}: integer`).join('\n');
    const model = modelWith(
      person(`${odd}\n${many}`, 'true').replace(
        '    attributes:',
        `    table: "a 'table' \\"of\\" \\\\ ours"\n    attributes:`,
      ),
    );
    await serving(model, async (app) => {
      await create(app, 'Person', [{ name: 'a', n149: 1 }]);
      const payload = JSON.stringify({ __STAMP: 1, name: "b'", n149: 2 });
      await app.inject({ method: 'POST', url: '/rest/Person(1)', payload });
      expect((await entries(app, 'Person(1)')).map(({ kind, after }) => [kind, after])).toEqual([
        ['changed', { name: "b'", n149: 2 }],
        ['created', expect.objectContaining({ name: 'a', n0: null, n149: 1 })],
      ]);
    });
  });

  it('refuses a start that may not change the schema as long as changes are not recorded', async () => {
    const plain = modelWith(person(names));
    const audited = modelWith(person(names, 'true'));
    await serving(plain);
    await expect(serving(audited, undefined, {}, { MIGRATE: 'off' })).rejects.toThrow(/__audit/);
    await serving(audited);
    await serving(audited, undefined, {}, { MIGRATE: 'off' });
    await rows(
      databases.driver === 'postgres'
        ? 'drop trigger "__audit" on "Person"'
        : 'drop trigger "__audit.changed.Person"',
    );
    await expect(serving(audited, undefined, {}, { MIGRATE: 'off' })).rejects.toThrow(
      /table "Person": changes are not recorded/,
    );
    await serving(audited, async (app) => {
      await create(app, 'Person', [{ name: 'a' }]);
      await rows(`update "Person" set "name" = 'b'`);
      expect(await entries(app, 'Person')).toHaveLength(2);
    });
  });

  it('keeps the history of renamed dataclasses and attributes, also while a migration renames columns', async () => {
    await serving(modelWith(person(names, 'true')), async (app) => {
      await create(app, 'Person', [{ name: 'a', size: 1 }]);
    });
    const renamedFrom = modelWith(
      person(
        '      title: { type: string, renamedFrom: name }\n      size: number',
        'true',
      ).replace('  Person:', '  Human:\n    renamedFrom: Person'),
    );
    await serving(renamedFrom, async (app) => {
      await rows(`update "Person" set "name" = 'b'`);
      expect(await entries(app, 'Human(1)')).toMatchObject([
        { kind: 'changed', before: { title: 'a' }, after: { title: 'b' } },
        { kind: 'created', after: { title: 'a', size: 1 } },
      ]);
    });
    const moved = modelWith(person('      title: string\n      size: string', 'true', 'Human'));
    const steps = `{ kind: 'rename', table: 'Person', to: 'Human' },
      { kind: 'rename', table: 'Human', column: 'name', to: 'title' },
      { kind: 'convert', table: 'Human', column: 'size', value: { sqlite: 'CAST("size" AS TEXT)', postgres: 'CAST("size" AS text)' } }`;
    const written = {
      'src/migrations/0001-first.ts': `import type { Migration } from '#runtime/definition';
import { decide } from '#runtime/migrations';
export const migration: Migration = { from: '1', to: '2', steps: [${steps}] };
export const open = decide;
`,
    };
    const program = join(
      compiledServer(writeServer(modelOf(moved), written)),
      'dist/src/migrate.js',
    );
    const environment = { DATABASE_URL: database.url };
    expect(await runHere(program, [], { cwd: packageRoot, environment })).toMatchObject({
      err: '',
    });
    await serving(
      moved,
      async (app) => {
        await rows(`update "Human" set "title" = 'c', "size" = '7'`);
        expect(await entries(app, 'Human(1)')).toMatchObject([
          { kind: 'changed', before: { title: 'b' }, after: { title: 'c', size: '7' } },
          { kind: 'changed', before: { title: 'a' }, after: { title: 'b' } },
          { kind: 'created', after: { title: 'a' } },
        ]);
      },
      written,
    );
  });

  it('deletes entries that are older than the model says, and those of no other dataclass', async () => {
    const model = modelWith(
      person(names, '{ attributes: [name], days: 30 }'),
      person('      name: string', 'true', 'Other'),
    );
    await serving(model, async (app) => {
      await create(
        app,
        'Person',
        Array.from({ length: 2100 }, () => ({ name: 'a' })),
      );
      await create(app, 'Other', [{ name: 'a' }]);
    });
    const old = new Date(Date.now() - 31 * 86_400_000).toISOString();
    await rows(`update "__audit" set "time" = '${old}' where "key" <> '2100'`);
    await serving(model, async (app) => {
      await expect
        .poll(async () => (await entries(app, 'Person')).map(({ key }) => key))
        .toEqual(['2100']);
      expect(await entries(app, 'Other')).toHaveLength(1);
    });
  });
});
