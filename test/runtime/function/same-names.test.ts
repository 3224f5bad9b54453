import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: names
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
    functions:
      dataclass: { tell: { exposed: true, onHTTPGet: true, params: { more: string }, returns: string } }
      selection: { tell: { exposed: true, onHTTPGet: true, returns: string } }
      entity: { tell: { exposed: true, returns: string } }
`;

const classes = {
  'src/classes/Person.ts': `
import { PersonBase } from '../generated/api.js';
export class Person extends PersonBase { tell(more: string): string { return 'dataclass' + more; } }`,
  'src/classes/PersonSelection.ts': `
import { PersonSelectionBase } from '../generated/api.js';
export class PersonSelection extends PersonSelectionBase {
  tell(): string { return 'selection, not ' + this.ds.Person.tell('!'); }
}`,
  'src/classes/PersonEntity.ts': `
import { PersonEntityBase } from '../generated/api.js';
export class PersonEntity extends PersonEntityBase { tell(): string { return 'entity'; } }`,
};

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model, {}, classes);
  await create(app, 'Person', [{}]);
});
afterAll(() => app.close());

// Protocol P11.26.
it('A function of selections hides one of the dataclass with the same name; one of entities has an address of its own', async () => {
  const selection = { result: 'selection, not dataclass!' };
  const byGet = await app.inject('/rest/Person/tell');
  expect([byGet.statusCode, byGet.json()]).toEqual([200, selection]);
  const byPost = await app.inject({ method: 'POST', url: '/rest/Person/tell' });
  expect(byPost.json()).toEqual(selection);
  const entity = await app.inject({ method: 'POST', url: '/rest/Person(1)/tell' });
  expect(entity.json()).toEqual({ result: 'entity' });
  const { methods } = (await app.inject('/rest/$catalog/Person')).json<{
    readonly methods: readonly { readonly applyTo: string }[];
  }>();
  expect(methods.map((each) => each.applyTo)).toEqual(['entitySelection', 'entity']);
});
