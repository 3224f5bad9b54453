import type { FastifyInstance } from 'fastify';
import { create } from '../../support/server.js';
import { computedServer } from '../../support/computed-server.js';
import { get, post, type Row } from '../../support/row.js';

/** A server whose class code computes attributes, with two employees. */
export async function filledComputedServer(): Promise<FastifyInstance> {
  const { app } = await computedServer();
  await create(app, 'Company', [{ name: 'Acme' }]);
  await create(app, 'Employee', [
    { code: 'a', firstName: 'Ada', lastName: 'Byron', salary: 2000, employer: 1 },
    { code: 'b', firstName: 'Bob', lastName: 'Ceco', salary: 10 },
  ]);
  return app;
}

const update = '/rest/Employee?$method=update';
const filtered = (filter: string): string =>
  `/rest/Employee/code?$filter=${encodeURIComponent(filter)}`;

/** Attributes with accessors (`class-code.md#computed-attributes`). */
export const computedRows: readonly Row[] = [
  {
    id: 'accessors get',
    says: 'a computed attribute is sent as the value of its getter',
    request: get('/rest/Employee(a)/fullName,pay,isRich,hired'),
    expect: { has: { fullName: 'Ada Byron', pay: 4000, isRich: true, hired: null } },
  },
  {
    id: 'accessors expanded',
    says: 'a computed attribute is sent behind relations, too',
    request: get('/rest/Employee(a)/employer.shout,employer.staff.fullName'),
    expect: { has: { employer: { shout: 'Acme!', staff: { __ENTITIES: [{ __KEY: 'a' }] } } } },
  },
  {
    id: 'accessors set',
    says: 'a value in a body is passed to the setter',
    request: post(update, { __KEY: 'a', __STAMP: 1, fullName: 'Ada King' }),
    expect: { has: { firstName: 'Ada', lastName: 'King', __STAMP: 2 } },
    then: [[get('/rest/Employee(a)/lastName'), { has: { lastName: 'King' } }]],
  },
  {
    id: 'P7.7 accessors read-only',
    says: 'without a setter the value is ignored',
    request: post(update, { __KEY: 'a', __STAMP: 1, pay: 'x', salary: 3 }),
    expect: { has: { pay: 6 } },
  },
  {
    id: 'P7.7 accessors as read',
    says: 'a whole entity as it was read may be sent back with one value changed',
    request: post(update, { __KEY: 'a', __STAMP: 1, fullName: 'Ada Byron', lastName: 'King' }),
    expect: { has: { fullName: 'Ada King' } },
  },
  {
    id: 'accessors query',
    says: 'a comparison is replaced by the filter of the accessor query',
    request: get(filtered("fullName = 'ada byron' and salary > 1")),
    expect: { keys: ['a'] },
  },
  {
    id: 'F37 accessors',
    says: '!= is always NOT (=)',
    request: get(filtered("fullName != 'ada byron'")),
    expect: { keys: ['b'] },
  },
  {
    id: 'F18 accessors',
    says: 'a path over a missing relation is null',
    request: get(filtered('employer.shout = null')),
    expect: { keys: ['b'] },
  },
  {
    id: 'accessors without query',
    says: 'a computed attribute without query cannot be filtered',
    request: get(filtered('pay = 1')),
    expect: { status: 400, codes: [1112], message: /has no accessor "query"/ },
  },
  {
    id: 'F9 accessors',
    says: 'the result of the handler may not contain order by',
    request: get(filtered('bad = 4')),
    expect: { status: 500, codes: [1837] },
  },
  {
    id: 'accessors orderBy',
    says: 'an order is replaced by that of the accessor orderBy',
    request: get('/rest/Employee?$orderby=fullName%20desc&$attributes=code'),
    expect: { keys: ['b', 'a'] },
  },
  {
    id: 'accessors of an expansion',
    says: 'the filter of an expansion does not ask class code',
    request: get('/rest/Company?$expand=staff($filter="fullName = ada")'),
    expect: { status: 400, codes: [1112], message: /options of staff: .* is not asked about it/ },
    then: [
      [
        get('/rest/Company?$expand=staff($orderby=fullName)'),
        { status: 400, codes: [1810], message: /options of staff: .* is not asked about it/ },
      ],
      [
        get('/rest/Company?$expand=staff($attributes=fullName;$top=1)'),
        { has: { __ENTITIES: [{ staff: { __ENTITIES: [{ fullName: 'Ada Byron' }] } }] } },
      ],
    ],
  },
  {
    id: 'accessors without orderBy',
    says: 'a computed attribute without orderBy cannot give an order',
    request: get('/rest/Employee?$orderby=pay'),
    expect: { status: 400, codes: [1810] },
  },
  {
    id: 'P5.11 accessors',
    says: 'aggregates over values of class code are refused',
    request: get('/rest/Employee/pay?$compute=sum'),
    expect: { status: 400, codes: [1813] },
  },
  {
    id: 'P5.13 accessors',
    says: 'groups take a filter with a value of class code, and refuse it as a key',
    request: get("/rest/Employee?$groupby=lastName&$filter=fullName='ada byron'"),
    expect: { has: { __GROUPS: [{ lastName: 'Byron', count: 1 }] } },
    then: [[get('/rest/Employee?$groupby=fullName'), { status: 400, codes: [1813] }]],
  },
  {
    id: 'P2.5 accessors',
    says: 'the catalog lists it as calculated, and read-only without a setter',
    request: get('/rest/$catalog/Company'),
    expect: {
      has: {
        attributes: [
          { name: 'ID' },
          { name: 'name' },
          { name: 'shout', kind: 'calculated', type: 'string', readOnly: true },
          { name: 'staff' },
        ],
      },
    },
  },
];
