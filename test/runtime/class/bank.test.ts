import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: bank
dataclasses:
  Account:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      owner: { type: string, mandatory: true }
      balance: { type: number, mandatory: true, min: 0 }
      transfers: { to: Transfer, many: true, inverse: account }
    functions:
      dataclass:
        transfer: { exposed: true, params: { from: integer, to: integer, amount: number }, returns: boolean }
        total: { exposed: true, onHTTPGet: true, returns: number }
        steadyTotal: { exposed: true, returns: boolean }
  Transfer:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      account: { to: Account, onDelete: cascade }
      amount: number
`;

const account = `
import { setTimeout } from 'node:timers/promises';
import { AccountBase } from '../generated/api.js';
import type { AccountEntity } from '../generated/api.js';

const pause = () => setTimeout(Math.random() * 4);

export class Account extends AccountBase {
  /** Reads, waits, and writes what it computed: right only where nobody comes in between. */
  async transfer(from: number, to: number, amount: number): Promise<boolean> {
    try {
      await this.ds.transaction(async () => {
        await this.#move(await this.#found(to), amount);
        await pause();
        await this.#move(await this.#found(from), -amount);
        await pause();
      });
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === 'SaveError') return false;
      throw error;
    }
  }

  async total(): Promise<number> {
    return (await this.all().sum('balance')) ?? 0;
  }

  /** What a transaction reads twice is the same. */
  async steadyTotal(): Promise<boolean> {
    return this.ds.transaction(async () => {
      const before = await this.total();
      await pause();
      return before === (await this.total());
    });
  }

  async #found(key: number): Promise<AccountEntity> {
    const found = await this.get(key);
    if (found === null) throw new Error('no account');
    return found;
  }

  async #move(of: AccountEntity, amount: number): Promise<void> {
    await Promise.all([
      this.ds.Transfer.new({ account: of, amount }).save(),
      this.ds.transaction(async () => {
        of.balance = of.balance + amount;
        await of.save();
      }),
    ]);
  }
}
`;

const accounts = 5;
const each = 100;

describe.each(['file', 'memory'])('A bank on a database in a %s', (place) => {
  it('has the same total at any time', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'drs-bank-'));
    const databaseUrl =
      place === 'file' ? `sqlite:${join(folder, 'data.sqlite')}` : 'sqlite::memory:';
    const app = await serverOf(model, { databaseUrl }, { 'src/classes/Account.ts': account });
    try {
      await create(
        app,
        'Account',
        Array.from({ length: accounts }, (_, at) => ({ owner: `o${at}`, balance: each })),
      );
      const address = await app.listen({ port: 0, host: '127.0.0.1' });
      const call = async (path: string, body?: unknown): Promise<unknown> => {
        const answer = await fetch(
          `${address}/rest/${path}`,
          body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) },
        );
        const json = (await answer.json()) as { readonly result?: unknown };
        expect(answer.status, JSON.stringify(json)).toBe(200);
        return json.result ?? json;
      };
      const outcomes = { moved: 0, refused: 0 };
      const teller = async (): Promise<void> => {
        for (let turn = 0; turn < 25; turn += 1) {
          const [from, to] = [1 + Math.floor(Math.random() * accounts), 1 + (turn % accounts)];
          if (from === to) continue;
          const amount = Math.ceil(Math.random() * 80);
          const moved = await call('Account/transfer', [from, to, amount]);
          outcomes[moved === true ? 'moved' : 'refused'] += 1;
        }
      };
      const auditor = async (): Promise<void> => {
        for (let turn = 0; turn < 40; turn += 1) {
          expect(await call('Account/total')).toBe(accounts * each);
          expect(await call('Account/balance?$compute=sum')).toBe(accounts * each);
        }
        expect(await call('Account/steadyTotal', [])).toBe(true);
      };
      await Promise.all([teller(), teller(), teller(), teller(), auditor(), auditor()]);
      expect(outcomes.moved).toBeGreaterThan(0);
      expect(outcomes.refused).toBeGreaterThan(0);
      const transfers = await app.inject('/rest/Transfer?$top=0');
      // A refused transfer stores nothing.
      expect(transfers.json<{ __COUNT: number }>().__COUNT).toBe(outcomes.moved * 2);
      const sum = await app.inject('/rest/Transfer/amount?$compute=sum');
      expect(sum.json()).toBe(0);
    } finally {
      await app.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
