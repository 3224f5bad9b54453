import type { FastifyInstance } from 'fastify';
import { afterEach, expect, it } from 'vitest';
import { serverOf } from '../../support/server.js';

const model = `
drs: 1
name: staff
dataclasses:
  Visit:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      user: string
datastore:
  functions:
    enter: { exposed: true, params: { user: string, fails: boolean }, returns: any }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: staff }]
  permissions:
    allowed: [{ applyTo: Visit, type: dataclass, read: [staff] }]
`;

const datastore = `
import { DataStoreBase } from '../generated/api.js';
export class DataStore extends DataStoreBase {
  async enter(user: string, fails: boolean): Promise<unknown> {
    const entered = await this.transaction(async () => {
      await this.Visit.new({ user: 'before' }).save();
      const isIn = await this.session.login(user, 'right');
      if (fails) throw new Error('undone');
      return isIn;
    }).catch((error: unknown) => String(error));
    return [entered, this.session.userName];
  }
}
`;

interface Visits {
  readonly Visit: {
    readonly new: (values: object) => { save(): Promise<void> };
    readonly all: () => { count(): Promise<number> };
  };
}

let app: FastifyInstance;

afterEach(async () => {
  await app.close();
});

it('A login inside a transaction reads and writes as a part of it, with the rights of the server', async () => {
  const seen: number[] = [];
  app = await serverOf(
    model,
    {
      login: {
        login: async (user) => {
          const { Visit } = app.datastore as unknown as Visits;
          await Visit.new({ user }).save();
          seen.push(await Visit.all().count());
          return { userName: user };
        },
      },
    },
    { 'src/classes/DataStore.ts': datastore },
  );
  const enter = (user: string, fails: boolean): Promise<unknown> =>
    app
      .inject({ method: 'POST', url: '/rest/$catalog/enter', payload: [user, fails] })
      .then((answer) => answer.json());
  expect(await enter('mia', false)).toEqual({ result: [true, 'mia'] });
  expect(seen).toEqual([2]);
  // Data that login has stored is rolled back with the transaction.
  expect(await enter('bob', true)).toEqual({ result: ['Error: undone', 'bob'] });
  expect(seen).toEqual([2, 4]);
  const { Visit } = app.datastore as unknown as Visits;
  expect(await Visit.all().count()).toBe(2);
});
