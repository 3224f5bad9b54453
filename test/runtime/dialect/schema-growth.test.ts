import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sqliteSchema } from '../../../generator/emit/schema/sqlite.js';
import type { Attribute, Dataclass, Model } from '../../../generator/model/model.js';
import { openDatabase } from '../../../runtime/dialect/sqlite/open-database.js';
import { schemaChanges } from '../../../runtime/dialect/schema/changes.js';
import { readShape } from '../../../runtime/dialect/sqlite/shape.js';
import { registerFunctions } from '../../../runtime/dialect/sqlite/functions.js';
import { type Fold, fold, foldWithoutAccents } from '../../../runtime/protocol/fold.js';
import { load, opened } from '../../property/memory/load.js';
import { Store } from '../../property/memory/store.js';
import { Random } from '../../property/model/random.js';
import { randomModel } from '../../property/model/random-model.js';
import { serverOf, writeServer } from '../../support/server.js';

const models = Number(process.env['PROPERTY_MODELS'] ?? 12);

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drs-growth-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

it('a database of a smaller model becomes that of the larger one and back, with its rows', async () => {
  await fc.assert(fc.asyncProperty(fc.noShrink(fc.integer()), growOne), { numRuns: models });
}, 3_600_000);

/** The rows come from a server of the larger model, so that they fit both. */
async function growOne(seed: number): Promise<void> {
  const random = new Random(seed);
  const store = new Store(randomModel(random));
  const larger = opened(store.model);
  const textFold = larger.protocol.accentInsensitive ? foldWithoutAccents : fold;
  const whole = join(folder, `whole-${seed}.sqlite`);
  const grown = join(folder, `grown-${seed}.sqlite`);
  await filled(larger, whole, (app) => load(app, store, random));
  const smaller = reduced(larger, random);
  await start(grown, sqliteSchema(smaller), textFold);
  copyRows(whole, grown);
  await start(grown, sqliteSchema(larger), textFold);
  expect(differencesOf(grown, sqliteSchema(larger), textFold)).toEqual([]);
  for (const each of larger.dataclasses) {
    const former = smaller.dataclasses.find(({ name }) => name === each.name);
    compareRows(whole, grown, each, former, textFold);
  }
  expect(await start(grown, sqliteSchema(larger), textFold)).toEqual([]);
  const before = larger.dataclasses.map((each) => rowsOf(grown, each));
  // What the smaller model does not use is there when it is used again.
  for (const model of [smaller, larger]) {
    forgetModels(grown);
    await start(grown, sqliteSchema(model), textFold);
    expect(await start(grown, sqliteSchema(model), textFold)).toEqual([]);
  }
  expect(differencesOf(grown, sqliteSchema(larger), textFold)).toEqual([]);
  expect(larger.dataclasses.map((each) => rowsOf(grown, each))).toEqual(before);
}

/** A model that was used before is no older one then. */
function forgetModels(file: string): void {
  const database = new Database(file);
  database.exec('DELETE FROM "__schema"');
  database.close();
}

async function filled(
  model: Model,
  file: string,
  fill: (app: FastifyInstance) => Promise<void>,
): Promise<void> {
  const app = await serverOf(model, { databaseUrl: `sqlite:${file}` });
  try {
    // The rows are drawn without knowing all that a server finds equal: another model is drawn then.
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

async function start(
  file: string,
  statements: readonly string[],
  textFold: Fold,
): Promise<readonly string[]> {
  const { executor, added = [] } = await openDatabase(`sqlite:${file}`, statements, textFold);
  await executor.close();
  return added;
}

/** The same model without some dataclasses, attributes and indexes, none of them mandatory. */
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

/** An attribute that rows which are there could not do without, nor get. */
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
  // What an expression needs may be gone.
  const kept = attributes.filter(
    (each) => !removed.has(each.name) && (each.kind !== 'calculated' || removed.size === 0),
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

function copyRows(from: string, to: string): void {
  const database = new Database(to);
  database.pragma('foreign_keys = OFF');
  database.prepare('ATTACH ? AS "whole"').run(from);
  for (const table of tablesOf(database)) {
    const list = storedColumns(database, table).map(quoted).join(', ');
    database.exec(
      `INSERT INTO main.${quoted(table)} (${list}) SELECT ${list} FROM "whole".${quoted(table)}`,
    );
  }
  database.close();
}

function tablesOf(database: Database.Database): string[] {
  const text = `select name from main.sqlite_schema
    where type = 'table' and name not like '\\_\\_%' escape '\\' and name not like 'sqlite\\_%' escape '\\'`;
  return database.prepare(text).pluck().all() as string[];
}

function storedColumns(database: Database.Database, table: string): string[] {
  const text = `select name from pragma_table_xinfo(?) where hidden = 0`;
  return database.prepare(text).pluck().all(table) as string[];
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function differencesOf(file: string, statements: readonly string[], textFold: Fold): unknown {
  const fresh = new Database(':memory:');
  const actual = new Database(file, { readonly: true });
  registerFunctions(fresh, textFold);
  for (const statement of statements) fresh.exec(statement);
  const found = schemaChanges(readShape(actual), readShape(fresh)).filter(
    ({ table }) => !table.startsWith('__'),
  );
  expect(actual.pragma('foreign_key_check')).toEqual([]);
  expect(actual.pragma('integrity_check', { simple: true })).toBe('ok');
  fresh.close();
  actual.close();
  return found;
}

/** Columns of the smaller model, and what is beside them, are those of the larger one's rows; others have their default. */
function compareRows(
  whole: string,
  grown: string,
  dataclass: Dataclass,
  former: Dataclass | undefined,
  textFold: Fold,
): void {
  const wanted = rowsOf(whole, dataclass);
  const formerColumns = new Set(
    former?.attributes.flatMap((each) => (each.kind === 'storage' ? [each.column] : [])),
  );
  const expected = (former === undefined ? [] : wanted).map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([column, value]) => {
        const source = column.replace(/^__(?:folded|unaccented|norm|unit)_/, '');
        const isKnown = formerColumns.has(source) || /^__(?:STAMP|TIMESTAMP)$/.test(column);
        if (isKnown) return [column, value];
        const filled = defaultOf(dataclass, source);
        return [column, column === source || filled === null ? filled : textFold(String(filled))];
      }),
    ),
  );
  expect(rowsOf(grown, dataclass)).toEqual(expected);
}

/** What the rows of the smaller model get in a column that is new, as the database keeps it. */
function defaultOf({ attributes }: Dataclass, column: string): string | number | null {
  const attribute = attributes.find((each) => each.kind === 'storage' && each.column === column);
  if (attribute?.kind !== 'storage' || attribute.type === 'vector') return null;
  const { default: value = null } = attribute;
  if (typeof value === 'boolean') return Number(value);
  return value !== null && typeof value === 'object' ? JSON.stringify(value) : value;
}

function rowsOf(file: string, dataclass: Dataclass): Record<string, unknown>[] {
  const database = new Database(file, { readonly: true });
  const key = dataclass.attributes.find(({ name }) => name === dataclass.key);
  const columns = storedColumns(database, dataclass.table).map(quoted).sort().join(', ');
  const order = quoted(key?.kind === 'storage' ? key.column : dataclass.key);
  const text = `select ${columns} from ${quoted(dataclass.table)} order by ${order}`;
  const rows = database.prepare(text).all() as Record<string, unknown>[];
  database.close();
  return rows;
}
