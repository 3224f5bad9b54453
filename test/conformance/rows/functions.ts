import { expect } from 'vitest';
import { get, post, postText, refused, type Row } from '../../support/row.js';

const unknownSet = '0123456789ABCDEF0123456789ABCDEF';
const person = { __DATACLASS: 'Employee', __ENTITY: true, lastName: 'Lovelace' };
const ofSet = { __DATASET: unknownSet, __ENTITIES: true };
const noFunction = refused(404, 1500, 1804);

/** Rows for the model `functions`, whose companies are those of `functionServer`. */
export const functionRows: readonly Row[] = [
  {
    id: 'P11.1',
    says: 'a function of the datastore can be called',
    request: post('/rest/$catalog/authentify', ['mia', 'wrong']),
    expect: { is: { result: '' } },
  },
  {
    id: 'P11.2',
    says: 'a function of a dataclass can be called; a selection is answered as a collection',
    request: post('/rest/Company/fromCity', ['Paris']),
    expect: { keys: ['2', '3'] },
  },
  {
    id: 'P11.3 selection',
    says: 'a function of a selection gets all entities',
    request: post('/rest/Company/totalRevenue'),
    expect: { is: { result: 1517.5 } },
  },
  {
    id: 'P11.3 filter',
    says: 'a function of a selection gets the entities of a filter, in an order',
    request: post('/rest/Company/names/$entityset/?$filter="revenue > -5"&$orderby=name desc', []),
    expect: { is: { result: ['Ärger', 'Cargo', 'Bolt'] } },
  },
  {
    id: 'P11.3 set',
    says: 'a function of a selection gets an entity set',
    request: post(`/rest/Company/names/$entityset/${unknownSet}`, []),
    expect: refused(404, 1802),
  },
  {
    id: 'P11.3 behind a set',
    says: 'a function of an entity set has a second address',
    request: post(`/rest/Company/$entityset/${unknownSet}/names`, []),
    expect: refused(404, 1802),
  },
  {
    id: 'P11.4',
    says: 'a function of an entity can be called',
    request: post('/rest/Company(2)/label'),
    expect: { is: { result: 'Bolt in Paris' } },
  },
  {
    id: 'P11.5',
    says: 'a function of a singleton can be called; a date is answered as ISO 8601',
    request: post('/rest/$singleton/Clock/now', []),
    expect: { is: { result: '1970-01-01T00:00:00.000Z' } },
  },
  {
    id: 'P11.27',
    says: 'a function of a dataclass that is not exposed does not exist',
    request: post('/rest/Company/notExposed', []),
    expect: noFunction,
    then: [
      [post('/rest/Company/nothing', []), noFunction],
      [get('/rest/Company/notExposed'), noFunction],
      [post('/rest/Company(1)/nothing', []), noFunction],
    ],
  },
  {
    id: 'P11.27 singleton',
    says: 'a function of a singleton that is not exposed does not exist; names are case-sensitive',
    request: post('/rest/$singleton/Clock/hidden', []),
    expect: refused(404, 1827),
    then: [
      [post('/rest/$singleton/clock/now', []), refused(404, 1827)],
      [get('/rest/$singleton/Clock/Now'), refused(404, 1827)],
    ],
  },
  {
    id: 'P11.27 datastore',
    says: 'a function of the datastore that is not exposed does not exist',
    request: post('/rest/$catalog/nothing', []),
    expect: refused(404, 1827),
  },
  {
    id: 'P11.6',
    says: 'parameters are a list of any JSON',
    request: post('/rest/Company/echo', [{ a: [1, 'b', null, true] }]),
    expect: { is: { result: { a: [1, 'b', null, true] } } },
  },
  {
    id: 'P11.6 params',
    says: 'parameters may be in "params", with any content type',
    request: postText('/rest/Company/echo', '{"params":[1]}', { 'content-type': 'text/plain' }),
    expect: { is: { result: 1 } },
  },
  {
    id: 'P11.15 nothing',
    says: 'a function without result answers null',
    request: post('/rest/Company/echo'),
    expect: { is: { result: null } },
  },
  {
    id: 'P11.8',
    says: 'dates are ISO 8601',
    request: post('/rest/Company/since', ['2026-01-02T03:04:05Z', []]),
    expect: { has: { result: { isDate: true, when: '2026-01-02T03:04:05.000Z' } } },
  },
  {
    id: 'd30',
    says: 'a parameter of another type is refused with its name',
    request: post('/rest/Company/fromCity', [7]),
    expect: { ...refused(400, 1843), message: /"city"/ },
    then: [
      [post('/rest/Company/fromCity', []), { ...refused(400, 1843), message: /"city"/ }],
      [post('/rest/Company/fromCity', ['a', 'b']), refused(400, 1843)],
    ],
  },
  {
    id: 'P11.6 GET',
    says: 'a function that the model allows for GET can be called by GET',
    request: get(`/rest/Company/fromCity?$params='["Paris"]'`),
    expect: { keys: ['2', '3'] },
  },
  {
    id: 'P11.28',
    says: 'any other function cannot be called by GET',
    request: get('/rest/Company/names'),
    expect: { ...refused(405, 1829), headers: { allow: 'POST' } },
    then: [
      [get('/rest/$catalog/authentify'), refused(405, 1829)],
      [get('/rest/$singleton/Counter/next'), refused(405, 1829)],
      [get('/rest/Company(1)/hire'), refused(405, 1829)],
    ],
  },
  {
    id: 'P11.10',
    says: 'an entity parameter is a new entity, which the function saves; an entity is answered as read',
    request: post('/rest/Company(2)/hire', [person]),
    expect: {
      members: [
        '__DATACLASS',
        '__entityModel',
        '__KEY',
        '__TIMESTAMP',
        '__STAMP',
        'ID',
        'firstName',
        'lastName',
        'salary',
        'employer',
      ],
      has: { __DATACLASS: 'Employee', __entityModel: 'Employee', __STAMP: 1 },
    },
    then: [[get('/rest/Employee'), { has: { __COUNT: 1 } }]],
  },
  {
    id: 'P11.10 unsaved',
    says: 'an entity parameter is not saved unless the function does',
    request: post('/rest/Company(2)/hire', [{ ...person, lastName: 'Unsaved' }]),
    expect: { has: { __KEY: null, __STAMP: 0, lastName: 'Unsaved' } },
    then: [[get('/rest/Employee'), { has: { __COUNT: 0 } }]],
  },
  {
    id: 'P11.10 key',
    says: 'an entity parameter that does not exist is refused',
    request: post('/rest/Company(2)/hire', [{ ...person, __KEY: unknownSet }]),
    expect: refused(404, 1542),
  },
  {
    id: 'P11.10 related',
    says: 'a related entity must exist',
    request: post('/rest/Company(2)/hire', [{ ...person, employer: { __KEY: 99 } }]),
    expect: refused(404, 1542),
  },
  {
    id: 'P11.10 list',
    says: 'an entity parameter has no list in a to-many relation',
    request: post('/rest/Company/both', [
      [{ __DATACLASS: 'Company', __ENTITY: true, name: 'x', staff: [{ lastName: 'A' }] }],
      ofSet,
    ]),
    expect: { ...refused(422, 1569), message: /staff cannot be a list in an argument/ },
  },
  {
    id: 'P11.11',
    says: 'a selection parameter is an existing entity set',
    request: post('/rest/Company/both', [[], ofSet]),
    expect: refused(404, 1802),
  },
  {
    id: 'P11.17 set',
    says: 'a selection can be answered as an entity set',
    request: get('/rest/Company/itself?$method=entityset&$top=1'),
    expect: {
      members: [
        '__KEY',
        '__TIMESTAMP',
        '__STAMP',
        'ID',
        'name',
        'city',
        'founded',
        'revenue',
        'rating',
        'logo',
        'manager',
        'staff',
      ],
      has: { __DATACLASS: 'Company', __COUNT: 4, __SENT: 1 },
    },
  },
  {
    id: 'P11.17',
    says: '$attributes, $top and $skip apply to the result',
    request: get('/rest/Company/itself?$attributes=name&$top=1&$skip=2'),
    expect: { members: ['__KEY', '__TIMESTAMP', '__STAMP', 'name'], keys: ['3'] },
  },
  {
    id: 'P11.25 RestError',
    says: 'the status, code and message of a RestError are sent',
    request: post('/rest/Company/fails', ['rest']),
    expect: { ...refused(418, 7), message: /no coffee/ },
  },
  {
    id: 'P11.25',
    says: 'for any other error only the ID of the request is sent',
    request: post('/rest/Company/fails', ['else']),
    expect: { ...refused(500, 1837), message: /logged under the request/ },
  },
  {
    id: 'P11.24',
    says: 'a function without code is answered with the name of its file',
    request: post('/rest/Company/unwritten', []),
    expect: { ...refused(501, 1838), message: /src\/classes\/Company\.ts/ },
  },
  {
    id: 'P2.7',
    says: 'the catalog lists functions',
    request: get('/rest/$catalog'),
    expect: {
      has: {
        methods: [
          {
            name: 'authentify',
            applyTo: 'dataStore',
            scope: 'public',
            from: 'remoteServer',
            allowedOnHTTPGET: false,
            exposed: true,
          },
          { name: 'größe' },
        ],
      },
    },
  },
  {
    id: 'P2.8',
    says: 'the catalog lists singletons',
    request: get('/rest/$catalog/$all'),
    expect: {
      has: {
        singletons: [
          { name: 'Clock', methods: [{ name: 'now', allowedOnHTTPGET: true, exposed: true }] },
          { name: 'Counter' },
          { name: 'Cart' },
        ],
      },
    },
  },
  {
    id: 'P2.11',
    says: 'the catalog lists the parameters and the result of a function',
    request: get('/rest/$catalog/Company'),
    expect: {
      has: {
        methods: expect.arrayContaining([
          expect.objectContaining({
            name: 'fromCity',
            params: [{ name: 'city', type: 'string' }],
            returns: { type: 'entitySelection', dataClass: 'Company' },
          }),
          expect.objectContaining({
            name: 'since',
            params: [
              { name: 'when', type: 'date', simpleDate: false },
              { name: 'days', type: 'list', items: { type: 'date', simpleDate: false } },
            ],
            returns: { type: 'any' },
          }),
          expect.objectContaining({
            name: 'echo',
            params: [{ name: 'value', type: 'any', optional: true }],
            returns: { type: 'any' },
          }),
          expect.objectContaining({
            name: 'hire',
            params: [{ name: 'person', type: 'entity', dataClass: 'Employee' }],
            returns: { type: 'entity', dataClass: 'Employee' },
          }),
        ]) as unknown,
      },
    },
    then: [
      [
        get('/rest/$catalog'),
        {
          has: {
            methods: [
              {
                name: 'authentify',
                params: [
                  { name: 'user', type: 'string' },
                  { name: 'password', type: 'string' },
                ],
                returns: { type: 'string' },
              },
              { name: 'größe', params: [], returns: { type: 'long64' } },
            ],
            singletons: [
              {
                name: 'Clock',
                methods: [{ name: 'now', params: [], returns: { type: 'date' } }],
              },
              {},
              {},
            ],
          },
        },
      ],
    ],
  },
  {
    id: 'P1.2 function names',
    says: 'a name may be percent-encoded',
    request: get('/rest/%24catalog/gr%C3%B6%C3%9Fe/'),
    expect: { is: { result: 4 } },
  },
];
