import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { postgresSchema } from '../../generator/emit/schema/postgres.js';
import type { Model } from '../../generator/model/model.js';
import { openPostgres } from '../../runtime/dialect/postgres/open.js';
import { fold } from '../../runtime/protocol/fold.js';
import { describePostgres, postgresDatabase, type TestDatabase } from '../support/postgres.js';
import { modelOf } from '../support/server.js';

let place: TestDatabase;
beforeEach(async () => {
  place = await postgresDatabase();
});
afterEach(async () => {
  await place.drop();
});

async function open(sound: Model): Promise<void> {
  const options = { size: 2, queryTimeout: null };
  const { executor } = await openPostgres(place.url, postgresSchema(sound), fold, options);
  await executor.close();
}

async function run(statement: string): Promise<readonly unknown[]> {
  const client = new Client(place.url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}

/** Shorter names instead of those that are too long for PostgreSQL. */
function shortened(text: string): string {
  const names: string[] = [];
  return text.replaceAll(/[\p{L}\p{N}_]+/gu, (name) => {
    if (Buffer.byteLength(name) <= 53) return name;
    if (!names.includes(name)) names.push(name);
    return `short${names.indexOf(name)}`;
  });
}

const key = 'ID: { type: integer, key: true, generated: sequence }';

describePostgres('the schema for PostgreSQL of a model that is sound', () => {
  it.each([
    'golden/features/model.yaml',
    'golden/hostile-names/model.yaml',
    'golden/minimal/model.yaml',
    'support/models/names.yaml',
    'support/models/staff.yaml',
    'support/models/people.yaml',
  ])('is created for %s, and a second start finds nothing to change', async (file) => {
    const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
    const sound = modelOf(
      shortened(text).replace(/^name:/m, 'database: [sqlite, postgres]\nname:'),
    );
    await open(sound);
    for (const { table } of sound.dataclasses) {
      expect(await run(`select * from "${table.replaceAll('"', '""')}"`)).toEqual([]);
    }
    // Without the stamp, the whole schema is compared.
    await run(`delete from "__datastore" where "name" = 'schema'`);
    await open(sound);
  });

  it('allows table names that PostgreSQL would give to indexes and sequences itself', async () => {
    const sound = modelOf(
      `drs: 1\nname: test\ndatabase: postgres\ndataclasses:\n${['A', 'A_pkey', 'A_ID_seq', '_A']
        .map((name) => `  ${name}: { attributes: { ${key} } }`)
        .join('\n')}`,
    );
    await open(sound);
    expect(await run('select * from "A_pkey", "A_ID_seq", "_A"')).toEqual([]);
  });

  it('has unique index names that are short enough for PostgreSQL', async () => {
    const long = 'a'.repeat(50);
    const attributes = [
      key,
      ...['x', 'y'].map((end) => `${long}${end}: { type: string, indexed: true }`),
    ];
    const sound = modelOf(
      `drs: 1\nname: test\ndatabase: postgres\ndataclasses:\n  ${long}: { attributes: { ${attributes.join(', ')} } }`,
    );
    await open(sound);
    await open(sound);
    const found = await run(`select indexname from pg_indexes where indexname like '\\_\\_aaa%'`);
    expect(found).toHaveLength(3);
  });

  it('has indexes that serve an order with nulls first', () => {
    const attributes = [key, 'name: { type: integer, indexed: true }'];
    const sound = modelOf(
      `drs: 1\nname: test\ndatabase: postgres\ndataclasses:\n  A: { attributes: { ${attributes.join(', ')} } }`,
    );
    expect(postgresSchema(sound)[1]).toBe(
      'CREATE INDEX "__A.name" ON "A" ("name" NULLS FIRST, "ID")',
    );
  });
});
