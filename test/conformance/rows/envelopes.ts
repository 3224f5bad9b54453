import { created, employee } from '../../support/staff-fixture.js';
import { get, type Row } from '../../support/row.js';

/** Protocol P3.1 to P3.4, P3.7, P3.9 to P3.12, P4.1 to P4.3. */
export const envelopeRows: readonly Row[] = [
  {
    id: 'P3.9 collection',
    says: 'a collection has these fields',
    request: get('/rest/Company/name?$skip=1&$top=1'),
    expect: {
      is: {
        __entityModel: 'Company',
        __GlobalStamp: created,
        __COUNT: 5,
        __SENT: 1,
        __FIRST: 1,
        __ENTITIES: [{ __KEY: '2', __STAMP: 1, name: 'Bolt' }],
      },
    },
  },
  {
    id: 'P3.9 __COUNT',
    says: '__COUNT is the size of the whole selection',
    request: get('/rest/Company?$filter="city=paris"&$top=1'),
    expect: { has: { __COUNT: 2, __SENT: 1 }, keys: ['2'] },
  },
  {
    id: 'P3.9 __FIRST',
    says: '__FIRST is the $skip value, also beyond the end',
    request: get('/rest/Company?$skip=40'),
    expect: { has: { __COUNT: 5, __SENT: 0, __FIRST: 40, __ENTITIES: [] } },
  },
  {
    id: 'P3.7 $skip',
    says: '$skip counts from zero',
    request: get('/rest/Company?$skip=3'),
    expect: { keys: ['4', '5'], has: { __FIRST: 3 } },
  },
  {
    id: 'P3.10 order',
    says: 'one entity has these fields in this order',
    request: get('/rest/Company(2)'),
    expect: {
      members: [
        '__entityModel',
        '__KEY',
        '__TIMESTAMP',
        '__STAMP',
        'ID',
        'name',
        'city',
        'founded',
        'revenue',
        'headcount',
        'active',
        'rank',
        'extra',
        'logo',
        'brochure',
        'embedding',
        'rating',
        'manager',
        'staff',
        'label',
        'managerName',
      ],
    },
  },
  {
    id: 'P3.10 items',
    says: 'an entity of a collection has no __entityModel',
    request: get('/rest/Note?$top=1'),
    expect: {
      members: ['__KEY', '__TIMESTAMP', '__STAMP', 'code', 'text', 'about', 'parent', 'replies'],
    },
  },
  {
    id: 'P4.1 __KEY',
    says: '__KEY is the primary key as a string; the stamp begins at 1',
    request: get('/rest/Company(2)/ID'),
    expect: { is: { __entityModel: 'Company', __KEY: '2', __STAMP: 1, ID: 2 } },
  },
  {
    id: 'P1.3 forms',
    says: 'the key may be a quoted string',
    request: get('/rest/Company("2")/name'),
    expect: { has: { name: 'Bolt' } },
    then: [[get(`/rest/Company('2')/name`), { has: { name: 'Bolt' } }]],
  },
  {
    id: 'P1.3 text',
    says: 'a text key may be bare or quoted, in any case',
    request: get('/rest/Note(B)/code'),
    expect: { has: { __KEY: 'b', code: 'b' } },
    then: [[get('/rest/Note("B")/code'), { has: { __KEY: 'b' } }]],
  },
  {
    id: 'P4.8 key',
    says: 'a UUID may have its usual form',
    request: get('/rest/Employee(00000000-0000-0000-0000-000000000001)/firstName'),
    expect: { has: { __KEY: employee(1), firstName: 'Ada' } },
  },
  {
    id: 'P3.1 list',
    says: 'a path may list storage and relation attributes',
    request: get('/rest/Employee/lastName,employer?$top=1'),
    expect: {
      members: ['__KEY', '__STAMP', 'lastName', 'employer'],
    },
  },
  {
    id: 'P3.2 list',
    says: 'a path with a key may list attributes',
    request: get(`/rest/Employee(${employee(1)})/lastName,firstName`),
    expect: { members: ['__entityModel', '__KEY', '__STAMP', 'firstName', 'lastName'] },
  },
  {
    id: 'P3.3',
    says: 'one entity is found by a unique value, ignoring case',
    request: get('/rest/Company:name("äRGER")'),
    expect: { has: { __entityModel: 'Company', __KEY: '1' } },
  },
  {
    id: 'P3.3 bare',
    says: 'the value may be bare',
    request: get('/rest/Employee:email(ADA@example.org)'),
    expect: { has: { __KEY: employee(1) } },
  },
  {
    id: 'P3.3 list',
    says: 'the value may be followed by attributes',
    request: get('/rest/Company:name(Bolt)/city'),
    expect: { is: { __entityModel: 'Company', __KEY: '2', __STAMP: 1, city: 'Paris' } },
  },
  {
    id: 'P3.3 $attributes',
    says: 'a request by value accepts $attributes',
    request: get('/rest/Company:name(Bolt)?$attributes=city'),
    expect: { members: ['__entityModel', '__KEY', '__TIMESTAMP', '__STAMP', 'city'] },
  },
  {
    id: 'P3.3 several',
    says: 'the first entity in key order is found if several have the value',
    request: get('/rest/Company:city(PARIS)/name'),
    expect: { has: { __KEY: '2' } },
  },
  ...[
    ['an integer', 'headcount(7)', '2'],
    ['a number', 'revenue(1500.5)', '1'],
    ['a boolean', 'active(false)', '3'],
    ['a date', 'founded(1990-05-04)', '1'],
  ].map(([type, lookup, key]): Row => ({
    id: `P3.3 ${type}`,
    says: `${type} may be the value`,
    request: get(`/rest/Company:${lookup}`),
    expect: { has: { __KEY: key } },
  })),
  {
    id: 'P3.4',
    says: 'the related entities of one entity are a collection',
    request: get('/rest/Company(1)/staff?$expand=staff&$attributes=lastName'),
    expect: {
      has: { __entityModel: 'Employee', __COUNT: 2, __SENT: 2, __FIRST: 0 },
      keys: [employee(1), employee(2)],
      members: ['__KEY', '__TIMESTAMP', '__STAMP', 'lastName'],
    },
  },
  {
    id: 'P3.4 none',
    says: 'an entity without related ones has an empty collection',
    request: get('/rest/Company(4)/staff?$expand=staff'),
    expect: { has: { __COUNT: 0, __SENT: 0, __ENTITIES: [] } },
  },
  {
    id: 'P3.4 filter',
    says: 'related entities can be filtered, ordered and paged',
    request: get(
      '/rest/Company(1)/staff?$expand=staff&$filter="salary > 1"&$orderby="salary"&$top=1&$skip=1',
    ),
    expect: { has: { __COUNT: 2, __FIRST: 1 }, keys: [employee(1)] },
  },
  {
    id: 'P3.4 text key',
    says: 'the relation of an entity is found by a text key in another case',
    request: get('/rest/Note("a%2F1 (X)")/replies?$expand=replies'),
    expect: { keys: ['b'] },
  },
  {
    id: 'P3.4 not expanded',
    says: 'without $expand the owner is answered, with the relation deferred',
    request: get('/rest/Company(1)/staff'),
    expect: {
      is: {
        __entityModel: 'Company',
        __KEY: '1',
        __STAMP: 1,
        staff: { __deferred: { uri: '/rest/Company(1)/staff?$expand=staff' } },
      },
    },
  },
  {
    id: 'P3.4 to-one',
    says: 'an expanded to-one relation is in its owner',
    request: get('/rest/Company(5)/manager?$expand=manager'),
    expect: {
      members: ['__entityModel', '__KEY', '__STAMP', 'manager'],
      has: { __KEY: '5', manager: { __KEY: employee(1), lastName: 'Lovelace' } },
    },
  },
  {
    id: 'P4.3',
    says: '__GlobalStamp counts every creation',
    request: get('/rest/Note?$top=0'),
    expect: { has: { __GlobalStamp: created } },
  },
  {
    id: 'P3.12',
    says: 'without $orderby entities are in key order',
    request: get('/rest/Employee?$attributes=ID'),
    expect: { keys: [1, 2, 3, 4].map(employee) },
  },
];
