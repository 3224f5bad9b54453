import { created, employee } from '../../support/staff-fixture.js';
import { get, post, refused, type Row } from '../../support/row.js';

const update = '/rest/Company?$method=update';
const atomic = `${update}&$atomic=true`;
const validate = '/rest/Company?$method=validate';
const refresh = `${update}&$refresh=true`;
const first = { __KEY: '1', __STAMP: 1 };
const untouched: NonNullable<Row['then']> = [
  [
    get('/rest/Company?$attributes=name&$orderby=ID'),
    {
      has: {
        __COUNT: 5,
        __GlobalStamp: created,
        __ENTITIES: [{ __STAMP: 1, name: 'Ärger' }, { __STAMP: 1, name: 'Bolt' }, {}, {}, {}],
      },
    },
  ],
];

/** `$atomic`, `$method=validate`, `$refresh`: protocol P7.3 to P7.5, P7.22 to P7.24. */
export const batchRows: readonly Row[] = [
  {
    id: 'P7.4',
    says: '$atomic=true saves all',
    request: post(atomic, [{ name: 'M' }, { ...first, city: 'Rome' }]),
    expect: { keys: ['6', '1'], has: { __ENTITIES: [{ __STAMP: 1 }, { __STAMP: 2 }] } },
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 6, __GlobalStamp: created + 2 } }]],
  },
  {
    id: 'P1.5 $atOnce',
    says: '$atOnce is $atomic',
    request: post(`${update}&$atOnce=true`, [{ name: 'M' }, { name: null }]),
    expect: { status: 422 },
    then: untouched,
  },
  {
    id: 'P7.22',
    says: '$atomic=true saves nothing if one fails: every entity is listed, and only the refused ones have errors',
    request: post(atomic, [
      { ...first, city: 'Rome', uri: 'x', __ERROR: [] },
      { name: 'M' },
      { __KEY: '99', __STAMP: 1 },
      { __KEY: '2', __STAMP: 7, city: 'x' },
      { ...first, city: 'Oslo' },
    ]),
    expect: {
      status: 422,
      has: {
        __ENTITIES: [
          { __KEY: '1', __STAMP: 1, city: 'Rome' },
          { name: 'M' },
          { __STATUS: { status: 5, success: false }, __ERROR: [{ errCode: 1542 }] },
          { __STATUS: { status: 2 }, __KEY: '2', __STAMP: 1, city: 'Paris' },
          // The first change makes the stamp of the second one outdated; both are undone.
          { __STATUS: { status: 2 }, __KEY: '1', __STAMP: 1, city: 'Berlin' },
        ],
      },
    },
    then: untouched,
  },
  {
    id: 'P7.22 stale',
    says: 'the status is 409 if outdated stamps are the only errors',
    request: post(atomic, [{ name: 'M' }, { ...first, __STAMP: 2, city: 'x' }, { name: 'bolt' }]),
    expect: { status: 409 },
    then: untouched,
  },
  {
    id: 'P7.4 one',
    says: 'a single entity is answered as without $atomic',
    request: post(atomic, { ...first, __STAMP: 2, city: 'x' }),
    expect: { ...refused(409, 1263, 1046, 1517), has: { __KEY: '1', city: 'Berlin' } },
    then: untouched,
  },
  {
    id: '1821',
    says: 'another value of $atomic is refused',
    request: post(`${update}&$atomic=maybe`, [{ name: 'M' }]),
    expect: refused(400, 1821),
    then: untouched,
  },
  {
    id: 'P7.19 mixed batch',
    says: 'without $atomic each entity is saved or refused separately',
    request: post(update, [
      { __KEY: '99', __STAMP: 1 },
      { ...first, city: 'Rome' },
      { __STAMP: 1 },
      { __KEY: '2', __STAMP: 2 },
      { __KEY: '2', name: 'x' },
      { __KEY: '3', __STAMP: {} },
    ]),
    expect: {
      has: {
        __ENTITIES: [
          { __STATUS: { status: 5 }, __ERROR: [{ errCode: 1542 }] },
          { __STATUS: { success: true }, __STAMP: 2 },
          { __STATUS: { status: 4 }, __ERROR: [{ errCode: 1542 }] },
          { __STATUS: { status: 2 }, name: 'Bolt' },
          { __STATUS: { status: 2 }, name: 'Bolt' },
          { __STATUS: { status: 4 }, __ERROR: [{ errCode: 1833 }] },
        ],
      },
    },
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 5, __GlobalStamp: created + 1 } }]],
  },
  {
    id: 'P7.3',
    says: '$method=validate checks an entity and stores nothing',
    request: post(validate, { name: 'M' }),
    expect: { is: { ok: true } },
    then: untouched,
  },
  {
    id: 'P7.3 list',
    says: '$method=validate checks a list and stores nothing',
    request: post(validate, [{ name: 'M' }, { ...first, city: 'Rome' }]),
    expect: { is: { ok: true } },
    then: untouched,
  },
  {
    id: 'P7.3 address',
    says: 'the key may be in the address',
    request: post('/rest/Company(1)?$method=validate', { __STAMP: 1, name: 'M' }),
    expect: { is: { ok: true } },
    then: untouched,
  },
  {
    id: 'P7.23',
    says: 'entities that could not be saved are listed with their errors',
    request: post(validate, [
      { name: 'M' },
      { ...first, rank: 'x' },
      { city: 'x' },
      { ...first, __STAMP: 2 },
      { name: 'bolt' },
      { name: 'N', manager: employee(9) },
    ]),
    expect: {
      has: {
        __ENTITIES: [
          { __KEY: '1', __ERROR: [{ errCode: 1569 }, { errCode: 1570 }, { errCode: 1517 }] },
          { city: 'x', __ERROR: [{ errCode: 1569 }, { errCode: 1570 }, { errCode: 1534 }] },
          { __KEY: '1', __ERROR: [{ errCode: 1263 }, { errCode: 1046 }, { errCode: 1517 }] },
          { name: 'bolt', __ERROR: [{ errCode: 1569 }, { errCode: 1046 }, { errCode: 1534 }] },
          { name: 'N', __ERROR: [{ errCode: 1542 }, { errCode: 1046 }, { errCode: 1534 }] },
        ],
      },
    },
    then: untouched,
  },
  {
    id: 'P7.24',
    says: '$refresh=true computes without saving',
    request: post(refresh, { name: 'M', city: 'x', ID: null }),
    expect: {
      members: [
        '__entityModel',
        '__STATUS',
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
        'label',
        'managerName',
      ],
      has: { name: 'M', label: 'M, x', active: true, rating: 3 },
    },
    then: untouched,
  },
  {
    id: 'P7.5 existing',
    says: 'an existing entity keeps its stamp',
    request: post(refresh, { ...first, city: 'Rome' }),
    expect: { has: { ...first, city: 'Rome', label: 'Ärger, Rome', uri: '/rest/Company(1)' } },
    then: untouched,
  },
  {
    id: 'P7.5 refused',
    says: 'what could not be saved is refused',
    request: post(refresh, { ...first, __STAMP: 2, city: 'Rome' }),
    expect: { ...refused(409, 1263, 1046, 1517), has: { city: 'Berlin' } },
    then: untouched,
  },
  {
    id: 'P7.5 validate',
    says: '$refresh applies to $method=update',
    request: post(`${validate}&$refresh=true`, { name: 'M' }),
    expect: refused(400, 1813),
    then: untouched,
  },
  {
    id: 'P7.1 set',
    says: 'a validation of a set is refused',
    request: post('/rest/Company/$entityset/0123456789ABCDEF0123456789ABCDEF?$method=validate', {}),
    expect: refused(400, 1813),
    then: untouched,
  },
];
