import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { codesOf } from '../../support/expect-served.js';
import type { Client } from '../../support/cookies.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';

const model = `
drs: 1
name: staff
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      level: integer
      salary: number
      boss: { to: Person }
    restrict: true
    functions:
      selection:
        total: { exposed: true, returns: number }
        names: { exposed: true, returns: 'string[]' }
        promotedNames: { exposed: true, returns: 'string[]' }
        within: { exposed: true, returns: any }
        combined: { exposed: true, returns: 'string[]' }
        become: { exposed: true, returns: Person.selection }
        remove: { exposed: true, returns: integer }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }, { privilege: pay, includes: [view] }]
  permissions:
    allowed:
      - { applyTo: Person, type: dataclass, read: [view], create: [view], update: [view], drop: [view], execute: [view] }
      - { applyTo: Person.salary, type: attribute, read: [pay] }
      - { applyTo: Person.promotedNames, type: method, promote: [pay] }
`;

const classes = {
  'src/classes/Person.ts': `
import { PersonBase } from '../generated/api.js';
import type { Restriction, Session } from '../generated/api.js';
export class Person extends PersonBase {
  restrict(session: Session): Restriction {
    return session.hasPrivilege('pay') ? null : 'level < 3';
  }
}`,
  'src/classes/PersonSelection.ts': `
import { PersonSelectionBase } from '../generated/api.js';
import type { PersonSelection as Selection } from '../generated/api.js';
export class PersonSelection extends PersonSelectionBase {
  total(): Promise<number> { return this.sum('level'); }
  async names(): Promise<string[]> { return (await this.toArray()).map(({ name }) => name ?? ''); }
  promotedNames(): Promise<string[]> { return this.names(); }
  async within(): Promise<unknown> {
    const before = await this.count();
    const promoted = await this.session.promote('pay', async () => [
      await this.count(),
      await this.names(),
      await this.query('salary > 0').count(),
      await this.boss.count(),
      await this.ds.Person.all().count(),
      await this.ds.transaction(() => this.count()),
    ]);
    return { before, promoted, after: await this.count() };
  }
  combined(): Promise<string[]> {
    const others = this.ds.Person.query('level > 3');
    return this.session.promote('pay', () => this.or(others).minus(this.slice(0, 1)).names());
  }
  become(): Selection {
    this.session.setPrivileges(['pay']);
    return this;
  }
  remove(): Promise<number> { return this.session.promote('pay', () => this.drop()); }
}`,
};

const statements: string[] = [];
let app: FastifyInstance;
let viewer: Client;
let payer: Client;

beforeAll(async () => {
  const onStatement = (sql: string): void => {
    statements.push(sql);
  };
  app = await rolesServerOf(model, { onStatement }, classes);
  viewer = await loggedIn(app, { privileges: ['view'] });
  payer = await loggedIn(app, { privileges: ['pay'] });
});
beforeEach(async () => {
  await payer.post('/rest/Person?$method=delete', undefined);
  const people = ['Ada', 'Bob', 'Cid', 'Dan', 'Eve'].map((name, at) => ({
    ...{ ID: at + 1, name, level: at, salary: at * 10, boss: at === 0 ? null : { __KEY: 5 } },
  }));
  const { statusCode } = await payer.post('/rest/Person?$method=update', people.reverse());
  expect(statusCode).toBe(200);
  statements.length = 0;
});
afterAll(() => app.close());

async function called(client: Client, name: string, query = ''): Promise<unknown> {
  const response = await client.post(`/rest/Person/${name}/$entityset/?${query}`, []);
  expect([response.statusCode, response.body]).toEqual([200, response.body]);
  const { result } = response.json<{ result: unknown }>();
  return result;
}

describe('A function on the entities of a filter', () => {
  it('reads by one statement, whatever the value in the filter', async () => {
    expect(await called(payer, 'total', '$filter=level>1')).toBe(9);
    expect(statements).toHaveLength(1);
    expect(await called(payer, 'total', '$filter=level>2')).toBe(7);
    expect(await called(payer, 'total', '$filter=level>:1&$params=[3]')).toBe(4);
    expect(await called(payer, 'total', '$filter=level=1.5')).toBe(0);
    expect(statements.slice(0, 3)).toEqual([statements[0], statements[0], statements[0]]);
    expect(await called(viewer, 'total', '$filter=level>0')).toBe(3);
  });

  it('keeps the order of the request, or of the filter', async () => {
    expect(await called(viewer, 'names', '$orderby=name desc')).toEqual(['Cid', 'Bob', 'Ada']);
    const inFilter = '$filter="level>0 order by name desc"';
    expect(await called(viewer, 'names', inFilter)).toEqual(['Cid', 'Bob']);
    expect(await called(viewer, 'names', `${inFilter}&$orderby=name`)).toEqual(['Bob', 'Cid']);
  });

  it.each(['total', 'promotedNames', 'within'])(
    'refuses what its caller may not name, before %s runs',
    async (name) => {
      for (const query of [
        '$filter=salary>10',
        '$orderby=salary',
        '$filter="level>0 order by salary"',
      ]) {
        const response = await viewer.post(`/rest/Person/${name}/$entityset/?${query}`, []);
        expect(response.statusCode).toBe(400);
        expect(codesOf(response)[0]).toBe(1500);
      }
      expect(statements).toEqual([]);
    },
  );
});

describe('Promoted code', () => {
  it('sees of the selection of a client what the client sees', async () => {
    expect(await called(viewer, 'promotedNames', '$filter=level>0')).toEqual(['Bob', 'Cid']);
    expect(await called(viewer, 'promotedNames', '$orderby=name desc')).toEqual([
      'Cid',
      'Bob',
      'Ada',
    ]);
    // A boss who is hidden from the client does not count.
    expect(await called(viewer, 'promotedNames', '$filter=boss.level>0')).toEqual([]);
    expect(await called(payer, 'promotedNames', '$filter=boss.level>3')).toHaveLength(4);
  });

  it('sees it for as long as it is promoted', async () => {
    expect(await called(viewer, 'within', '$filter=level>0')).toEqual({
      before: 2,
      promoted: [2, ['Bob', 'Cid'], 2, 1, 5, 2],
      after: 2,
    });
    expect(await called(viewer, 'combined', '$filter=level>0')).toEqual(['Cid', 'Eve']);
  });

  it('deletes of it only what the client sees', async () => {
    expect(await called(viewer, 'remove', '$filter=level>=2')).toBe(1);
    expect(await called(payer, 'names', '$orderby=ID')).toEqual(['Ada', 'Bob', 'Dan', 'Eve']);
  });

  it('answers with it what the client saw, even if the client becomes another user', async () => {
    const other = await loggedIn(app, { privileges: ['view'] });
    const response = await other.post('/rest/Person/become/$entityset/?$filter=level>0', []);
    expect(response.json()).toMatchObject({ __COUNT: 2, __ENTITIES: [{ ID: 2 }, { ID: 3 }] });
    expect(response.body).toContain('"salary":10');
  });
});
