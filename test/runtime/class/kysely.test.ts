import { type CompiledQuery, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Gate, isSettled } from '../../support/gate.js';
import type { DataStore } from '../../support/staff-classes.js';
import { isOnPostgres } from '../../support/server.js';
import { places, type StaffServer, staffServer } from '../../support/staff-server.js';

let server: StaffServer;
let ds: DataStore;

afterEach(async () => {
  await server.close();
});

const company = { ID: 1, name: 'A', __folded_name: 'a', __STAMP: 1, __TIMESTAMP: 'now' };

describe.each(places)('ds.kysely, on a database in a %s', (place) => {
  beforeEach(async () => {
    server = await staffServer(place);
    ({ ds } = server);
  });

  const rows = (): Promise<unknown> =>
    ds.kysely.selectFrom('Company').select(['ID', 'name', 'city']).orderBy('ID').execute();

  it('reads and changes data', async () => {
    const added = await ds.kysely.insertInto('Company').values(company).executeTakeFirst();
    expect([added.insertId, added.numInsertedOrUpdatedRows]).toEqual([
      isOnPostgres ? undefined : 1n,
      1n,
    ]);
    expect(await rows()).toEqual([{ ID: 1, name: 'A', city: null }]);
    const changed = await ds.kysely
      .updateTable('Company')
      .set({ city: 'Rome', active: true as never })
      .where('ID', '=', 1)
      .returning(['ID', 'active'])
      .execute();
    expect(changed).toEqual([{ ID: 1, active: 1 }]);
    const raw = await sql<{ name: string }>`-- a comment
      select "name" from "Company" where "city" = ${'Rome'}`.execute(ds.kysely);
    expect(raw.rows).toEqual([{ name: 'A' }]);
    const removed = await ds.kysely.deleteFrom('Company').executeTakeFirst();
    expect(removed.numDeletedRows).toBe(1n);
  });

  it('takes part in the running transaction, and in no other', async () => {
    const gate = new Gate();
    const transaction = ds.transaction(async () => {
      await ds.kysely.insertInto('Company').values(company).execute();
      expect(await rows()).toHaveLength(1);
      await gate.pass();
      throw new Error('undone');
    });
    await gate.reached;
    const read = rows();
    const write = ds.kysely
      .insertInto('Company')
      .values({ ...company, ID: 2, name: 'B', __folded_name: 'b' })
      .execute();
    if (place === 'file') await read;
    else expect(await isSettled(read)).toBe(false);
    expect(await isSettled(write)).toBe(false);
    gate.open();
    await expect(transaction).rejects.toThrow('undone');
    await write;
    // Waiting readers of SQLite run before the next writer; those of PostgreSQL do not wait.
    if (!isOnPostgres) expect(await read).toEqual([]);
    expect(await rows()).toEqual([{ ID: 2, name: 'B', city: null }]);
  });

  it('reports what the database refuses', async () => {
    await ds.kysely.insertInto('Company').values(company).execute();
    await expect(
      ds.kysely
        .insertInto('Company')
        .values(company as never)
        .execute(),
    ).rejects.toThrow('unique constraint failed');
    await ds.transaction(async () => {
      await expect(
        ds.kysely
          .insertInto('Company')
          .values(company as never)
          .execute(),
      ).rejects.toThrow('unique constraint failed');
      await ds.kysely.updateTable('Company').set({ city: 'Rome' }).execute();
    });
    expect(await rows()).toEqual([{ ID: 1, name: 'A', city: 'Rome' }]);
    await expect(sql`select nothing`.execute(ds.kysely)).rejects.toThrow('nothing');
  });

  it('refuses to begin or end transactions', async () => {
    const text = 'use ds.transaction';
    const work = (): Promise<void> => Promise.resolve();
    await expect(ds.kysely.transaction().execute(work)).rejects.toThrow(text);
    await expect(ds.kysely.startTransaction().execute()).rejects.toThrow(text);
    const statements = [
      sql`begin`,
      sql`start transaction`,
      sql`abort`,
      sql` COMMIT`,
      sql`/* x */ rollback`,
      sql`-- x
        savepoint a`,
      sql`END`,
      sql`; commit`,
      sql`/* x **/;;
        -- y
        ; rollback`,
    ];
    for (const statement of statements) {
      await expect(statement.execute(ds.kysely)).rejects.toThrow(text);
      await expect(ds.transaction(() => statement.execute(ds.kysely))).rejects.toThrow(text);
    }
    expect(await rows()).toEqual([]);
  });

  it('recognizes a change, whatever comments it contains', async () => {
    const insert = sql`/* a */ ; insert into "Company" ("ID", "name", "__folded_name", "__STAMP", "__TIMESTAMP") /* b */
      select 1, 'A', 'a', 1, 'now'`;
    expect((await insert.execute(ds.kysely)).numAffectedRows).toBe(1n);
    expect(await rows()).toEqual([{ ID: 1, name: 'A', city: null }]);
  });

  it('binds the values that the database can hold', async () => {
    const bind = (value: unknown): Promise<unknown> =>
      sql<{ value: unknown }>`select ${value} as value`
        .execute(ds.kysely)
        .then((result) => result.rows[0]?.value);
    const date = new Date('2026-03-09T14:25:36.789Z');
    // PostgreSQL takes a value without a type for a text.
    const one = isOnPostgres ? '1' : 1;
    expect([await bind(true), await bind(date), await bind(null), await bind(1n)]).toEqual([
      one,
      date.toISOString(),
      null,
      one,
    ]);
    expect(await bind(Buffer.from('x'))).toEqual(isOnPostgres ? 'x' : Buffer.from('x'));
    for (const value of [undefined, {}, [1], new Date(NaN), Symbol('x')]) {
      await expect(bind(value)).rejects.toThrow('cannot be bound');
    }
  });

  it('names columns as in the query', async () => {
    const result = await sql`select 1 as "__proto__", 2 as "constructor", 3 as x`.execute(
      ds.kysely,
    );
    const [row] = result.rows as object[];
    expect(Object.entries(row ?? {})).toEqual([
      ['__proto__', 1],
      ['constructor', 2],
      ['x', 3],
    ]);
  });

  it('streams, and can be closed only by the server', async () => {
    await ds.kysely.insertInto('Company').values(company).execute();
    const streamed: unknown[] = [];
    for await (const row of ds.kysely.selectFrom('Company').select('ID').stream()) {
      streamed.push(row);
    }
    expect(streamed).toEqual([{ ID: 1 }]);
    await ds.kysely.destroy();
    const answer = await server.app.inject('/rest/Company');
    expect(answer.statusCode).toBe(200);
    const query: CompiledQuery = ds.kysely.selectFrom('Company').select('ID').compile();
    expect(query.sql).toBe('select "ID" from "Company"');
  });
});
