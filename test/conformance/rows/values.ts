import { employee, moment } from '../fixture.js';
import { get, type Row } from '../row.js';

const ada = `/rest/Employee(${employee(1)})`;

/** Specification, "Relation attributes", "Attribute kinds"; decisions 6 to 9; protocol sections 4.3 and 5. */
export const valueRows: readonly Row[] = [
  {
    id: 'd6.timestamp',
    says: '__TIMESTAMP is ISO 8601 with milliseconds and Z',
    request: get('/rest/Company(1)'),
    expect: { has: { __TIMESTAMP: moment } },
  },
  {
    id: 'd7.null relation',
    says: 'an unset to-one relation is null',
    request: get('/rest/Company(1)/manager'),
    expect: { is: { __entityModel: 'Company', __KEY: '1', __STAMP: 1, manager: null } },
  },
  {
    id: 'd7.null values',
    says: 'null is null for every kind',
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
    id: 'd7.null dates',
    says: 'also for dates, durations and booleans',
    request: get(`/rest/Employee(${employee(2)})`),
    expect: { has: { birthDate: null, hiredAt: null, shift: null, remote: null, photo: null } },
  },
  {
    id: 'd7.to-one',
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
    id: 'd7.to-many',
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
    id: 'd7.uri of a text key',
    says: 'the key in a uri is percent-encoded where a URI demands it',
    request: get('/rest/Note(b)/parent'),
    expect: {
      has: { parent: { __deferred: { uri: '/rest/Note(A%2F1%20%28x%29)', __KEY: 'A/1 (x)' } } },
    },
    then: [[get('/rest/Note(A%2F1%20(x))/text'), { has: { text: 'first' } }]],
  },
  {
    id: 'd7.image',
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
    id: 'd7.blob',
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
    id: 'd7.expanded to-many',
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
    id: 'd8.date with time',
    says: 'a date with time is sent in UTC to the millisecond',
    request: get(`${ada}/hiredAt`),
    expect: { has: { hiredAt: '2020-01-02T03:04:05.678Z' } },
  },
  {
    id: 'd8.date only',
    says: 'a date only is sent as a day',
    request: get(`${ada}/birthDate`),
    expect: { has: { birthDate: '1815-12-10' } },
  },
  {
    id: '5.number',
    says: 'numbers are JSON numbers',
    request: get('/rest/Company(1)/revenue,headcount'),
    expect: { has: { revenue: 1500.5, headcount: 12 } },
  },
  {
    id: '5.boolean',
    says: 'booleans are true and false',
    request: get('/rest/Company(3)/active'),
    expect: { has: { active: false } },
    then: [[get('/rest/Company(1)/active'), { has: { active: true } }]],
  },
  {
    id: '5.object',
    says: 'an object is sent inline',
    request: get('/rest/Company(1)/extra'),
    expect: { has: { extra: { tags: ['a', 'b'], deep: { x: 1 } } } },
  },
  {
    id: '5.vector',
    says: 'a vector is an array of numbers',
    request: get('/rest/Company(1)/embedding'),
    expect: { has: { embedding: [1, 0, 0] } },
  },
  {
    id: '5.duration',
    says: 'a duration is a number of milliseconds',
    request: get(`${ada}/shift`),
    expect: { has: { shift: 28_800_000 } },
  },
  {
    id: '5.uuid',
    says: 'a UUID is 32 hexadecimal digits in upper case',
    request: get(`${ada}/ID`),
    expect: { has: { ID: employee(1) } },
  },
  {
    id: '5.computed',
    says: 'a computed attribute is sent as its value',
    request: get('/rest/Company(2)/label'),
    expect: { has: { label: 'Bolt, Paris' } },
  },
  {
    id: '5.alias',
    says: 'an alias is sent as the value that it stands for, null without a way to it',
    request: get('/rest/Company(5)/managerName'),
    expect: { has: { managerName: 'Lovelace' } },
    then: [[get('/rest/Company(1)/managerName'), { has: { managerName: null } }]],
  },
];
