import { created, employee, moment } from '../../support/staff-fixture.js';
import { type Expectation, get, post, refused, type Row } from '../../support/row.js';

const update = '/rest/Company?$method=update';
const people = '/rest/Employee?$method=update';
const ada = { __KEY: employee(1), __STAMP: 1 };
const first = { __KEY: '1', __STAMP: 1 };

/** A change of one entity, which is stored; the datastore's stamp rises by one. */
function changes(says: string, body: object, has: object, url = update): Row {
  const dataclass = url.slice(0, /[?(]/.exec(url)?.index);
  return {
    id: `changes: ${says}`,
    says,
    request: post(url, body),
    expect: { has: { __STATUS: { success: true }, __STAMP: 2, __TIMESTAMP: moment, ...has } },
    then: [[get(`${dataclass}?$top=0`), { has: { __GlobalStamp: created + 1 } }]],
  };
}

function unchanged(dataclass: string): NonNullable<Row['then']>[number] {
  return [get(`${dataclass}?$top=0`), { has: { __GlobalStamp: created } }];
}

/** A change that is refused, and stores nothing. */
function refuses(says: string, body: unknown, expect: Expectation, url = update): Row {
  const dataclass = url.slice(0, /[?(]/.exec(url)?.index);
  return {
    id: `keeps: ${says}`,
    says,
    request: post(url, body),
    expect,
    then: [unchanged(dataclass)],
  };
}

const stale: Expectation = {
  ...refused(409, 1263, 1046, 1517),
  has: {
    __STATUS: { status: 2, statusText: 'Stamp has changed', success: false },
    __KEY: '1',
    __STAMP: 1,
    name: 'Ärger',
    city: 'Berlin',
  },
};
const rule: Expectation = {
  ...refused(422, 1569, 1570, 1517),
  has: { __STATUS: { status: 8, success: false }, __KEY: '1', __STAMP: 1, name: 'Ärger' },
};
const ofAda = {
  ...rule,
  has: { __STATUS: { status: 8 }, __KEY: employee(1), lastName: 'Lovelace' },
};

/** Changes of entities: protocol P7.1, P7.2, P7.7 to P7.21. */
export const updateRows: readonly Row[] = [
  {
    id: 'P7.8',
    says: '__KEY and __STAMP change an entity; attributes that are not sent stay; the whole entity is answered',
    request: post('/rest/Note?$method=update', { __KEY: 'b', __STAMP: 1, text: 'x' }),
    expect: {
      is: {
        __entityModel: 'Note',
        __STATUS: { success: true },
        uri: '/rest/Note(b)',
        __KEY: 'b',
        __TIMESTAMP: moment,
        __STAMP: 2,
        code: 'b',
        text: 'x',
        about: { __deferred: { uri: `/rest/Employee(${employee(1)})`, __KEY: employee(1) } },
        parent: { __deferred: { uri: '/rest/Note(A%2F1%20%28x%29)', __KEY: 'A/1 (x)' } },
        replies: { __deferred: { uri: '/rest/Note(b)/replies?$expand=replies' } },
      },
    },
    then: [[get('/rest/Note(b)'), { has: { __STAMP: 2, text: 'x' } }]],
  },
  {
    id: 'P7.1 both',
    says: 'a body may mix changes and creations',
    request: post(update, [{ ...first, city: 'Rome' }, { name: 'M' }]),
    expect: {
      keys: ['1', '6'],
      has: {
        __ENTITIES: [
          { __STAMP: 2, city: 'Rome', name: 'Ärger', uri: '/rest/Company(1)' },
          { __STAMP: 1, name: 'M', uri: '/rest/Company(6)' },
        ],
      },
    },
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 6, __GlobalStamp: created + 2 } }]],
  },
  {
    id: 'P4.2 unchanged',
    says: 'a save without a change keeps the stamp',
    request: post(update, {
      ...first,
      name: 'Ärger',
      revenue: 1500.5,
      extra: { tags: ['a', 'b'], deep: { x: 1 } },
    }),
    expect: { has: { __STATUS: { success: true }, __STAMP: 1, uri: '/rest/Company(1)' } },
    then: [unchanged('/rest/Company')],
  },
  {
    id: 'P4.2 nothing sent',
    says: 'a save without attributes keeps the stamp',
    request: post(update, first),
    expect: { has: { __STAMP: 1, name: 'Ärger' } },
    then: [unchanged('/rest/Company')],
  },
  {
    id: 'P7.21',
    says: 'an entity that is twice in a body is changed twice',
    request: post(update, [
      { ...first, city: 'Rome' },
      { ...first, __STAMP: 2, city: 'Oslo' },
      { ...first, city: 'Bonn' },
    ]),
    expect: {
      has: {
        __ENTITIES: [
          { __STAMP: 2, city: 'Rome' },
          { __STAMP: 3, city: 'Oslo' },
          {
            __STATUS: { status: 2 },
            __STAMP: 3,
            city: 'Oslo',
            __ERROR: [{ errCode: 1263 }, {}, {}],
          },
        ],
      },
    },
    then: [[get('/rest/Company?$top=0'), { has: { __GlobalStamp: created + 2 } }]],
  },
  {
    id: 'P7.15 conversation',
    says: 'a stamp changes an entity once',
    request: post(update, { ...first, city: 'Rome' }),
    expect: { has: { __STAMP: 2, city: 'Rome' } },
    then: [
      [
        post(update, { ...first, city: 'Bonn' }),
        {
          ...refused(409, 1263, 1046, 1517),
          has: { __STATUS: { status: 2 }, __STAMP: 2, city: 'Rome' },
        },
      ],
      [post(update, { ...first, __STAMP: 2, city: 'Bonn' }), { has: { __STAMP: 3, city: 'Bonn' } }],
    ],
  },
  {
    id: 'P7.7',
    says: 'a whole entity may be sent as it was read',
    request: post(update, {
      __entityModel: 'Company',
      ...first,
      __TIMESTAMP: moment,
      uri: '/rest/Company(1)',
      __ERROR: [],
      ID: 1,
      name: 'Ärger',
      logo: { __deferred: { uri: '/rest/Company(1)/logo', image: true } },
      brochure: { __deferred: { uri: '/rest/Company(1)/brochure' } },
      rating: 3,
      manager: null,
      staff: { __deferred: { uri: '/rest/Company(1)/staff?$expand=staff' } },
      label: 'x',
      managerName: 'x',
      active: true,
    }),
    expect: { has: { __STAMP: 1, rating: 3, label: 'Ärger, Berlin' } },
    then: [unchanged('/rest/Company')],
  },
  {
    id: 'P7.2 without stamp',
    says: 'a key in the address without a stamp creates the entity',
    request: post('/rest/Company(50)', { name: 'M' }),
    expect: { has: { __KEY: '50', __STAMP: 1, name: 'M' } },
    then: [[post('/rest/Company(50)', { name: 'N' }), refused(409, 1263, 1046, 1517)]],
  },
  changes(
    'the key may stand in the address',
    { __STAMP: 1, city: 'Rome' },
    { city: 'Rome' },
    '/rest/Company(1)',
  ),
  changes(
    'also beside $method=update',
    { __STAMP: 1, city: 'Rome' },
    { city: 'Rome' },
    '/rest/Company(1)?$method=update',
  ),
  changes(
    'also in both places',
    { ...first, __KEY: 1, city: 'Rome' },
    { city: 'Rome' },
    '/rest/Company("1")',
  ),
  changes(
    'a text key in another case',
    { __KEY: 'B', __STAMP: 1, code: 'B', text: 'x' },
    { code: 'b' },
    '/rest/Note?$method=update',
  ),
  changes('__KEY may be a number', { ...first, __KEY: 1, city: 'Rome' }, { city: 'Rome' }),
  changes('__STAMP may be a text', { ...first, __STAMP: '1', city: 'Rome' }, { city: 'Rome' }),
  changes('null', { ...first, city: null }, { city: null, label: null }),
  changes('the case of a text', { ...first, city: 'BERLIN' }, { city: 'BERLIN' }),
  changes('a computed attribute follows', { ...first, city: 'Rome' }, { label: 'Ärger, Rome' }),
  changes('an object is replaced whole', { ...first, extra: { a: 1 } }, { extra: { a: 1 } }),
  changes('a vector', { ...first, embedding: [0, 1, 0] }, { embedding: [0, 1, 0] }),
  changes('an image to null', { ...first, logo: null, city: 'Rome' }, { logo: null }),
  changes('a relation by its key', { ...first, manager: employee(2) }, { managerName: 'Ångström' }),
  changes(
    'a relation by {__KEY}',
    { ...first, manager: { __KEY: employee(2) } },
    { managerName: 'Ångström' },
  ),
  changes(
    'a relation as it is read',
    { ...first, manager: { __deferred: { uri: '/rest/Employee', __KEY: employee(2) } } },
    { managerName: 'Ångström' },
  ),
  changes(
    'a relation that was expanded',
    { ...first, manager: { __KEY: employee(2), __STAMP: 1, lastName: 'x' } },
    { managerName: 'Ångström' },
  ),
  changes(
    'a relation to null',
    { ...ada, employer: null },
    { employer: null, employerName: null },
    people,
  ),
  changes('an entity may be related to itself', { ...ada, boss: employee(1) }, {}, people),
  changes(
    'its own unique value in another case',
    { ...ada, email: 'ADA@example.org' },
    { email: 'ADA@example.org' },
    people,
  ),
  refuses(
    'a stale stamp: the current entity is answered',
    { ...first, __STAMP: 7, city: 'x' },
    stale,
  ),
  refuses('a stamp of 0', { ...first, __STAMP: 0, city: 'x' }, stale),
  refuses('a stale stamp is told before wrong values', { ...first, __STAMP: 2, city: 7 }, stale),
  refuses('a stale stamp without any change', { ...first, __STAMP: 2 }, stale),
  refuses(
    'd22: an unknown key',
    { __KEY: '99', __STAMP: 1 },
    { ...refused(404, 1542), message: /"99".*"Company"/ },
  ),
  refuses(
    'd22: an unknown key with values',
    { __KEY: '99', __STAMP: 1, name: 'M' },
    refused(404, 1542),
  ),
  refuses(
    'd22: an unknown key and wrong values',
    { __KEY: '99', __STAMP: 1, name: 7 },
    refused(404, 1542),
  ),
  refuses('d22: what can be no key', { __KEY: 'x', __STAMP: 1, name: 'M' }, refused(404, 1542)),
  refuses('d22: what is no key at all', { __KEY: { a: 1 }, __STAMP: 1 }, refused(404, 1542)),
  refuses(
    'd22: an unknown key in the address',
    { __STAMP: 1, name: 'M' },
    refused(404, 1542),
    '/rest/Company(99)',
  ),
  refuses('a stamp that is none', { ...first, __STAMP: 'x', city: 'x' }, refused(400, 1833)),
  refuses('a stamp with a fraction', { ...first, __STAMP: 1.5, city: 'x' }, refused(400, 1833)),
  refuses(
    'another key in the address',
    { ...first, city: 'x' },
    refused(400, 1806),
    '/rest/Company(2)',
  ),
  refuses('a list at the address of one entity', [first], refused(400, 1833), '/rest/Company(1)'),
  refuses(
    'no body at the address of one entity',
    undefined,
    refused(400, 1833),
    '/rest/Company(1)',
  ),
  refuses('the key cannot be changed', { ...first, ID: 7 }, { ...rule, message: /ID is the key/ }),
  refuses('nor become null', { ...first, ID: null }, rule),
  refuses('readOnly', { ...first, rating: 4 }, { ...rule, message: /rating is read-only/ }),
  refuses('readOnly to null', { ...first, rating: null }, rule),
  refuses(
    'mandatory to null',
    { ...first, name: null },
    { ...rule, message: /name must not be null/ },
  ),
  refuses(
    'mandatory relation to null',
    { __KEY: 'b', __STAMP: 1, about: null },
    { ...refused(422, 1569, 1570, 1517), message: /about/ },
    '/rest/Note?$method=update',
  ),
  refuses('a text too long', { ...first, name: 'x'.repeat(121) }, rule),
  refuses('a value not of the enum', { ...first, rank: 'GOLD' }, rule),
  refuses('another type', { ...first, revenue: 'much' }, rule),
  refuses('an integer beyond 2^53', { ...first, headcount: 9007199254740992 }, rule),
  refuses('a vector of another length', { ...first, embedding: [1] }, rule),
  refuses('above the maximum', { ...ada, salary: 1000001 }, ofAda, people),
  refuses('not the pattern', { ...ada, email: 'nobody' }, ofAda, people),
  refuses('a lone surrogate', { ...first, name: '\ud800' }, refused(400, 1833, 1570, 1517)),
  refuses('an unknown attribute', { ...first, nothing: 1 }, refused(400, 1500, 1570, 1517)),
  refuses(
    'an attribute that is not exposed',
    { ...first, internalRating: 1 },
    refused(400, 1500, 1570, 1517),
  ),
  refuses(
    'a value that another entity has',
    { ...first, name: 'bOLT' },
    {
      ...refused(409, 1569, 1046, 1517),
      message: /name must be unique/,
      has: { __STATUS: { status: 4 }, name: 'Ärger' },
    },
  ),
  refuses(
    'a related entity that does not exist',
    { ...first, manager: employee(9) },
    { ...refused(422, 1542, 1046, 1517), message: /manager/, has: { __STATUS: { status: 4 } } },
  ),
  refuses(
    'a related entity that does not exist, by a text',
    { __KEY: 'b', __STAMP: 1, parent: 'nobody' },
    refused(422, 1542, 1046, 1517),
    '/rest/Note?$method=update',
  ),
  refuses(
    'every error at once',
    { ...first, name: 'Bolt', manager: employee(9), rating: 4, headcount: 'y', nothing: 1 },
    { ...refused(400, 1569, 1500, 1569, 1542, 1569, 1570, 1517) },
  ),
  refuses(
    'every error of the database at once',
    { ...first, name: 'Bolt', manager: employee(9) },
    refused(422, 1542, 1569, 1046, 1517),
  ),
];
