import type { FastifyInstance } from 'fastify';
import { restrictedClient, restrictedServer } from '../../support/restricted-server.js';
import { get, post, refused, type Row } from '../../support/row.js';

const update = '/rest/Employee?$method=update';

/** `access.md#restrict`: a user who sees the first and the third of three employees. */
export const restrictRows: readonly Row[] = [
  {
    id: 'restrict collection',
    says: 'every read is limited to the entities that restrict allows',
    request: get('/rest/Employee'),
    expect: { keys: ['1', '3'], has: { __COUNT: 2 } },
    then: [
      [get('/rest/Employee/salary?$compute=sum'), { is: 4 }],
      [get('/rest/Employee?$filter=ID=2'), { keys: [] }],
      [
        get('/rest/Employee?$groupby=boss,boss.name&$compute=count,sum(salary),max(boss.salary)'),
        {
          has: {
            __GROUPS: [
              {
                boss: null,
                'boss.name': null,
                count: 2,
                'sum(salary)': 4,
                'max(boss.salary)': null,
              },
            ],
          },
        },
      ],
      [get('/rest/Company(1)?$expand=staff'), { has: { staff: { __COUNT: 2 } } }],
    ],
  },
  {
    id: 'restrict expansion',
    says: 'a filter and an order of an expansion find the entities that restrict allows',
    request: get(
      '/rest/Company(1)?$expand=staff($filter="ID > 0";$orderby=boss.name desc,ID desc)',
    ),
    expect: { has: { staff: { __COUNT: 2, __ENTITIES: [{ __KEY: '3' }, { __KEY: '1' }] } } },
    then: [
      [
        get('/rest/Company(1)?$expand=staff($filter="boss.ID = 2")'),
        { has: { staff: { __COUNT: 0, __ENTITIES: [] } } },
      ],
    ],
  },
  {
    id: 'restrict single',
    says: 'an entity that restrict hides is answered as missing',
    request: get('/rest/Employee(2)'),
    expect: refused(404, 1543),
    then: [
      [post('/rest/Employee(2)?$method=delete'), refused(404, 1543)],
      [post(update, { __KEY: 2, __STAMP: 1, name: 'x' }), refused(404, 1542)],
    ],
  },
  {
    id: 'restrict key',
    says: 'the key of an entity that restrict hides is in use',
    request: post(update, { __KEY: 2, name: 'x' }),
    expect: refused(409, 1569, 1046, 1534),
  },
  {
    id: 'restrict change by filter',
    says: '$filter of a change: reaches no entity that restrict hides',
    request: post(`${update}&$filter="ID > 0"&$atMost=2`, { name: 'x' }),
    expect: { is: { ok: true, changed: 2 } },
  },
  {
    id: 'restrict upsert',
    says: '$upsert: an entity that restrict hides is not found, and its value is in use',
    request: post(`${update}&$upsert=ID`, { ID: 2, name: 'x' }),
    expect: refused(409, 1569, 1046, 1534),
    then: [[post(`${update}&$upsert=ID`, { ID: 1, name: 'x' }), { has: { __STAMP: 2 } }]],
  },
  {
    id: 'restrict create',
    says: 'an entity may be created that restrict hides, and cannot be read afterwards',
    request: post(update, { name: 'x', salary: 999 }),
    expect: { is: { uri: '/rest/Employee(4)', __KEY: '4', __STAMP: 1 } },
    then: [[get('/rest/Employee(4)'), refused(404, 1543)]],
  },
  {
    id: 'restrict list',
    says: 'an entity in a list that restrict hides is answered as missing, and may be created so',
    request: post('/rest/Company?$method=update', {
      name: 'New',
      staff: [{ __KEY: '2', __STAMP: 1, name: 'x' }],
    }),
    expect: refused(404, 1542, 1046, 1534),
    then: [
      [get('/rest/Company?$filter=name=New'), { keys: [] }],
      [
        post('/rest/Company?$method=update&$expand=staff', {
          name: 'New',
          staff: [
            { name: 'low', salary: 1 },
            { name: 'high', salary: 999 },
          ],
        }),
        { has: { staff: { __COUNT: 1 } } },
      ],
    ],
  },
  {
    id: 'restrict hidden',
    says: 'a to-one relation and an alias to what restrict hides are null',
    request: get('/rest/Employee(3)?$attributes=boss'),
    expect: { has: { boss: null } },
    then: [[get('/rest/Employee(3)?$expand=boss'), { has: { boss: null } }]],
  },
  {
    id: 'restrict set',
    says: 'a set contains the entities that restrict allows',
    request: get('/rest/Employee?$filter=ID>0&$method=entityset'),
    expect: { keys: ['1', '3'] },
  },
];

const refusedRow = { ...refused(403, 1849, 1046, 1534), has: { __STATUS: { status: 1 } } };

/** Rows for servers where restrict also decides what is stored: `restrict: { writes: true }`. */
export const restrictedWriteRows: readonly Row[] = [
  {
    id: 'restrict writes create',
    says: 'an entity that restrict would hide is not created',
    request: post(update, { name: 'x', salary: 999 }),
    expect: refusedRow,
    then: [
      [get('/rest/Employee'), { has: { __COUNT: 2 } }],
      [post(update, { name: 'x', salary: 9 }), { has: { salary: 9, __STAMP: 1 } }],
    ],
  },
  {
    id: 'restrict writes change',
    says: 'an entity is not changed so that restrict would hide it',
    request: post(update, { __KEY: 1, __STAMP: 1, salary: 999 }),
    expect: refused(403, 1849, 1046, 1517),
    then: [[get('/rest/Employee(1)'), { has: { salary: 1, __STAMP: 1 } }]],
  },
  {
    id: 'restrict writes list',
    says: 'the other entities of a list are stored, and none with $atomic',
    request: post(`${update}&$atomic=true`, [
      { name: 'low', salary: 1 },
      { name: 'high', salary: 999 },
    ]),
    expect: { status: 403 },
    then: [
      [get('/rest/Employee'), { has: { __COUNT: 2 } }],
      [
        post(update, [
          { name: 'low', salary: 1 },
          { name: 'high', salary: 999 },
        ]),
        { status: 200 },
      ],
      [get('/rest/Employee'), { has: { __COUNT: 3 } }],
    ],
  },
  {
    id: 'restrict writes nested',
    says: 'an entity is refused with one in its list that restrict would hide',
    request: post('/rest/Company?$method=update', {
      name: 'New',
      staff: [
        { name: 'low', salary: 1 },
        { name: 'high', salary: 999 },
      ],
    }),
    expect: refused(403, 1849, 1046, 1534, 1046, 1534),
    then: [[get('/rest/Company?$filter=name=New'), { keys: [] }]],
  },
  {
    id: 'restrict writes validate',
    says: '$method=validate reports an entity that restrict would hide',
    request: post('/rest/Employee?$method=validate', { name: 'x', salary: 999 }),
    expect: { has: { __ENTITIES: [{ name: 'x', __ERROR: [{ errCode: 1849 }, {}, {}] }] } },
  },
];

/**
 * The server, and the headers of its user.
 * @param ofWrites whether restrict decides about what is stored, too
 */
export async function restrictServer(ofWrites: boolean): Promise<{
  readonly app: FastifyInstance;
  readonly headers: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
}> {
  const app = await restrictedServer({}, false, ofWrites);
  const all = await restrictedClient(app, 'all', ['all']);
  await all.post('/rest/Company?$method=update', { name: 'Bolt' });
  const staff = [
    { name: 'Ada', salary: 1, employer: 1 },
    { name: 'Bo', salary: 500, employer: 1 },
    { name: 'Cy', salary: 3, employer: 1, boss: 2 },
  ];
  for (const each of staff) await all.post(update, each);
  const { cookie = '' } = await restrictedClient(app, 'poor', []);
  return { app, headers: { cookie }, close: () => app.close() };
}
