import { get, post, refused, type Row } from '../../support/row.js';

/** Protocol P1.1, P3.19, P13.1 and `protocol.md#errors`. */
export const errorRows: readonly Row[] = [
  {
    id: 'status.404 dataclass',
    says: 'an unknown dataclass is 404',
    request: get('/rest/Nowhere'),
    expect: refused(404, 1800),
  },
  {
    id: 'status.404 dataclass with a key',
    says: 'an entity of an unknown dataclass is 404',
    request: get('/rest/Nowhere(1)'),
    expect: refused(404, 1800),
  },
  {
    id: 'status.404 outside',
    says: 'an address outside of the base path is not answered by the protocol',
    request: get('/Company'),
    expect: { status: 404, has: { statusCode: 404, error: 'Not Found' } },
  },
  {
    id: 'status.404 deeper',
    says: 'an address with too many segments is 404',
    request: get('/rest/Company(1)/staff/lastName'),
    expect: refused(404, 1800),
  },
  {
    id: '1807 ampersand',
    says: 'an ampersand instead of the question mark is explained',
    request: get('/rest/Company&$top=1'),
    expect: refused(400, 1807),
  },
  {
    id: '1807 ampersand, encoded',
    says: 'an ampersand instead of the question mark is explained for an unknown dataclass, too',
    request: get('/rest/Nowhere&%24top=1&$skip=1'),
    expect: refused(400, 1807),
  },
  {
    id: '1807 ampersand, POST',
    says: 'a change with an ampersand instead of the question mark does nothing',
    request: post('/rest/Company&$method=update', { name: 'New' }),
    expect: refused(400, 1807),
  },
  {
    id: 'status.404 entity',
    says: 'an unknown key is 404',
    request: get('/rest/Company(99)'),
    expect: refused(404, 1543),
  },
  {
    id: 'status.404 key of another type',
    says: 'a key that no entity can have is 404',
    request: get('/rest/Company(abc)'),
    expect: refused(404, 1543),
  },
  {
    id: 'status.404 uuid',
    says: 'a key that is not a UUID is 404',
    request: get('/rest/Employee(12)'),
    expect: refused(404, 1543),
  },
  {
    id: 'status.404 related',
    says: 'the relation of an unknown entity is 404',
    request: get('/rest/Company(99)/staff?$expand=staff'),
    expect: refused(404, 1543),
  },
  {
    id: 'status.404 value',
    says: 'a value that no entity has is 404',
    request: get('/rest/Company:name("Nobody")'),
    expect: refused(404, 1543),
  },
  ...['7.5', '1e300', '-1e999'].map((value): Row => ({
    id: `status.404 integer ${value}`,
    says: `no entity has ${value} as an integer`,
    request: get(`/rest/Company:headcount(${value})`),
    expect: refused(404, 1543),
  })),
  {
    id: 'status.404 lookup',
    says: 'an unknown attribute to look up by is 404',
    request: get('/rest/Company:nothing(1)'),
    expect: refused(404, 1500, 1804),
  },
  {
    id: 'status.400 lookup',
    says: 'an attribute that cannot be looked up by value is 400',
    request: get('/rest/Company:staff(1)'),
    expect: refused(400, 1806),
  },
  {
    id: 'status.400 key',
    says: 'a key without its closing parenthesis is 400',
    request: get('/rest/Company(1'),
    expect: refused(400, 1806),
  },
  {
    id: 'status.400 empty key',
    says: 'parentheses without a key are 400',
    request: get('/rest/Company()'),
    expect: refused(400, 1806),
  },
  {
    id: 'status.400 quote in a key',
    says: 'a key whose quote is not closed is 400',
    request: get('/rest/Note("A)'),
    expect: refused(400, 1809),
  },
  {
    id: 'status.400 url',
    says: 'a malformed URL is 400',
    request: get('/rest/Company(%E2%28)'),
    expect: refused(400, 1806),
  },
  {
    id: 'status.400 query',
    says: 'a malformed percent-encoding in a parameter is 400',
    request: get('/rest/Company?$filter=city=%E2%28'),
    expect: refused(400, 1806),
  },
  {
    id: 'status.400 query name',
    says: 'a malformed percent-encoding in the name of a parameter is 400',
    request: get('/rest/Company?%24%E2%28=1'),
    expect: refused(400, 1806),
  },
  {
    id: 'P3.19 path',
    says: 'a segment that is neither function nor attribute is 404',
    request: get('/rest/Company/nothing'),
    expect: {
      is: {
        __ERROR: [
          {
            message: 'The "nothing" attribute cannot be found in the "Company" dataclass',
            componentSignature: 'dbmg',
            errCode: 1500,
          },
          {
            message:
              'Cannot completely build a list of attributes with "nothing" for the "Company" dataclass',
            componentSignature: 'dbmg',
            errCode: 1804,
          },
        ],
      },
      status: 404,
    },
  },
  {
    id: 'P3.19 path of an entity',
    says: 'the same holds after a key',
    request: get('/rest/Company(1)/nothing'),
    expect: refused(404, 1500, 1804),
  },
  {
    id: 'P11.27 of a dataclass',
    says: 'a POST to an unknown function is 404',
    request: post('/rest/Company/nothing', []),
    expect: refused(404, 1500, 1804),
  },
  {
    id: 'P11.27 of an entity',
    says: 'the same holds after a key',
    request: post('/rest/Company(1)/nothing', []),
    expect: refused(404, 1500, 1804),
  },
  {
    id: 'F43 filter',
    says: 'an unknown attribute in a filter is 400',
    request: get('/rest/Company?$filter=nothing=1'),
    expect: refused(400, 1500, 1162),
  },
  {
    id: 'P3.19 orderby',
    says: 'an unknown attribute in an order is 400',
    request: get('/rest/Company?$orderby=nothing'),
    expect: refused(400, 1500, 1810),
  },
  {
    id: 'P3.19 attributes',
    says: 'an unknown attribute in a list is 400',
    request: get('/rest/Company?$attributes=name,nothing'),
    expect: refused(400, 1500, 1804),
  },
  {
    id: 'P3.19 expand',
    says: 'an unknown relation to expand is 400',
    request: get('/rest/Company?$expand=nothing'),
    expect: refused(400, 1500, 1805),
  },
  {
    id: '1816 empty list',
    says: 'an empty attribute list is refused',
    request: get('/rest/Company?$attributes='),
    expect: refused(400, 1816),
  },
  {
    id: '1812 unknown method',
    says: 'an unknown $method is refused',
    request: get('/rest/Company?$method=remove'),
    expect: refused(400, 1812),
  },
  {
    id: '1812 unknown method by POST',
    says: 'an unknown $method by POST is refused',
    request: post('/rest/Company?$method=remove'),
    expect: refused(400, 1812),
  },
  {
    id: '1812 no method',
    says: 'a POST without $method or function is refused',
    request: post('/rest/Company', { name: 'X' }),
    expect: refused(400, 1812),
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 5 } }]],
  },
  {
    id: 'catalog 404',
    says: 'the catalog of an unknown dataclass is 404',
    request: get('/rest/$catalog/Nowhere'),
    expect: refused(404, 1800),
  },
];
