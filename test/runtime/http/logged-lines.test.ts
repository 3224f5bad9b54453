import { Writable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../../support/cookies.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';
import { serverOf } from '../../support/server.js';

const model = `
drs: 1
name: staff
dataclasses:
  Secret:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true }
      level: integer
      person: { to: Person, inverse: secrets }
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      secrets: { to: Secret, many: true, inverse: person }
    events: [validateSave, saving, afterSave, dropping]
    functions:
      dataclass:
        run: { exposed: true, params: { way: string }, returns: any }
        later: { exposed: true, params: { way: string }, returns: any }
      selection: { ofAll: { exposed: true, params: { way: string }, returns: any } }
      entity: { ofOne: { exposed: true, params: { way: string }, returns: any } }
  Guarded:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
    restrict: true
singletons:
  Clock: { functions: { now: { exposed: true, returns: any } } }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: read }, { privilege: secret }]
  permissions:
    allowed:
      - { applyTo: Secret, type: dataclass, read: [secret], create: [secret], update: [secret], drop: [secret] }
`;

/** Denied actions of class code, which the caller awaits. */
const ways: Readonly<Record<string, string>> = {
  count: 'ds.Secret.all().count()',
  filter: "ds.Secret.query('level > 1').orderBy('name').slice(0, 9).toArray()",
  first: 'ds.Secret.all().first()',
  last: 'ds.Secret.all().last()',
  get: 'ds.Secret.get(1)',
  sum: "ds.Secret.all().sum('level')",
  min: "ds.Secret.all().min('level')",
  distinct: "ds.Secret.all().distinct('name')",
  save: "ds.Secret.new({ name: 'x' }).save()",
  drop: 'ds.Secret.all().drop()',
  related: 'ds.Person.all().secrets.count()',
  combined: "ds.Secret.query('level > 1').or(ds.Secret.all()).count()",
  transaction:
    'ds.transaction(async () => { await ds.Person.all().count(); return ds.Secret.all().count(); })',
  saved:
    "(async () => { await ds.Person.new({ name: 'x' }).save(); await ds.Secret.new({}).save(); })()",
  each: '(async () => { for await (const each of ds.Secret.all()) void each; })()',
  deep: 'deep(ds, 12)',
  waited: '(async () => { await ds.Person.all().toArray(); return ds.Secret.all().toArray(); })()',
};
/** Mistakes in the code, not denials. */
const mistakes: Readonly<Record<string, string>> = {
  filterOfCode: "ds.Person.query('nothing = 1').count()",
  thrown: "(() => { throw new Error('own'); })()",
  sql: "ds.kysely.selectFrom('Nowhere' as never).selectAll().execute()",
};

const wayOf = `
import type { DataStore } from '../generated/api.js';
export const wayOf: Readonly<Record<string, (ds: DataStore) => unknown>> = {
${Object.entries({ ...ways, ...mistakes })
  .map(([name, code]) => `  ${name}: (ds) => ${code},`)
  .join('\n')}
};
async function deep(ds: DataStore, level: number): Promise<unknown> {
  return level === 0 ? ds.Secret.all().toArray() : await deep(ds, level - 1);
}
`;
const classes = {
  'src/classes/ways.ts': wayOf,
  'src/classes/Person.ts': `
import { PersonBase } from '../generated/api.js';
import { wayOf } from './ways.js';
export class Person extends PersonBase {
  async run(way: string): Promise<unknown> {
    const result = await wayOf[way]?.(this.ds);
    return result;
  }
  later(way: string): unknown { this.ds.afterCommit(() => wayOf[way]?.(this.ds)); return 1; }
}`,
  'src/classes/PersonSelection.ts': `
import { PersonSelectionBase } from '../generated/api.js';
import { wayOf } from './ways.js';
export class PersonSelection extends PersonSelectionBase {
  ofAll(way: string): unknown { return wayOf[way]?.(this.ds); }
}`,
  'src/classes/PersonEntity.ts': `
import { PersonEntityBase } from '../generated/api.js';
import { wayOf } from './ways.js';
export class PersonEntity extends PersonEntityBase {
  ofOne(way: string): unknown { return wayOf[way]?.(this.ds); }
  validateSave(): undefined { return this.#on('validateSave'); }
  saving(): undefined { return this.#on('saving'); }
  afterSave(): undefined { return this.#on('afterSave'); }
  dropping(): undefined { return this.#on('dropping'); }
  #on(event: string): undefined {
    return this.name === event ? (wayOf['count']?.(this.ds) as undefined) : undefined;
  }
}`,
  'src/classes/Guarded.ts': `
import { GuardedBase, type Restriction } from '../generated/api.js';
export class Guarded extends GuardedBase {
  restrict(): Restriction { throw new Error('LDAP is down'); }
}`,
  'src/classes/Clock.ts': `
import { ClockBase } from '../generated/api.js';
import { wayOf } from './ways.js';
export class Clock extends ClockBase {
  now(): unknown { return wayOf['count']?.(this.ds); }
}`,
};

describe('The log', () => {
  const lines: string[] = [];
  let app: FastifyInstance;
  let client: Client;

  beforeAll(async () => {
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(String(chunk));
        done();
      },
    });
    app = await rolesServerOf(model, { logger: { level: 'warn', stream } }, classes);
    client = await loggedIn(app, { privileges: ['read'] });
    expect((await client.post('/rest/Person?$method=update', { name: 'Ada' })).statusCode).toBe(
      200,
    );
    lines.length = 0;
  });
  afterAll(() => app.close());

  /** The stacks of the next log lines. */
  async function stacks(): Promise<string> {
    await expect.poll(() => lines.length).toBeGreaterThan(0);
    return lines
      .splice(0)
      .map((each) => (JSON.parse(each) as { err: { stack: string } }).err.stack)
      .join('\n');
  }

  it.each(Object.keys(ways))(
    'names the line of class code whose action is denied: %s',
    async (way) => {
      const { statusCode, body } = await client.post('/rest/Person/run', [way]);
      expect(statusCode, body).toBe(403);
      expect(await stacks()).toMatch(/src\/classes\/(?:ways|Person)\.[jt]s:\d+:\d+/);
    },
  );

  it.each(Object.keys(mistakes))('names the line of a mistake: %s', async (way) => {
    expect((await client.post('/rest/Person/run', [way])).statusCode).toBe(500);
    expect(await stacks()).toMatch(/src\/classes\/(?:ways|Person)\.[jt]s:\d+:\d+/);
  });

  it.each([
    ['a selection', '/rest/Person/ofAll', ['count'], 'ways'],
    ['an entity', '/rest/Person(1)/ofOne', ['count'], 'ways'],
    ['a singleton', '/rest/$singleton/Clock/now', [], 'ways'],
    ['validateSave', '/rest/Person?$method=update', { name: 'validateSave' }, 'ways'],
    ['saving', '/rest/Person?$method=update', { name: 'saving' }, 'ways'],
    ['afterSave', '/rest/Person?$method=update', { name: 'afterSave' }, 'ways'],
    ['afterCommit', '/rest/Person/later', ['count'], 'ways'],
    ['afterCommit that fails later', '/rest/Person/later', ['waited'], 'Person'],
  ])('names the line of code of %s', async (_name, url, body, file) => {
    await client.post(url, body);
    expect(await stacks()).toMatch(new RegExp(`src/classes/${file}\\.[jt]s:\\d+:\\d+`));
  });

  it('names the line of a restriction', async () => {
    expect((await client.get('/rest/Guarded')).statusCode).toBe(500);
    expect(await stacks()).toMatch(/src\/classes\/Guarded\.[jt]s:\d+:\d+/);
  });
});

describe('The log of a start', () => {
  async function started(roles: string): Promise<readonly string[]> {
    const lines: string[] = [];
    const stream = new Writable({
      write: (chunk, _encoding, done) => {
        lines.push(String(chunk));
        done();
      },
    });
    const yaml = `drs: 1\nname: t\n${roles}dataclasses: { A: { attributes: { ID: { type: integer, key: true } } } }\n`;
    const app = await serverOf(yaml, { logger: { level: 'warn', stream } });
    await app.close();
    return lines.map((each) => (JSON.parse(each) as { msg: string }).msg);
  }

  it('says that a model without roles is open, in one line', async () => {
    expect(await started('')).toEqual([
      'The model has no roles: everything is allowed to everyone who can reach this.',
    ]);
    expect(await started('roles: {}\n')).toEqual([]);
  });
});
