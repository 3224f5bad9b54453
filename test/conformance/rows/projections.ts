import { employee } from '../../support/staff-fixture.js';
import { get, type Expectation, refused, type Row } from '../../support/row.js';

const head = ['__KEY', '__TIMESTAMP', '__STAMP'];
const managed = '/rest/Company(5)';
const one = ['__entityModel', ...head];

type Case = readonly [says: string, query: string, expect: Expectation];

/** Protocol P3.8, P3.10, P3.11, P3.20. */
const cases: readonly Case[] = [
  ['names choose attributes', '$attributes=name,city', { members: [...one, 'name', 'city'] }],
  ['blanks are allowed', '$attributes=name , city', { members: [...one, 'name', 'city'] }],
  [
    'the order is that of the model',
    '$attributes=city,name',
    { members: [...one, 'name', 'city'] },
  ],
  ['a name twice counts once', '$attributes=name,name', { members: [...one, 'name'] }],
  [
    'a to-one relation is deferred',
    '$attributes=manager',
    {
      members: [...one, 'manager'],
      has: { manager: { __deferred: { uri: `/rest/Employee(${employee(1)})` } } },
    },
  ],
  [
    'rel.* is the whole related entity',
    '$attributes=manager.*',
    {
      members: [...one, 'manager'],
      has: { manager: { __KEY: employee(1), lastName: 'Lovelace' } },
    },
  ],
  [
    'rel.a is that attribute alone',
    '$attributes=manager.lastName,manager.firstName',
    {
      has: {
        manager: { __KEY: employee(1), __STAMP: 1, firstName: 'Ada', lastName: 'Lovelace' },
      },
    },
  ],
  [
    'a chain',
    '$attributes=manager.employer.name',
    { has: { manager: { __KEY: employee(1), employer: { __KEY: '1', name: 'Ärger' } } } },
  ],
  [
    'to-many of to-one',
    '$attributes=manager.team.lastName',
    {
      has: {
        manager: {
          team: {
            __COUNT: 2,
            __SENT: 2,
            __ENTITIES: [{ __KEY: employee(2) }, { __KEY: employee(3) }],
          },
        },
      },
    },
  ],
  [
    'a null relation stays null',
    '$attributes=manager.boss.lastName',
    { has: { manager: { boss: null } } },
  ],
  [
    '$expand adds the whole related entity to all attributes',
    '$expand=manager',
    { has: { name: 'Managed', manager: { lastName: 'Lovelace' } } },
  ],
  ['$expand takes rel.*', '$expand=manager.*', { has: { manager: { lastName: 'Lovelace' } } }],
  [
    '$expand takes a path, and expands both',
    '$expand=manager.employer',
    { has: { manager: { lastName: 'Lovelace', employer: { name: 'Ärger' } } } },
  ],
  [
    '$expand beside $attributes',
    '$attributes=name&$expand=manager',
    { members: [...one, 'name', 'manager'], has: { manager: { lastName: 'Lovelace' } } },
  ],
  [
    'an alias and a computed one',
    '$attributes=label,managerName',
    { members: [...one, 'label', 'managerName'] },
  ],
];

const refusals: readonly Case[] = [
  ['an unknown attribute', '$attributes=nothing', refused(400, 1500, 1804)],
  ['an unknown attribute of a relation', '$attributes=manager.nothing', refused(400, 1500, 1804)],
  ['beyond a value', '$attributes=name.length', refused(400, 1500, 1804)],
  ['a property of an object', '$attributes=extra.tags', refused(400, 1804)],
  ['an attribute that is not exposed', '$attributes=internalRating', refused(400, 1500, 1804)],
  ['a relation to what is not exposed', '$attributes=vaults', refused(400, 1500, 1804)],
  ['an empty list', '$attributes=', refused(400, 1816)],
  ['an empty item', '$attributes=name,,city', refused(400, 1804)],
  ['a dot at the end', '$attributes=manager.', refused(400, 1804)],
  ['an unknown relation', '$expand=nothing', refused(400, 1500, 1805)],
  ['a path too deep', '$attributes=manager.boss.boss.boss.boss.boss.ID', refused(400, 1804)],
  ['an expansion too deep', '$expand=manager.boss.boss.boss.boss.boss', refused(400, 1805)],
  ['* in $expand', '$expand=*', refused(400, 1805)],
];

export const projectionRows: readonly Row[] = [
  ...cases.map(([says, query, expect]) => ({
    id: `projection ${query}`,
    says,
    request: get(`${managed}?${query}`),
    expect,
  })),
  ...refusals.map(([says, query, expect]) => ({
    id: `projection refused ${query}`,
    says: `${says} is refused`,
    request: get(`${managed}?${query}`),
    expect,
  })),
  {
    id: 'P3.8 *',
    says: '* is every attribute',
    request: get('/rest/Note?$attributes=*&$top=1'),
    expect: { members: [...head, 'code', 'text', 'about', 'parent', 'replies'] },
  },
  {
    id: 'P3.8 collection',
    says: 'a collection takes $attributes',
    request: get('/rest/Employee?$attributes=employer.name&$top=1'),
    expect: { members: [...head, 'employer'] },
  },
  {
    id: 'P3.8 to-many',
    says: 'a to-many relation is a collection in each entity',
    request: get('/rest/Company?$attributes=staff.lastName&$top=2'),
    expect: {
      has: {
        __ENTITIES: [
          { __KEY: '1', staff: { __COUNT: 2, __ENTITIES: [{ lastName: 'Lovelace' }, {}] } },
          { __KEY: '2', staff: { __COUNT: 1, __ENTITIES: [{ lastName: 'Cohen' }] } },
        ],
      },
    },
  },
  {
    id: 'P3.8 $attributes wins',
    says: '$attributes wins over the list in the path',
    request: get('/rest/Company/name?$attributes=city&$top=1'),
    expect: { members: [...head, 'city'] },
  },
  {
    id: 'P3.8 dotted',
    says: 'the list in the path may contain a dotted path',
    request: get('/rest/Employee/lastName,employer.name?$expand=employer&$top=1'),
    expect: { members: ['__KEY', '__STAMP', 'lastName', 'employer'] },
  },
  {
    id: 'P3.8 empty',
    says: 'an item of the path must not be empty',
    request: get('/rest/Company/name,,city'),
    expect: refused(400, 1804),
  },
];
