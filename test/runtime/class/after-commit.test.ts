import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type RequestScope, RequestScopes } from '../../../runtime/access/request-scope.js';
import { systemSession } from '../../../runtime/access/grants.js';
import { AfterCommit } from '../../../runtime/class/objects/after-commit.js';
import type { Transaction } from '../../../runtime/dialect/executor.js';
import {
  TransactionEndedError,
  TransactionScope,
} from '../../../runtime/dialect/transaction-scope.js';
import { modelOf, serverOf } from '../../support/server.js';
import { Gate } from '../../support/gate.js';
import type { DataStore } from '../../support/staff-classes.js';
import { places, type StaffServer, staffServer } from '../../support/staff-server.js';

let server: StaffServer;
let ds: DataStore;
let told: string[];
let logged: string[];

const tell = (what: string) => (): void => {
  told.push(what);
};
const soon = (): Promise<unknown> => setTimeout(20);

it('work after a commit has the session of the code that asked, and neither its transaction nor its events', async () => {
  const scopes = new RequestScopes({ session: systemSession(), held: -1, isServer: true });
  const after = new AfterCommit(scopes, (error) => {
    throw error;
  });
  const session = systemSession();
  const transaction = new TransactionScope({} as Transaction);
  const seen: RequestScope[] = [];
  scopes.run({ session, held: -1, transaction, nesting: { depth: 2, tree: {} } }, () => {
    after.run(() => seen.push(scopes.current()));
  });
  transaction.reportOutcome(true);
  await soon();
  expect(seen).toEqual([{ session, held: -1 }]);
  expect(seen[0]?.session).toBe(session);
});

describe.each(places)('ds.afterCommit, on a database in a %s', (place) => {
  beforeEach(async () => {
    told = [];
    logged = [];
    const stream = { write: (line: string) => void logged.push(line) };
    server = await staffServer(place, { logger: { stream, level: 'error' } });
    ({ ds } = server);
  });

  afterEach(async () => {
    await server.close();
  });

  it('runs when the outermost transaction is stored, in order, and may write then', async () => {
    await ds.transaction(async () => {
      ds.afterCommit(async () => {
        await setTimeout(5);
        await ds.Company.new({ name: 'after' }).save();
        told.push(`first sees ${await ds.Company.all().count()}`);
      });
      await ds.transaction(async () => {
        await ds.Company.new({ name: 'inside' }).save();
        ds.afterCommit(tell('second'));
      });
      ds.afterCommit(tell('third'));
      await soon();
      told.push('transaction ends');
    });
    await vi.waitFor(
      () => {
        expect(told).toContain('third');
      },
      { timeout: 60_000 },
    );
    expect(told).toEqual(['transaction ends', 'first sees 2', 'second', 'third']);
  });

  it('never runs for a transaction that is rolled back', async () => {
    await ds.transaction(async () => {
      const part = ds.transaction(async () => {
        ds.afterCommit(tell('of the part'));
        await ds.transaction(() => {
          ds.afterCommit(tell('within it'));
          return Promise.resolve();
        });
        throw new Error('part');
      });
      await expect(part).rejects.toThrow('part');
      ds.afterCommit(tell('of the rest'));
    });
    const whole = ds.transaction(() => {
      ds.afterCommit(tell('of the whole'));
      return Promise.reject(new Error('whole'));
    });
    await expect(whole).rejects.toThrow('whole');
    await soon();
    expect(told).toEqual(['of the rest']);
  });

  it('runs at once outside of a transaction', () => {
    ds.afterCommit(tell('now'));
    expect(told).toEqual(['now']);
  });

  it('logs errors, and runs the rest', async () => {
    await ds.transaction(async () => {
      ds.afterCommit(() => Promise.reject(new Error('mail server is away')));
      ds.afterCommit(() => {
        throw new Error('thrown at once');
      });
      ds.afterCommit(tell('last'));
      await ds.Company.new({ name: 'stored' }).save();
    });
    ds.afterCommit(() => {
      throw new Error('outside');
    });
    await soon();
    expect(told).toEqual(['last']);
    expect(await ds.Company.all().count()).toBe(1);
    for (const text of ['mail server is away', 'thrown at once', 'outside']) {
      expect(logged.filter((line) => line.includes(text))).toHaveLength(1);
    }
  });

  it('is refused after the end of the transaction', async () => {
    const gate = new Gate();
    let late: Promise<void> | undefined;
    await ds.transaction(() => {
      late = (async () => {
        await gate.pass();
        ds.afterCommit(tell('late'));
      })();
      return Promise.resolve();
    });
    gate.open();
    await expect(late).rejects.toThrow(TransactionEndedError);
    expect(told).toEqual([]);
  });

  it('ends before the database is closed', async () => {
    await ds.transaction(() => {
      ds.afterCommit(async () => {
        await soon();
        await ds.Company.new({ name: 'after' }).save();
        told.push('stored');
      });
      return Promise.resolve();
    });
    await server.app.close();
    expect([told, logged]).toEqual([['stored'], []]);
  });
});

it('ds.afterCommit never runs for entities that are refused with their lists, while others of the request are stored', async () => {
  const model = `
drs: 1
name: lists
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      staff: { to: Person, many: true, inverse: employer }
      loud: { computed: string, accessors: [get] }
    events: [saving]
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, maxLength: 3 }
      employer: { to: Company, inverse: staff }
`;
  const company = `
import { CompanyEntityBase } from '../generated/api.js';
export class CompanyEntity extends CompanyEntityBase {
  get loud(): string { return String(this.name).toUpperCase(); }
  saving(): void {
    const { name } = this;
    this.ds.afterCommit(() => void mailsOfTests.push(name));
  }
}
declare const mailsOfTests: unknown[];
`;
  const mails: unknown[] = [];
  Object.assign(globalThis, { mailsOfTests: mails });
  const app = await serverOf(modelOf(model), {}, { 'src/classes/CompanyEntity.ts': company });
  try {
    const payload = [
      { name: 'refused', staff: [{ name: 'a' }, { name: 'too long' }] },
      { name: 'stored', staff: [{ name: 'b' }] },
    ];
    const url = '/rest/Company?$method=update';
    const answer = await app.inject({ method: 'POST', url, payload });
    expect(answer.json()).toMatchObject({
      __ENTITIES: [{ __STATUS: { success: false } }, { name: 'stored', loud: 'STORED' }],
    });
    await vi.waitFor(() => {
      expect(mails).toContain('stored');
    });
    expect(mails).toEqual(['stored']);
  } finally {
    await app.close();
  }
});
