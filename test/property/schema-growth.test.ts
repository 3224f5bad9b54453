import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { postgresSchema } from '../../generator/emit/schema/postgres.js';
import { sqliteSchema } from '../../generator/emit/schema/sqlite.js';
import type { Attribute, Dataclass, Model } from '../../generator/model/model.js';
import { readCatalog } from '../../runtime/dialect/postgres/catalog.js';
import { postgresDriver } from '../../runtime/dialect/postgres/open.js';
import { expressionFunctions } from '../../runtime/dialect/postgres/expression-functions.js';
import { postgresFunctions } from '../../runtime/dialect/postgres/functions.js';
import { wantedCatalog } from '../../runtime/dialect/postgres/migration/adapt.js';
import { schemaChanges } from '../../runtime/dialect/schema/changes.js';
import { sqliteDriver } from '../../runtime/dialect/sqlite/open-database.js';
import { registerFunctions } from '../../runtime/dialect/sqlite/functions.js';
import { readShape } from '../../runtime/dialect/sqlite/migration/shape.js';
import { type Fold, fold, foldWithoutAccents } from '../../runtime/protocol/fold.js';
import { load, opened } from './memory/load.js';
import { Store } from './memory/store.js';
import { isPortable } from '../support/random-model/portable.js';
import { Random } from '../support/random-model/random.js';
import { randomModel } from '../support/random-model/random-model.js';
import { describeDatabases, type TestDatabases } from '../support/databases.js';
import { sampled } from '../support/long.js';
import { serverOf, writeServer } from '../support/server.js';

const models = Number(process.env['PROPERTY_MODELS'] ?? sampled(12));

/** The parts of the test that differ between database systems. */
interface Kind extends TestDatabases {
  readonly schemaOf: (model: Model) => readonly string[];
  /** Copies the common columns of both tables directly, which only a test may do. */
  readonly copyRows: (from: string, to: string) => Promise<void>;
  readonly differences: (url: string, statements: readonly string[], textFold: Fold) => unknown;
  /** SQL of the columns of a table that are not computed. */
  readonly storedColumns: (table: string) => string;
}

const sqlite: Omit<Kind, keyof TestDatabases> = {
  schemaOf: sqliteSchema,
  copyRows: (from, to) => {
    const database = new Database(fileOf(to));
    database.pragma('foreign_keys = OFF');
    database.prepare('ATTACH ? AS "whole"').run(fileOf(from));
    const tables = database.prepare(`select name from main.sqlite_schema
      where type = 'table' and name not like '\\_\\_%' escape '\\' and name not like 'sqlite\\_%' escape '\\'`);
    for (const table of tables.pluck().all() as string[]) {
      const columns = database.prepare(sqlite.storedColumns(table)).pluck().all() as string[];
      const list = columns.map(quoted).join(', ');
      database.exec(
        `INSERT INTO main.${quoted(table)} (${list}) SELECT ${list} FROM "whole".${quoted(table)}`,
      );
    }
    database.close();
    return Promise.resolve();
  },
  differences: (url, statements, textFold) => {
    const fresh = new Database(':memory:');
    const actual = new Database(fileOf(url), { readonly: true });
    registerFunctions(fresh, textFold);
    for (const statement of statements) fresh.exec(statement);
    const found = schemaChanges(readShape(actual), readShape(fresh));
    expect(actual.pragma('foreign_key_check')).toEqual([]);
    expect(actual.pragma('integrity_check', { simple: true })).toBe('ok');
    fresh.close();
    actual.close();
    return found.filter(({ table }) => !table.startsWith('__'));
  },
  storedColumns: (table) =>
    `select name from pragma_table_xinfo(${inQuotes(table)}) where hidden = 0`,
};

const postgres: Omit<Kind, keyof TestDatabases> = {
  schemaOf: postgresSchema,
  copyRows: async (from, to) => {
    const [source, target] = [await connected(from), await connected(to)];
    // Rows come before those that they refer to.
    await target.query('set session_replication_role = replica');
    const tables = await target.query<{ name: string }>(
      `select tablename as "name" from pg_tables where schemaname = 'public' and tablename not like '\\_\\_%'`,
    );
    for (const { name } of tables.rows) {
      const columns = await target.query<{ name: string }>(postgres.storedColumns(name));
      const list = columns.rows.map((each) => quoted(each.name)).join(', ');
      const { rows } = await source.query<{ rows: string }>(
        `select json_agg("t")::text as "rows" from ${quoted(name)} as "t"`,
      );
      await target.query(
        `insert into ${quoted(name)} (${list}) select ${list} from json_populate_recordset(null::public.${quoted(name)}, $1)`,
        [rows[0]?.rows],
      );
    }
    await Promise.all([source.end(), target.end()]);
  },
  differences: async (url, statements) => {
    const client = await connected(url);
    const functions = [...postgresFunctions(), ...expressionFunctions];
    const wanted = await wantedCatalog(client, 'public', { statements, functions });
    const actual = await readCatalog(client, 'public');
    await client.end();
    return schemaChanges(actual, wanted).filter(({ table }) => !table.startsWith('__'));
  },
  storedColumns: (table) =>
    `select attname as "name" from pg_attribute where attrelid = ${inQuotes(quoted(table))}::regclass
      and attnum > 0 and not attisdropped and attgenerated = ''`,
};

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

function fileOf(url: string): string {
  return url.slice('sqlite:'.length);
}

function inQuotes(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

describeDatabases('A database of a smaller model', (databases) => {
  const isSqlite = databases.driver === 'sqlite';
  const kind: Kind = { ...databases, ...(isSqlite ? sqlite : postgres) };

  it('becomes that of a larger model and back, with its rows', async () => {
    const property = fc.asyncProperty(fc.noShrink(fc.integer()), (seed) => growOne(kind, seed));
    await fc.assert(property, { numRuns: isSqlite ? models : Math.ceil(models / 3) });
  }, 3_600_000);
});

/** The rows come from a server of the larger model, so that they fit both. */
async function growOne(kind: Kind, seed: number): Promise<void> {
  const random = new Random(seed);
  const { model, computes } = randomModel(random);
  const store = new Store({
    model: { ...model, name: 'growing', databases: [kind.driver] },
    computes,
  });
  fc.pre(kind.driver === 'sqlite' || isPortable(store.model));
  const larger = opened(store.model);
  const [whole, grown] = [await kind.create(), await kind.create()];
  try {
    await filled(larger, whole.url, (app) => load(app, store, random));
    await new Growth(kind, larger, whole.url, grown.url).run(reduced(larger, random));
  } finally {
    await whole.drop();
    await grown.drop();
  }
}

class Growth {
  readonly #textFold: Fold;

  constructor(
    private readonly kind: Kind,
    private readonly larger: Model,
    private readonly whole: string,
    private readonly grown: string,
  ) {
    this.#textFold = larger.protocol.accentInsensitive ? foldWithoutAccents : fold;
  }

  async run(smaller: Model): Promise<void> {
    const { kind, larger, whole, grown } = this;
    await this.#start(smaller);
    await kind.copyRows(whole, grown);
    await this.#start(larger);
    expect(await this.#differences()).toEqual([]);
    for (const each of larger.dataclasses) {
      const former = smaller.dataclasses.find(({ name }) => name === each.name);
      await this.#compareRows(each, former);
    }
    expect(await this.#start(larger)).toEqual([]);
    const before = await this.#allRows();
    // Parts that the smaller model does not use exist when they are used again.
    for (const model of [smaller, larger]) {
      // A model that was used before does not count as older then.
      await kind.run(grown, 'DELETE FROM "__schema"');
      await this.#start(model);
      expect(await this.#start(model)).toEqual([]);
    }
    expect(await this.#differences()).toEqual([]);
    expect(await this.#allRows()).toEqual(before);
  }

  async #start(model: Model): Promise<readonly string[]> {
    const { schemaOf, driver } = this.kind;
    const drivers = { sqlite: sqliteDriver, postgres: postgresDriver };
    const options = { hasVectors: false, queryTimeout: null, environment: {} };
    const opened = await drivers[driver].open(this.grown, schemaOf(model), this.#textFold, options);
    await opened.executor.close();
    return opened.added ?? [];
  }

  #differences(): unknown {
    const { differences, schemaOf } = this.kind;
    return differences(this.grown, schemaOf(this.larger), this.#textFold);
  }

  /**
   * Columns of the smaller model have the values of the larger one's rows; others have their
   * default.
   */
  async #compareRows(dataclass: Dataclass, former: Dataclass | undefined): Promise<void> {
    const wanted = await this.#rowsOf(this.whole, dataclass);
    const formerColumns = new Set(
      former?.attributes.flatMap((each) => (each.kind === 'storage' ? [each.column] : [])),
    );
    const expected = (former === undefined ? [] : wanted).map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([column, value]) => {
          const source = column.replace(/^__(?:folded|unaccented|norm|unit)_/, '');
          const isKnown = formerColumns.has(source) || /^__(?:STAMP|TIMESTAMP)$/.test(column);
          if (isKnown) return [column, value];
          const given = defaultOf(dataclass, source);
          const isText = column !== source && given !== null;
          return [column, isText ? this.#textFold(String(given)) : given];
        }),
      ),
    );
    expect(await this.#rowsOf(this.grown, dataclass)).toEqual(expected);
  }

  async #allRows(): Promise<readonly unknown[]> {
    const all: unknown[] = [];
    for (const each of this.larger.dataclasses) all.push(await this.#rowsOf(this.grown, each));
    return all;
  }

  async #rowsOf(url: string, dataclass: Dataclass): Promise<readonly Record<string, unknown>[]> {
    const { run, storedColumns } = this.kind;
    const key = dataclass.attributes.find(({ name }) => name === dataclass.key);
    const names = await run(url, storedColumns(dataclass.table));
    const columns = names.map(([name]) => String(name)).sort();
    const list = columns.map(quoted).join(', ');
    const order = quoted(key?.kind === 'storage' ? key.column : dataclass.key);
    const text = `select ${list} from ${quoted(dataclass.table)} order by ${order}`;
    const rows = await run(url, text);
    return rows.map((row) =>
      Object.fromEntries<unknown>(row.map((each, at) => [columns[at] ?? '', each])),
    );
  }
}

async function filled(
  model: Model,
  databaseUrl: string,
  fill: (app: FastifyInstance) => Promise<void>,
): Promise<void> {
  const app = await serverOf(model, { databaseUrl });
  try {
    // The random rows may contain values that a server treats as equal; then another model is used.
    const isFilled = await fill(app).then(
      () => true,
      () => false,
    );
    fc.pre(isFilled);
  } finally {
    await app.close();
    rmSync(writeServer(model), { recursive: true });
  }
}

/** The model without some dataclasses, attributes and indexes, none of them mandatory. */
function reduced(model: Model, random: Random): Model {
  const gone = model.dataclasses.filter(
    ({ name }) => random.chance(25) && !model.dataclasses.some((each) => needs(each, name)),
  );
  const names = new Set(gone.map(({ name }) => name));
  return {
    ...model,
    dataclasses: model.dataclasses
      .filter((each) => !names.has(each.name))
      .map((each) => reducedDataclass(each, names, random)),
  };
}

function needs({ attributes }: Dataclass, target: string): boolean {
  return attributes.some(
    (each) => each.kind === 'relatedEntity' && each.target === target && isKept(attributes, each),
  );
}

/** An attribute that existing rows need, but cannot get. */
function isKept(attributes: readonly Attribute[], attribute: Attribute): boolean {
  if (attribute.kind === 'storage') return attribute.key || attribute.mandatory;
  if (attribute.kind !== 'relatedEntity') return false;
  const key = attributes.find(({ name }) => name === attribute.foreignKey);
  return attribute.mandatory || (key !== undefined && isKept(attributes, key));
}

function reducedDataclass(
  dataclass: Dataclass,
  gone: ReadonlySet<string>,
  random: Random,
): Dataclass {
  const { attributes } = dataclass;
  const relations = attributes.filter(
    (each) =>
      each.kind === 'relatedEntity' &&
      (gone.has(each.target) || (random.chance(20) && !isKept(attributes, each))),
  );
  const keys = attributes.flatMap((each) =>
    each.kind === 'relatedEntity' ? [each.foreignKey] : [],
  );
  const isGone = (each: Attribute): boolean =>
    each.kind === 'storage' &&
    (relations.some((one) => one.kind === 'relatedEntity' && one.foreignKey === each.name) ||
      (!keys.includes(each.name) && !isKept(attributes, each) && random.chance(30)));
  const removed = new Set(
    attributes.filter((each) => relations.includes(each) || isGone(each)).map(({ name }) => name),
  );
  // The columns of an expression may be missing.
  const kept = attributes.filter(
    (each) => !removed.has(each.name) && (each.kind !== 'computed' || removed.size === 0),
  );
  return {
    ...dataclass,
    attributes: kept.map((each) => withFewerIndexes(each, random)),
    indexes: dataclass.indexes.filter(
      (list) => random.chance(50) && !list.some((name) => removed.has(name)),
    ),
  };
}

function withFewerIndexes(attribute: Attribute, random: Random): Attribute {
  return attribute.kind !== 'storage' || attribute.key || random.chance(50)
    ? attribute
    : { ...attribute, unique: false, indexed: false };
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The stored value of a new column in the rows of the smaller model. */
function defaultOf({ attributes }: Dataclass, column: string): string | number | null {
  const attribute = attributes.find((each) => each.kind === 'storage' && each.column === column);
  if (attribute?.kind !== 'storage' || attribute.type === 'vector') return null;
  const { default: value = null } = attribute;
  if (typeof value === 'boolean') return Number(value);
  return value !== null && typeof value === 'object' ? JSON.stringify(value) : value;
}
