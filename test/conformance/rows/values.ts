import { employee, moment } from '../../support/staff-fixture.js';
import { get, type Row } from '../../support/row.js';

const ada = `/rest/Employee(${employee(1)})`;

/** Protocol P4.4 to P4.15, P3.20. */
export const valueRows: readonly Row[] = [
  {
    id: 'P4.4 __TIMESTAMP',
    says: '__TIMESTAMP is ISO 8601 with milliseconds and Z',
    request: get('/rest/Company(1)'),
    expect: { has: { __TIMESTAMP: moment } },
  },
  {
    id: 'P4.9 relation',
    says: 'an unset to-one relation is null',
    request: get('/rest/Company(1)/manager'),
    expect: { is: { __entityModel: 'Company', __KEY: '1', __STAMP: 1, manager: null } },
  },
  {
    id: 'P4.9 values',
    says: 'null is null for every type',
    request: get('/rest/Company(4)'),
    expect: {
      has: {
        city: null,
        founded: null,
        revenue: null,
        headcount: null,
        rank: null,
        extra: null,
        logo: null,
        brochure: null,
        embedding: null,
        manager: null,
        label: null,
        managerName: null,
      },
    },
  },
  {
    id: 'P4.9 dates',
    says: 'null is null for dates, durations and booleans',
    request: get(`/rest/Employee(${employee(2)})`),
    expect: { has: { birthDate: null, hiredAt: null, shift: null, remote: null, photo: null } },
  },
  {
    id: 'P4.10',
    says: 'a to-one relation is deferred with uri and __KEY',
    request: get(`${ada}/employer`),
    expect: {
      is: {
        __entityModel: 'Employee',
        __KEY: employee(1),
        __STAMP: 1,
        employer: { __deferred: { uri: '/rest/Company(1)', __KEY: '1' } },
      },
    },
  },
  {
    id: 'P4.11',
    says: 'a to-many relation is deferred with its uri',
    request: get(`${ada}/team`),
    expect: {
      is: {
        __entityModel: 'Employee',
        __KEY: employee(1),
        __STAMP: 1,
        team: { __deferred: { uri: `/rest/Employee(${employee(1)})/team?$expand=team` } },
      },
    },
  },
  {
    id: 'P1.4 text key',
    says: 'the key in a uri is percent-encoded where a URI demands it',
    request: get('/rest/Note(b)/parent'),
    expect: {
      has: { parent: { __deferred: { uri: '/rest/Note(A%2F1%20%28x%29)', __KEY: 'A/1 (x)' } } },
    },
    then: [[get('/rest/Note(A%2F1%20(x))/text'), { has: { text: 'first' } }]],
  },
  {
    id: 'P4.12',
    says: 'an image is deferred with its version',
    request: get('/rest/Company(1)/logo,name'),
    expect: {
      has: {
        logo: {
          __deferred: {
            uri: '/rest/Company(1)/logo?$imageformat=best&$version=1&$expand=logo',
            image: true,
          },
        },
      },
    },
  },
  {
    id: 'P4.13',
    says: 'a BLOB is deferred',
    request: get('/rest/Company(1)/brochure,name'),
    expect: {
      has: {
        brochure: {
          __deferred: { uri: '/rest/Company(1)/brochure?$binary=true&$expand=brochure' },
        },
      },
    },
  },
  {
    id: 'P4.11 expanded',
    says: 'an expanded to-many relation is a collection in place',
    request: get('/rest/Company(2)?$attributes=staff.lastName'),
    expect: {
      is: {
        __entityModel: 'Company',
        __KEY: '2',
        __TIMESTAMP: moment,
        __STAMP: 1,
        staff: {
          __ENTITYSET: '/rest/Company(2)/staff?$expand=staff',
          __GlobalStamp: 11,
          __COUNT: 1,
          __SENT: 1,
          __FIRST: 0,
          __ENTITIES: [{ __KEY: employee(3), __TIMESTAMP: moment, __STAMP: 1, lastName: 'Cohen' }],
        },
      },
    },
  },
  {
    id: 'P4.4',
    says: 'a date with time is sent in UTC to the millisecond',
    request: get(`${ada}/hiredAt`),
    expect: { has: { hiredAt: '2020-01-02T03:04:05.678Z' } },
  },
  {
    id: 'P4.5',
    says: 'a date without time is sent as a day',
    request: get(`${ada}/birthDate`),
    expect: { has: { birthDate: '1815-12-10' } },
  },
  {
    id: 'P4.6',
    says: 'numbers are JSON numbers',
    request: get('/rest/Company(1)/revenue,headcount'),
    expect: { has: { revenue: 1500.5, headcount: 12 } },
  },
  {
    id: 'boolean',
    says: 'booleans are true and false',
    request: get('/rest/Company(3)/active'),
    expect: { has: { active: false } },
    then: [[get('/rest/Company(1)/active'), { has: { active: true } }]],
  },
  {
    id: 'P4.14 object',
    says: 'an object is sent inline',
    request: get('/rest/Company(1)/extra'),
    expect: { has: { extra: { tags: ['a', 'b'], deep: { x: 1 } } } },
  },
  {
    id: 'P4.14 vector',
    says: 'a vector is an array of numbers',
    request: get('/rest/Company(1)/embedding'),
    expect: { has: { embedding: [1, 0, 0] } },
  },
  {
    id: 'duration',
    says: 'a duration is a number of milliseconds',
    request: get(`${ada}/shift`),
    expect: { has: { shift: 28_800_000 } },
  },
  {
    id: 'P4.8',
    says: 'a UUID is 32 hexadecimal digits in upper case',
    request: get(`${ada}/ID`),
    expect: { has: { ID: employee(1) } },
  },
  {
    id: 'computed',
    says: 'a computed attribute is sent as its value',
    request: get('/rest/Company(2)/label'),
    expect: { has: { label: 'Bolt, Paris' } },
  },
  {
    id: 'P3.20',
    says: 'an alias is sent as the value at the end of its path, or null if a relation is missing',
    request: get('/rest/Company(5)/managerName'),
    expect: { has: { managerName: 'Lovelace' } },
    then: [[get('/rest/Company(1)/managerName'), { has: { managerName: null } }]],
  },
];
