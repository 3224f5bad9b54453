import fc from 'fast-check';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { postgresSchema } from '../../../../generator/emit/schema/postgres.js';
import { openPostgres } from '../../../../runtime/dialect/postgres/open.js';
import { fold } from '../../../../runtime/protocol/fold.js';
import { isPortable } from '../../../support/random-model/portable.js';
import { Random } from '../../../support/random-model/random.js';
import { randomModel } from '../../../support/random-model/random-model.js';
import { describePostgres, postgresDatabase } from '../../../support/postgres.js';
import { sampled } from '../../../support/long.js';

const models = Math.ceil(Number(process.env['PROPERTY_MODELS'] ?? sampled(12)) / 3);

/** Everything but tables with their keys, mandatory columns and the sequences of keys. */
const dropAll = `do $$ declare each record; begin
  for each in select format('alter table %s drop constraint %I', conrelid::regclass, conname) as text
    from pg_constraint where connamespace = 'public'::regnamespace and contype in ('c', 'f') loop execute each.text; end loop;
  for each in select format('drop index %s', indexrelid::regclass) as text from pg_index x
    join pg_class c on c.oid = x.indrelid where c.relnamespace = 'public'::regnamespace
    and not exists (select from pg_constraint where conindid = indexrelid) loop execute each.text; end loop;
  for each in select format('alter table %s drop column if exists %I cascade', attrelid::regclass, attname) as text
    from pg_attribute join pg_class c on c.oid = attrelid and c.relkind = 'r' where relnamespace = 'public'::regnamespace and attnum > 0
    and not attisdropped and not attnotnull and attname not in ('value', 'text', 'owner') loop execute each.text; end loop;
end $$`;

describePostgres('The schema of any model on PostgreSQL', () => {
  it('is restored when almost all of it is missing, and is the same again', async () => {
    await fc.assert(fc.asyncProperty(fc.noShrink(fc.integer()), restoreOne), { numRuns: models });
  }, 3_600_000);
});

async function restoreOne(seed: number): Promise<void> {
  const { model } = randomModel(new Random(seed));
  fc.pre(isPortable(model));
  const statements = postgresSchema(model);
  const { url, drop } = await postgresDatabase();
  const start = async (): Promise<readonly string[]> => {
    const options = { size: 2, queryTimeout: null };
    const { executor, added } = await openPostgres(url, statements, fold, options);
    await executor.close();
    return added ?? [];
  };
  try {
    await start();
    const before = await rules(url);
    await query(url, dropAll);
    expect((await start()).length).toBeGreaterThan(0);
    expect(await rules(url)).toEqual(before);
    expect(await start()).toEqual([]);
  } finally {
    await drop();
  }
}

const rules = (url: string): Promise<unknown> =>
  query(
    url,
    `select conrelid::regclass::text, pg_get_constraintdef(oid) || convalidated as text from pg_constraint
      where connamespace = 'public'::regnamespace and contype <> 'n'
    union all select attrelid::regclass::text, concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid))
      from pg_attribute join pg_class c on c.oid = attrelid and c.relkind = 'r'
      left join pg_attrdef d on d.adrelid = attrelid and d.adnum = attnum
      where c.relnamespace = 'public'::regnamespace and attnum > 0 and not attisdropped
    union all select '', pg_get_indexdef(indexrelid) from pg_index x
      join pg_class c on c.oid = x.indrelid where c.relnamespace = 'public'::regnamespace order by 1, 2`,
  );

async function query(url: string, sql: string): Promise<unknown> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
