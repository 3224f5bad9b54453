import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { plannedSteps } from '../../generator/migration/steps.js';
import { compiledServer } from '../support/compiled-server.js';
import { describeDatabases } from '../support/databases.js';
import type { TestDatabase } from '../support/postgres.js';
import { type EndedCommand, runHere } from '../support/processes/run-here.js';
import { create, modelOf, packageRoot, serverOf, writeServer } from '../support/server.js';
import { itOnOne } from '../support/long.js';

type Written = Readonly<Record<string, string>>;

/** A migration with these steps. */
function migration(steps: string, from = '1'): string {
  return `import type { Migration } from '#runtime/definition';
import { decide } from '#runtime/migrations';
export const migration: Migration = { from: '${from}', to: '2', steps: [${steps}] };
export const open = decide;
`;
}

const first = 'src/migrations/0001-first.ts';
const second = 'src/migrations/0002-second.ts';

describeDatabases('A migration', (databases) => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await databases.create();
  });
  afterEach(async () => {
    await database.drop();
  });

  const modelWith = (attributes: string, others = ''): string => `
drs: 1
name: migrated
database: ${databases.driver}
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
${attributes}
${others}`;

  const serving = async (
    model: string,
    use: (app: FastifyInstance) => Promise<void> = () => Promise.resolve(),
    written: Written = {},
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

  const program = (model: string, written: Written): string =>
    join(compiledServer(writeServer(modelOf(model), written)), 'dist/src/migrate.js');

  /** Runs `node dist/src/migrate.js`, in this process. */
  const migrate = (
    model: string,
    written: Written,
    args: readonly string[] = [],
  ): Promise<EndedCommand> => {
    const environment = { DATABASE_URL: database.url };
    return runHere(program(model, written), args, { cwd: packageRoot, environment });
  };

  /** Runs `node dist/src/migrate.js` in a process of its own. */
  const migrateApart = (
    model: string,
    written: Written,
    whenOutput: (text: string, kill: () => void) => void = () => undefined,
  ): Promise<EndedCommand> =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, [program(model, written)], {
        env: { ...process.env, DATABASE_URL: database.url },
      });
      let out = '';
      let err = '';
      child.stdout.on('data', (data: Buffer) => {
        out += data.toString();
        whenOutput(out, () => child.kill('SIGKILL'));
      });
      child.stderr.on('data', (data: Buffer) => (err += data.toString()));
      child.on('close', (code) => {
        resolve({ code, out, err });
      });
    });

  const createPeople =
    (...list: readonly object[]) =>
    async (app: FastifyInstance): Promise<void> => {
      await create(app, 'Person', list);
    };

  const people = async (app: FastifyInstance, query = ''): Promise<readonly object[]> => {
    const response = await app.inject(`/rest/Person?$orderby=ID&$top=5000${query}`);
    expect([response.statusCode, response.body]).toEqual([200, response.body]);
    return response.json<{ __ENTITIES: object[] }>().__ENTITIES;
  };

  itOnOne(databases)(
    'fills rows by a function before a rule becomes tighter, raises stamps, and runs once',
    async () => {
      const older = modelWith('      fullName: string\n      role: { type: string, enum: [a, b] }');
      const newer = modelWith(`      fullName: string
      lastName: { type: string, mandatory: true, indexed: true }
      role: { type: string, enum: [a, c] }`);
      await serving(older, async (app) => {
        const many = Array.from({ length: 1203 }, (_, index) => ({
          fullName: `Ann Élan${index}`,
          role: 'b',
        }));
        await create(app, 'Person', [...many, { fullName: 'Zoe Zed', role: 'a' }]);
      });
      // Without a migration the start is refused because of the rows.
      await expect(serving(newer)).rejects.toThrow(/lastName/);
      const steps = `{ kind: 'fill', table: 'Person', where: '"lastName" IS NULL', set: (row: { fullName: string }) => ({ lastName: row.fullName.split(' ')[1] ?? '' }) },
      { kind: 'fill', table: 'Person', where: "\\"role\\" = 'b'", set: { role: "'c'" } }`;
      const written = { [first]: migration(steps) };
      await expect(serving(newer, undefined, written, { MIGRATE: 'off' })).rejects.toThrow(
        /MIGRATE is off, and these steps of migrations have not run: 0001-first: fill "Person"/,
      );
      for (let start = 1; start <= 2; start += 1) {
        await serving(
          newer,
          async (app) => {
            expect(await people(app, `&$filter="lastName = 'élan7'"`)).toMatchObject([
              { ID: 8, lastName: 'Élan7', role: 'c', __STAMP: 3 },
            ]);
            expect(await people(app, `&$filter="role = 'c'"`)).toHaveLength(1203);
            const refused = await app.inject({
              method: 'POST',
              url: '/rest/Person?$method=update',
              payload: '{"fullName":"x"}',
            });
            expect(refused.body).toMatch(/lastName must not be null/);
          },
          written,
        );
      }
    },
  );

  itOnOne(databases)(
    'converts values only by the command, and an older server does not run afterwards',
    async () => {
      const older = modelWith('      zip: { type: integer, unique: true }\n      born: date');
      const newer = modelWith(
        '      zip: { type: string, unique: true, maxLength: 9 }\n      born: { type: date, dateOnly: true }',
      );
      await serving(older, async (app) => {
        await create(app, 'Person', [
          { zip: 8000, born: '2001-02-03T00:00:00.000Z' },
          { zip: null, born: '2001-02-03T10:00:00.000Z' },
        ]);
      });
      await expect(serving(newer)).rejects.toThrow(/npx drs-gen migrate/);
      const steps = (atMost: string): string =>
        `{ kind: 'convert', table: 'Person', column: 'zip', value: { sqlite: 'CAST("zip" AS TEXT)', postgres: 'CAST("zip" AS text)' } },
      { kind: 'convert', table: 'Person', column: 'born', value: 'substr("born", 1, 10)', loses: '"born" NOT LIKE \\'%T00:00:00.000Z\\'', ${atMost} }`;
      const strict = { [first]: migration(steps('')) };
      await expect(serving(newer, undefined, strict)).rejects.toThrow(
        /0001-first has to convert "Person"\."zip".*node dist\/src\/migrate\.js/s,
      );
      // Nothing has changed yet.
      await serving(older, async (app) => {
        expect(await people(app)).toMatchObject([{ zip: 8000 }, { zip: null }]);
      });
      const stopped = await migrateApart(newer, strict);
      expect(stopped.code).toBe(1);
      expect(stopped.err).toMatch(
        /1 value would be lost or changed, and atMost allows 0\. .*Write atMost: 1/,
      );
      const written = { [first]: migration(steps('atMost: 1')) };
      expect(await migrate(newer, written)).toMatchObject({ code: 0, err: '' });
      await serving(
        newer,
        async (app) => {
          expect(await people(app)).toMatchObject([
            { zip: '8000', born: '2001-02-03', __STAMP: 3 },
            { zip: null, born: '2001-02-03' },
          ]);
          expect(await people(app, `&$filter="zip = '8000'"`)).toHaveLength(1);
        },
        written,
      );
      await expect(serving(older)).rejects.toThrow(/zip/);
    },
  );

  itOnOne(databases)('converts values once when two run at the same time', async () => {
    const older = modelWith('      price: integer');
    const newer = modelWith('      price: number');
    await serving(older, createPeople({ price: 7 }));
    const step = `{ kind: 'convert', table: 'Person', column: 'price', value: '"price" * 100.0' }`;
    const written = { [first]: migration(step) };
    const both = await Promise.all([migrateApart(newer, written), migrateApart(newer, written)]);
    expect(both.map(({ code, err }) => ({ code, err }))).toEqual([
      { code: 0, err: '' },
      { code: 0, err: '' },
    ]);
    await serving(
      newer,
      async (app) => {
        expect(await people(app)).toMatchObject([{ price: 700 }]);
      },
      written,
    );
  });

  itOnOne(databases)(
    'drops what nothing uses when atMost allows the loss, and a later model can add it again',
    async () => {
      const older = modelWith(
        '      fax: { type: string, indexed: true }\n      name: string',
        '  Old:\n    attributes:\n      ID: { type: integer, key: true }\n',
      );
      const newer = modelWith('      name: string');
      await serving(older, async (app) => {
        await create(app, 'Person', [{ fax: '1', name: 'Ann' }, { fax: '2' }, { name: 'Bob' }]);
        await create(app, 'Old', [{ ID: 1 }]);
      });
      const steps = (fax: string, old: string): Written => ({
        [first]: migration(
          `{ kind: 'drop', table: 'Person', column: 'fax'${fax} }, { kind: 'drop', table: 'Old'${old} }`,
        ),
      });
      await serving(newer, undefined, steps('', ''));
      const waiting = await migrate(newer, steps('', ''));
      expect(waiting).toMatchObject({ code: 0 });
      expect(waiting.out).toMatch(/waits\. 2 values would be lost: write atMost: 2/);
      expect(waiting.out).toMatch(/waits\. 1 row would be lost: write atMost: 1/);
      const planned = await migrate(newer, steps('', ''), ['--plan']);
      expect(planned.out).toBe(
        `Migration 0001-first: drop "Person"."fax": 2 values would be lost.
Migration 0001-first: drop table "Old": 1 row would be lost.
`,
      );
      const tooFew = await migrate(newer, steps(', atMost: 1', ''));
      expect(tooFew).toMatchObject({ code: 1 });
      expect(tooFew.err).toMatch(/2 values would be lost, and atMost allows 1/);
      // The former server runs until then.
      await serving(older, async (app) => {
        expect(await people(app)).toMatchObject([{ fax: '1' }, { fax: '2' }, { fax: null }]);
      });
      const written = steps(', atMost: 2', ', atMost: 1');
      expect(await migrate(newer, written)).toMatchObject({ code: 0, err: '' });
      await expect(serving(older)).rejects.toThrow(/fax/);
      await serving(newer, undefined, written);
      // One version later and back: the looser rules of the later version stay.
      const later = modelWith('      name: { type: string, enum: [Ann, Bob, Cid] }');
      const latest = modelWith('      name: { type: string, enum: [Ann, Bob, Cid, Dan] }');
      for (const each of [later, latest]) await serving(each, undefined, written);
      const rules = await databases.run(database.url, databases.schema);
      await serving(later, undefined, written);
      expect(await databases.run(database.url, databases.schema)).toEqual(rules);
      await serving(newer, undefined, written);
      expect(await databases.run(database.url, databases.schema)).toEqual(rules);
      const again = modelWith('      fax: { type: string, indexed: true }\n      name: string');
      await serving(
        again,
        async (app) => {
          expect(await people(app)).toMatchObject([
            { fax: null, name: 'Ann' },
            {},
            { name: 'Bob' },
          ]);
        },
        written,
      );
    },
  );

  itOnOne(databases)('drops a part that a later step renamed while the drop waited', async () => {
    const old =
      '  Old:\n    attributes:\n      ID: { type: integer, key: true }\n      fax: string\n';
    await serving(modelWith('      name: string', old), async (app) => {
      await create(app, 'Old', [{ ID: 1, fax: '12' }]);
    });
    const newer = modelWith(
      '      name: string',
      '  New:\n    attributes:\n      ID: { type: integer, key: true }\n',
    );
    const drop = (atMost: string): Written => ({
      [first]: migration(`{ kind: 'drop', table: 'Old', column: 'fax'${atMost} }`),
      [second]: migration(`{ kind: 'rename', table: 'Old', to: 'New' }`, '2'),
    });
    expect(await migrate(newer, drop(''))).toMatchObject({ code: 0, err: '' });
    const { code, out } = await migrate(newer, drop(', atMost: 1'));
    expect([code, out]).toEqual([0, expect.stringContaining('drop "New"."fax": done')]);
    expect((await migrate(newer, drop(', atMost: 1'), ['--plan'])).out).not.toContain('fax');
  });

  itOnOne(databases)(
    'refuses to remove something while a server of another model runs',
    async () => {
      const older = modelWith('      fax: string');
      const newer = modelWith('      name: string');
      const written = {
        [first]: migration(`{ kind: 'drop', table: 'Person', column: 'fax', atMost: 9 }`),
      };
      await serving(older, async (app) => {
        await create(app, 'Person', [{ fax: '1' }]);
        const refused = await migrate(newer, written);
        expect(refused).toMatchObject({ code: 1 });
        expect(refused.err).toMatch(/a server of another model has used the database/);
        expect(await people(app)).toMatchObject([{ fax: '1' }]);
      });
      expect(await migrate(newer, written)).toMatchObject({ code: 0, err: '' });
    },
  );

  itOnOne(databases)(
    'is not refused for a step that can wait while a server of another model runs',
    async () => {
      const older = modelWith('      fax: string');
      const newer = modelWith('      name: string');
      const written = {
        [first]: migration(
          `{ kind: 'drop', table: 'Person', column: 'fax' }, { kind: 'fill', table: 'Person', set: { name: "'x'" } }`,
        ),
      };
      await serving(older, async (app) => {
        await create(app, 'Person', [{ fax: '1' }]);
        const waiting = await migrate(newer, written);
        expect(waiting).toMatchObject({ code: 0, err: '' });
        expect(waiting.out).toMatch(/waits\. 1 value would be lost: write atMost: 1/);
        expect(waiting.out).toMatch(/fill "Person": done, 1 row/);
      });
    },
  );

  itOnOne(databases)('skips a drop of what the model uses again, now and later', async () => {
    const personWith = (attributes: string, others = ''): string =>
      modelWith(`      name: string\n${attributes}`, others);
    const old = '  Old:\n    attributes:\n      ID: { type: integer, key: true }\n';
    const used = personWith('      fax: string', old);
    await serving(used, async (app) => {
      await create(app, 'Person', [{ fax: '1' }]);
      await create(app, 'Old', [{ ID: 1 }]);
    });
    const written = {
      [first]: migration(
        `{ kind: 'drop', table: 'Person', column: 'fax', atMost: 9 },
        { kind: 'drop', table: 'Old', atMost: 9 },
        { kind: 'fill', table: 'Person', set: { name: "'x'" } }`,
      ),
    };
    const planned = await migrate(used, written, ['--plan']);
    expect(planned.out)
      .toBe(`Migration 0001-first: drop "Person"."fax": skipped, because the model uses the column.
Migration 0001-first: drop table "Old": skipped, because the model uses the table.
Migration 0001-first: fill "Person": 1 row.
`);
    const done = await migrate(used, written);
    expect(done).toMatchObject({ code: 0, err: '' });
    expect(done.out).toContain(
      'drop "Person"."fax": skipped, because the model uses the column.\n',
    );
    expect(done.out).toContain('fill "Person": done, 1 row.\n');
    await serving(
      used,
      async (app) => {
        expect(await people(app)).toMatchObject([{ fax: '1', name: 'x' }]);
      },
      written,
    );
    // Nobody has allowed the present values to be dropped.
    expect(await migrate(personWith(''), written)).toMatchObject({ code: 0, err: '' });
    await serving(used, async (app) => {
      expect(await people(app)).toMatchObject([{ fax: '1' }]);
    });
  });

  itOnOne(databases)(
    'keeps no record of the former type of a column that was dropped or renamed',
    async () => {
      await serving(modelWith('      born: date\n      fax: date'), createPeople({ born: null }));
      const steps = `{ kind: 'drop', table: 'Person', column: 'born', atMost: 0 }, { kind: 'rename', table: 'Person', column: 'fax', to: 'telefax' }`;
      const written = { [first]: migration(steps) };
      expect(await migrate(modelWith('      telefax: date'), written)).toMatchObject({
        code: 0,
        err: '',
      });
      // These columns have the types of the former ones, and other values.
      const again = modelWith('      telefax: date\n      born: string\n      fax: string');
      await serving(again, createPeople({ born: 'x', fax: 'y' }), written);
      const other = modelWith('      telefax: string\n      born: string\n      fax: string');
      await expect(serving(other, undefined, written)).rejects.toThrow(
        /column "telefax" are those of date, the model wants string/,
      );
    },
  );

  itOnOne(databases)(
    'renames an indexed text together with its column of folded text',
    async () => {
      const others = (table: string): string =>
        `  ${table}:\n    attributes:\n      ID: { type: integer, key: true }\n      label: { type: string, indexed: true }\n      person: { to: Person }\n`;
      const older = modelWith(
        '      fax: { type: string, unique: true, maxLength: 9 }\n      loud: { computed: string, expression: upper(fax) }',
        others('Old'),
      );
      const newer = modelWith(
        '      telefax: { type: string, unique: true, maxLength: 9 }\n      loud: { computed: string, expression: upper(telefax) }',
        others('New'),
      );
      await serving(older, async (app) => {
        await create(app, 'Person', [{ fax: 'Élan' }]);
        await create(app, 'Old', [{ ID: 1, label: 'É', person: { __KEY: '1' } }]);
      });
      const steps = `{ kind: 'rename', table: 'Old', to: 'New' }, { kind: 'rename', table: 'Person', column: 'fax', to: 'telefax' }`;
      const written = { [first]: migration(steps) };
      expect(await migrate(newer, written)).toMatchObject({ code: 0, err: '' });
      await serving(
        newer,
        async (app) => {
          await create(app, 'Person', [{ telefax: 'Ulm' }]);
          expect(await people(app, `&$filter="telefax = 'élan'"`)).toMatchObject([
            { ID: 1, telefax: 'Élan', loud: 'ÉLAN' },
          ]);
          expect(await people(app, `&$filter="telefax = 'ULM'"`)).toHaveLength(1);
          const found = await app.inject(`/rest/New?$filter="label = 'é'"`);
          expect(found.json()).toMatchObject({
            __ENTITIES: [{ ID: 1, person: { __deferred: { __KEY: '1' } } }],
          });
        },
        written,
      );
    },
  );

  itOnOne(databases)(
    'renames a text that is no longer indexed, together with the parts that older servers need',
    async () => {
      const indexed = modelWith('      fax: { type: string, indexed: true }');
      const written = {
        [first]: migration(`{ kind: 'rename', table: 'Person', column: 'fax', to: 'telefax' }`),
      };
      await serving(indexed, createPeople({ fax: 'Élan' }));
      await serving(modelWith('      fax: string'), createPeople({ fax: 'b' }));
      const renamed = modelWith('      telefax: string');
      expect(await migrate(renamed, written)).toMatchObject({ code: 0, err: '' });
      await serving(renamed, createPeople({ telefax: 'Ä' }), written);
      await serving(
        modelWith('      telefax: { type: string, indexed: true }'),
        async (app) => {
          expect(await people(app, `&$filter="telefax = 'ä'"`)).toMatchObject([{ ID: 3 }]);
          expect(await people(app, `&$filter="telefax = 'élan'"`)).toMatchObject([{ ID: 1 }]);
        },
        written,
      );
    },
  );

  itOnOne(databases)('renames nothing to a name that is in use', async () => {
    await serving(
      modelWith('      fax: string\n      telefax: string'),
      createPeople({ fax: '1' }),
    );
    const step = `{ kind: 'rename', table: 'Person', column: 'fax', to: 'telefax' }`;
    const refused = await migrate(modelWith('      telefax: string'), { [first]: migration(step) });
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toMatch(/step 1 .*: there is a column "telefax" already\. Drop the one/);
  });

  itOnOne(databases)('cannot change the type of a key', async () => {
    const keyed = (type: string): string =>
      modelWith(
        '      badge: { to: Badge }',
        `  Badge:\n    attributes:\n      ID: { type: ${type}, key: true }\n`,
      );
    for (const [from, to] of [
      ['uuid', 'integer'],
      ['string', 'uuid'],
    ] as const) {
      await database.drop();
      database = await databases.create();
      await serving(keyed(from));
      const error: unknown = await serving(keyed(to)).catch((reason: unknown) => reason);
      expect(String(error)).toMatch(/No migration changes a key/);
      expect(String(error)).not.toMatch(/drs-gen migrate/);
    }
  });

  itOnOne(databases)(
    'finds all but one of the rows with the same value, in the way the index compares',
    async () => {
      const older = modelWith(
        '      code: string\n      size: integer\n      club: string\n      place: string',
      );
      const newer = modelWith(
        '      code: { type: string, unique: true }\n      size: { type: integer, unique: true }\n      club: string\n      place: string\n    indexes: [{ unique: true, attributes: [club, place] }]',
      );
      await serving(older, async (app) => {
        const codes = ['É', 'b', 'é', null, 'B', null, 'ß'];
        await create(
          app,
          'Person',
          codes.map((code, at) => ({
            code,
            size: at % 6,
            club: at % 2 === 0 ? 'x' : 'X',
            place: at === 6 ? 'z' : 'y',
          })),
        );
      });
      await expect(serving(newer)).rejects.toThrow(/must be unique.*npx drs-gen migrate/s);
      const planned = plannedSteps(modelOf(older), modelOf(newer)).map((step) => {
        if (step.kind !== 'fill') throw new Error(step.kind);
        const set = step.column === 'size' ? '"size" + 100' : `"${step.column}" || "ID"`;
        return JSON.stringify({
          kind: 'fill',
          table: step.table,
          where: step.where,
          set: { [step.column]: set },
        });
      });
      const written = { [first]: migration(planned.join(', ')) };
      await serving(
        newer,
        async (app) => {
          const all = await people(app);
          expect(all.map((each) => (each as { code: string | null }).code)).toEqual([
            'É',
            'b',
            'é3',
            null,
            'B5',
            null,
            'ß',
          ]);
          expect(all.map((each) => (each as { size: number }).size)).toEqual([
            0, 1, 2, 3, 4, 5, 100,
          ]);
          expect(all.map((each) => (each as { place: string }).place)).toEqual([
            'y',
            'y2',
            'y3',
            'y4',
            'y5',
            'y6',
            'z',
          ]);
        },
        written,
      );
    },
  );

  itOnOne(databases)(
    'converts decimals from one scale to another, and from and to other types',
    async () => {
      const older = modelWith(`
      number: number
      wider: { type: decimal, precision: 8, scale: 2 }
      narrower: { type: decimal, precision: 18, scale: 4 }
      whole: integer
      double: { type: decimal, precision: 18, scale: 2 }
      text: { type: decimal, precision: 10, scale: 3 }
      floor: { type: decimal, scale: 2 }`);
      const newer = modelWith(`
      number: { type: decimal, precision: 8, scale: 2 }
      wider: { type: decimal, precision: 18, scale: 12 }
      narrower: { type: decimal, precision: 8, scale: 2 }
      whole: { type: decimal, precision: 6, scale: 1 }
      double: number
      text: string
      floor: integer`);
      const kept = {
        number: -1234.1,
        wider: '-999999.99',
        narrower: '-12.3400',
        whole: -99999,
        double: '-9999999999999.99',
        text: '-0.050',
        floor: '-7.00',
      };
      const changed = {
        number: 1.005,
        wider: '0.01',
        narrower: '-0.0050',
        whole: 7,
        double: '0.01',
        text: '12.500',
        floor: '-7.99',
      };
      const lost = {
        number: 1e6,
        narrower: '1000000.0000',
        whole: 100_000,
        double: '1234567890123456.78',
      };
      await serving(older, async (app) => {
        await create(app, 'Person', [kept, changed, lost]);
      });
      await expect(serving(newer)).rejects.toThrow(/npx drs-gen migrate/);
      const allowed: Readonly<Record<string, number>> = {
        number: 2,
        narrower: 2,
        whole: 1,
        double: 1,
        floor: 1,
      };
      const planned = plannedSteps(modelOf(older), modelOf(newer)).map((step) => {
        if (step.kind !== 'convert' || step.value === undefined) throw new Error(step.kind);
        const { kind, table, column, value, loses } = step;
        return { kind, table, column, value, loses };
      });
      const refused = await migrate(newer, {
        [first]: migration(planned.map((each) => JSON.stringify(each)).join(', ')),
      });
      expect(refused.code).toBe(1);
      expect(refused.err).toContain('2 values would be lost or changed');
      const accepted = planned.map((each) =>
        JSON.stringify({ ...each, atMost: allowed[each.column] }),
      );
      const written = { [first]: migration(accepted.join(', ')) };
      expect(await migrate(newer, written)).toMatchObject({ code: 0 });
      await serving(
        newer,
        async (app) => {
          const common = { __STAMP: expect.any(Number) as number };
          expect(await people(app)).toMatchObject([
            {
              ...common,
              number: '-1234.10',
              wider: '-999999.990000000000',
              narrower: '-12.34',
              whole: '-99999.0',
              double: -9999999999999.99,
              text: '-0.050',
              floor: -7,
            },
            {
              number: expect.stringMatching(/^1\.0[01]$/) as string,
              wider: '0.010000000000',
              narrower: '-0.01',
              whole: '7.0',
              double: 0.01,
              text: '12.500',
              floor: -7,
            },
            { number: null, narrower: null, whole: null, double: 1234567890123456.8 },
          ]);
        },
        written,
      );
    },
  );

  itOnOne(databases)(
    'is not needed for another precision of a decimal, which a start checks',
    async () => {
      const model = (precision: number, rule = ''): string =>
        modelWith(`      amount: { type: decimal, precision: ${precision}, scale: 2${rule} }`);
      await serving(model(6), async (app) => {
        await create(app, 'Person', [{ amount: '9999.99' }, { amount: null }]);
      });
      await serving(model(18, ', min: "-0.5", default: "0.25"'), async (app) => {
        await create(app, 'Person', [{ amount: '1000000.00' }, {}]);
      });
      await expect(serving(model(7))).rejects.toThrow(
        /is new, and 1 row breaks it.*npx drs-gen migrate/s,
      );
      await expect(serving(model(8))).rejects.toThrow(/1 row breaks it/);
      await serving(model(9), async (app) => {
        expect(await people(app)).toMatchObject([
          { amount: '9999.99' },
          { amount: null },
          { amount: '1000000.00' },
          { amount: '0.25' },
        ]);
      });
      // A server of the first model finds its database again.
      await serving(model(18));
    },
  );

  itOnOne(databases)(
    'continues after kill -9 in the middle of a fill, and fills each row once',
    async () => {
      const older = modelWith('      amount: integer');
      const newer = modelWith('      amount: integer\n      note: string');
      await serving(older, async (app) => {
        const many = Array.from({ length: 1000 }, (_, index) => ({ amount: index }));
        for (let i = 0; i < 4; i += 1) await create(app, 'Person', many);
      });
      // An addition would reveal a row that was filled twice.
      const slow = `{ kind: 'fill', table: 'Person', set: (row: { ID: number; amount: number }) => { if (row.ID % 500 === 1) process.stdout.write('batch\\n'); return { amount: row.amount + 10000 }; } }`;
      const written = {
        [first]: migration(slow),
        [second]: migration(`{ kind: 'fill', table: 'Person', set: { note: "'done'" } }`, '2'),
      };
      let isKilled = false;
      const killed = await migrateApart(newer, written, (text, kill) => {
        if (text.split('batch').length > 4) {
          isKilled = true;
          kill();
        }
      });
      expect([isKilled, killed.code]).toEqual([true, null]);
      expect(await migrate(newer, written)).toMatchObject({ code: 0, err: '' });
      await serving(
        newer,
        async (app) => {
          const all = await people(app);
          const sums = all.map((each) => (each as { amount: number }).amount);
          expect(sums).toEqual(Array.from({ length: 4000 }, (_, i) => 10000 + (i % 1000)));
          expect(await people(app, `&$filter="note = 'done'"`)).toHaveLength(4000);
        },
        written,
      );
    },
  );

  itOnOne(databases)(
    'reports the rows that no step decides about, and does nothing in a new database',
    async () => {
      const older = modelWith('      name: string');
      const newer = modelWith('      name: { type: string, mandatory: true }');
      const written = {
        [first]: migration(
          `{ kind: 'fill', table: 'Person', where: '"name" IS NULL', set: (row: object) => ({ name: decide('Person.name', row) }) }`,
        ),
      };
      await serving(newer, createPeople({ name: 'x' }), written);
      await serving(newer, undefined, written);
      await database.drop();
      database = await databases.create();
      await serving(older, createPeople({ name: null }));
      await expect(serving(newer, undefined, written)).rejects.toThrow(
        /0001-first stopped at step 1.*no value has been decided for Person\.name\. The row: \{"ID":1/s,
      );
      await serving(older, async (app) => {
        expect(await people(app)).toMatchObject([{ name: null }]);
      });
    },
  );

  it.runIf(databases.driver === 'postgres')(
    'lets a server start whose database user may change no table',
    async () => {
      const model = modelWith('      amount: integer');
      const step = `{ kind: 'fill', table: 'Person', set: { amount: '"amount" + 1' } }`;
      const written = { [first]: migration(step) };
      await serving(model, createPeople({ amount: 1 }));
      await serving(model, undefined, written);
      const user = new URL(database.url);
      user.username = `drs_user_${randomBytes(8).toString('hex')}`;
      for (const sql of [
        `create role ${user.username} login password '${user.password}'`,
        `grant select, insert, update, delete on all tables in schema public to ${user.username}`,
        `grant usage on all sequences in schema public to ${user.username}`,
      ]) {
        await databases.run(database.url, sql);
      }
      const advice = /(GRANT USAGE ON SCHEMA .*?;) (GRANT SELECT.*?;) or set STATE=memory/;
      const refused = await serverOf(model, { databaseUrl: user.href }, written).then(
        () => 'started',
        (error: unknown) => String(error),
      );
      const [, ...grants] = advice.exec(refused) ?? [];
      expect(grants, refused).toHaveLength(2);
      for (const sql of grants) {
        await databases.run(database.url, sql.replace('<user>', user.username));
      }
      for (const mode of ['auto', 'check', 'off']) {
        const environment = { MIGRATE: mode };
        const app = await serverOf(model, { databaseUrl: user.href, environment }, written);
        await createPeople({ amount: 5 })(app);
        await app.close();
      }
      await serving(model, async (app) => {
        expect(await people(app)).toMatchObject([2, 5, 5, 5].map((amount) => ({ amount })));
      });
      await databases.run(database.url, `drop owned by ${user.username}`);
      await databases.run(database.url, `drop role ${user.username}`);
    },
  );
});
