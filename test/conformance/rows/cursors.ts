import { employee } from '../../support/staff-fixture.js';
import { get, post, refused, type Row } from '../../support/row.js';

const token = 'W10.AAAA';

const places: readonly (readonly [says: string, path: string])[] = [
  ['one entity', 'Company(1)?$cursor=true'],
  ['one entity, with a token', `Company(1)?$after=${token}`],
  [
    'a to-one relation',
    'Employee(00000000000000000000000000000001)/employer?$expand=employer&$cursor=true',
  ],
  ['an entity that is found by a value', 'Company:name(Zeta)?$cursor=true'],
  ['a new set', 'Company?$method=entityset&$cursor=true'],
  [
    'a new set of related entities',
    'Company(1)/staff?$method=subentityset&$expand=staff&$cursor=true',
  ],
  ['a set', 'Company/$entityset/00000000000000000000000000000000?$cursor=true'],
  ['an aggregate', 'Company/revenue?$compute=sum&$cursor=true'],
  ['values', `Company/city?$distinct=true&$after=${token}`],
  ['a bare list', 'Company?$asArray=true&$cursor=true'],
  ['a report', 'Company?$format=looker&$cursor=true'],
  ['$skip', 'Company?$cursor=true&$skip=1'],
  ['$skip behind a token', `Company?$after=${token}&$skip=0`],
  ['$top=0', 'Company?$cursor=true&$top=0'],
  ['a value that is no switch', 'Company?$cursor=yes'],
];

const tokens = [
  '',
  '.',
  'x',
  token,
  `${token}.x`,
  'e30.',
  '%00',
  'W10',
  'null',
  '[1]',
  'a'.repeat(9000),
];

/** Protocol P3.29 to P3.33. */
export const cursorRows: readonly Row[] = [
  {
    id: 'cursor all',
    says: 'the last page says that there is no other one',
    request: get('/rest/Company?$cursor=true&$attributes=name'),
    expect: {
      keys: ['1', '2', '3', '4', '5'],
      has: { __COUNT: 5, __SENT: 5, __FIRST: 0, __NEXT: null },
    },
  },
  {
    id: 'cursor exact end',
    says: 'a full page that is the last one says so, too',
    request: get('/rest/Company?$cursor=true&$top=5'),
    expect: { has: { __SENT: 5, __NEXT: null } },
  },
  {
    id: 'cursor next',
    says: 'a page that is not the last one has a token',
    request: get('/rest/Company?$cursor=true&$top=2&$orderby=city desc'),
    expect: { keys: ['2', '3'], has: { __COUNT: 5, __FIRST: 0 } },
  },
  {
    id: 'cursor expand',
    says: 'a page expands relations and counts nothing with $count=false',
    request: get('/rest/Company?$cursor=true&$top=1&$expand=staff($top=1)&$count=false'),
    expect: {
      has: {
        __SENT: 1,
        __ENTITIES: [{ staff: { __SENT: 1, __ENTITIES: [{ __KEY: employee(1) }] } }],
      },
    },
  },
  {
    id: 'cursor related',
    says: 'a to-many relation of one entity has pages, too',
    request: get('/rest/Company(1)/staff?$expand=staff&$cursor=true&$top=1&$orderby=salary'),
    expect: { keys: [employee(2)], has: { __COUNT: 2 } },
  },
  {
    id: 'cursor of nobody',
    says: 'a relation of an entity that does not exist is missing',
    request: get('/rest/Company(77)/staff?$expand=staff&$cursor=true'),
    expect: refused(404, 1543),
    then: [
      [get('/rest/Company(77)/staff?$expand=staff&$cursor=true&$count=false'), refused(404, 1543)],
    ],
  },
  {
    id: 'cursor of nothing',
    says: 'an empty relation has one page',
    request: get('/rest/Company(4)/staff?$expand=staff&$cursor=true&$count=false'),
    expect: { keys: [], has: { __NEXT: null } },
  },
  {
    id: 'cursor object',
    says: 'an order by a property of an object is refused',
    request: get('/rest/Company?$orderby=name,extra.deep.x&$cursor=true'),
    expect: { ...refused(400, 1810), message: /Character 6 of \$orderby: \$cursor needs/ },
  },
  {
    id: 'cursor similarity',
    says: 'an order by a similarity is refused',
    request: get(
      '/rest/Company?$filter="embedding >= :1"&$params=[[1,0,0]]&$orderby=embedding&$cursor=true',
    ),
    expect: refused(400, 1810),
  },
  {
    id: 'cursor unknown',
    says: 'an order by what is not exposed is that by an unknown attribute',
    request: get('/rest/Company?$orderby=internalRating&$cursor=true'),
    expect: refused(400, 1500, 1810),
  },
  ...places.map(([says, path]) => ({
    id: `cursor refused ${path}`,
    says: `${says} has no cursor`,
    request: get(`/rest/${path}`),
    expect: { status: 400 },
  })),
  ...tokens.map((each) => ({
    id: `cursor token ${each.slice(0, 20)}`,
    says: 'what is no token is refused',
    request: get(`/rest/Company?$after=${each}`),
    expect: { ...refused(400, 1806), message: /no token of this request/ },
  })),
  {
    id: 'cursor delete',
    says: 'a deletion does not ignore where a page begins',
    request: post(`/rest/Company?$method=delete&$filter="ID > 0"&$after=${token}`),
    expect: refused(400, 1806),
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 5 } }]],
  },
];
