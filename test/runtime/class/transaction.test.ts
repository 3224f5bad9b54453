import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stateOf } from '../../../runtime/class/objects/entity-state.js';
import { SaveError } from '../../../runtime/class/objects/failure.js';
import { TransactionEndedError } from '../../../runtime/dialect/transaction-scope.js';
import { Gate, isSettled } from '../../support/gate.js';
import type { DataStore } from '../../support/staff-classes.js';
import { isOnPostgres } from '../../support/server.js';
import { places, type StaffServer, staffServer } from '../../support/staff-server.js';
import { isLong } from '../../support/long.js';

let server: StaffServer;
let ds: DataStore;

afterEach(async () => {
  await server.close();
});

async function names(): Promise<readonly (string | null)[]> {
  const answer = await server.app.inject('/rest/Company?$orderby=name');
  return answer
    .json<{ __ENTITIES: readonly { name: string | null }[] }>()
    .__ENTITIES.map(({ name }) => name);
}

function post(name: string): Promise<number> {
  return server.app
    .inject({ method: 'POST', url: '/rest/Company?$method=update', payload: { name } })
    .then(({ statusCode }) => statusCode);
}

describe.each(places)('A transaction of class code, on a database in a %s,', (place) => {
  beforeEach(async () => {
    server = await staffServer(place);
    ({ ds } = server);
  });

  it('is invisible to other requests before its end, and they do not take part in it', async () => {
    await ds.Company.new({ name: 'before' }).save();
    const gate = new Gate();
    const transaction = ds.transaction(async () => {
      await ds.Company.new({ name: 'inside' }).save();
      await gate.pass();
      await ds.Company.new({ name: 'later' }).save();
      expect(await ds.Company.all().count()).toBe(isOnPostgres ? 5 : 3);
    });
    await gate.reached;
    if (isOnPostgres) {
      // Nobody waits for it, and it sees what others commit.
      expect(await names()).toEqual(['before']);
      expect(await post('request')).toBe(200);
      await ds.Company.new({ name: 'other' }).save();
      gate.open();
      await transaction;
      expect(await names()).toEqual(['before', 'inside', 'later', 'other', 'request']);
      return;
    }
    const read = names();
    const write = post('request');
    const other = ds.Company.new({ name: 'other' }).save();
    // A database in memory has one connection, which sees uncommitted changes, so its readers wait.
    if (place === 'file') await read;
    else expect(await isSettled(read)).toBe(false);
    expect([await isSettled(write), await isSettled(other)]).toEqual([false, false]);
    gate.open();
    await transaction;
    expect(await read).toEqual(place === 'file' ? ['before'] : ['before', 'inside', 'later']);
    expect(await write).toBe(200);
    await other;
    expect(await names()).toEqual(['before', 'inside', 'later', 'other', 'request']);
  });

  it('that fails stores nothing, and keeps the changes of others', async () => {
    const gate = new Gate();
    const company = ds.Company.new({ name: 'inside' });
    const transaction = ds.transaction(async () => {
      await company.save();
      await gate.pass();
      throw new Error('user code fails');
    });
    await gate.reached;
    const write = post('request');
    gate.open();
    await expect(transaction).rejects.toThrow('user code fails');
    expect(await write).toBe(200);
    expect(await names()).toEqual(['request']);
    // The object is restored, so that it can be saved again.
    expect([company.isNew, company.stamp, company.touched('name')]).toEqual([true, 0, true]);
    await company.save();
    expect(await names()).toEqual(['inside', 'request']);
  });

  it('sees its own changes, however it reads', async () => {
    await ds.transaction(async () => {
      const company = ds.Company.new({ name: 'A', city: 'Rome' });
      await company.save();
      const person = ds.Employee.new({ lastName: 'X', employer: company });
      await person.save();
      expect((await ds.Company.get(company.key ?? 0))?.name).toBe('A');
      expect(await ds.Company.fromCity('rome').count()).toBe(1);
      expect(await company.staff.count()).toBe(1);
      expect((await person.employer.get())?.name).toBe('A');
      expect(await ds.kysely.selectFrom('Company').select('name').execute()).toEqual([
        { name: 'A' },
      ]);
      await company.reload();
      expect(company.stamp).toBe(1);
    });
  });

  // Only SQLite does.
  it.skipIf(isOnPostgres)(
    'that the database rolls back by itself stores nothing, whatever its code does afterwards',
    async () => {
      const transaction = ds.transaction(async () => {
        await ds.Company.new({ ID: 1, name: 'A' }).save();
        const other = { ID: 1, name: 'B', __folded_name: 'b', __STAMP: 1, __TIMESTAMP: '' };
        const insert = ds.kysely.insertInto('Company').orRollback().values(other);
        await expect(insert.execute()).rejects.toThrow('unique');
        await expect(ds.Company.new({ name: 'C' }).save()).rejects.toThrow('given up');
        await expect(ds.transaction(() => Promise.resolve())).rejects.toThrow('given up');
      });
      await expect(transaction).rejects.toThrow('given up');
      expect(await names()).toEqual([]);
      expect(await post('after')).toBe(200);
    },
  );

  it('keeps nothing in memory of a saved object that its code does not use any more', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const saved = async (name: string): Promise<WeakRef<object>> => {
      const company = ds.Company.new({ name });
      await company.save();
      return new WeakRef(stateOf(company));
    };
    await ds.transaction(async () => {
      const companies: WeakRef<object>[] = [];
      for (const name of ['A', 'B', 'C', 'D']) companies.push(await saved(name));
      await setImmediate();
      collect();
      // The machine may still hold the last one.
      expect(companies.slice(0, 3).map((each) => each.deref())).toEqual(Array(3).fill(undefined));
    });
    expect(await names()).toEqual(['A', 'B', 'C', 'D']);
  });

  it('adds nothing to counts that is not committed', async () => {
    await expect(
      ds.transaction(async () => {
        await ds.Company.new({ name: 'A' }).save();
        expect(await ds.Company.all().count()).toBe(1);
        throw new Error('undone');
      }),
    ).rejects.toThrow('undone');
    expect(await ds.Company.all().count()).toBe(0);
    const answer = await server.app.inject('/rest/Company');
    expect(answer.json()).toMatchObject({ __COUNT: 0 });
  });

  it('saves many at once', async () => {
    const companies = Array.from({ length: 20 }, (_, at) => ds.Company.new({ name: `C${at}` }));
    await ds.transaction(async () => {
      await Promise.all(companies.map((company) => company.save()));
    });
    expect(new Set(companies.map(({ key }) => key)).size).toBe(20);
    expect(await ds.Company.all().count()).toBe(20);
  });

  it('continues when one of many saves is refused and the code catches the refusal', async () => {
    const saved = ds.transaction(async () => {
      const results = await Promise.allSettled([
        ds.Company.new({ name: 'A' }).save(),
        ds.Company.new({ name: null }).save(),
        ds.Company.new({ name: 'a' }).save(),
        ds.Company.new({ name: 'B' }).save(),
      ]);
      return results.map(({ status }) => status);
    });
    expect(await saved).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(await names()).toEqual(['A', 'B']);
  });

  it('is rolled back when one of many saves is refused, whatever the others still do', async () => {
    const transaction = ds.transaction(() =>
      Promise.all([
        ds.Company.new({ name: 'A' }).save(),
        ds.Company.new({ name: null }).save(),
        ds.Company.new({ name: 'B' }).save(),
      ]),
    );
    await expect(transaction).rejects.toBeInstanceOf(SaveError);
    expect(await names()).toEqual([]);
    expect(await post('after')).toBe(200);
  });

  it('inside another one can be undone alone', async () => {
    const inner = ds.Company.new({ name: 'inner' });
    await ds.transaction(async () => {
      await ds.Company.new({ name: 'outer' }).save();
      await expect(
        ds.transaction(async () => {
          await inner.save();
          await ds.transaction(() => ds.Company.new({ name: 'innermost' }).save());
          throw new Error('inner fails');
        }),
      ).rejects.toThrow('inner fails');
      expect([inner.isNew, await ds.Company.all().count()]).toEqual([true, 1]);
      await ds.transaction(() => inner.save());
    });
    expect(inner.isNew).toBe(false);
    expect(await names()).toEqual(['inner', 'outer']);
  });

  it('inside another one is undone with it', async () => {
    const company = ds.Company.new({ name: 'inner' });
    await expect(
      ds.transaction(async () => {
        await ds.transaction(() => company.save());
        expect([company.isNew, company.stamp]).toEqual([false, 1]);
        throw new Error('outer fails');
      }),
    ).rejects.toThrow('outer fails');
    expect([company.isNew, company.stamp]).toEqual([true, 0]);
    expect(await names()).toEqual([]);
  });

  it('restores objects that were saved several times in it', async () => {
    const company = ds.Company.new({ name: 'A', city: 'Rome' });
    const stored = ds.Company.new({ name: 'B' });
    await stored.save();
    await expect(
      ds.transaction(async () => {
        await company.save();
        company.city = 'Paris';
        await company.save();
        company.revenue = 1;
        stored.city = 'Oslo';
        await stored.save();
        await stored.drop();
        throw new Error('undone');
      }),
    ).rejects.toThrow('undone');
    expect([company.isNew, company.stamp, company.city]).toEqual([true, 0, 'Paris']);
    expect([stored.isNew, stored.stamp, stored.touched('city')]).toEqual([false, 1, true]);
    await company.save();
    await stored.save();
    const answer = await server.app.inject('/rest/Company?$orderby=name');
    expect(answer.json()).toMatchObject({
      __ENTITIES: [
        { name: 'A', city: 'Paris', revenue: 1, __STAMP: 1 },
        { name: 'B', city: 'Oslo', __STAMP: 2 },
      ],
    });
  });

  it('runs nested transactions one after the other, each completely', async () => {
    const order: string[] = [];
    const part = (name: string, fails: boolean): Promise<void> =>
      ds.transaction(async () => {
        order.push(`${name} begins`);
        await ds.Company.new({ name }).save();
        await setImmediate();
        order.push(`${name} ends`);
        if (fails) throw new Error(name);
      });
    await ds.transaction(async () => {
      await Promise.allSettled([part('a', false), part('b', true), part('c', false)]);
    });
    expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    expect(await names()).toEqual(['a', 'c']);
  });

  it('waits for work that it started and did not await', async () => {
    let saving: Promise<void> | undefined;
    await ds.transaction(async () => {
      saving = ds.Company.new({ name: 'not awaited' }).save();
    });
    await saving;
    expect(await names()).toEqual(['not awaited']);
  });

  it('is over for code that continues after its end', async () => {
    const gate = new Gate();
    let late: Promise<unknown> | undefined;
    await ds.transaction(async () => {
      await ds.Company.new({ name: 'A' }).save();
      late = (async () => {
        await gate.pass();
        const errors: unknown[] = [];
        const tries: (() => Promise<unknown>)[] = [
          () => ds.Company.new({ name: 'late' }).save(),
          () => ds.Company.get(1),
          () => ds.Company.all().count(),
          () => ds.transaction(() => Promise.resolve()),
          () => ds.kysely.selectFrom('Company').selectAll().execute(),
          () => ds.kysely.deleteFrom('Company').execute(),
        ];
        for (const attempt of tries) {
          errors.push(
            await attempt().then(
              () => undefined,
              (error: unknown) => error,
            ),
          );
        }
        return errors;
      })();
    });
    // Another transaction is open when the late code runs.
    const other = new Gate();
    const open = ds.transaction(async () => {
      await ds.Company.new({ name: 'B' }).save();
      await other.pass();
    });
    await other.reached;
    gate.open();
    const errors = (await late) as readonly unknown[];
    expect(errors.map((error) => error instanceof TransactionEndedError)).toEqual(
      new Array(6).fill(true),
    );
    other.open();
    await open;
    expect(await names()).toEqual(['A', 'B']);
  });

  it('lets waiting readers read between two transactions', async () => {
    const gates = [new Gate(), new Gate()];
    const writes = gates.map((gate, at) =>
      ds.transaction(async () => {
        await ds.Company.new({ name: `W${at}` }).save();
        await gate.pass();
      }),
    );
    await gates[0]?.reached;
    const read = names();
    if (place === 'file') expect(await read).toEqual([]);
    else expect(await isSettled(read)).toBe(false);
    gates[0]?.open();
    expect(await read).toEqual(place === 'file' ? [] : ['W0']);
    gates[1]?.open();
    await Promise.all(writes);
  });
});

describe.each(isLong ? places : places.slice(-1))(
  'A transaction that never ends, on a database in a %s,',
  (place) => {
    it('does not keep the server from closing, nor waiting transactions from ending', async () => {
      server = await staffServer(place);
      ({ ds } = server);
      const gate = new Gate();
      const stuck = ds.transaction(async () => {
        await ds.Company.new({ name: 'A' }).save();
        await gate.pass();
        return ds.Company.all().count();
      });
      await gate.reached;
      const write = ds.Company.new({ name: 'B' }).save();
      // On PostgreSQL it waits for nobody.
      const refused = isOnPostgres ? write : expect(write).rejects.toThrow('database is closed');
      const read = ds.Company.all().count();
      const isAlone = place === 'memory' && !isOnPostgres;
      const readRefused = isAlone ? expect(read).rejects.toThrow('closed') : read;
      await server.app.close();
      await readRefused;
      gate.open();
      await expect(stuck).rejects.toThrow('database');
      await refused;
    });
  },
);
