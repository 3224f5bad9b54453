import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeDatabases, type TestDatabases } from '../../support/databases.js';
import type { TestDatabase } from '../../support/postgres.js';
import { create, serverOf } from '../../support/server.js';
import { casesOn, itOnOne } from '../../support/long.js';

/**
 * A model that changes while its data stays: servers of both models start alternately on one
 * database.
 */
const former = `
drs: 1
name: staff
database: [sqlite, postgres]
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, mandatory: true, maxLength: 12 }
      city: { type: string, indexed: true }
      kind: { type: string, enum: [firm, club] }
      size: { type: integer, min: 0, max: 500 }
      active: { type: boolean }
      founded: { type: date, dateOnly: true }
      fax: { type: string, indexed: true }
      label: { computed: string, expression: "name || '!'" }
      chief: { to: Person }
      staff: { to: Person, many: true, inverse: employer }
  Person:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      lastName: { type: string, mandatory: true, unique: true }
      employer: { to: Company }
`;

function changed(from: string, to: string): string {
  expect(former).toContain(from);
  return former.replace(from, to);
}

function without(...lines: readonly string[]): string {
  return former
    .split('\n')
    .filter((line) => !lines.some((each) => line.startsWith(`      ${each}:`)))
    .join('\n');
}

const companies = 40;

let databases: TestDatabases;
let database: TestDatabase;

/** The attributes of the former model. */
let before: readonly Entity[] = [];
let people: readonly Entity[] = [];

/** `describe` on both databases, with one that the server of the former model has filled for each test. */
function describeBoth(name: string, tests: (given: TestDatabases) => void): void {
  describeDatabases(name, (given) => {
    const copies = given.copies((url) => {
      database = { url, drop: () => Promise.resolve() };
      return serving(former, fill).then(() => undefined);
    });
    beforeEach(async () => {
      databases = given;
      database = await copies();
    });
    afterEach(() => database.drop());
    tests(given);
  });
}

interface Entity {
  readonly __KEY: string;
  readonly __STAMP: number;
  readonly [attribute: string]: unknown;
}

/** @returns the log about the database */
async function serving(
  model: string,
  use: (app: FastifyInstance) => Promise<void> = () => Promise.resolve(),
  environment: Readonly<Record<string, string>> = {},
  logged: string[] = [],
): Promise<readonly string[]> {
  const stream = { write: (line: string) => void logged.push(line) };
  const app = await serverOf(model, {
    databaseUrl: database.url,
    environment,
    logger: { level: 'info', stream },
  });
  try {
    await use(app);
  } finally {
    await app.close();
  }
  return logged
    .map((line) => (JSON.parse(line) as { msg: string }).msg)
    .filter((message) =>
      /^In the database, (?!this )|older server|server is older|^MIGRATE/.test(message),
    );
}

async function save(app: FastifyInstance, dataclass: string, body: object): Promise<Entity> {
  const url = `/rest/${dataclass}?$method=update`;
  const entity = (await app.inject({ method: 'POST', url, body })).json<Entity>();
  expect(entity).not.toHaveProperty('__ERROR');
  return entity;
}

async function all(app: FastifyInstance, dataclass: string): Promise<readonly Entity[]> {
  const answer = await app.inject(`/rest/${dataclass}?$orderby=ID&$top=1000`);
  return answer.json<{ __ENTITIES: readonly Entity[] }>().__ENTITIES;
}

/** The answer to a filter, which uses an index if there is one. */
async function count(app: FastifyInstance, dataclass: string, filter: string): Promise<number> {
  const query = encodeURIComponent(`"${filter}"`);
  const answer = await app.inject(`/rest/${dataclass}?$filter=${query}`);
  return answer.json<{ __COUNT: number }>().__COUNT;
}

async function fill(app: FastifyInstance): Promise<void> {
  const numbers = Array.from({ length: companies }, (_, at) => at + 1);
  const made = await create(
    app,
    'Company',
    numbers.map((index) => ({
      name: `Größe ${index}`,
      city: index % 3 === 0 ? null : `ÉBÈNE ${index % 5}`,
      kind: index % 2 === 0 ? 'firm' : 'club',
      size: index,
      active: index % 2 === 0,
      founded: '2020-01-01',
      fax: `0${index}`,
    })),
  );
  const staff = await create(
    app,
    'Person',
    made.map(({ __KEY }, at) => ({ lastName: `P ${at + 1}`, employer: __KEY })),
  );
  await create(
    app,
    'Company',
    made.map(({ __KEY, __STAMP }, at) => ({ __KEY, __STAMP, chief: staff[at]?.['__KEY'] })),
  );
  before = await all(app, 'Company');
  people = await all(app, 'Person');
}

type Rows = readonly (readonly unknown[])[];

function read(text: string): Promise<Rows> {
  return databases.run(database.url, text);
}

async function run(...statements: readonly string[]): Promise<void> {
  for (const each of statements) await read(each);
}

function schemaOf(): Promise<Rows> {
  return read(databases.schema);
}

async function isSound(): Promise<void> {
  if (databases.driver === 'sqlite') {
    expect(await read('pragma integrity_check')).toEqual([['ok']]);
    expect(await read('pragma foreign_key_check')).toEqual([]);
  } else {
    // The rule with which PostgreSQL searched empty values is removed, too.
    const left = `select conname from pg_constraint where not convalidated
      or contype = 'c' and pg_get_constraintdef(oid) like '%IS NOT NULL%'`;
    expect(await read(left)).toEqual([]);
    expect(await read('select indexrelid from pg_index where not indisvalid')).toEqual([]);
  }
}

/** The attributes that both models have. */
function common(entities: readonly Entity[], others: readonly Entity[]): unknown {
  const names = new Set(Object.keys(others[0] ?? {}));
  return entities.map((each) =>
    Object.fromEntries(Object.entries(each).filter(([name]) => names.has(name))),
  );
}

interface Change {
  readonly what: string;
  readonly later: string;
  /** The messages of the start with the new model. */
  readonly says: readonly (string | RegExp)[];
  /** The attributes of former entities that the new model changes. */
  readonly filled?: Readonly<Record<string, unknown>>;
  /** An entity that only the new model accepts. */
  readonly accepts?: Readonly<Record<string, unknown>>;
}

const changes: readonly Change[] = [
  {
    what: 'a value of an enum is added',
    later: changed('[firm, club]', '[firm, club, union]'),
    says: [/the rule .*'club'[^']* is dropped/, /the rule .*'union'[^']* is added/],
    accepts: { kind: 'union' },
  },
  {
    what: 'a maxLength is raised',
    later: changed('maxLength: 12', 'maxLength: 20'),
    says: [/<= 12\)? is dropped/, /<= 20\)? is added/],
    accepts: { name: 'x'.repeat(20) },
  },
  {
    what: 'limits are loosened and dropped',
    later: changed('min: 0, max: 500', 'min: -5'),
    says: [/>= 0\)? is dropped/, /<= 500\)? is dropped/, />= .*5.* is added/],
    accepts: { size: -5 },
  },
  {
    what: 'an attribute is no longer mandatory',
    later: changed('mandatory: true, maxLength: 12', 'maxLength: 12'),
    says: ['table "Company": column "name" may be empty'],
    accepts: { name: null },
  },
  {
    what: 'an attribute becomes mandatory, and all rows have a value',
    later: changed('fax: { type: string', 'fax: { type: string, mandatory: true'),
    says: ['table "Company": column "fax" is mandatory'],
  },
  {
    what: 'a rule is tightened that all rows keep',
    later: changed('min: 0, max: 500', 'min: 1, max: 100'),
    says: [/>= 0\)? is dropped/, /<= 500\)? is dropped/, />= 1\)? is added/, /<= 100\)? is added/],
  },
  {
    what: 'an attribute becomes unique, and no values are equal',
    later: changed('fax: { type: string, indexed: true', 'fax: { type: string, unique: true'),
    says: ['table "Company": index "__Company.fax" is rebuilt'],
  },
  {
    what: 'an attribute becomes unique that was not looked up',
    later: changed('name: { type: string,', 'name: { type: string, unique: true,'),
    says: [/column "__folded_name" is added/, /index "__Company.name" is added/],
  },
  {
    what: 'an index over several attributes is added',
    later: changed('Company:\n', 'Company:\n    indexes: [[city, kind]]\n'),
    says: [/index "__Company.city,kind" is added/],
  },
  {
    what: 'a relation may lead nowhere',
    later: changed('chief: { to: Person }', 'chief: { to: Person, onDelete: none }'),
    says: ['table "Company": the foreign key "chief_id" to "Person" ("ID") is dropped'],
    accepts: { chief: '0'.repeat(32) },
  },
  {
    what: 'a relation is added that references another attribute than the key',
    later: changed('label:', 'head: { to: Person, references: lastName }\n      label:'),
    says: [
      'table "Company": column "head_id" is added',
      'table "Person": index "__Person.lastName as referenced" is added',
    ],
    filled: { head: null },
  },
  {
    what: 'an attribute is no longer unique',
    later: changed('mandatory: true, unique: true', 'mandatory: true'),
    says: ['table "Person": index "__Person.lastName" is dropped'],
    accepts: {},
  },
  {
    what: 'an index is added',
    later: changed('name: { type: string,', 'name: { type: string, indexed: true,'),
    says: [
      'table "Company": column "__folded_name" is added',
      'table "Company": index "__Company.name" is added',
      /"__folded_name" is filled for 40 rows/,
    ],
  },
  {
    what: 'an index is removed',
    later: changed('city: { type: string, indexed: true }', 'city: { type: string }'),
    says: ['table "Company": index "__Company.city" is dropped'],
  },
  {
    what: 'an optional attribute is added',
    later: changed('label:', 'rating: { type: integer, min: 0 }\n      label:'),
    says: ['table "Company": column "rating" is added'],
    filled: { rating: null },
    accepts: { rating: 3 },
  },
  {
    what: 'an attribute with a default is added',
    later: changed('label:', 'mood: { type: string, indexed: true, default: Ébène }\n      label:'),
    says: [
      /column "mood" is added, with 'Ébène'.* in each row/,
      /"__folded_mood" is added/,
      /index "__Company.mood" is added/,
    ],
    filled: { mood: 'Ébène' },
  },
  {
    what: 'a mandatory attribute with a default is added',
    later: changed(
      'label:',
      'paid: { type: boolean, mandatory: true, default: true }\n      label:',
    ),
    says: [/column "paid" is added, with .*1.* in each row/],
    filled: { paid: true },
  },
  {
    what: 'a default is changed',
    later: changed('kind: { type: string,', 'kind: { type: string, default: firm,'),
    says: [],
  },
  {
    what: 'the expression of a computed attribute is changed',
    later: changed(`name || '!'`, `name || '?'`),
    says: ['table "Company": column "label" is computed again for 40 rows'],
  },
  {
    what: 'a computed attribute is added and one is removed',
    later: changed(
      'label: { computed: string, expression',
      'title: { computed: string, expression',
    ),
    says: ['table "Company": column "title" is added'],
  },
  {
    what: 'an attribute is removed',
    later: without('fax'),
    says: [/column "fax" is kept with 40 values, and no attribute of the model uses it/],
  },
  {
    what: 'an attribute gets another name, and its renamedFrom is forgotten',
    later: changed('fax: ', 'phone: '),
    says: [
      /column "fax" is kept with 40 values.*"phone" has its values, .*: renamedFrom: fax/,
      'table "Company": column "phone" is added',
    ],
  },
  {
    what: 'a mandatory attribute is removed',
    later: without('name', 'label'),
    says: ['table "Company": column "name" may be empty', /column "name" is kept with 40 values/],
  },
  {
    what: 'a relation is removed, and what it referred to may be deleted',
    later: without('employer', 'staff'),
    says: [
      /foreign key "employer_id" to "Company" \("ID"\) is dropped/,
      /foreign key "employer_id" to "Company" \("ID"\) ON DELETE SET NULL.* is added/,
      /column "employer_id" is kept with 40 values/,
    ],
  },
  {
    what: 'a relation and a dataclass are added',
    later: `${changed('label:', 'country: { to: Country }\n      label:')}
  Country:
    attributes:
      ID: { type: string, key: true }
      companies: { to: Company, many: true, inverse: country }
`,
    says: ['table "Country" is added', /column "country_id" is added/, /index .*is added/],
  },
  {
    what: 'a dataclass is removed',
    later: without('chief', 'staff').replace(/ {2}Person:[^]*/, ''),
    says: [
      /foreign key "employer_id" .* is dropped/,
      /foreign key "employer_id" .* ON DELETE SET NULL.* is added/,
      /table "Person" is kept with 40 rows, and no dataclass of the model uses it/,
    ],
  },
];

describeBoth('A server of a changed model', (given) => {
  it.each(casesOn(given, changes))(
    'starts when $what',
    async ({ later, says, filled = {}, accepts }) => {
      const said = await serving(later, async (app) => {
        const found = await all(app, 'Company');
        const kept = common(before, found);
        const isComputed = /is computed again/.test(String(says));
        expect(common(found, before)).toEqual(
          isComputed
            ? found.map((each) => expect.objectContaining({ name: each['name'] }) as unknown)
            : kept,
        );
        for (const each of found) expect(each).toMatchObject(filled);
        if (accepts !== undefined) {
          const other = await save(app, 'Company', { name: 'new', ...accepts });
          await app.inject({ method: 'POST', url: `/rest/Company(${other.__KEY})?$method=delete` });
        }
      });
      for (const each of says) {
        expect(said).toContainEqual(
          typeof each === 'string' ? `In the database, ${each}.` : expect.stringMatching(each),
        );
      }
      const unexpected = said.filter(
        (each) => !/filled|is dropped|is added|is kept|another default/.test(each),
      );
      expect(unexpected.length).toBeLessThanOrEqual(says.length);
      await isSound();
      const schema = await schemaOf();
      // The second start changes nothing.
      expect(await serving(later)).toEqual([]);
      expect(await schemaOf()).toEqual(schema);
      expect(await read('select count(*) from "__schema"')).toEqual([[2]]);

      // The older server finds its data, writes, and does not change the schema.
      let added: Entity | undefined;
      const older = await serving(former, async (app) => {
        expect(withoutLabels(await all(app, 'Company'))).toEqual(withoutLabels(before));
        expect(await all(app, 'Person')).toEqual(people);
        expect(await count(app, 'Company', `city = 'ébène 1'`)).toBe(
          before.filter(({ city }) => city === 'ÉBÈNE 1').length,
        );
        added = await save(app, 'Company', { name: 'by older', kind: 'firm', size: 7, fax: 'f' });
        const { __KEY } = await save(app, 'Person', { lastName: 'older', employer: added.__KEY });
        expect(await count(app, 'Person', `lastName = 'OLDER'`)).toBe(1);
        await save(app, 'Company', { __KEY: added.__KEY, __STAMP: added.__STAMP, chief: __KEY });
      });
      expect(older).toContainEqual(
        expect.stringMatching(
          /^This server is older: another one migrated the database to a newer model at \d{4}-.*Z\.$/,
        ),
      );
      expect(await schemaOf()).toEqual(schema);
      const again = await serving(later, async (app) => {
        const found = await all(app, 'Company');
        expect(found).toHaveLength(companies + 1);
        expect(found.at(-1)).toMatchObject({ ...filled, __KEY: added?.__KEY });
        for (const each of Object.keys(filled).filter((name) => name === 'mood')) {
          expect(await count(app, 'Company', `${each} = 'éBÈNE'`)).toBe(companies + 1);
        }
      });
      expect(again.filter((each) => !each.includes('is filled'))).toEqual([]);
      expect(await schemaOf()).toEqual(schema);
      await isSound();
    },
  );
});

function withoutLabels(entities: readonly Entity[]): unknown {
  return entities.map((each) => ({ ...each, label: undefined }));
}

/** The message of a refused start, which has changed nothing. */
async function refusal(model: string): Promise<string> {
  const content = async (): Promise<unknown> => [
    await schemaOf(),
    await read('select * from "Company" order by "ID"'),
    await read('select * from "Person" order by "ID"'),
    await read('select * from "__datastore" order by "name"'),
    await read('select * from "__schema"'),
  ];
  const before = await content();
  const error = await serving(model).then(
    () => undefined,
    (reason: unknown) => reason as Error,
  );
  expect(error).toBeInstanceOf(Error);
  expect(await content()).toEqual(before);
  return error?.message ?? '';
}

/** The rows that the query of a message lists. */
function listed(message: string): Promise<Rows> {
  return read(/SELECT [^]*?;(?= -- lists them)/.exec(message)?.[0] ?? '');
}

const refusals = [
  {
    what: 'an attribute becomes mandatory, and rows have no value',
    later: changed('city: { type: string,', 'city: { type: string, mandatory: true,'),
    says: 'table "Company": column "city" is mandatory, and 13 rows have no value',
    lists: 13,
    remedy: `UPDATE "Company" SET "city" = 'none' WHERE "city" IS NULL`,
  },
  {
    what: 'an enum loses a value that rows have',
    later: changed('[firm, club]', '[firm]'),
    says: /the rule .*kind.*'firm'.* is new, and 20 rows break it/,
    lists: 20,
    remedy: `UPDATE "Company" SET "kind" = 'firm' WHERE "kind" = 'club'`,
  },
  {
    what: 'a limit is tightened, and one row breaks it',
    later: changed('max: 500', 'max: 39'),
    says: /the rule .*size"? <= 39\)? is new, and 1 row breaks it/,
    lists: 1,
    remedy: `UPDATE "Company" SET "size" = NULL WHERE "size" > 39`,
  },
  {
    what: 'an attribute becomes unique, and rows have equal values',
    later: changed('city: { type: string, indexed: true', 'city: { type: string, unique: true'),
    says: 'table "Company": "city" must be unique, and 27 rows have a value that another row has, too',
    lists: 5,
    remedy: `UPDATE "Company" SET "city" = 'C' || "ID"`,
  },
  {
    what: 'attributes become unique together, and rows have equal values',
    later: changed(
      'Company:\n',
      'Company:\n    indexes: [{ unique: true, attributes: [kind, city] }]\n',
    ),
    says: 'table "Company": "city" and "kind" must be unique together, and 27 rows have values that another row has, too',
    lists: 10,
    remedy: `UPDATE "Company" SET "city" = 'C' || "ID"`,
  },
  {
    what: 'an attribute becomes a relation to another attribute, and rows refer to nothing',
    later: changed(
      'label:',
      'faxed: { to: Person, foreignKey: fax, references: lastName }\n      label:',
    ),
    says: 'table "Company": column "fax" refers to table "Person", and 40 rows refer to nothing there',
    lists: 40,
    remedy: `UPDATE "Company" SET "fax" = NULL`,
  },
  {
    what: 'an attribute becomes a relation, and rows refer to nothing',
    later: changed('size: { type: integer, min: 0, max: 500 }', 'size: { type: integer }').replace(
      'label:',
      'mother: { to: Company, foreignKey: size }\n      label:',
    ),
    says: 'table "Company": column "size" refers to table "Company", and 1 row refers to nothing there',
    lists: 1,
    remedy: `UPDATE "Company" SET "size" = NULL WHERE "size" = 41`,
    before: `UPDATE "Company" SET "size" = 41 WHERE "size" = 40`,
  },
];

describeBoth('A server of a tighter model', (given) => {
  it.each(casesOn(given, refusals))(
    'is refused with the number of rows and a query when $what, and starts after the remedy',
    async ({ later, says, lists, remedy, before }) => {
      if (before !== undefined) await run(before);
      const message = await refusal(later);
      expect(message.replaceAll('\n', ' ')).toEqual(
        typeof says === 'string' ? expect.stringContaining(says) : expect.stringMatching(says),
      );
      expect(await listed(message)).toHaveLength(lists);
      await run(remedy);
      await serving(later, async (app) => {
        expect(await all(app, 'Company')).toHaveLength(companies);
      });
      await isSound();
      expect(await serving(later)).toEqual([]);
    },
  );
});

describeBoth('A server whose model needs more than a start changes', (given) => {
  itOnOne(given)('is refused when a mandatory attribute without a default is added', async () => {
    const line = 'owner: { type: string, mandatory: true }\n      label:';
    expect(await refusal(changed('label:', line))).toMatch(
      /column "owner" is mandatory, and 40 rows would have no value\n +Give the attribute a "default"/,
    );
    const optional = 'owner: { type: string }\n      label:';
    await serving(changed('label:', optional));
    await run(`UPDATE "Company" SET "owner" = 'somebody'`);
    await serving(changed('label:', line), async (app) => {
      const [first] = await all(app, 'Company');
      expect(first).toMatchObject({ owner: 'somebody' });
    });
  });

  itOnOne(given)(
    'starts when such an attribute is added to a dataclass without entities',
    async () => {
      await run('UPDATE "Company" SET "chief_id" = NULL', 'DELETE FROM "Person"');
      const later = changed(
        'employer:',
        'firstName: { type: string, mandatory: true }\n      employer:',
      );
      expect(await serving(later)).toEqual([
        'In the database, table "Person": column "firstName" is added.',
      ]);
      const older = await serving(former, async (app) => {
        const url = '/rest/Person?$method=update';
        const answer = await app.inject({ method: 'POST', url, body: { lastName: 'x' } });
        expect(answer.statusCode).toBeLessThan(500);
        expect(answer.json()).toHaveProperty('__ERROR');
      });
      expect(older.join('\n')).toContain(
        'An older server cannot add rows without a value that it does not know: table "Person": column "firstName".',
      );
    },
  );

  it('is refused when a type changes', async () => {
    const message = await refusal(
      changed('size: { type: integer, min: 0, max: 500 }', 'size: { type: string }'),
    );
    expect(message).toMatch(
      /values of column "size" are those of integer, the model wants string\n +Run "npx drs-gen migrate <model> -o <server>"/,
    );
  });

  itOnOne(given)('is refused when only the noted type of the values differs', async () => {
    const row = `"__form" WHERE "table" = 'Company' AND "column" = 'size'`;
    await run(`DELETE FROM ${row}`);
    await serving(former);
    expect(await read(`SELECT "form" FROM ${row}`)).toEqual([['integer']]);
    await run(`UPDATE ${row.replace(' WHERE', ` SET "form" = 'string' WHERE`)}`);
    expect(await refusal(former)).toMatch(
      /values of column "size" are those of string, the model wants integer/,
    );
  });

  itOnOne(given)(
    'is refused when clients are to set the keys that the database generated',
    async () => {
      expect(await refusal(changed('key: true, generated: sequence', 'key: true'))).toMatch(
        /the key "ID" are generated by the database, the model wants [^]*No migration changes a key/,
      );
    },
  );

  itOnOne(given)(
    'is refused when computed values would replace the values of an attribute',
    async () => {
      const message = await refusal(
        changed(
          'fax: { type: string, indexed: true }',
          `fax: { computed: string, expression: "city" }`,
        ),
      );
      expect(message).toMatch(/column "fax" holds 40 values, .*they would be lost\n +ALTER TABLE/);
      await run(/ALTER TABLE .*;/.exec(message)?.[0] ?? '');
      await serving(
        changed(
          'fax: { type: string, indexed: true }',
          `fax: { computed: string, expression: "city" }`,
        ),
        async (app) => {
          const [first] = await all(app, 'Company');
          expect(first?.['fax']).toBe(first?.['city']);
        },
      );
      expect(await read('select count("former fax") from "Company"')).toEqual([[40]]);
    },
  );

  itOnOne(given)(
    'is refused when a dataclass seems to have a new name, and starts with MIGRATE_KEEP',
    async () => {
      const renamed = former.replaceAll('Person', 'Human');
      expect(await refusal(renamed)).toMatch(
        /table "Person" has 40 rows and no dataclass.* "Human", .*\n.*renamedFrom: Person\n.*names the new table, run "npx drs-gen migrate .*\n.*MIGRATE_KEEP=Person/,
      );
      expect(await refusal(renamed)).toMatch(
        /"chief_id" refers to table "Human"[^]*add renamedFrom to it in the model; if the model has it .*npx drs-gen migrate/,
      );
      await run('UPDATE "Company" SET "chief_id" = NULL');
      const said = await serving(renamed, undefined, { MIGRATE_KEEP: 'Person' });
      expect(said.join('\n')).toContain('table "Person" is kept with 40 rows');
      expect(await serving(renamed)).toEqual([]);
      expect(await read('select count(*) from "Person"')).toEqual([[40]]);
    },
  );

  itOnOne(given)(
    'is refused with every difference at once, and with the changes that it would make itself',
    async () => {
      const message = await refusal(
        changed('city: { type: string,', 'city: { type: string, mandatory: true,')
          .replace('[firm, club]', '[firm]')
          .replace('label:', 'mood: { type: string }\n      label:'),
      );
      expect(message).toMatch(
        /"city" is mandatory[^]*"kind"[^]*makes these changes itself[^]*"mood" is added/,
      );
    },
  );
});

describeBoth('A server of an older model', (given) => {
  itOnOne(given)('is refused when something that it needs is missing', async () => {
    await serving(without('fax'));
    await run('DROP INDEX "__Company.fax"', 'ALTER TABLE "Company" DROP COLUMN "fax"');
    expect(await refusal(former)).toMatch(
      /table "Company": column "fax" is missing\n.*A server of a newer model has changed the database at/,
    );
    expect(await serving(without('fax'))).toEqual([]);
  });

  itOnOne(given)(
    'becomes the newest one when the newer entry in the journal is deleted',
    async () => {
      const later = changed('[firm, club]', '[firm, club, union]');
      await serving(later);
      await run('DELETE FROM "__schema" WHERE "position" = 1');
      const said = await serving(former);
      expect(said.join('\n')).toMatch(/the rule .*'union'[^']* is dropped/);
      expect(await serving(former)).toEqual([]);
    },
  );

  itOnOne(given)('stays the older one however often it is started', async () => {
    const later = changed('label:', 'mood: { type: string }\n      label:');
    await serving(later);
    for (let start = 0; start < 3; start += 1) {
      expect(await serving(former)).toEqual([expect.stringContaining('This server is older')]);
    }
    expect(await serving(later)).toEqual([]);
  });
});

describeBoth('An attribute that is renamed by its column', () => {
  it('keeps its values, and its index gets the new name', async () => {
    const later = changed(
      'fax: { type: string, indexed',
      'telefax: { type: string, column: fax, indexed',
    );
    const said = await serving(later, async (app) => {
      expect((await all(app, 'Company'))[0]).toMatchObject({ telefax: '01' });
    });
    expect(said).toEqual([
      'In the database, table "Company": index "__Company.fax" is dropped.',
      'In the database, table "Company": index "__Company.telefax" is added.',
    ]);
    expect(await serving(later)).toEqual([]);
  });
});

describeBoth('A row with a value in an unused column', (given) => {
  itOnOne(given)('does not prevent the deletion of what it refers to', async () => {
    await serving(without('employer', 'staff'), async (app) => {
      const url = '/rest/Company(1)?$method=delete';
      await app.inject({ method: 'POST', url });
      expect(await all(app, 'Company')).toHaveLength(companies - 1);
    });
    expect(await read('select count(*) from "Person" where "employer_id" is null')).toEqual([[1]]);
    await isSound();
  });

  itOnOne(given)('does not prevent it when its whole table is unused', async () => {
    await serving(without('chief', 'staff').replace(/ {2}Person:[^]*/, ''), async (app) => {
      await app.inject({ method: 'POST', url: '/rest/Company(1)?$method=delete' });
      expect(await all(app, 'Company')).toHaveLength(companies - 1);
    });
    expect(await read('select count(*) from "Person" where "employer_id" is null')).toEqual([[1]]);
    await isSound();
  });
});

describeBoth('A relation that references another attribute than the key', (given) => {
  itOnOne(given)(
    'is removed with its foreign key in the database, and its rows keep their values',
    async () => {
      const withHead = changed(
        'label:',
        'head: { to: Person, references: lastName, onDelete: restrict }\n      label:',
      );
      await serving(withHead, async (app) => {
        const [company] = await all(app, 'Company');
        const [person] = await all(app, 'Person');
        const { __KEY, __STAMP } = company as Entity;
        await create(app, 'Company', [{ __KEY, __STAMP, head: person?.__KEY }]);
      });
      const logged = await serving(changed('label:', 'mood: string\n      label:'));
      expect(logged.join('\n')).toMatch(
        /foreign key "head_id" to "Person" \("lastName"\) is dropped[^]*index "__Person.lastName as referenced" is dropped/,
      );
      await serving(changed('label:', 'mood: string\n      label:'), async (app) => {
        await app.inject({
          method: 'POST',
          url: '/rest/Person?$filter="ID != null"&$method=delete',
        });
        expect(await all(app, 'Person')).toEqual([]);
      });
      expect(await read('select count("head_id") from "Company"')).toEqual([[1]]);
      await isSound();
    },
  );
});

describeBoth('MIGRATE', (given) => {
  const later = changed('label:', 'mood: { type: string }\n      label:');

  itOnOne(given)('off starts a server that finds what it needs, and changes nothing', async () => {
    await serving(later);
    const schema = await schemaOf();
    const off = { MIGRATE: 'off' };
    await serving(
      former,
      async (app) => {
        expect(await all(app, 'Company')).toHaveLength(companies);
      },
      off,
    );
    expect(await serving(changed('[firm, club]', '[firm, club, union]'), undefined, off)).toEqual(
      [],
    );
    expect(await schemaOf()).toEqual(schema);
    expect(await read('select count(*) from "__schema"')).toEqual([[2]]);
  });

  itOnOne(given)('off refuses a server that does not', async () => {
    await expect(serving(later, undefined, { MIGRATE: 'off' })).rejects.toThrow(
      /column "mood" is missing\nMIGRATE is off/,
    );
    await expect(read('select "mood" from "Company"')).rejects.toThrow('mood');
  });

  itOnOne(given)(
    'check waits until another server has brought the database to the model',
    async () => {
      let isReady = false;
      const logged: string[] = [];
      const waiting = serving(
        later,
        async (app) => {
          isReady = true;
          expect((await all(app, 'Company'))[0]).toMatchObject({ mood: null });
        },
        { MIGRATE: 'check' },
        logged,
      );
      await expect.poll(() => logged.join('')).toContain('MIGRATE is check');
      expect(isReady).toBe(false);
      await expect(read('select "mood" from "Company"')).rejects.toThrow('mood');
      await serving(later);
      expect(await waiting).toEqual([
        expect.stringMatching(/^MIGRATE is check: .*column "mood" is missing/),
      ]);
    },
  );

  itOnOne(given)('is refused when it is anything else', async () => {
    await expect(serving(former, undefined, { MIGRATE: 'always' })).rejects.toThrow(
      'MIGRATE is "always"; it must be auto, check or off.',
    );
  });
});
