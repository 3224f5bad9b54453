import { created, employee } from '../../support/staff-fixture.js';
import { type Expectation, get, post, type Request, refused, type Row } from '../../support/row.js';

const upsert = '/rest/Company?$method=update&$upsert=name';
const people = '/rest/Employee?$method=update&$upsert=email';
const unusable = refused(400, 1813);

/** A request that changes nothing. */
function refuses(says: string, request: Request, expect: Expectation): Row {
  return {
    id: `$upsert keeps: ${says}`,
    says: `$upsert: ${says}`,
    request,
    expect,
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 5, __GlobalStamp: created } }]],
  };
}

/** `$upsert`: protocol P7.38 to P7.41. */
export const upsertRows: readonly Row[] = [
  {
    id: 'P7.38 changed',
    says: '$upsert: an entity with the value is changed, and texts ignore case',
    request: post(upsert, { name: 'bolt', city: 'Rome' }),
    expect: {
      has: { __STATUS: { success: true }, __KEY: '2', __STAMP: 2, name: 'bolt', city: 'Rome' },
    },
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 5, __GlobalStamp: created + 1 } }]],
  },
  {
    id: 'P7.38 created',
    says: '$upsert: an entity without one is created, with its defaults',
    request: post(upsert, { name: 'M', city: 'Rome' }),
    expect: { has: { __STATUS: { success: true }, __KEY: '6', __STAMP: 1, active: true } },
    then: [
      [post(upsert, { name: 'm', city: 'Oslo' }), { has: { __KEY: '6', __STAMP: 2 } }],
      [get('/rest/Company?$top=0'), { has: { __COUNT: 6, __GlobalStamp: created + 2 } }],
    ],
  },
  {
    id: 'P7.38 unchanged',
    says: '$upsert: an entity that is the same already keeps its stamp',
    request: post(upsert, { name: 'Bolt', city: 'Paris' }),
    expect: { has: { __KEY: '2', __STAMP: 1 } },
    then: [[get('/rest/Company?$top=0'), { has: { __GlobalStamp: created } }]],
  },
  {
    id: 'P7.38 list',
    says: '$upsert: a list has the result of each entity; the second of one value changes what the first made',
    request: post(`${upsert}&$attributes=name,city`, [
      { name: 'M', city: 'Rome' },
      { name: 'ZETA', city: 'Bonn' },
      { name: 'm', city: 'Oslo' },
      { city: 'nowhere' },
      { name: 'Bolt', city: 'Paris' },
      { name: 'zeta', city: 'Köln' },
    ]),
    expect: {
      has: {
        __ENTITIES: [
          { __KEY: '6', __STAMP: 1, name: 'M' },
          { __KEY: '4', __STAMP: 2, name: 'ZETA' },
          { __KEY: '6', __STAMP: 2, name: 'm', city: 'Oslo' },
          {
            __STATUS: { status: 8, success: false },
            __ERROR: [{ errCode: 1569, attribute: 'name' }, { errCode: 1570 }, { errCode: 1534 }],
          },
          { __KEY: '2', __STAMP: 1 },
          { __KEY: '4', __STAMP: 3, name: 'zeta', city: 'Köln' },
        ],
      },
    },
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 6, __GlobalStamp: created + 4 } }]],
  },
  {
    id: 'P7.38 atomic',
    says: '$upsert: $atomic saves all of a list',
    request: post(`${upsert}&$atomic=true`, [{ name: 'M' }, { name: 'm', city: 'Oslo' }]),
    expect: { has: { __ENTITIES: [{ __KEY: '6' }, { __KEY: '6', __STAMP: 2, city: 'Oslo' }] } },
  },
  {
    id: 'P7.38 key',
    says: '$upsert: a key that the client writes finds entities, too',
    request: post('/rest/Note?$method=update&$upsert=code', [
      { code: 'B', text: 'x' },
      { code: 'new', text: 'y', about: employee(1) },
    ]),
    expect: {
      has: {
        __ENTITIES: [
          { __KEY: 'b', __STAMP: 2, text: 'x' },
          { __KEY: 'new', __STAMP: 1 },
        ],
      },
    },
  },
  {
    id: 'P7.38 lists',
    says: '$upsert: an entity may have others in the lists of to-many relations',
    request: post(upsert, { name: 'Zeta', staff: [{ firstName: 'E', lastName: 'New' }] }),
    expect: { has: { __KEY: '4', __STAMP: 1 } },
    then: [[get('/rest/Company(4)/staff?$expand=staff'), { has: { __COUNT: 1 } }]],
  },
  {
    id: 'P7.38 validate',
    says: '$upsert: $method=validate saves nothing',
    request: post('/rest/Company?$method=validate&$upsert=name', [{ name: 'M' }, { name: 'bolt' }]),
    expect: { is: { ok: true } },
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 5, __GlobalStamp: created } }]],
  },
  {
    id: 'P7.38 refresh',
    says: '$upsert: $refresh shows what entities would become',
    request: post(`${upsert}&$refresh=true`, { name: 'BOLT', city: 'Rome' }),
    expect: { has: { __KEY: '2', __STAMP: 1, name: 'BOLT', label: 'BOLT, Rome' } },
    then: [[get('/rest/Company?$top=0'), { has: { __GlobalStamp: created } }]],
  },
  {
    id: 'P7.40',
    says: '$upsert: a __STAMP is checked if the entity exists',
    request: post(upsert, [
      { name: 'Bolt', __STAMP: 1, city: 'Rome' },
      { name: 'Bolt', __STAMP: 1, city: 'Oslo' },
      { name: 'M', __STAMP: 7 },
    ]),
    expect: {
      has: {
        __ENTITIES: [
          { __KEY: '2', __STAMP: 2, city: 'Rome' },
          {
            __STATUS: { status: 2 },
            __KEY: '2',
            city: 'Rome',
            __ERROR: [{ errCode: 1263 }, {}, {}],
          },
          { __KEY: '6', __STAMP: 1 },
        ],
      },
    },
  },
  refuses(
    'an atomic list with a wrong entity',
    post(`${upsert}&$atomic=true`, [{ name: 'M' }, { name: 'Bolt', city: 7 }]),
    { status: 422 },
  ),
  refuses(
    'another unique value that is taken',
    post(people, { email: 'new@example.org', ID: employee(2), lastName: 'x' }),
    refused(409, 1569, 1046, 1534),
  ),
  refuses('wrong values of a found entity', post(upsert, { name: 'Bolt', rating: 9 }), {
    ...refused(422, 1569, 1570, 1517),
    has: { __KEY: '2', name: 'Bolt' },
  }),
  refuses('a value of another type', post(upsert, { name: 7 }), refused(422, 1569, 1570, 1534)),
  refuses('no value', post(upsert, { city: 'x' }), {
    ...refused(422, 1569, 1570, 1534),
    message: /name must have a value/,
  }),
  refuses('null', post(upsert, { name: null }), refused(422, 1569, 1570, 1534)),
  refuses('a __KEY', post(upsert, { __KEY: '2', name: 'Bolt' }), refused(400, 1833, 1570, 1534)),
  refuses('a stamp that is none', post(upsert, { name: 'Bolt', __STAMP: 'x' }), refused(400, 1833)),
  refuses(
    'an attribute that is not unique',
    post('/rest/Company?$method=update&$upsert=city', { city: 'x' }),
    unusable,
  ),
  refuses(
    'an attribute that does not exist',
    post('/rest/Company?$method=update&$upsert=nothing', { city: 'x' }),
    refused(400, 1500, 1804),
  ),
  refuses(
    'an attribute that is not exposed',
    post('/rest/Company?$method=update&$upsert=internalRating', { city: 'x' }),
    refused(400, 1500, 1804),
  ),
  refuses(
    'a computed attribute',
    post('/rest/Company?$method=update&$upsert=label', { label: 'x' }),
    unusable,
  ),
  refuses('a key in the address', post('/rest/Company(2)?$upsert=name', { name: 'x' }), unusable),
  refuses('a filter', post(`${upsert}&$filter="ID=2"`, { name: 'x' }), unusable),
  refuses('If-Match', post(upsert, { name: 'Bolt' }, { 'if-match': '"1"' }), unusable),
  refuses('a deletion', post('/rest/Company(2)?$method=delete&$upsert=name'), unusable),
  refuses('a set', post('/rest/Company?$method=entityset&$upsert=name'), refused(400, 1806)),
  refuses('an image', post('/rest/Company(2)/logo?$rawPict=true&$upsert=name'), refused(400, 1806)),
];
