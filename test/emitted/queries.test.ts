import type { FastifyInstance } from 'fastify';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emitServer } from '../../generator/emit/emit-server.js';
import { type Dataclass, linkDataclasses } from '../../runtime/dataclass/dataclasses.js';
import { postgresDialect } from '../../runtime/dialect/postgres/dialect.js';
import { sqliteDialect } from '../../runtime/dialect/sqlite/dialect.js';
import type { DataclassDefinition } from '../../runtime/protocol/definition.js';
import { fold } from '../../runtime/protocol/fold.js';
import type {
  AnyRow,
  BuiltQuery,
  DataclassQueries,
  Select,
  SelectPage,
} from '../../runtime/protocol/queries.js';
import { entityStatement } from '../../runtime/query/entity-reader.js';
import { pageStatement } from '../../runtime/query/page.js';
import { queryContext } from '../../runtime/query/selection.js';
import { readParameters } from '../../runtime/query/parameters.js';
import { projectionOf } from '../../runtime/query/projection.js';
import { typedRuntime } from '../support/built-runtime.js';
import { importFrom } from '../support/compiled-server.js';
import { describeDatabases } from '../support/databases.js';
import { create, modelOf, packageRoot, serverOf, writeServer } from '../support/server.js';
import { typeErrors } from '../support/type-errors.js';

const model = `
drs: 1
name: queries
database: [sqlite, postgres]
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      code: { type: string, unique: true }
      size: number
      done: { type: boolean, mandatory: true, default: false }
      day: { type: date, dateOnly: true }
      picture: image
      parent: { to: Note, inverse: children }
      children: { to: Note, many: true, inverse: parent }
    functions:
      dataclass:
        codes: { exposed: true, onHTTPGet: true, returns: any }
        codeOf: { exposed: true, onHTTPGet: true, params: { key: integer }, returns: any }
  Remark:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      text: { type: string, mandatory: true }
      secret: string
      price: { type: decimal, scale: 2, unique: true }
      note: { to: Note }
      code: { alias: note.code }
      length: { computed: integer }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: readSecrets }]
  permissions:
    allowed: [{ applyTo: Remark.secret, type: attribute, read: [readSecrets] }]
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

const remarkClass = `
import { RemarkEntityBase } from '../generated/api.js';

export class RemarkEntity extends RemarkEntityBase {
  override get length(): number {
    return this.text.length;
  }
}
`;

const classes = {
  'src/classes/Note.ts': noteClass,
  'src/classes/RemarkEntity.ts': remarkClass,
};

const queriesFile = 'src/generated/queries/Note.ts';

/** The files of a server whose queries are changed; each text must exist. */
function changed(changes: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const input = { packageRoot, modelFileName: 'model.yaml' };
  const emitted = emitServer(modelOf(model), input).find(({ path }) => path === queriesFile);
  let text = emitted?.text ?? '';
  for (const [from, to] of Object.entries(changes)) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  return { ...classes, [queriesFile]: text };
}

async function changedServer(changes: Readonly<Record<string, string>>): Promise<FastifyInstance> {
  return serverOf(model, {}, changed(changes));
}

async function fill(app: FastifyInstance): Promise<void> {
  await create(app, 'Note', [
    { code: 'a', size: 1 },
    { code: 'secret', size: 2, parent: '1' },
    { code: 'c', size: 3, parent: '1' },
  ]);
}

const options = { pageSize: 100, dateOnlyFormat: 'iso', reportFormat: '4D' } as const;

describeDatabases('A request without parameters', ({ driver, create: createDatabase }) => {
  const dialect = driver === 'sqlite' ? sqliteDialect(fold) : postgresDialect(fold);
  const { db } = dialect;
  // PostgreSQL has better plans for the usual limits, SQLite the same one for any.
  const [top, skip] = driver === 'sqlite' ? [100, 0] : [sql.lit(100), sql.lit(0)];
  const statements: string[] = [];
  let app: FastifyInstance;
  let drop: () => Promise<void>;
  let dataclasses: ReadonlyMap<string, Dataclass>;
  let remark: string;

  beforeAll(async () => {
    const { url, drop: dropped } = await createDatabase();
    drop = dropped;
    const onStatement = (statement: string): number => statements.push(statement);
    app = await serverOf(model, { databaseUrl: url, onStatement }, classes);
    await fill(app);
    const [created] = await create(app, 'Remark', [{ text: 'x', price: '1.50', note: '1' }]);
    remark = String(created?.['__KEY']);
    const folder = writeServer(modelOf(model), classes);
    const { definitions } = (await importFrom(folder, 'src/generated/definitions')) as {
      readonly definitions: readonly DataclassDefinition[];
    };
    dataclasses = linkDataclasses(definitions.map(asGuestsSeeIt));
  });
  afterAll(async () => {
    await app.close();
    await drop();
  });

  /** A guest has no privilege. */
  function asGuestsSeeIt(definition: DataclassDefinition): DataclassDefinition {
    const attributes = definition.attributes.map((each) =>
      each.access?.read === undefined ? each : { ...each, exposed: false as const },
    );
    return { ...definition, attributes };
  }

  /** Its last statement. */
  async function run(method: 'GET' | 'POST', url: string, payload?: object): Promise<string> {
    statements.length = 0;
    const body = payload === undefined ? {} : { payload: JSON.stringify(payload) };
    const { statusCode, body: answer } = await app.inject({ method, url, ...body });
    expect(statusCode, answer).toBe(200);
    return statements.at(-1) ?? '';
  }

  function sqlOf(query: BuiltQuery | undefined): string {
    if (query === undefined) throw new Error('There is no such query.');
    return dialect.compile(query).sql;
  }

  function dataclass(name: string): Dataclass {
    return dataclasses.get(name) as Dataclass;
  }

  function projection(of: Dataclass): ReturnType<typeof projectionOf> {
    return projectionOf(of, undefined, { attributes: undefined }, undefined, {
      limits: { expandDepth: 3 },
    });
  }

  /** What the runtime lets an emitted query of one entity select. */
  function selectOf(name: string): Select<AnyRow> {
    const given = dataclass(name);
    let found: Select<AnyRow> | undefined;
    const byKey: DataclassQueries['byKey'] = (writer, _value, select) => {
      found = select;
      return given.queries.entities(writer);
    };
    const spied = { ...given, queries: { ...given.queries, byKey } };
    entityStatement(queryContext(dialect, options), spied, spied.key, projection(spied));
    if (found === undefined) throw new Error('The runtime calls byKey.');
    return found;
  }

  /** What the runtime lets an emitted query of a page select. */
  function selectPageOf(name: string): SelectPage<AnyRow> {
    const given = dataclass(name);
    let found: SelectPage<AnyRow> | undefined;
    const page: DataclassQueries['page'] = (_query, _top, _skip, select) => {
      found = select;
      return sql``;
    };
    const spied = { ...given, queries: { ...given.queries, page } };
    const none = { filter: undefined, nulls: [], patterns: [], mismatched: [] };
    const selection = { dataclass: spied, base: { kind: 'all' }, ...none } as const;
    const bounds = { name: undefined, within: undefined, top: 0, skip: 0 };
    const parameters = readParameters({}, 'read');
    const request = { format: 'collection', dataclass: spied, parameters } as const;
    const limits = { expandDepth: 3, maxPageSize: 100 };
    const context = { database: { dialect }, options, limits };
    pageStatement(context, request, { selection, order: [], bounds });
    if (found === undefined) throw new Error('The runtime calls page.');
    return found;
  }

  it('reads an entity by the emitted query of its key, and no other', async () => {
    const { queries } = dataclass('Note');
    await run('GET', '/rest/Note(1)');
    expect(statements).toEqual([sqlOf(queries.byKey(db, 1, selectOf('Note')))]);
  });

  it('reads an entity by the emitted query of a unique attribute, and no other', async () => {
    const { by } = dataclass('Note').queries;
    await run('GET', '/rest/Note:code(a)');
    expect(statements).toEqual([sqlOf(by['code']?.(db, 'a', selectOf('Note')))]);
  });

  it('reads a page by the emitted query of a page, and counts by the emitted count query', async () => {
    const { entities, page, count } = dataclass('Note').queries;
    await run('GET', '/rest/Note');
    const counted = sqlOf(count(entities(db)));
    const statement = sqlOf(page(entities(db), top, skip, selectPageOf('Note')));
    expect(statements).toEqual(
      driver === 'sqlite' ? [counted, statement] : [expect.stringContaining(`(${statement})`)],
    );
    if (driver === 'postgres') expect(statement).toContain(`(${counted})`);
  });

  it('reads what the session may read, with joins for aliases', async () => {
    const { entities, page, byKey } = dataclass('Remark').queries;
    await run('GET', `/rest/Remark(${remark})`);
    const one = sqlOf(byKey(db, remark, selectOf('Remark')));
    expect(statements[0]).toBe(one);
    await run('GET', '/rest/Remark');
    const all = sqlOf(page(entities(db), top, skip, selectPageOf('Remark')));
    expect(statements[driver === 'sqlite' ? 1 : 0]).toBe(all);
    for (const each of [one, all]) {
      expect(each).toMatch(/"text":.*"code":.* left join "Note" as /);
      expect(each).not.toContain('secret');
    }
  });

  it('reads a related page by the emitted query of the relation', async () => {
    const related = sqlOf(dataclass('Note').queries.of['parent']?.(db, 1));
    const statement = await run('GET', '/rest/Note(1)/children?$expand=children');
    expect(unnumbered(statement)).toContain(unnumbered(related).replace('select ', ''));
  });

  /** PostgreSQL's variables have numbers. */
  function unnumbered(statement: string): string {
    return statement.replaceAll(/\$\d+/g, '$');
  }

  // On PostgreSQL, a simple change is one statement with its answer.
  describe.runIf(driver === 'sqlite')('that changes an entity', () => {
    it('stores it by the emitted insert', async () => {
      await run('POST', '/rest/Note?$method=update', { code: 'new' });
      const columns = ['ID', 'code', 'size', 'done', 'day', 'picture', 'parent_id'];
      const all = [...columns, '__folded_code', '__STAMP', '__TIMESTAMP'];
      const row = Object.fromEntries(all.map((each) => [each, 1]));
      const { insert } = dataclass('Note').queries;
      expect(statements).toContain(sqlOf(insert(db, row)));
    });

    it('changes it by the emitted update', async () => {
      await run('POST', '/rest/Note?$method=update', { __KEY: '1', __STAMP: 1, size: 5 });
      const { update } = dataclass('Note').queries;
      const start = sqlOf(update(db, 1, 1, { size: 5, __TIMESTAMP: '' }));
      expect(statements.join('\n')).toContain(`${start} and `);
    });

    it('deletes it by the emitted delete', async () => {
      await run('POST', '/rest/Note(3)?$method=delete');
      const deletion = sqlOf(dataclass('Note').queries.remove(db, sql`()`));
      expect(statements.join('\n')).toContain(deletion.replace('()', ''));
    });
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
    const app = await changedServer({ "row.number('size')": "row.number('ID')" });
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

it('An emitted query that does not fit its table is an error of the compiler', async () => {
  const files = changed({
    "row.number('size')": "row.number('sise')",
    "'Note.ID', '='": "'Note.IDs', '='",
  });
  const folder = writeServer(modelOf(model), files, await typedRuntime());
  const errors = typeErrors(folder, {}, (file) => file.endsWith(queriesFile));
  expect(errors).toEqual([expect.stringContaining('sise'), expect.stringContaining('Note.IDs')]);
});
