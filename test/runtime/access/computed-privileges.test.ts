import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../../support/cookies.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';

const model = `
drs: 1
name: guarded
dataclasses:
  Firm:
    attributes:
      ID: { type: integer, key: true }
      name: string
      label: { computed: string, accessors: [get, query, orderBy] }
  Person:
    attributes:
      ID: { type: integer, key: true }
      name: string
      pay: number
      grade: { computed: string, accessors: [get, set, query, orderBy] }
      viewer: { computed: string }
      firm: { to: Firm }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }, { privilege: grade }, { privilege: grading, includes: [grade] }, { privilege: pay }, { privilege: boss, includes: [pay, grading, view] }]
  permissions:
    allowed:
      - { applyTo: Firm, type: dataclass, read: [boss] }
      - { applyTo: Person, type: dataclass, read: [view], create: [view], update: [view] }
      - { applyTo: Person.pay, type: attribute, read: [pay], update: [pay], create: [pay] }
      - { applyTo: Person.grade, type: attribute, read: [grade], update: [grading], create: [grading] }
`;

const classes = {
  'src/classes/Person.ts': `
import { PersonBase, type ComputedOrder, type ComputedQuery, type FilterWithValues } from '../generated/api.js';
export class Person extends PersonBase {
  queryGrade({ value }: ComputedQuery): FilterWithValues {
    return { filter: value === 'high' ? 'pay > 100' : 'not (pay > 100)' };
  }
  orderByGrade({ direction }: ComputedOrder): string {
    return 'pay ' + direction;
  }
}
`,
  'src/classes/PersonEntity.ts': `
import { PersonEntityBase } from '../generated/api.js';
export class PersonEntity extends PersonEntityBase {
  get grade(): string | null {
    return this.pay === null ? null : this.pay > 100 ? 'high' : 'low';
  }
  set grade(value: string | null) {
    this.pay = value === 'high' ? 1000 : 1;
  }
  get viewer(): string | null {
    return this.session.userName + ' ' + String(this.session.hasPrivilege('pay'));
  }
}
`,
  'src/classes/Firm.ts': `
import { FirmBase, type ComputedQuery, type FilterWithValues } from '../generated/api.js';
export class Firm extends FirmBase {
  queryLabel(query: ComputedQuery): FilterWithValues {
    return { filter: 'name = :1', values: [query.value] };
  }
  orderByLabel(): string {
    return 'name';
  }
}
`,
  'src/classes/FirmEntity.ts': `
import { FirmEntityBase } from '../generated/api.js';
export class FirmEntity extends FirmEntityBase {
  get label(): string | null {
    return this.name;
  }
}
`,
};

let app: FastifyInstance;
let viewer: Client;
let grader: Client;
let boss: Client;

beforeAll(async () => {
  app = await rolesServerOf(model, {}, classes);
  viewer = await loggedIn(app, { privileges: ['view'] });
  grader = await loggedIn(app, { privileges: ['view', 'grading'] });
  boss = await loggedIn(app, { privileges: ['boss'] });
  for (const [ID, pay] of [
    [1, 500],
    [2, 5],
  ]) {
    const made = await boss.post('/rest/Person?$method=update', { ID, name: `p${ID}`, pay });
    expect(made.statusCode, made.body).toBe(200);
  }
});

afterAll(() => app.close());

async function update(client: Client, body: object): Promise<unknown[]> {
  const response = await client.post('/rest/Person?$method=update', body);
  return [response.statusCode, response.json()];
}

describe('A computed attribute with a privilege of its own', () => {
  it('is hidden from sessions that lack it, in answers, filters, orders and bodies', async () => {
    const { __ENTITIES: found } = (await viewer.get('/rest/Person')).json<{
      readonly __ENTITIES: readonly object[];
    }>();
    expect(found.map((each) => 'grade' in each)).toEqual([false, false]);
    expect((await viewer.get("/rest/Person?$filter=grade%20=%20'high'")).statusCode).toBe(400);
    expect((await viewer.get('/rest/Person?$orderby=grade')).statusCode).toBe(400);
    expect((await viewer.get('/rest/Person/grade')).statusCode).toBe(404);
    expect(await update(viewer, { __KEY: 2, __STAMP: 1, grade: 'high' })).toMatchObject([400, {}]);
    expect((await viewer.get("/rest/Person?$filter=firm.label%20=%20'x'")).statusCode).toBe(400);
  });

  it('has code that reads what its caller may not', async () => {
    const response = await grader.get('/rest/Person?$orderby=grade%20desc');
    expect(response.json()).toMatchObject({
      __ENTITIES: [
        { ID: 1, grade: 'high' },
        { ID: 2, grade: 'low' },
      ],
    });
    expect(response.body).not.toContain('"pay"');
    const high = await grader.get("/rest/Person/ID?$filter=grade%20=%20'high'");
    expect(high.json()).toMatchObject({ __ENTITIES: [{ ID: 1 }] });
  });

  it('has code that knows its caller, and the privileges of the caller', async () => {
    expect((await grader.get('/rest/Person(1)/viewer')).json()).toMatchObject({
      viewer: 'mia false',
    });
    expect((await boss.get('/rest/Person(1)/viewer')).json()).toMatchObject({ viewer: 'mia true' });
  });

  it('has a setter that writes what its caller may not', async () => {
    expect(await update(grader, { __KEY: 2, __STAMP: 1, grade: 'high' })).toMatchObject([
      200,
      { __STAMP: 2, grade: 'high' },
    ]);
    expect((await boss.get('/rest/Person(2)/pay')).json()).toMatchObject({ pay: 1000 });
    expect(await update(grader, { __KEY: 2, __STAMP: 2, pay: 7 })).toMatchObject([400, {}]);
    expect(await update(grader, { ID: 3, name: 'new', grade: 'high' })).toMatchObject([200, {}]);
  });

  it('refuses another value if it may only be read, and ignores the same one', async () => {
    const reader = await loggedIn(app, { privileges: ['view', 'grade'] });
    const { __STAMP } = (await reader.get('/rest/Person(1)')).json<{ readonly __STAMP: number }>();
    expect(await update(reader, { __KEY: 1, __STAMP, grade: 'low' })).toMatchObject([
      403,
      { __ERROR: [{ message: 'No permission to update "grade".' }] },
    ]);
    expect(await update(reader, { __KEY: 1, __STAMP, grade: 'high', name: 'p' })).toMatchObject([
      200,
      { name: 'p', grade: 'high' },
    ]);
    expect(await update(reader, { ID: 9, grade: 'high' })).toMatchObject([
      403,
      { __ERROR: [{ message: 'No permission to create an entity with "grade".' }] },
    ]);
  });
});
