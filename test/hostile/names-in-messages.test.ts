import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { create, serverOf } from '../support/server.js';
import { codesOf } from '../support/expect-served.js';

const model = `
drs: 1
name: discreet
dataclasses:
  Secret:
    exposed: false
    attributes:
      secretID: { type: integer, key: true, generated: sequence }
      secretCost: number
      secretData: object
      secretPicture: image
      secretFlag: boolean
      secretSource: { to: Open, exposed: false }
  Open:
    attributes:
      secretKey: { type: integer, key: true, generated: sequence, exposed: false }
      name: string
      secretNumber: { type: integer, exposed: false }
      parent: { to: Open, inverse: children, foreignKey: secretNumber }
      children: { to: Open, many: true, inverse: parent }
      secretWay: { to: Secret, exposed: false }
      cost: { alias: secretWay.secretCost }
      data: { alias: secretWay.secretData }
      picture: { alias: secretWay.secretPicture }
      flag: { alias: secretWay.secretFlag }
  Pointing:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      shownKey: integer
      secretRelation: { to: Secret, exposed: false, foreignKey: shownKey }
      openKey: integer
      secretOpen: { to: Open, exposed: false, foreignKey: openKey }
  Demanding:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      secretMandatory: { to: Secret, exposed: false, mandatory: true }
  Single:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      secretUnique: { type: string, unique: true, exposed: false, default: x }
  Paired:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      shown: string
      secretOne: { type: string, exposed: false, default: x }
    indexes: [{ unique: true, attributes: [secretOne, shown] }]
  Covered:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      secretOne: { type: string, exposed: false, default: x }
      secretTwo: { type: string, exposed: false, default: x }
    indexes: [{ unique: true, attributes: [secretOne, secretTwo] }]
  Keyed:
    attributes:
      secretName: { type: string, key: true, exposed: false, minLength: 2 }
`;

let app: FastifyInstance;
beforeAll(async () => {
  app = await serverOf(model);
  await create(app, 'Open', [{ name: 'one' }]);
  await create(app, 'Single', [{}]);
  await create(app, 'Paired', [{ shown: 'X' }]);
  await create(app, 'Covered', [{}]);
});
afterAll(() => app.close());

const paths = [
  ...['cost', 'data', 'picture', 'flag', '__KEY', 'parent', 'children', 'name'],
  ...['parent.cost', 'parent.data', 'children.cost', 'children.data', 'children.picture'],
  ...['cost.x', 'data.x', 'parent.data.x.y', 'flag.x', '__KEY.x', 'parent.__KEY', 'name.x'],
];

it.each(paths)('A message about %s uses the name that the client wrote', async (path) => {
  const requests = [
    ...[" begin 'x'", ' < 1', '=1', '=null', ' < null', ' % 1', ' contains 1'].map(
      (rest) => `$filter=${encodeURIComponent(path + rest)}`,
    ),
    `$filter=${path}%3D:1&$params=${encodeURIComponent('[{}]')}`,
    `$orderby=${path}`,
    `$attributes=${path}`,
    `$expand=${path}`,
  ];
  for (const request of requests) {
    const { body } = await app.inject(`/rest/Open?${request}`);
    expect(body, request).not.toMatch(/secret/i);
  }
});

it.each([
  ["cost begin 'x'", 'begin does not apply to the number attribute cost'],
  ["parent.cost begin 'x'", 'begin does not apply to the number attribute parent.cost'],
  ["__KEY begin 'x'", 'begin does not apply to the integer attribute __KEY'],
  ["parent begin 'x'", 'begin does not apply to the integer attribute parent'],
  ['flag < 1', '< does not apply to the boolean attribute flag'],
  ['picture = 1', 'the image attribute picture can be compared with null only'],
  ['parent.data = 1', 'the object attribute parent.data can be compared with null only'],
  ['parent.children = 1', 'the to-many relation parent.children has no value of its own'],
])('A message names an attribute as the client wrote it: %s: %s', async (filter, message) => {
  const { body } = await app.inject(`/rest/Open?$filter=${encodeURIComponent(filter)}`);
  expect(body).toContain(message);
});

it.each([
  ['Pointing', { shownKey: 99 }, 422, 'shownKey names an entity that cannot be found.'],
  [
    'Pointing',
    { openKey: 99 },
    422,
    'openKey names an entity that cannot be found in the "Open" dataclass.',
  ],
  [
    'Open',
    { parent: 99 },
    422,
    'parent names an entity that cannot be found in the "Open" dataclass.',
  ],
  ['Demanding', {}, 422, 'An attribute must not be null.'],
  ['Keyed', {}, 422, '__KEY must not be null.'],
  ['Keyed', { __KEY: 'x' }, 422, '__KEY must have at least 2 characters.'],
  ['Single', {}, 409, 'An attribute must be unique: another entity has this value.'],
  [
    'Paired',
    { shown: 'x' },
    409,
    'shown and others must be unique together: another entity has these values.',
  ],
  ['Covered', {}, 409, 'Attributes must be unique together: another entity has these values.'],
] as const)('%s %j is refused with %i: %s', async (dataclass, entity, status, message) => {
  const response = await app.inject({
    method: 'POST',
    url: `/rest/${dataclass}?$method=update`,
    payload: JSON.stringify(entity),
  });
  expect(response.statusCode, response.body).toBe(status);
  expect(response.body).not.toMatch(/secret/i);
  const { __ERROR } = response.json<{ readonly __ERROR: readonly { message: string }[] }>();
  expect(__ERROR[0]?.message).toBe(message);
});

it('A message about an entity whose key exists already names the key', async () => {
  await create(app, 'Keyed', [{ __KEY: 'taken' }]);
  const response = await app.inject({
    method: 'POST',
    url: '/rest/Keyed?$method=update',
    payload: '{"__KEY":"TAKEN"}',
  });
  expect(response.statusCode).toBe(409);
  expect(response.json()).toMatchObject({ __STATUS: { status: 2 } });
  expect(codesOf(response)[0]).toBe(1263);
});
