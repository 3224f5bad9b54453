import type { FastifyInstance } from 'fastify';
import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emitServer } from '../../generator/emit/emit-server.js';
import type { BuiltQuery } from '../../runtime/dialect/compile.js';
import { importFrom } from '../support/compiled-server.js';
import { create, modelOf, packageRoot, serverOf, writeServer } from '../support/server.js';

const model = `
drs: 1
name: queries
database: sqlite
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      code: { type: string, unique: true }
      size: number
      parent: { to: Note, inverse: children }
      children: { to: Note, many: true, inverse: parent }
    functions:
      dataclass:
        codes: { exposed: true, onHTTPGet: true, returns: any }
        codeOf: { exposed: true, onHTTPGet: true, params: { key: integer }, returns: any }
`;

const noteClass = `
import { NoteBase } from '../generated/api.js';

export class Note extends NoteBase {
  override async codes(): Promise<readonly (string | null)[]> {
    return (await this.all().toArray()).map(({ code }) => code);
  }
  override async codeOf(key: number): Promise<string | null> {
    return (await this.get(key))?.code ?? null;
  }
}
`;

const queriesFile = 'src/generated/queries/Note.ts';

/** A server whose queries are changed; each text must exist. */
async function changedServer(
  changes: Readonly<Record<string, string>>,
  onStatement?: (sql: string) => void,
): Promise<FastifyInstance> {
  const input = { packageRoot, modelFileName: 'model.yaml' };
  const emitted = emitServer(modelOf(model), input).find(({ path }) => path === queriesFile);
  let text = emitted?.text ?? '';
  for (const [from, to] of Object.entries(changes)) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  const written = { 'src/classes/Note.ts': noteClass, [queriesFile]: text };
  return serverOf(model, onStatement === undefined ? {} : { onStatement }, written);
}

async function fill(app: FastifyInstance): Promise<void> {
  await create(app, 'Note', [
    { code: 'a', size: 1 },
    { code: 'secret', size: 2, parent: '1' },
    { code: 'c', size: 3, parent: '1' },
  ]);
}

type Emitted = (...given: readonly unknown[]) => BuiltQuery & {
  selectAll(): BuiltQuery;
};

describe('A request without parameters', () => {
  const statements: string[] = [];
  const db = new Kysely<object>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (each) => new SqliteIntrospector(each),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
  let app: FastifyInstance;
  let queries: Readonly<Record<string, Emitted>> & {
    readonly by: Readonly<Record<string, Emitted>>;
    readonly of: Readonly<Record<string, Emitted>>;
  };

  beforeAll(async () => {
    app = await changedServer({}, (sql) => statements.push(plain(sql)));
    await fill(app);
    const folder = writeServer(modelOf(model));
    queries = (await importFrom(folder, 'src/generated/queries/Note')) as typeof queries;
  });
  afterAll(() => app.close());

  /** Variables as Kysely writes them. */
  function plain(sql: string): string {
    return sql.replaceAll('+?', '?').replaceAll(/\(\? \+ 0\)|cast\(\? as integer\)/g, '?');
  }

  async function run(method: 'GET' | 'POST', url: string, payload?: object): Promise<string> {
    statements.length = 0;
    const body = payload === undefined ? {} : { payload: JSON.stringify(payload) };
    const { statusCode, body: answer } = await app.inject({ method, url, ...body });
    expect(statusCode, answer).toBe(200);
    return statements.join('\n');
  }

  /** The statement without the columns of the entities. */
  function rest(query: BuiltQuery & { selectAll?(): BuiltQuery }): string {
    const { sql } = (query.selectAll?.() ?? query).compile();
    return sql.replace(/^select \* /, '');
  }

  it('reads an entity by the emitted query of its key', async () => {
    const sql = await run('GET', '/rest/Note(1)');
    expect(sql).toContain(rest((queries['byKey'] as Emitted)(db, 1)));
  });

  it('reads an entity by the emitted query of a unique attribute', async () => {
    const sql = await run('GET', '/rest/Note:code(a)');
    expect(sql).toContain(rest((queries.by['code'] as Emitted)(db, 'a')));
  });

  it('reads a page by the emitted query of a page, and counts by the emitted count query', async () => {
    const { entities, page, count } = queries as Record<string, Emitted>;
    const sql = await run('GET', '/rest/Note');
    expect(sql).toContain(rest((page as Emitted)((entities as Emitted)(db), 1, 0)));
    expect(sql.split('\n')).toContain(
      plain((count as Emitted)((entities as Emitted)(db)).compile().sql),
    );
  });

  it('reads a related page by the emitted query of the relation', async () => {
    const related = (queries.of['parent'] as Emitted)(db, 1);
    const sql = await run('GET', '/rest/Note(1)/children?$expand=children');
    expect(sql).toContain(rest((queries['page'] as Emitted)(related, 1, 0)));
  });

  it('stores an entity by the emitted insert', async () => {
    const sql = await run('POST', '/rest/Note?$method=update', { code: 'new' });
    const columns = ['ID', 'code', 'size', 'parent_id', '__folded_code', '__STAMP', '__TIMESTAMP'];
    const row = Object.fromEntries(columns.map((each) => [each, 1]));
    expect(sql.split('\n')).toContain((queries['insert'] as Emitted)(db, row).compile().sql);
  });

  it('changes an entity by the emitted update', async () => {
    const change = { __KEY: '1', __STAMP: 1, size: 5 };
    const sql = await run('POST', '/rest/Note?$method=update', change);
    const update = (queries['update'] as Emitted)(db, 1, 1, { size: 5, __TIMESTAMP: '' });
    expect(sql).toContain(`${update.compile().sql} and `);
  });

  it('deletes entities by the emitted delete', async () => {
    const sql = await run('POST', '/rest/Note(3)?$method=delete');
    const deletion = (queries['remove'] as Emitted)(db, [1]).compile().sql;
    expect(sql).toContain(deletion.replace('(?)', ''));
  });
});

describe('A change of the emitted queries', () => {
  it('decides which entities exist for clients and for class code', async () => {
    const app = await changedServer({
      "return db.selectFrom('Note');":
        "return db.selectFrom('Note').where('Note.code', '!=', 'secret');",
    });
    try {
      await fill(app);
      const get = async (path: string): Promise<{ statusCode: number; body: string }> =>
        app.inject(`/rest/Note${path}`);
      for (const path of [
        '',
        '?$filter="size > 0"',
        '?$orderby="size desc"',
        '?$asArray=true',
        '(1)/children?$expand=children',
        '?$method=entityset',
        '/codes',
      ]) {
        const { statusCode, body } = await get(path);
        expect(statusCode, body).toBe(200);
        expect(body, path).toMatch(/"c"/);
        expect(body, path).not.toContain('secret');
      }
      expect((await get('')).body).toContain('"__COUNT":2,');
      expect((await get('(2)')).statusCode).toBe(404);
      expect((await get(':code(secret)')).statusCode).toBe(404);
      expect((await get('/codeOf?$params="[2]"')).body).not.toContain('secret');
    } finally {
      await app.close();
    }
  });

  it('decides what is stored', async () => {
    const app = await changedServer({
      "return db.insertInto('Note').values(row);":
        "return db.insertInto('Note').values({ ...row, size: 7 });",
      '.set(changes)': '.set({ ...changes, size: 8 })',
      "    .where('Note.__STAMP', '=', stamp);": ';',
    });
    try {
      const [created] = await create(app, 'Note', [{ code: 'a', size: 1 }]);
      expect(created).toMatchObject({ size: 7 });
      const change = { __KEY: '1', __STAMP: 99, code: 'b' };
      const response = await app.inject({
        method: 'POST',
        url: '/rest/Note?$method=update',
        payload: JSON.stringify(change),
      });
      expect(response.json()).toMatchObject({ code: 'b', size: 8, __STAMP: 2 });
    } finally {
      await app.close();
    }
  });

  it('decides what an answer holds of an attribute', async () => {
    const app = await changedServer({ "row.column('size')": "row.column('ID')" });
    try {
      await fill(app);
      const response = await app.inject('/rest/Note(3)?$attributes=size');
      expect(response.json()).toMatchObject({ __KEY: '3', size: 3 });
      const second = await app.inject('/rest/Note(2)/size');
      expect(second.json()).toMatchObject({ size: 2 });
    } finally {
      await app.close();
    }
  });
});
