import type { FastifyInstance } from 'fastify';
import { Client as Connection } from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Client } from '../../support/cookies.js';
import { describePostgres, postgresDatabase, type TestDatabase } from '../../support/postgres.js';
import { modelOf, serverOf } from '../../support/server.js';
import {
  functionFiles,
  functionModel,
  sessionFiles,
  sessionModel,
} from '../../support/session-model.js';

/** `restrict` is class code, which must not run for a session that has ended. */
const restrictedModel = sessionModel.replace('  Item:', '  Item:\n    restrict: true');
const restrictedFiles = {
  ...sessionFiles,
  'src/classes/Item.ts': `
import { ItemBase, type Restriction } from '../generated/api.js';

export class Item extends ItemBase {
  restrict(): Restriction {
    return { filter: 'ID > 0' };
  }
}
`,
};

describePostgres('A request of a client that has logged in', () => {
  let database: TestDatabase;
  let app: FastifyInstance;
  let withFunctions: FastifyInstance;
  let restricted: FastifyInstance;
  let client: Client;

  async function start(model: string, files: typeof sessionFiles): Promise<FastifyInstance> {
    const environment = { STATE: 'database', DATABASE_POOL: '2' };
    const options = { databaseUrl: database.url, environment };
    const made = await serverOf({ ...modelOf(model), databases: ['postgres'] }, options, files);
    await made.ready();
    return made;
  }
  beforeAll(async () => {
    database = await postgresDatabase();
    app = await start(sessionModel, sessionFiles);
    withFunctions = await start(functionModel, functionFiles);
    restricted = await start(restrictedModel, restrictedFiles);
    client = new Client(app);
    await client.post('/rest/$directory/login', ['mia', 'right']);
    await save({ name: 'one' });
  });
  afterAll(async () => {
    await app.close();
    await withFunctions.close();
    await restricted.close();
    await database.drop();
  });

  /** The client at another server, which has its session cached. */
  async function at(server: FastifyInstance): Promise<Client> {
    const other = new Client(server);
    other.cookie = client.cookie;
    await other.get('/rest/Item(1)');
    return other;
  }
  const save = (body: unknown): ReturnType<Client['post']> =>
    client.post('/rest/Item?$method=update', body);

  /** The statements of a request, `session` for those that do nothing but look for the session. */
  async function statements(ask: () => ReturnType<Client['get']>): Promise<readonly string[]> {
    const query = vi.spyOn(Connection.prototype, 'query');
    try {
      expect((await ask()).statusCode).toBe(200);
      return query.mock.calls.map(([given]) => {
        const text =
          typeof given === 'string' ? given : (given as unknown as { readonly text: string }).text;
        if (text.startsWith('select id, version, refreshed')) return 'session';
        const [word = text] = /^\w+/.exec(text) ?? [];
        return text.includes('"drs_state".session') ? `${word}, session` : word;
      });
    } finally {
      query.mockRestore();
    }
  }

  it.each([
    ['one entity', '/rest/Item(1)'],
    ['one entity by a value', '/rest/Item:name(one)'],
    ['a page', '/rest/Item?$top=10'],
    ['entities of a filter', '/rest/Item?$filter="ID>0"&$orderby=name'],
    ['a sum', '/rest/Item/ID?$compute=sum'],
  ])('that reads %s is one statement, which checks the session', async (_name, url) => {
    expect(await statements(() => client.get(url))).toEqual(['select, session']);
  });

  it('that saves an entity is one statement, too', async () => {
    const sent = await statements(() => save({ name: 'two' }));
    expect(sent.filter((each) => each.startsWith('with'))).toEqual(['with, session']);
    expect(sent).not.toContain('session');
  });

  it('that saves a list begins its transaction with the check', async () => {
    const list = [{ name: 'four' }, { name: 'five' }];
    const sent = await statements(() => save(list));
    const begun = sent.indexOf('begin');
    expect(sent.slice(begun, begun + 3)).toEqual(['begin', 'select, session', 'with']);
    expect(sent).not.toContain('session');
  });

  it.each([
    ['makes an entity set', '/rest/Item?$method=entityset'],
    ['makes an entity set with a name in another case', '/rest/Item?$METHOD=entityset'],
    ['locks an entity', '/rest/Item(1)?$lock=true'],
    ['reads the catalog', '/rest/$catalog/$all'],
  ])('that %s looks for the session first', async (_name, url) => {
    expect((await statements(() => client.get(url)))[0]).toBe('session');
  });

  it('that calls a function looks for the session first', async () => {
    const other = await at(withFunctions);
    const sent = await statements(() => other.post('/rest/$catalog/holds'));
    expect(sent).toEqual(['session']);
  });

  it('that deletes looks for the session first', async () => {
    const sent = await statements(() => client.post('/rest/Item?$filter="ID<0"&$method=delete'));
    expect(sent[0]).toBe('session');
  });

  it('looks for the session first if restrict decides what it may see', async () => {
    const other = await at(restricted);
    expect(await statements(() => other.get('/rest/Item?$top=1'))).toEqual(['session', 'with']);
  });
});
