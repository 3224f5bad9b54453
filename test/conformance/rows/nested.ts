import { created, employee } from '../../support/staff-fixture.js';
import { get, post, refused, type Row } from '../../support/row.js';

const update = '/rest/Company?$method=update';
const second = { __KEY: '2', __STAMP: 1 };
const faulty = { lastName: 'Bad', salary: -1 };
const untouched: NonNullable<Row['then']> = [
  [get('/rest/Company?$top=0'), { has: { __COUNT: 5, __GlobalStamp: created } }],
  [get('/rest/Employee?$top=0'), { has: { __COUNT: 4 } }],
];

/** Lists within each other. */
function deep(levels: number): object {
  return levels === 0
    ? { lastName: 'End' }
    : { lastName: 'Level', [levels === 6 ? 'staff' : 'team']: [deep(levels - 1)] };
}

/** Entities in the lists of to-many relations: protocol P7.31 to P7.34. */
export const nestedRows: readonly Row[] = [
  {
    id: 'P7.31',
    says: 'a list in a to-many relation creates its entities, also within each other',
    request: post(`${update}&$expand=staff`, {
      name: 'M',
      staff: [{ lastName: 'A' }, { lastName: 'B', team: [{ lastName: 'C' }, { lastName: 'D' }] }],
    }),
    expect: {
      has: { __KEY: '6', staff: { __COUNT: 2, __ENTITIES: [{ __STAMP: 1 }, { __STAMP: 1 }] } },
    },
    then: [
      [
        get('/rest/Employee?$filter="boss.lastName=B"&$orderby=lastName'),
        {
          has: {
            __COUNT: 2,
            __GlobalStamp: created + 5,
            __ENTITIES: [{ lastName: 'C', employer: null }, { lastName: 'D' }],
          },
        },
      ],
    ],
  },
  {
    id: 'P7.31 change',
    says: 'a change of an entity may create related ones, and keeps those that are not listed',
    request: post(update, { ...second, staff: [{ lastName: 'N', employer: 2 }] }),
    expect: { has: { __KEY: '2', __STAMP: 1 } },
    then: [
      [
        get('/rest/Employee?$filter="employer=2"&$orderby=lastName'),
        {
          has: {
            __GlobalStamp: created + 1,
            __ENTITIES: [{ lastName: 'Cohen' }, { lastName: 'N' }],
          },
        },
      ],
    ],
  },
  {
    id: 'P7.31 address',
    says: 'the entity may be named by the address',
    request: post('/rest/Company(2)', { __STAMP: 1, city: 'Rome', staff: [{ lastName: 'N' }] }),
    expect: { has: { __STAMP: 2, city: 'Rome' } },
    then: [[get('/rest/Employee?$filter="employer=2"&$top=0'), { has: { __COUNT: 2 } }]],
  },
  {
    id: 'P7.31 linked',
    says: 'an entity with __KEY and __STAMP in a list is changed, and belongs to the other one then',
    request: post(update, {
      ...second,
      staff: [{ __KEY: employee(4), __STAMP: 1, salary: 7 }],
    }),
    expect: {},
    then: [
      [
        get(`/rest/Employee(${employee(4)})`),
        { has: { __STAMP: 2, salary: 7, employer: { __deferred: { __KEY: '2' } } } },
      ],
    ],
  },
  {
    id: 'P7.31 key',
    says: 'an entity with __KEY alone in a list is created with that key, and overwrites none',
    request: post('/rest/Note?$method=update', {
      code: 'c',
      about: employee(1),
      replies: [{ __KEY: 'd', about: employee(2) }],
    }),
    expect: {},
    then: [
      [get('/rest/Note(d)'), { has: { parent: { __deferred: { __KEY: 'c' } } } }],
      [
        post('/rest/Note?$method=update', {
          code: 'e',
          about: employee(1),
          replies: [{ __KEY: 'B', about: employee(2) }],
        }),
        refused(409, 1263, 1046, 1517, 1046, 1534),
      ],
      [get('/rest/Note?$top=0'), { has: { __COUNT: 4 } }],
    ],
  },
  {
    id: 'P7.32',
    says: 'all wrong entities of a list are reported with their places, and nothing is saved',
    request: post(update, {
      name: 'M',
      staff: [{ lastName: 'A' }, { ...faulty, team: [faulty] }, { firstName: 'x' }],
    }),
    expect: {
      status: 422,
      message: /^staff\[1\]: salary must/,
      has: {
        __STATUS: { status: 8, success: false },
        __ERROR: [
          { errCode: 1569, attribute: 'staff[1].salary' },
          { errCode: 1570, attribute: 'staff[1]' },
          { errCode: 1534, attribute: 'staff[1]' },
          { errCode: 1569, attribute: 'staff[2].lastName' },
          { errCode: 1570, attribute: 'staff[2]' },
          { errCode: 1534, attribute: 'staff[2]' },
          { errCode: 1570, message: 'The new entity of "Company" fails validation.' },
          { errCode: 1534 },
        ],
      },
    },
    then: untouched,
  },
  {
    id: 'P7.32 deep',
    says: 'the place of an entity names every list around it',
    request: post(update, {
      ...second,
      city: 'Rome',
      staff: [{ lastName: 'A', team: [{ lastName: 'B' }, { lastName: 'C', height: 2 }] }],
    }),
    expect: {
      status: 400,
      has: {
        __KEY: '2',
        city: 'Paris',
        __ERROR: [{ errCode: 1500, attribute: 'staff[0].team[1].height' }, {}, {}, {}, {}],
      },
    },
    then: untouched,
  },
  {
    id: 'P7.32 owner',
    says: 'the list of a refused entity is not tried',
    request: post(update, { name: null, staff: [faulty] }),
    expect: refused(422, 1569, 1570, 1534),
    then: untouched,
  },
  {
    id: 'P7.32 stale',
    says: 'an outdated stamp in a list is no outdated stamp of the entity that contains it',
    request: post(update, { name: 'M', staff: [{ __KEY: employee(3), __STAMP: 9 }] }),
    expect: { ...refused(409, 1263, 1046, 1517, 1046, 1534), has: { __STATUS: { status: 4 } } },
    then: untouched,
  },
  {
    id: 'P7.32 other owner',
    says: 'an entity in a list cannot belong to another one',
    request: post(update, { name: 'M', staff: [{ lastName: 'A', employer: 2 }] }),
    expect: { status: 422, has: { __ERROR: [{ attribute: 'staff[0].employer' }, {}, {}, {}, {}] } },
    then: untouched,
  },
  {
    id: 'P7.31 list',
    says: 'in a list without $atomic, each entity is saved with its own lists or not at all',
    request: post(update, [
      { name: 'M', staff: [{ lastName: 'A' }, faulty] },
      { name: 'N', staff: [{ lastName: 'B' }] },
      { ...second, city: 'Rome', staff: [{ lastName: 'C', email: 'ADA@example.org' }] },
      { name: 'M' },
    ]),
    expect: {
      has: {
        __ENTITIES: [
          { __STATUS: { status: 8 } },
          { __STATUS: { success: true }, name: 'N', __STAMP: 1 },
          { __STATUS: { status: 4 }, __STAMP: 1, city: 'Paris' },
          { __STATUS: { success: true }, name: 'M' },
        ],
      },
    },
    then: [
      [get('/rest/Company?$top=0'), { has: { __COUNT: 7, __GlobalStamp: created + 3 } }],
      [get('/rest/Employee?$filter="employer.name=N"'), { has: { __COUNT: 1 } }],
      [get('/rest/Employee?$top=0'), { has: { __COUNT: 5 } }],
    ],
  },
  {
    id: 'P7.31 atomic',
    says: 'in a list with $atomic=true, all entities are saved with their lists, or none',
    request: post(`${update}&$atomic=true`, [
      { name: 'N', staff: [{ lastName: 'B' }] },
      { name: 'M', staff: [faulty] },
    ]),
    expect: { status: 422, has: { __ENTITIES: [{ name: 'N', staff: [{ lastName: 'B' }] }, {}] } },
    then: untouched,
  },
  {
    id: 'P7.31 validate',
    says: '$method=validate checks the entities of lists, too',
    request: post('/rest/Company?$method=validate', { name: 'M', staff: [faulty] }),
    expect: {
      has: {
        __ENTITIES: [{ name: 'M', __ERROR: [{ attribute: 'staff[0].salary' }, {}, {}, {}, {}] }],
      },
    },
    then: [
      [
        post('/rest/Company?$method=validate', { name: 'M', staff: [{ lastName: 'A' }] }),
        { is: { ok: true } },
      ],
      ...untouched,
    ],
  },
  {
    id: 'P7.33 refresh',
    says: '$refresh=true is refused for lists',
    request: post(`${update}&$refresh=true`, { name: 'M', staff: [{ lastName: 'A' }] }),
    expect: refused(400, 1813),
    then: untouched,
  },
  {
    id: 'P7.33 depth',
    says: 'lists nest as deep as $expand',
    request: post(update, { ...deep(6), name: 'M' }),
    expect: refused(400, 1833),
    then: untouched,
  },
  {
    id: 'P7.33 batchSize',
    says: 'the entities of lists count as entities of the body',
    request: post(update, { name: 'M', staff: Array(1000).fill({ lastName: 'A' }) }),
    expect: refused(413, 1834),
    then: untouched,
  },
  {
    id: 'P7.33 element',
    says: 'what is no entity in a list refuses the body',
    request: post(update, [{ name: 'M' }, { name: 'N', staff: [{ lastName: 'A' }, 7] }]),
    expect: { ...refused(400, 1833), message: /^staff\[1\] must be an entity/ },
    then: untouched,
  },
  {
    id: 'P7.33 not exposed',
    says: 'a relation that is not exposed does not exist',
    request: post(update, { name: 'M', vaults: [{ content: 'x' }] }),
    expect: refused(400, 1500, 1570, 1534),
    then: untouched,
  },
  {
    id: 'P7.34',
    says: 'a to-many relation takes a list',
    request: post(update, { name: 'M', staff: { lastName: 'A' } }),
    expect: { ...refused(422, 1569, 1570, 1534), message: /staff must be a list of entities/ },
    then: [
      [post(update, { name: 'M', staff: 5 }), refused(422, 1569, 1570, 1534)],
      ...untouched,
      [
        post(update, { name: 'M', staff: [], manager: { lastName: 'A' } }),
        refused(422, 1569, 1570, 1534),
      ],
    ],
  },
  {
    id: 'P7.34 as read',
    says: 'a to-many relation as it was read is ignored, and so is an empty list',
    request: post(update, {
      ...second,
      city: 'Rome',
      staff: { __deferred: { uri: '/rest/Company(2)/staff?$expand=staff' } },
    }),
    expect: { has: { __STAMP: 2, city: 'Rome' } },
    then: [
      [
        post(update, {
          ...second,
          __STAMP: 2,
          city: 'Oslo',
          staff: { __COUNT: 0, __ENTITIES: [] },
        }),
        { has: { __STAMP: 3 } },
      ],
      [post(update, { ...second, __STAMP: 3, city: 'Bonn', staff: [] }), { has: { __STAMP: 4 } }],
      [post(update, { ...second, __STAMP: 4, city: 'Genf', staff: null }), { has: { __STAMP: 5 } }],
      [get('/rest/Employee?$filter="employer=2"&$top=0'), { has: { __COUNT: 1 } }],
    ],
  },
];
