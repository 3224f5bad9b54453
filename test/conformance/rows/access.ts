import type { FastifyInstance } from 'fastify';
import { modelFile } from '../../support/model-file.js';
import { type Granted, loggedIn, rolesServerOf } from '../../support/roles-server.js';
import { get, post, refused, type Row } from '../../support/row.js';

/** A row whose requests come from a user; from a guest when nothing is granted. */
export interface AccessRow extends Row {
  readonly as?: Granted;
}

const view: Granted = { privileges: ['VIEW'] };
const hr: Granted = { roles: ['hr'] };
const update = '/rest/Employee?$method=update';

/** `access.md#what-roles-do`, protocol P9.9, P13.3; the model `access`. */
export const accessRows: readonly AccessRow[] = [
  {
    id: 'P13.3 guest',
    says: 'a guest without the privilege gets 401',
    request: get('/rest/Employee'),
    expect: refused(401, 1556),
    then: [
      [get('/rest/Employee(1)'), refused(401, 1556)],
      [post(update, { name: 'x' }), refused(401, 1557)],
      [post(update, { __KEY: '1', __STAMP: 1, name: 'x' }), refused(401, 1558)],
      [post('/rest/Employee(1)?$method=delete'), refused(401, 1559)],
    ],
  },
  {
    id: 'P7.42 guest',
    says: 'a change by filter and $upsert need the privileges of saves',
    request: post(`${update}&$filter="name = Ada"`, { name: 'x' }),
    expect: refused(401, 1558),
    then: [[post(`${update}&$upsert=ID`, { ID: 1 }), refused(401, 1557)]],
  },
  {
    id: 'P13.3 logged in',
    says: 'a user without the privilege gets 403',
    as: view,
    request: post('/rest/Employee(1)?$method=delete'),
    expect: refused(403, 1559),
    then: [[post(update, { name: 'x' }), refused(403, 1557)]],
  },
  {
    id: 'P9.9 logged in',
    says: 'a user name is enough to be logged in',
    as: {},
    request: get('/rest/Employee'),
    expect: refused(403, 1556),
  },
  {
    id: 'none',
    says: 'nobody has none, everybody has guest, and neither turns a guest into a user',
    as: { privileges: ['none', 'guest', 'unknown'] },
    request: post(update, { name: 'x', salary: 2 }),
    expect: refused(403, 1557),
  },
  {
    id: 'includes',
    says: 'a role adds its privileges with those that they include, in any case',
    as: hr,
    request: get('/rest/Employee(1)?$attributes=name,salary'),
    expect: { has: { name: 'Ada', salary: 1 } },
  },
  {
    id: 'read',
    says: 'an attribute that may not be read is left out',
    request: get('/rest/Company(1)'),
    expect: { members: ['__entityModel', '__KEY', '__TIMESTAMP', '__STAMP', 'ID', 'name'] },
  },
  {
    id: 'names',
    says: 'a request that names it is answered as if it did not exist',
    request: get('/rest/Company?$filter=code=1'),
    expect: refused(400, 1500, 1162),
    then: [
      [get('/rest/Company?$orderby=code'), refused(400, 1500, 1810)],
      [get('/rest/Company?$attributes=code'), refused(400, 1500, 1804)],
      [get('/rest/Company/code'), refused(404, 1500, 1804)],
    ],
  },
  {
    id: 'hops',
    says: 'privileges are checked along every step of a path',
    as: view,
    request: get('/rest/Employee?$filter=employer.code="c"'),
    expect: refused(400, 1500, 1162),
    then: [[get('/rest/Employee?$filter=employer.name="Bolt"'), { keys: ['1'] }]],
  },
  {
    id: 'update',
    says: 'an attribute that may not be changed refuses the entity, and nothing of it is saved',
    as: view,
    request: post('/rest/Employee(1)', { __STAMP: 1, name: 'Eve', salary: 5 }),
    expect: {
      status: 403,
      codes: [1558, 1046, 1517],
      has: { __STATUS: { status: 1, statusText: 'Permission Error', success: false } },
    },
    then: [[get('/rest/Employee(1)?$attributes=name'), { has: { name: 'Ada', __STAMP: 1 } }]],
  },
  {
    id: 'create',
    says: 'a new entity may contain the default of an attribute that may not be created',
    as: hr,
    request: post(update, { name: 'Bo', salary: 1 }),
    expect: { has: { name: 'Bo', __STATUS: { success: true } } },
    then: [[post(update, { name: 'Cy', salary: 2 }), refused(403, 1557, 1046, 1534)]],
  },
  {
    id: 'P7.31 denied',
    says: 'an entity in a list needs the privileges that it needs alone',
    as: view,
    request: post('/rest/Company?$method=update', { name: 'x', staff: [{ name: 'Di' }] }),
    expect: { ...refused(403, 1557, 1046, 1534), has: { __STATUS: { status: 1 } } },
    then: [[get('/rest/Company?$filter=name=x'), { keys: [] }]],
  },
  {
    id: 'P7.32 denied attribute',
    says: 'an attribute that may not be created refuses the list',
    as: hr,
    request: post('/rest/Company?$method=update', {
      name: 'x',
      staff: [{ name: 'Di', salary: 2 }, { nme: 'Ed' }],
    }),
    expect: {
      status: 403,
      has: {
        __ERROR: [
          { errCode: 1557, attribute: 'staff[0].salary' },
          {},
          {},
          { errCode: 1500 },
          {},
          {},
          {},
          {},
        ],
      },
    },
    then: [[get('/rest/Company?$filter=name=x'), { keys: [] }]],
  },
  {
    id: 'P7.31 hidden relation',
    says: 'a list in a relation that the session may not read is an unknown attribute',
    request: post('/rest/Company?$method=update', { name: 'x', staff: [{ name: 'Di' }] }),
    expect: refused(400, 1500, 1570, 1534),
  },
  {
    id: 'create without read',
    says: 'a client that may create but not read gets the address of the entity',
    request: post('/rest/Complaint?$method=update', { text: 'cold' }),
    expect: { is: { uri: '/rest/Complaint(1)', __KEY: '1', __STAMP: 1 } },
  },
  {
    id: 'P3.20 alias',
    says: 'an alias is readable by its own privilege',
    as: view,
    request: get('/rest/Employee(1)?$attributes=employerCode'),
    expect: { has: { employerCode: 'c' } },
  },
  {
    id: 'relation',
    says: 'a relation to a dataclass that may not be read is left out',
    request: get('/rest/Company?$expand=staff'),
    expect: refused(400, 1500, 1805),
  },
  {
    id: 'P2.9 catalog',
    says: 'the catalog lists what the session may read',
    request: get('/rest/$catalog'),
    expect: {
      has: {
        dataClasses: [{ name: 'Company', uri: '/rest/$catalog/Company', dataURI: '/rest/Company' }],
      },
    },
    then: [[get('/rest/$catalog/Employee'), refused(404, 1800)]],
  },
  {
    id: 'P9.13 sets',
    says: 'reads of a set check privileges again',
    request: get('/rest/Employee/$entityset/0123456789ABCDEF0123456789ABCDEF'),
    expect: refused(401, 1556),
  },
];

/** A server of the model `access`, with a company and its employee. */
export async function accessServer(): Promise<FastifyInstance> {
  const app = await rolesServerOf(modelFile('access'));
  const client = await loggedIn(app, hr);
  await client.post('/rest/Company?$method=update', { name: 'Bolt', code: 'c' });
  await client.post('/rest/Employee?$method=update', { name: 'Ada', employer: 1 });
  return app;
}

/** The headers of a row's requests. */
export async function headersOf(
  app: FastifyInstance,
  { as }: AccessRow,
): Promise<Readonly<Record<string, string>>> {
  if (as === undefined) return {};
  const { cookie = '' } = await loggedIn(app, as);
  return { cookie };
}
