import type { LightMyRequestResponse as Response } from 'fastify';
import { expect, it } from 'vitest';
import { describePostgres, postgresDatabase } from '../../support/postgres.js';
import { modelOf, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: numbered
dataclasses:
  Ticket:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      number: { type: integer, generated: sequence, unique: true }
    functions:
      dataclass:
        meet: { exposed: true, returns: integer }
        waits: { exposed: true, returns: boolean }
`;

const ticket = `
import { setTimeout } from 'node:timers/promises';
import { TicketBase } from '../generated/api.js';

let isWaiting = false;

export class Ticket extends TicketBase {
  waits(): boolean {
    return isWaiting;
  }
  /** Creates an entity, and ends when another transaction has created two. */
  async meet(): Promise<number> {
    return this.ds.transaction(async () => {
      await this.new({ number: 5 }).save();
      const own = this.new();
      await own.save();
      isWaiting = true;
      while ((await this.all().count()) < 4) await setTimeout(5);
      return own.number ?? 0;
    });
  }
}
`;

describePostgres('A sequence of an attribute that is no key', () => {
  it('gives a number to each of two transactions that run at the same time', async () => {
    const { url, drop } = await postgresDatabase();
    const app = await serverOf(
      { ...modelOf(model), databases: ['postgres'] },
      { databaseUrl: url, environment: { DATABASE_POOL: '3' } },
      { 'src/classes/Ticket.ts': ticket },
    );
    try {
      const post = (path: string, payload: string): Promise<Response> =>
        app.inject({ method: 'POST', url: `/rest/Ticket${path}`, payload });
      const meeting = post('/meet', '[]');
      const waits = async (): Promise<unknown> => (await post('/waits', '[]')).json();
      await expect.poll(waits, { timeout: 30_000 }).toEqual({ result: true });
      const made = (await post('?$method=update', '[{},{}]')).json<{
        __ENTITIES: { number: number }[];
      }>().__ENTITIES;
      const met = (await meeting).json<{ result: number }>().result;
      const numbers = [met, ...made.map((each) => each.number)];
      expect(new Set(numbers).size).toBe(3);
      expect(met).toBeGreaterThan(5);
      expect(numbers.every((each) => Number.isInteger(each) && each > 0 && each !== 5)).toBe(true);
    } finally {
      await app.close();
      await drop();
    }
  });
});
