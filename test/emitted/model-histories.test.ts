import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { compiledServer } from '../support/compiled-server.js';
import { describeDatabases } from '../support/databases.js';
import { GeneratedFiles } from '../support/generated-files.js';
import type { TestDatabase } from '../support/postgres.js';
import { type EndedCommand, runHere } from '../support/processes/run-here.js';
import { isLong, itLong, itOnOne } from '../support/long.js';
import { create, modelOf, packageRoot, serverOf, writeServer } from '../support/server.js';

/** Histories of models, as teams have them; `property/histories.test.ts` draws random ones. */
describeDatabases('A history in which', (databases) => {
  let database: TestDatabase;
  let files: GeneratedFiles;

  beforeEach(async () => {
    database = await databases.create();
    files = new GeneratedFiles();
  });
  afterEach(async () => {
    await database.drop();
  });

  const yaml = (dataclasses: Readonly<Record<string, readonly string[]>>): string => {
    const bodies = Object.entries(dataclasses).map(([name, lines]) => {
      const own = lines.filter((each) => each.startsWith('renamedFrom'));
      const attributes = lines.filter((each) => !own.includes(each));
      return [
        `  ${name}:`,
        ...own.map((each) => `    ${each}`),
        '    attributes:',
        '      ID: { type: integer, key: true, generated: sequence }',
        ...attributes.map((each) => `      ${each}`),
      ].join('\n');
    });
    return `drs: 1\nname: history\ndatabase: ${databases.driver}\ndataclasses:\n${bodies.join('\n')}\n`;
  };

  /** Generates the server, starts it, and uses it. */
  const served = async (
    model: string,
    use: (app: FastifyInstance) => Promise<void> = () => Promise.resolve(),
  ): Promise<void> => {
    await files.generate(model);
    await started(model, use);
  };

  const started = async (
    model: string,
    use: (app: FastifyInstance) => Promise<void> = () => Promise.resolve(),
  ): Promise<void> => {
    const app = await serverOf(model, { databaseUrl: database.url }, files.migrations);
    try {
      await use(app);
    } finally {
      await app.close();
    }
  };

  const migrate = (model: string, ...args: readonly string[]): Promise<EndedCommand> => {
    const server = compiledServer(writeServer(modelOf(model), files.migrations));
    const environment = { DATABASE_URL: database.url };
    return runHere(join(server, 'dist/src/migrate.js'), args, { cwd: packageRoot, environment });
  };

  const stored =
    (dataclass: string, ...entities: readonly object[]) =>
    async (app: FastifyInstance): Promise<void> => {
      await create(app, dataclass, entities);
    };

  const columnsOf = async (table: string): Promise<readonly unknown[]> => {
    const sql =
      databases.driver === 'sqlite'
        ? `select name from pragma_table_info('${table}')`
        : `select attname from pg_attribute where attrelid = '"${table}"'::regclass and not attisdropped`;
    return (await databases.run(database.url, sql)).flat();
  };

  const valuesOf = async (app: FastifyInstance, dataclass: string): Promise<readonly object[]> => {
    const { __ENTITIES: entities } = (await app.inject(`/rest/${dataclass}?$orderby=ID`)).json<{
      readonly __ENTITIES: readonly Record<string, unknown>[];
    }>();
    return entities.map((each) =>
      Object.fromEntries(Object.entries(each).filter(([name]) => !/^(?:__|ID$)/.test(name))),
    );
  };

  /** A model before and after a rename whose renamedFrom is written a version late. */
  const late = (
    of: (name: string, more?: string) => string,
  ): { readonly before: string; readonly forgotten: string; readonly now: string } => ({
    before: of('fax'),
    forgotten: of('phone'),
    now: of('phone', 'renamedFrom: fax'),
  });

  it.each([['before', false], ...(isLong ? [['after', true] as const] : [])] as const)(
    'a renamedFrom was forgotten, and a migration moves what was stored under the new name: %s a start',
    async (_when, isStarted) => {
      const { before, forgotten, now } = late((name, more = '') =>
        yaml({ Shop: ['name: string', `${name}: { type: string, unique: true, ${more} }`] }),
      );
      const both = database;
      const onlyNew = await databases.create();
      const onlyOld = await databases.create();
      try {
        await served(before, stored('Shop', { name: 'a', fax: 'Old' }, { name: 'b' }));
        database = onlyOld;
        await started(before, stored('Shop', { name: 'a', fax: 'Old' }));
        await files.generate(forgotten);
        for (const each of [both, onlyNew]) {
          database = each;
          await started(forgotten, stored('Shop', { name: 'c', phone: 'New' }));
        }
        const step = { kind: 'rename', table: 'Shop', column: 'phone', to: 'fax', mayExist: true };
        expect((await files.generate(now)).open).toEqual([step]);
        // A start adds the column; the migration moves the values later.
        if (isStarted) await started(now);
        expect((await files.generate(now, { removed: [] })).open).toEqual([step]);
        for (const [each, phones, plan] of [
          [onlyOld, ['Old'], 'unnecessary, because the database has no column "phone"'],
          [onlyNew, ['New'], isStarted ? '1 value would be moved' : 'no row is changed'],
          [both, ['Old', null, 'New'], '1 value would be moved'],
        ] as const) {
          database = each;
          expect((await migrate(now, '--plan')).out).toContain(plan);
          expect(await migrate(now)).toMatchObject({ code: 0 });
          await started(now, async (app) => {
            expect((await valuesOf(app, 'Shop')).map((of) => 'phone' in of && of.phone)).toEqual(
              phones,
            );
            expect(await columnsOf('Shop')).not.toContain('phone');
            const found = await app.inject('/rest/Shop:phone(nEW)');
            expect(found.statusCode).toBe(each === onlyOld ? 404 : 200);
          });
        }
      } finally {
        database = both;
        await onlyNew.drop();
        await onlyOld.drop();
      }
    },
  );

  itOnOne(databases)(
    'a start was refused for a forgotten renamedFrom, and the conversion before it still runs',
    async () => {
      const of = (name: string, type: string, ...more: readonly string[]): string =>
        yaml({ [name]: [...more, `code: ${type}`] });
      await served(of('Lots', 'integer'), stored('Lots', { code: 7 }));
      await files.generate(of('Lots', 'string'), { removed: [] });
      await files.generate(of('Lot', 'string'));
      await expect(started(of('Lot', 'string'))).rejects.toThrow('renamedFrom: Lots');
      const now = of('Lot', 'string', 'renamedFrom: Lots');
      await files.generate(now);
      await expect(started(now)).rejects.toThrow('has to convert "Lots"."code"');
      expect(await migrate(now)).toMatchObject({ code: 0 });
      await started(now, async (app) => {
        expect(await valuesOf(app, 'Lot')).toEqual([{ code: '7' }]);
      });
    },
  );

  itOnOne(databases)(
    'a renamedFrom was forgotten, and a row has a value under both names',
    async () => {
      const { before, forgotten, now } = late((name, more = '') =>
        yaml({ Shop: ['name: string', `${name}: { type: string, ${more} }`] }),
      );
      await served(before, stored('Shop', { name: 'a', fax: 'old' }));
      await served(forgotten, stored('Shop', { __KEY: '1', __STAMP: 1, phone: 'new' }));
      await files.generate(now, { removed: [] });
      const conflict = '"phone" and "fax" have different values in 1 row';
      expect((await migrate(now, '--plan')).out).toContain(conflict);
      const { code, err } = await migrate(now);
      expect([code, err]).toEqual([1, expect.stringContaining(conflict)]);
      const [, found = ''] = /SELECT \* FROM ("Shop" WHERE .*?)\. Set the one/.exec(err) ?? [];
      expect(await databases.run(database.url, `select count(*) from ${found}`)).toEqual([[1]]);
      await databases.run(database.url, 'update "Shop" set "fax" = null');
      expect(await migrate(now)).toMatchObject({ code: 0 });
      await started(now, async (app) => {
        expect(await valuesOf(app, 'Shop')).toEqual([{ name: 'a', phone: 'new' }]);
      });
    },
  );

  itOnOne(databases)(
    'the renamedFrom of a dataclass was forgotten, and databases have the new table',
    async () => {
      const of = (name: string, ...more: readonly string[]): string =>
        yaml({ [name]: [...more, 'text: string'] });
      const both = database;
      const onlyNew = await databases.create();
      try {
        await served(of('Notes'), stored('Notes', { text: 'old' }));
        await files.generate(of('Note'));
        database = onlyNew;
        await started(of('Note'), stored('Note', { text: 'new' }));
        const { open } = await files.generate(of('Note'), { removed: ['Notes'] });
        expect(open).toEqual([{ kind: 'drop', table: 'Notes' }]);
        files.edit('src/migrations/0001-drop-notes.ts', (text) =>
          text.replace("table: 'Notes'", "table: 'Notes', atMost: 9"),
        );
        const now = of('Note', 'renamedFrom: Notes');
        await files.generate(now);
        database = onlyNew;
        await expect(started(now)).rejects.toThrow(
          'which writes a migration that renames the table',
        );
        await files.generate(now, { removed: [] });
        for (const [each, text] of [
          [both, 'old'],
          [onlyNew, 'new'],
        ] as const) {
          database = each;
          expect(await migrate(now)).toMatchObject({ code: 0 });
          await started(now, async (app) => {
            expect(await valuesOf(app, 'Note')).toEqual([{ text }]);
          });
        }
      } finally {
        database = both;
        await onlyNew.drop();
      }
    },
  );

  itOnOne(databases)(
    'an attribute was removed years ago hides no step of a dataclass that came later',
    async () => {
      await served(yaml({ Shop: ['name: string', 'fax: string'] }));
      const codes = [7, 7, 7].map((code) => ({ code, label: `l${String(code)}`, kind: 'old' }));
      await served(
        yaml({
          Shop: ['name: string'],
          Status: ['code: integer', 'label: string', 'kind: string'],
        }),
        stored('Status', ...codes),
      );
      const stricter = yaml({
        Shop: ['name: string'],
        Status: [
          'code: { type: integer, unique: true }',
          'label: { type: string, maxLength: 1 }',
          'kind: { type: string, enum: [new] }',
        ],
      });
      const listed = (await files.generate(stricter)).open.map(({ kind, column }) => [
        kind,
        column,
      ]);
      expect(listed).toEqual([
        ['fill', 'code'],
        ['fill', 'label'],
        ['fill', 'kind'],
        ['drop', 'fax'],
      ]);
      await expect(started(stricter)).rejects.toThrow('npx drs-gen migrate');
      const { written = '' } = await files.generate(stricter, { removed: [] });
      files.edit(written, (text) =>
        text
          .replace(
            "() => ({ code: migrations.decide('Status.code') })",
            '(row: StatusRow) => ({ code: row.ID })',
          )
          .replace("migrations.decide('Status.label')", "'x'")
          .replace("migrations.decide('Status.kind')", "'new'"),
      );
      await started(stricter, async (app) => {
        expect(await valuesOf(app, 'Status')).toEqual([
          { code: 7, label: 'x', kind: 'new' },
          { code: 2, label: 'x', kind: 'new' },
          { code: 3, label: 'x', kind: 'new' },
        ]);
      });
    },
  );

  itOnOne(databases)(
    'a renamedFrom was forgotten and remembered, and the next rename came before the migration',
    async () => {
      const of = (name: string, more = ''): string =>
        yaml({ Shop: ['name: string', `${name}: { type: string${more} }`] });
      await served(of('fax'), stored('Shop', { name: 'a', fax: 'Old' }));
      await served(of('phone'), stored('Shop', { name: 'b', phone: 'New' }));
      await files.generate(of('phone', ', renamedFrom: fax'));
      const now = of('mobile', ', renamedFrom: [fax, phone]');
      const step = { kind: 'rename', table: 'Shop', column: 'phone', to: 'fax', mayExist: true };
      expect((await files.generate(now, { removed: [] })).open).toEqual([step]);
      expect(await migrate(now)).toMatchObject({ code: 0 });
      await started(now, async (app) => {
        expect(await valuesOf(app, 'Shop')).toEqual([
          { name: 'a', mobile: 'Old' },
          { name: 'b', mobile: 'New' },
        ]);
      });
    },
  );

  itOnOne(databases)(
    'a database skipped a conversion and a fill of what the model has lost since',
    async () => {
      const of = (...code: readonly string[]): string => yaml({ Lot: ['name: string', ...code] });
      await served(
        of('code: integer'),
        stored('Lot', { name: 'a', code: 7 }, { name: 'b', code: 7 }),
      );
      await files.generate(of('code: string'), { removed: [] });
      const { written = '' } = await files.generate(of('code: { type: string, unique: true }'), {
        removed: [],
      });
      files.edit(written, (text) => text.replace(/migrations\.decide\('[^']*'\)/, 'null'));
      const last = of();
      await files.generate(last);
      const plan = await migrate(last, '--plan');
      expect([plan.code, plan.out]).toEqual([
        0,
        expect.stringContaining('unnecessary, because the model no longer has the column'),
      ]);
      await started(last, async (app) => {
        expect(await valuesOf(app, 'Lot')).toEqual([{ name: 'a' }, { name: 'b' }]);
      });
    },
  );

  it('a table got a new name that was forgotten, after the model had lost most of its columns', async () => {
    await served(
      yaml({ Lots: ['city: string', 'fax: string', 'level: integer'] }),
      stored('Lots', { city: 'Ulm', level: 3 }),
    );
    const now = yaml({ Lot: ['level: integer'] });
    await files.generate(now);
    await expect(started(now)).rejects.toThrow('renamedFrom: Lots');
    // What has another name is another thing.
    await started(yaml({ Grade: ['level: integer'] }));
  });

  itOnOne(databases)(
    'a database skipped the version that added what the next one converts',
    async () => {
      const first = yaml({ Lot: ['name: string'] });
      await served(first, stored('Lot', { name: 'a' }));
      await files.generate(yaml({ Lot: ['name: string', 'status: string'] }));
      const third = yaml({ Lot: ['name: string', 'status: integer'] });
      const { written = '' } = await files.generate(third, { removed: [] });
      files.edit(written, (text) =>
        text.replace(/migrations\.decide\('the SQL of [^']*'\)/, '\'CAST("status" AS integer)\''),
      );
      const plan = await migrate(third, '--plan');
      expect([plan.code, plan.out]).toEqual([
        0,
        expect.stringContaining(
          'convert "Lot"."status": unnecessary, because the database has no column "status".',
        ),
      ]);
      await started(third, async (app) => {
        expect(await valuesOf(app, 'Lot')).toEqual([{ name: 'a', status: null }]);
      });
    },
  );

  itOnOne(databases)('a database never had the name that a migration renames', async () => {
    await served(yaml({ Lot: ['name: string'] }), stored('Lot', { name: 'a' }));
    await files.generate(yaml({ Lot: ['name: string', 'fax: string'] }));
    const last = yaml({ Lot: ['name: string', 'phone: string'] });
    await files.generate(
      yaml({ Lot: ['name: string', 'phone: { type: string, renamedFrom: fax }'] }),
    );
    const { open } = await files.generate(last, { removed: [] });
    expect(open).toMatchObject([{ kind: 'rename', column: 'fax', to: 'phone' }]);
    await started(last, async (app) => {
      expect(await valuesOf(app, 'Lot')).toEqual([{ name: 'a', phone: null }]);
    });
  });

  itOnOne(databases)('a fill for a later name meets a database of before', async () => {
    await served(yaml({ Lot: ['name: string'] }), stored('Lot', { name: 'a' }));
    const status = 'status: { type: string, mandatory: true }';
    const { written = '' } = await files.generate(yaml({ Lot: ['name: string', status] }), {
      removed: [],
    });
    files.edit(written, (text) => text.replace("migrations.decide('Lot.status')", "'12'"));
    const state = yaml({
      Lot: ['name: string', 'state: { type: string, mandatory: true, renamedFrom: status }'],
    });
    await files.generate(state);
    await files.generate(state.replace(', renamedFrom: status', ''), { removed: [] });
    const last = yaml({ Lot: ['name: string', 'state: { type: integer, mandatory: true }'] });
    await files.generate(last, { removed: [] });
    const ended = await migrate(last);
    expect([ended.code, ended.err]).toEqual([0, ended.err]);
    await started(last, async (app) => {
      expect(await valuesOf(app, 'Lot')).toEqual([{ name: 'a', state: 12 }]);
    });
  });

  itOnOne(databases)(
    'a rename of dataclasses was forgotten, and told one after the other',
    async () => {
      const [actions, notes] = [
        ['what: string', 'size: integer'],
        ['text: string', 'size: integer'],
      ];
      await served(yaml({ Actions: actions, Notes: notes, Empty: [] }), async (app) => {
        await create(app, 'Actions', [{ what: 'a', size: 1 }]);
        await create(app, 'Notes', [{ text: 'n', size: 2 }]);
        await create(app, 'Empty', [{}]);
      });
      const renamed = yaml({ Action: actions, Note: notes, Empty: [] });
      const review = await files.generate(renamed, { removed: [] });
      expect(review.written).toBeUndefined();
      expect(review.doubts.map(({ name, now, line }) => [name, now, line])).toEqual([
        ['Actions', 'Action', 'renamedFrom: Actions'],
        ['Notes', 'Note', 'renamedFrom: Notes'],
      ]);
      const said = await started(renamed).catch((error: unknown) => String(error));
      expect(said).toMatch(/"Actions" has 1 row .* "Action", [^]* "Notes" has 1 row .* "Note",/);
      const remembered = yaml({
        Action: ['renamedFrom: Actions', ...actions],
        Note: ['renamedFrom: Notes', ...notes],
        Empty: [],
      });
      await served(remembered, async (app) => {
        expect(await valuesOf(app, 'Action')).toEqual([{ what: 'a', size: 1 }]);
        expect(await valuesOf(app, 'Note')).toEqual([{ text: 'n', size: 2 }]);
      });
      // For databases that had the new tables.
      expect((await files.generate(remembered, { removed: [] })).open).toEqual([
        { kind: 'rename', table: 'Action', to: 'Actions', mayExist: true },
        { kind: 'rename', table: 'Note', to: 'Notes', mayExist: true },
      ]);
    },
  );

  itOnOne(databases)('a table was said to be removed, and turns out to be renamed', async () => {
    const comments = ['content: string', 'size: integer'];
    await served(
      yaml({ Comments: comments }),
      stored('Comments', { content: 'a', size: 1 }, { content: 'b', size: 2 }),
    );
    const renamed = yaml({ Comment: comments });
    await files.generate(renamed);
    const { written = '' } = await files.generate(renamed, { removed: ['Comments'] });
    files.edit(written, (text) =>
      text.replace("table: 'Comments' }", "table: 'Comments', atMost: 3 }"),
    );
    const remembered = yaml({ Comment: ['renamedFrom: Comments', ...comments] });
    // The last run had a dataclass of this name with a table of its own, which this database never had.
    await files.generate(remembered, { removed: [] });
    const ended = await migrate(remembered);
    expect([ended.code, ended.err]).toEqual([0, ended.err]);
    expect(ended.out).toContain(
      'drop table "Comments": skipped, because the model uses the table.',
    );
    await started(remembered, async (app) => {
      expect(await valuesOf(app, 'Comment')).toEqual([
        { content: 'a', size: 1 },
        { content: 'b', size: 2 },
      ]);
    });
  });

  itOnOne(databases)(
    'a relation was removed together with the old name of its target',
    async () => {
      await files.generate(
        yaml({ Company: [], Emp: ['name: string', 'employer: { to: Company }'] }),
      );
      const now = yaml({ Firm: ['renamedFrom: Company'], Emp: ['name: string'] });
      await files.generate(now);
      const { open } = await files.generate(now, { removed: [] });
      expect(open).toMatchObject([{ kind: 'drop', table: 'Emp', column: 'employer_id' }]);
    },
  );

  itOnOne(databases)(
    'an attribute came back with another type, while its drop waited',
    async () => {
      await served(yaml({ Shop: ['fax: integer'] }), stored('Shop', { fax: 7 }));
      await files.generate(yaml({ Shop: [] }), { removed: [] });
      const back = yaml({ Shop: ['fax: string'] });
      const { open } = await files.generate(back, { removed: [] });
      expect(open).toMatchObject([{ kind: 'convert', column: 'fax' }]);
      const ended = await migrate(back);
      expect([ended.code, ended.err]).toEqual([0, ended.err]);
      await started(back, async (app) => {
        expect(await valuesOf(app, 'Shop')).toEqual([{ fax: '7' }]);
      });
    },
  );

  itOnOne(databases)('an attribute got the name and the column of a dropped one', async () => {
    await served(yaml({ Shop: ['a: string', 'b: integer'] }), stored('Shop', { a: 'old', b: 7 }));
    const { written = '' } = await files.generate(yaml({ Shop: ['b: integer'] }), { removed: [] });
    files.edit(written, (text) => text.replace("column: 'a' }", "column: 'a', atMost: 1 }"));
    await files.generate(yaml({ Shop: ['a: { type: integer, renamedFrom: b }'] }));
    const last = yaml({ Shop: ['a: integer'] });
    await files.generate(last, { removed: [] });
    const ended = await migrate(last);
    expect([ended.code, ended.err]).toEqual([0, ended.err]);
    await started(last, async (app) => {
      expect(await valuesOf(app, 'Shop')).toEqual([{ a: 7 }]);
    });
  });

  itOnOne(databases)('an attribute that a migration fills got a default later', async () => {
    await served(yaml({ Emp: ['name: string'] }), stored('Emp', { name: 'a' }));
    await files.generate(
      yaml({ Emp: ['name: string', 'country: { type: string, mandatory: true }'] }),
      {
        removed: [],
      },
    );
    await served(
      yaml({ Emp: ['name: string', 'country: { type: string, mandatory: true, default: CH }'] }),
      async (app) => {
        expect(await valuesOf(app, 'Emp')).toEqual([{ name: 'a', country: 'CH' }]);
      },
    );
  });

  itOnOne(databases)('an indexed text was renamed after a fill of its table', async () => {
    await served(
      yaml({ Emp: ['name: { type: string, indexed: true }'] }),
      stored('Emp', { name: 'a' }),
    );
    const b = 'b: { type: string, mandatory: true }';
    const { written = '' } = await files.generate(
      yaml({ Emp: ['name: { type: string, indexed: true }', b] }),
      { removed: [] },
    );
    files.edit(written, (text) => text.replace("migrations.decide('Emp.b')", "'x'"));
    await files.generate(
      yaml({ Emp: ['label: { type: string, indexed: true, renamedFrom: name }', b] }),
    );
    const last = yaml({ Emp: ['label: { type: string, indexed: true }', b] });
    await files.generate(last, { removed: [] });
    const ended = await migrate(last);
    expect([ended.code, ended.err]).toEqual([0, ended.err]);
    await started(last, async (app) => {
      expect(await valuesOf(app, 'Emp')).toEqual([{ label: 'a', b: 'x' }]);
    });
  });

  /** A part of every project: places with people, some of which lead others. */
  const project = (
    size: number,
    part: (at: number) => { readonly name: string; readonly lines: readonly string[] } | undefined,
  ): string => {
    const parts = Array.from({ length: size }, (_, at) => part(at)).filter(
      (each) => each !== undefined,
    );
    return yaml(Object.fromEntries(parts.map(({ name, lines }) => [name, lines])));
  };

  // The sizes of public projects.
  for (const size of [4, 16, 40, 60, 140]) {
    const run = size > 16 ? itLong : itOnOne(databases);
    run(`${String(size)} dataclasses are renamed, retyped and removed over the years`, async () => {
      const isRenamed = (at: number): boolean => at % 4 === 1;
      const isRetyped = (at: number): boolean => at % 3 === 2;
      const isRemoved = (at: number): boolean => at % 8 === 3;
      const nameOf = (at: number): string => (isRenamed(at) ? `Team${at}` : `Teams${at}`);
      const first = project(size, (at) => ({
        name: `Teams${at}`,
        lines: ['title: string', 'amount: integer', 'manager: integer'],
      }));
      await served(first, async (app) => {
        for (let at = 0; at < size; at += 1) {
          await create(app, `Teams${at}`, [{ title: `t${at}`, amount: at, manager: 7 }]);
        }
      });
      // A version that no database meets.
      const second = project(size, (at) =>
        isRemoved(at)
          ? undefined
          : {
              name: nameOf(at),
              lines: [
                ...(isRenamed(at) ? [`renamedFrom: Teams${at}`] : []),
                'title: string',
                'amount: integer',
                'manager_ID: { type: integer, renamedFrom: manager }',
              ],
            },
      );
      await files.generate(second);
      const third = project(size, (at) =>
        isRemoved(at)
          ? undefined
          : {
              name: nameOf(at),
              lines: [
                ...(isRenamed(at) ? [`renamedFrom: Teams${at}`] : []),
                'title: { type: string, unique: true, maxLength: 9 }',
                `amount: ${isRetyped(at) ? 'string' : 'integer'}`,
                'manager_ID: { type: integer, renamedFrom: manager }',
                'level: { type: string, enum: [low, high], default: low, mandatory: true }',
              ],
            },
      );
      await files.generate(third, { removed: [] });
      const ended = await migrate(third);
      expect([ended.code, ended.err]).toEqual([0, ended.err]);
      await started(third, async (app) => {
        for (let at = 0; at < size; at += 1) {
          if (isRemoved(at)) continue;
          expect(await valuesOf(app, nameOf(at))).toEqual([
            {
              title: `t${at}`,
              amount: isRetyped(at) ? String(at) : at,
              manager_ID: 7,
              level: 'low',
            },
          ]);
        }
      });
      expect((await files.generate(third)).open.every(({ kind }) => kind === 'drop')).toBe(true);
    });
  }
});
