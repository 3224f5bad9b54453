import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sampled } from '../../support/long.js';
import { describeDatabases } from '../../support/databases.js';
import type { TestDatabase } from '../../support/postgres.js';
import { create, modelOf, serverOf } from '../../support/server.js';

const attributes =
  'attributes: { ID: { type: integer, key: true }, balance: integer, saves: integer }';
const model = `
drs: 1
name: same
dataclasses:
  Plain: { ${attributes} }
  Evented: { ${attributes}, events: [validateSave, saving, afterSave] }
`;

/** Each event reads something, so that others may come between it and the save. */
const evented = `
import { EventedEntityBase } from '../generated/api.js';
export class EventedEntity extends EventedEntityBase {
  async #look(): Promise<undefined> { await this.ds.Plain.all().count(); }
  validateSave(): Promise<undefined> { return this.#look(); }
  saving(): Promise<undefined> { return this.#look(); }
  afterSave(): Promise<void> { return this.#look(); }
}
`;

interface Account {
  readonly __KEY: string;
  readonly __STAMP: number;
  readonly balance: number;
  readonly saves: number;
}

const clients = 32;
const accounts = 10;
const rounds = sampled(12);
const stampConflict = 1263;

describeDatabases('32 clients that change the same 10 entities', (databases) => {
  let database: TestDatabase;
  let app: FastifyInstance;

  beforeAll(async () => {
    database = await databases.create();
    app = await serverOf(
      { ...modelOf(model), databases: [databases.driver] },
      { databaseUrl: database.url },
      { 'src/classes/EventedEntity.ts': evented },
    );
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  it.each(['Plain', 'Evented'])('lose no update and see no half of one: %s', async (dataclass) => {
    const all = Array.from({ length: accounts }, (_, at) => ({
      ID: at + 1,
      balance: 100,
      saves: 0,
    }));
    await create(app, dataclass, all);
    const page = async (): Promise<readonly Account[]> => {
      const { __ENTITIES } = (await app.inject(`/rest/${dataclass}?$orderby=ID`)).json<{
        readonly __ENTITIES: readonly Account[];
      }>();
      expect(__ENTITIES.reduce((sum, { balance }) => sum + balance, 0)).toBe(100 * accounts);
      return __ENTITIES;
    };
    let kept = 0;
    /** Moves an amount between two of the entities that the client has read before. */
    const move = async (client: number, round: number): Promise<void> => {
      const known = await page();
      const from = known[(client + round) % accounts] as Account;
      const to = known[(client * 7 + round * 3 + 1) % accounts] as Account;
      if (from === to) return;
      const changed = [-round, round].map((amount, at) => {
        const { __KEY, __STAMP, balance, saves } = at === 0 ? from : to;
        return { __KEY, __STAMP, balance: balance + amount, saves: saves + 1 };
      });
      const url = `/rest/${dataclass}?$method=update&$atomic=true`;
      const { statusCode, body } = await app.inject({ method: 'POST', url, payload: changed });
      if (statusCode === 200) kept += 1;
      else expect(body).toContain(`"errCode":${stampConflict}`);
    };
    await Promise.all(
      Array.from({ length: clients }, async (_, client) => {
        for (let round = 1; round <= rounds; round += 1) await move(client, round);
      }),
    );
    const saves = (await page()).reduce((sum, each) => sum + each.saves, 0);
    expect(kept).toBeGreaterThan(0);
    expect(saves).toBe(2 * kept);
  });
});
