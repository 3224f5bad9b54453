import { Client } from 'pg';
import { expect, it } from 'vitest';
import { describePostgres, postgresDatabase } from '../../../support/postgres.js';
import { serverOf } from '../../../support/server.js';

const model = `
drs: 1
name: present
database: postgres
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true }
`;

const slowInserts = `
  create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.3); return new; end $$;
  create trigger slow before insert on "__server" for each row execute function slow()`;

describePostgres('A server on PostgreSQL', () => {
  it('is not recorded as running after its end, even if it ended before it was recorded', async () => {
    const database = await postgresDatabase();
    const client = new Client({ connectionString: database.url });
    try {
      await (await serverOf(model, { databaseUrl: database.url })).close();
      await client.connect();
      await client.query(slowInserts);
      const app = await serverOf(model, { databaseUrl: database.url });
      await app.ready();
      await app.close();
      expect((await client.query('select * from "__server"')).rows).toEqual([]);
    } finally {
      await client.end();
      await database.drop();
    }
  });
});
