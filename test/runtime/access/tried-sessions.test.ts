import type { FastifyInstance } from 'fastify';
import { setImmediate } from 'node:timers/promises';
import { Client as Connection } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Client } from '../../support/cookies.js';
import { describePostgres, postgresDatabase, type TestDatabase } from '../../support/postgres.js';
import { modelOf, serverOf } from '../../support/server.js';
import type { Restriction, Session } from '../../../runtime/public/class.js';
import {
  functionFiles,
  functionModel,
  restrictedModel,
  sessionFiles,
  sessionModel,
} from '../../support/session-model.js';

/** What `restrict` of the servers with code does. */
type Restrict = (session: Session, items: Items) => Restriction | Promise<Restriction>;

interface Items {
  all(): { count(): Promise<number> };
  readonly new: (values: { readonly name: string }) => { save(): Promise<unknown> };
}

interface Item {
  readonly __STAMP: number;
  readonly name: string;
}

declare global {
  var restrictItems: Restrict;
}

/** Events of `Part` also run in saves of `Whole`. */
const codeModel = restrictedModel.replace(
  'dataclasses:',
  `dataclasses:
  Whole:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      parts: { to: Part, many: true, inverse: whole }
  Part:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      whole: { to: Whole, inverse: parts }
    events: [saving]`,
);
const name = '      name: { type: string, unique: true }';
const computing = (accessors: string): string =>
  codeModel.replace(name, `${name}\n      loud: { computed: string, accessors: [${accessors}] }`);
const codeFiles = {
  ...sessionFiles,
  'src/classes/Item.ts': `
import { ItemBase, type Restriction, type Session } from '../generated/api.js';

export class Item extends ItemBase {
  restrict(session: Session): Restriction | Promise<Restriction> {
    return globalThis.restrictItems(session, this);
  }
  queryLoud() {
    return { filter: 'ID > 0' };
  }
}
`,
  'src/classes/ItemEntity.ts': `
import { ItemEntityBase } from '../generated/api.js';

export class ItemEntity extends ItemEntityBase {
  get loud(): string {
    return String(this.name).toUpperCase();
  }
}
`,
  'src/classes/PartEntity.ts': `
import { PartEntityBase } from '../generated/api.js';

export class PartEntity extends PartEntityBase {
  saving(): void {}
}
`,
};

describePostgres('A request of a client that has logged in', () => {
  let database: TestDatabase;
  let app: FastifyInstance;
  let withFunctions: FastifyInstance;
  let restricted: FastifyInstance;
  let withGetter: FastifyInstance;
  let withQuery: FastifyInstance;
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
    restricted = await start(codeModel, codeFiles);
    withGetter = await start(computing('get'), codeFiles);
    withQuery = await start(computing('get, query'), codeFiles);
    client = new Client(app);
    await client.post('/rest/$directory/login', ['mia', 'right']);
    await save({ name: 'one' });
  });
  afterAll(async () => {
    await app.close();
    await withFunctions.close();
    await restricted.close();
    await withGetter.close();
    await withQuery.close();
    Reflect.deleteProperty(globalThis, 'restrictItems');
    await database.drop();
  });

  beforeEach(() => {
    globalThis.restrictItems = () => 'ID > 0';
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
  async function statements(
    ask: () => ReturnType<Client['get']>,
    status = 200,
  ): Promise<readonly string[]> {
    const query = vi.spyOn(Connection.prototype, 'query');
    try {
      expect((await ask()).statusCode).toBe(status);
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

  const mine: Restrict = (session) => ({ filter: 'name != :1', values: [session.userName] });
  const later: Restrict = async (session, items) => {
    await setImmediate();
    return mine(session, items);
  };

  it.each([
    ['restrict', mine],
    ['a restrict that awaits', later],
  ])('that reads what %s shows is one statement', async (_name, restrict) => {
    const other = await at(restricted);
    globalThis.restrictItems = restrict;
    for (const url of ['/rest/Item(1)', '/rest/Item:name(one)', '/rest/Item?$top=10']) {
      expect(await statements(() => other.get(url))).toEqual(['select, session']);
    }
  });

  it.each([
    ['restrict', mine],
    ['a restrict that awaits', later],
  ])('that stores what %s shows is one statement', async (_name, restrict) => {
    const other = await at(restricted);
    globalThis.restrictItems = restrict;
    const { __STAMP: stamp } = (await other.get('/rest/Item(1)')).json<{ __STAMP: number }>();
    const body = { __KEY: '1', __STAMP: stamp, name: `one ${stamp}` };
    const sent = await statements(() => other.post('/rest/Item?$method=update', body));
    expect(sent.filter((each) => each.startsWith('with'))).toEqual(['with, session']);
    expect(sent).not.toContain('session');
  });

  it.each([
    ['is refused', 'two', 409],
    ['changes nothing', 'same', 200],
  ])('looks for the session after a save that %s, and runs once', async (_name, kind, status) => {
    const other = await at(restricted);
    const asked: string[] = [];
    globalThis.restrictItems = ({ userName }) => {
      asked.push(userName);
      return 'ID > 0';
    };
    const { __STAMP: stamp, name } = (await other.get('/rest/Item(1)')).json<Item>();
    const body = { __KEY: '1', __STAMP: stamp, name: kind === 'same' ? name : kind };
    asked.length = 0;
    const sent = await statements(() => other.post('/rest/Item?$method=update', body), status);
    expect(asked).toEqual(['mia']);
    const checks = ['with, session', 'session'];
    expect(sent.filter((each) => checks.includes(each))).toEqual(checks);
  });

  it('checks the session by its own statement, not by those of restrict', async () => {
    const other = await at(restricted);
    globalThis.restrictItems = async (_session, items) => {
      await items.all().count();
      return null;
    };
    const sent = await statements(() => other.get('/rest/Item?$top=1'));
    expect(sent).toEqual(['select', 'select, session']);
  });

  it('reads the entity before a getter runs', async () => {
    const other = await at(withGetter);
    const sent = await statements(() => other.get('/rest/Item(2)'));
    expect(sent[0]).toBe('select, session');
    expect(sent).not.toContain('session');
  });

  it('looks for the session first if class code may filter', async () => {
    const other = await at(withQuery);
    expect((await statements(() => other.get('/rest/Item(2)')))[0]).toBe('session');
  });

  it.each([
    ['the entity', 'Part', {}],
    ['an entity in its lists', 'Whole', { parts: [{}] }],
  ])('looks for the session first if %s may have events', async (_name, dataclass, body) => {
    const other = await at(restricted);
    const url = `/rest/${dataclass}?$method=update`;
    expect((await statements(() => other.post(url, body)))[0]).toBe('session');
  });

  describe('and has lost its session at another server', () => {
    /** A client whose session a server with `restrict` has cached, and which has ended. */
    async function ended(): Promise<Client> {
      await client.post('/rest/$directory/login', ['mia', 'right']);
      const other = await at(restricted);
      await client.get('/rest/$directory/logout');
      await client.post('/rest/$directory/login', ['mia', 'right']);
      return other;
    }
    const count = async (): Promise<number> =>
      (await client.get('/rest/Item?$top=1')).json<{ __COUNT: number }>().__COUNT;

    it('gets nothing of what restrict showed to it', async () => {
      const other = await ended();
      const asked: string[] = [];
      globalThis.restrictItems = async ({ userName }) => {
        await setImmediate();
        asked.push(userName);
        return null;
      };
      expect((await other.get('/rest/Item(1)')).statusCode).toBe(401);
      expect(asked).toEqual(['mia']);
    });

    it('gets no error of restrict', async () => {
      const other = await ended();
      globalThis.restrictItems = () => {
        throw new Error('for mia only');
      };
      expect((await other.get('/rest/Item(1)')).statusCode).toBe(401);
    });

    it.each([
      ['an entity', { name: 'lost' }],
      ['a list', [{ name: 'lost' }, { name: 'lost, too' }]],
    ])('stores nothing of %s', async (_name, body) => {
      const before = await count();
      const other = await ended();
      for (const restrict of [mine, later]) {
        globalThis.restrictItems = restrict;
        expect((await other.post('/rest/Item?$method=update', body)).statusCode).toBe(401);
      }
      expect(await count()).toBe(before);
    });

    it.each([
      ['reads', '/rest/Item(1)', undefined],
      ['saves', '/rest/Item?$method=update', { name: 'lost' }],
    ])('while restrict waits is refused what it %s', async (_name, url, body) => {
      await client.post('/rest/$directory/login', ['mia', 'right']);
      const other = await at(restricted);
      globalThis.restrictItems = async () => {
        await client.get('/rest/$directory/logout');
        return null;
      };
      const answer = await (body === undefined ? other.get(url) : other.post(url, body));
      expect(answer.statusCode).toBe(401);
      await client.post('/rest/$directory/login', ['mia', 'right']);
      expect((await client.get('/rest/Item:name(lost)')).statusCode).toBe(404);
    });

    it('lets restrict read everything, which it may remember', async () => {
      const other = await ended();
      const counts: number[] = [];
      globalThis.restrictItems = async (_session, items) => {
        counts.push(await items.all().count());
        return null;
      };
      await other.get('/rest/Item(1)');
      expect(counts).toEqual([await count()]);
    });

    it('lets restrict store nothing', async () => {
      const before = await count();
      const other = await ended();
      const failures: unknown[] = [];
      globalThis.restrictItems = async (_session, items) => {
        await items
          .new({ name: 'first seen' })
          .save()
          .catch((error: unknown) => failures.push(error));
        return null;
      };
      expect((await other.get('/rest/Item(1)')).statusCode).toBe(401);
      expect(failures).toHaveLength(1);
      expect(await count()).toBe(before);
    });
  });

  it('lets restrict store entities when the session has been looked up', async () => {
    const other = await at(restricted);
    globalThis.restrictItems = async (_session, items) => {
      await items.new({ name: 'noted' }).save();
      return null;
    };
    const sent = await statements(() => other.get('/rest/Item(1)'));
    expect(sent[0]).toBe('session');
    expect(sent.at(-1)).toBe('select');
  });

  it('lets restrict change the session that was looked up, in a second call', async () => {
    const other = await at(restricted);
    const found: unknown[] = [];
    globalThis.restrictItems = ({ storage }) => {
      found.push(storage.get('seen'));
      if (!storage.has('seen')) storage.set('seen', true);
      return null;
    };
    for (let time = 0; time < 2; time += 1) {
      expect((await other.get('/rest/Item(1)')).statusCode).toBe(200);
    }
    expect(found).toEqual([undefined, undefined, true]);
  });
});
