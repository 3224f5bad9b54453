import { Client } from 'pg';
import { expect, it } from 'vitest';
import { describePostgres, postgresDatabase } from '../../../support/postgres.js';

describePostgres('The PostgreSQL of the tests', () => {
  it('provides empty databases, which are independent of each other', async () => {
    const databases = await Promise.all([postgresDatabase(), postgresDatabase()]);
    for (const { url } of databases) {
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query('create table "only" ("a" integer)');
      await client.end();
    }
    for (const { drop } of databases) await drop();
  });

  it('orders texts differently from bytes, so that tests find a comparison without collation', async () => {
    const { url, drop } = await postgresDatabase();
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query(
      `select 'b' < 'C' as "plain", 'b' < 'C' collate "C" as "c"`,
    );
    expect(rows).toEqual([{ plain: true, c: false }]);
    await client.end();
    await drop();
  });
});
