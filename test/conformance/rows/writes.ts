import { isOnPostgres } from '../../support/server.js';
import { created, employee, moment } from '../../support/staff-fixture.js';
import { type Expectation, get, post, refused, type Row } from '../../support/row.js';

const update = '/rest/Company?$method=update';
const people = '/rest/Employee?$method=update';

function creates(
  says: string,
  body: object,
  has: object,
  url = update,
  then: Row['then'] = [],
): Row {
  return { id: `creates: ${says}`, says, request: post(url, body), expect: { has }, then };
}

function refuses(says: string, body: unknown, expect: Expectation, url = update): Row {
  const dataclass = url.slice(0, url.indexOf('?'));
  const count = dataclass.endsWith('Company') ? 5 : 4;
  return {
    id: `refuses: ${says}`,
    says,
    request: post(url, body),
    expect,
    then: [[get(`${dataclass}?$top=0`), { has: { __COUNT: count, __GlobalStamp: created } }]],
  };
}

const rule: Expectation = {
  ...refused(422, 1569, 1570, 1534),
  has: {
    __STATUS: { status: 8, statusText: 'Serious Validation Error', success: false },
  },
};
const malformed = refused(400, 1833, 1570, 1534);

/** Creations of entities: protocol P7.1, P7.7 to P7.12, P7.19, P1.6. */
export const writeRows: readonly Row[] = [
  {
    id: 'P7.1',
    says: 'without __KEY and __STAMP a new entity is created and answered as it is stored',
    request: post('/rest/Note?$method=update', { code: 'c', about: employee(1) }),
    expect: {
      is: {
        __entityModel: 'Note',
        __STATUS: { success: true },
        uri: '/rest/Note(c)',
        __KEY: 'c',
        __TIMESTAMP: moment,
        __STAMP: 1,
        code: 'c',
        text: null,
        about: { __deferred: { uri: `/rest/Employee(${employee(1)})`, __KEY: employee(1) } },
        parent: null,
        replies: { __deferred: { uri: '/rest/Note(c)/replies?$expand=replies' } },
      },
    },
    then: [[get('/rest/Note?$top=0'), { has: { __COUNT: 3, __GlobalStamp: created + 1 } }]],
  },
  {
    id: 'P7.1 list',
    says: 'several entities are a list, answered in the same order',
    request: post(update, [{ name: 'M' }, { name: 'L' }]),
    expect: {
      keys: ['6', '7'],
      has: {
        __ENTITIES: [
          { name: 'M', uri: '/rest/Company(6)' },
          { name: 'L', uri: '/rest/Company(7)' },
        ],
      },
    },
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 7, __GlobalStamp: created + 2 } }]],
  },
  {
    id: 'P7.1 batch',
    says: 'a list stores the valid entities and answers the result of each',
    request: post(update, [{ name: 'M' }, { name: 'BOLT' }, { city: 'x' }, { name: 'N' }]),
    expect: {
      has: {
        __ENTITIES: [
          { name: 'M', __STATUS: { success: true } },
          { __STATUS: { status: 4, success: false }, __ERROR: [{ errCode: 1569 }, {}, {}] },
          { __STATUS: { status: 8, success: false }, __ERROR: [{ errCode: 1569 }, {}, {}] },
          { name: 'N' },
        ],
      },
    },
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 7, __GlobalStamp: created + 2 } }]],
  },
  creates('an empty list creates nothing', [], { __ENTITIES: [] }),
  creates('$method may be quoted', { name: 'M' }, { __KEY: '6' }, '/rest/Company?$method="update"'),
  creates(
    'a slash before ? is allowed',
    { name: 'M' },
    { __KEY: '6' },
    '/rest/Company/?$method=update',
  ),
  creates('a default is used', { name: 'M' }, { active: true, rating: 3 }),
  creates('null stands against a default', { name: 'M', active: null }, { active: null }),
  creates('a sequence is drawn', { name: 'M', ID: null }, { __KEY: '6', ID: 6 }),
  creates('the key of the client is kept', { name: 'M', ID: 40 }, { __KEY: '40' }, update, [
    [post(update, { name: 'N' }), { has: { __KEY: '41' } }],
  ]),
  creates('__KEY alone creates an entity with it', { name: 'M', __KEY: '50' }, { ID: 50 }),
  creates('__KEY may be a number', { name: 'M', __KEY: 50 }, { __KEY: '50' }),
  creates(
    'a whole entity may be sent: what cannot be written is passed over',
    {
      __entityModel: 'Company',
      uri: '/rest/Company(1)',
      __TIMESTAMP: moment,
      __STATUS: { success: true },
      name: 'M',
      label: 'x',
      managerName: 'x',
      staff: { __deferred: { uri: '/rest/Company(1)/staff?$expand=staff' } },
      manager: { __deferred: { uri: '/rest/Employee', __KEY: employee(2) } },
    },
    { managerName: 'Ångström', label: null },
  ),
  creates(
    'a relation is set by its key',
    { name: 'M', manager: employee(1) },
    { managerName: 'Lovelace' },
  ),
  creates(
    'or by an object with __KEY',
    { name: 'M', manager: { __KEY: employee(1) } },
    { managerName: 'Lovelace' },
  ),
  creates('or by null', { name: 'M', manager: null }, { manager: null }),
  creates(
    'a relation by a text key in another case',
    { code: 'c', about: employee(1), parent: 'B' },
    { parent: { __deferred: { uri: '/rest/Note(b)', __KEY: 'b' } } },
    '/rest/Note?$method=update',
  ),
  creates(
    'a date: ISO',
    { lastName: 'X', hiredAt: '2020-02-29T10:00:00Z' },
    { hiredAt: '2020-02-29T10:00:00.000Z' },
    people,
  ),
  creates(
    'a date: zone',
    { lastName: 'X', hiredAt: '2020-02-29T00:30:00+02:00' },
    { hiredAt: '2020-02-28T22:30:00.000Z' },
    people,
  ),
  creates(
    'a day: the written day is kept',
    { lastName: 'X', birthDate: '2020-02-29T23:30:00-11:00' },
    { birthDate: '2020-02-29' },
    people,
  ),
  creates(
    'a day: dd!mm!yyyy',
    { lastName: 'X', birthDate: '09!03!1999' },
    { birthDate: '1999-03-09' },
    people,
  ),
  creates(
    'a day: d!m!yyyy',
    { lastName: 'X', birthDate: '9!3!1999' },
    { birthDate: '1999-03-09' },
    people,
  ),
  creates('a date: empty is null', { lastName: 'X', birthDate: '' }, { birthDate: null }, people),
  creates('booleans', { lastName: 'X', remote: true }, { remote: true }, people),
  creates('booleans as text', { lastName: 'X', remote: 'false' }, { remote: false }, people),
  creates('numbers as text', { lastName: 'X', salary: '309.5' }, { salary: 309.5 }, people),
  creates(
    'the greatest integer',
    { name: 'M', headcount: 9007199254740991 },
    { headcount: 9007199254740991 },
  ),
  creates(
    'the least integer',
    { name: 'M', headcount: -9007199254740991 },
    { headcount: -9007199254740991 },
  ),
  creates('a great number', { name: 'M', revenue: 1e300 }, { revenue: 1e300 }),
  creates('a small number', { name: 'M', revenue: 5e-324 }, { revenue: 5e-324 }),
  creates('a number that no decimal is', { name: 'M', revenue: 0.1 + 0.2 }, { revenue: 0.1 + 0.2 }),
  creates(
    'text to the character',
    { name: '  A\u0308 \t\u0001\u{1f600} ' },
    { name: '  A\u0308 \t\u0001\u{1f600} ' },
  ),
  // PostgreSQL has no texts that hold it.
  isOnPostgres
    ? {
        id: 'creates: U+0000',
        says: 'a text that the database cannot store is refused',
        request: post(update, { name: 'A\u0000' }),
        expect: { status: 400, codes: [1162], message: /U\+0000/ },
      }
    : creates('U+0000', { name: 'A\u0000B' }, { name: 'A\u0000B' }),
  creates(
    'an object',
    { name: 'M', extra: { a: [1, null, 'x'], __proto: 1 } },
    { extra: { a: [1, null, 'x'] } },
  ),
  creates('a vector', { name: 'M', embedding: [0.5, -1, 2] }, { embedding: [0.5, -1, 2] }),
  creates('an image may be null', { name: 'M', logo: null }, { logo: null }),
  creates('120 characters, not code units', { name: '😀'.repeat(120) }, { name: '😀'.repeat(120) }),
  refuses('a mandatory attribute is missing', { city: 'x' }, { ...rule, message: /name/ }),
  refuses('a mandatory attribute is null', { name: null }, rule),
  refuses('a text too long', { name: 'x'.repeat(121) }, rule),
  refuses('a value not of the enum', { name: 'M', rank: 'GOLD' }, rule),
  refuses('a number for a text', { name: 7 }, rule),
  refuses('a text for a number', { name: 'M', revenue: 'much' }, rule),
  refuses('a fraction for an integer', { name: 'M', headcount: 1.5 }, rule),
  refuses('an integer beyond 2^53', { name: 'M', headcount: 9007199254740992 }, rule),
  refuses('a vector of another length', { name: 'M', embedding: [1] }, rule),
  refuses('a text for an object', { name: 'M', extra: 'x' }, rule),
  refuses('a 30 February', { name: 'M', founded: '2020-02-30' }, rule),
  refuses('readOnly', { name: 'M', rating: 4 }, rule),
  refuses('an image as a text', { name: 'M', logo: 'x' }, rule),
  refuses('below the minimum', { lastName: 'X', salary: -1 }, rule, people),
  refuses('above the maximum', { lastName: 'X', salary: 1000001 }, rule, people),
  refuses('not the pattern', { lastName: 'X', email: 'nobody' }, rule, people),
  refuses('a key that is no UUID', { lastName: 'X', ID: '12' }, rule, people),
  refuses('a boolean that is none', { lastName: 'X', remote: 'yes' }, rule, people),
  refuses('a lone surrogate', { name: '\ud800' }, malformed),
  refuses('a lone surrogate inside an object', { name: 'M', extra: { a: ['\udc00'] } }, malformed),
  refuses('an unknown attribute', { name: 'M', nothing: 1 }, refused(400, 1500, 1570, 1534)),
  refuses(
    'an attribute that is not exposed',
    { name: 'M', internalRating: 1 },
    refused(400, 1500, 1570, 1534),
  ),
  refuses(
    'a relation to what is not exposed',
    { name: 'M', vaults: [] },
    refused(400, 1500, 1570, 1534),
  ),
  refuses(
    'a foreign key that is not exposed',
    { lastName: 'X', employerID: 1 },
    refused(400, 1500, 1570, 1534),
    people,
  ),
  refuses(
    'a value that another entity has',
    { name: 'bOLT' },
    {
      ...refused(409, 1569, 1046, 1534),
      has: { __STATUS: { status: 4, statusText: 'Other error', success: false } },
    },
  ),
  refuses(
    'a key that another entity has',
    { name: 'M', ID: 1 },
    {
      ...refused(409, 1569, 1046, 1534),
      message: /ID/,
    },
  ),
  refuses(
    '__KEY of an entity that exists',
    { name: 'M', __KEY: '1' },
    {
      ...refused(409, 1263, 1046, 1517),
      has: {
        __STATUS: { status: 2, statusText: 'Stamp has changed', success: false },
        __STAMP: 1,
        name: 'Ärger',
      },
    },
  ),
  refuses(
    'a related entity that does not exist',
    { name: 'M', manager: employee(9) },
    refused(422, 1542, 1046, 1534),
  ),
  refuses('__STAMP without __KEY', { name: 'M', __STAMP: 1 }, refused(404, 1542)),
  refuses('a key and __KEY that differ', { name: 'M', ID: 70, __KEY: '71' }, rule),
  refuses(
    'every error at once',
    { rank: 'x', headcount: 'y' },
    refused(422, 1569, 1569, 1569, 1570, 1534),
  ),
  refuses('P1.6', { name: 'M' }, refused(400, 1811), '/rest/Company?$method=update&$fliter=1'),
  refuses(
    'P1.6 without $',
    { name: 'M' },
    refused(400, 1811),
    '/rest/Company?$method=update&filter=1',
  ),
  refuses(
    'P7.28',
    { name: 'M' },
    refused(400, 1813),
    '/rest/Company?$filter="name=a"&$method=validate',
  ),
];
