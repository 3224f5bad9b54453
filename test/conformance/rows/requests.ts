import { createHash } from 'node:crypto';
import { get, post, refused, type Request, type Row } from '../../support/row.js';

const other = (method: Request['method'], url: string): Request => ({ method, url });
const notAllowed = { ...refused(405, 1832), headers: { allow: 'GET, HEAD, POST' } };
const first = { has: { __KEY: '1', name: 'Ärger' } };

const named = '/rest/Company(1)/name';
const content = '{"__entityModel":"Company","__KEY":"1","__STAMP":1,"name":"Ärger"}';
const tag = `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;

/** Protocol P1.1 to P1.8, P1.10, P1.12, P1.13. */
export const requestRows: readonly Row[] = [
  {
    id: 'P1.1 dataclass',
    says: 'only exposed dataclasses are reachable',
    request: get('/rest/Vault'),
    expect: refused(404, 1800),
  },
  {
    id: 'P1.1 attribute',
    says: 'only exposed attributes are reachable',
    request: get('/rest/Company/internalRating'),
    expect: refused(404, 1500, 1804),
  },
  {
    id: 'P1.1 case of a dataclass',
    says: 'names of dataclasses are case-sensitive',
    request: get('/rest/company'),
    expect: refused(404, 1800),
  },
  {
    id: 'P1.1 case of an attribute',
    says: 'names of attributes are case-sensitive',
    request: get('/rest/Company/Name'),
    expect: refused(404, 1500, 1804),
  },
  {
    id: 'P1.1 case of data',
    says: 'compared data is not case-sensitive',
    request: get('/rest/Company?$filter="city = PARIS"'),
    expect: { keys: ['2', '3'] },
  },
  {
    id: 'P1.6 without $',
    says: 'a name without the dollar sign is not a parameter of the protocol',
    request: get('/rest/Company?top=1&skip=1'),
    expect: { has: { __SENT: 5, __FIRST: 0 } },
  },
  {
    id: 'P1.2 slash collection',
    says: 'a trailing slash is accepted',
    request: get('/rest/Company/?$top=1'),
    expect: { keys: ['1'] },
  },
  {
    id: 'P1.2 slash entity',
    says: 'a trailing slash is accepted after a key',
    request: get('/rest/Company(1)/'),
    expect: first,
  },
  {
    id: 'P1.2 slash attributes',
    says: 'a trailing slash is accepted after attributes',
    request: get('/rest/Company/name/?$top=1'),
    expect: { members: ['__KEY', '__STAMP', 'name'] },
  },
  {
    id: 'P1.2 dollar path',
    says: '%24 stands for $ in a path',
    request: get('/rest/%24catalog'),
    expect: { has: { __NAME: 'staff' } },
  },
  {
    id: 'P1.2 dollar parameter',
    says: '%24 stands for $ in a parameter',
    request: get('/rest/Company?%24top=1'),
    expect: { keys: ['1'] },
  },
  {
    id: 'P1.2 plus',
    says: '+ stands for a blank in a parameter',
    request: get('/rest/Company?$filter=city+=+Berlin'),
    expect: { keys: ['1'] },
  },
  {
    id: 'P1.2 blank',
    says: '%20 stands for a blank in a parameter',
    request: get('/rest/Company?$filter=city%20=%20Berlin'),
    expect: { keys: ['1'] },
  },
  {
    id: 'P1.2 brackets',
    says: 'brackets around a key are the same as parentheses',
    request: get('/rest/Company[1]'),
    expect: first,
  },
  {
    id: 'P1.2 brackets encoded',
    says: 'brackets may be percent-encoded',
    request: get('/rest/Company%5B1%5D/name'),
    expect: { members: ['__entityModel', '__KEY', '__STAMP', 'name'] },
  },
  {
    id: 'P1.2 parentheses encoded',
    says: 'parentheses may be percent-encoded',
    request: get('/rest/Company%281%29'),
    expect: first,
  },
  {
    id: 'P1.4',
    says: 'every uri is a path with parentheses',
    request: get('/rest/Company[5]/manager,staff'),
    expect: {
      is: {
        __entityModel: 'Company',
        __KEY: '5',
        __STAMP: 1,
        manager: {
          __deferred: {
            uri: '/rest/Employee(00000000000000000000000000000001)',
            __KEY: '00000000000000000000000000000001',
          },
        },
        staff: { __deferred: { uri: '/rest/Company(5)/staff?$expand=staff' } },
      },
    },
  },
  {
    id: 'P1.5 case',
    says: 'parameter names ignore case',
    request: get('/rest/Company?$TOP=1&$OrderBy=ID+desc'),
    expect: { keys: ['5'] },
  },
  {
    id: 'P1.5 limit',
    says: '$limit is $top',
    request: get('/rest/Company?$limit=2'),
    expect: { keys: ['1', '2'] },
  },
  {
    id: 'P1.5 top wins',
    says: '$top wins over $limit, in either order',
    request: get('/rest/Company?$top=1&$limit=3'),
    expect: { keys: ['1'] },
    then: [[get('/rest/Company?$limit=3&$top=1'), { keys: ['1'] }]],
  },
  ...(
    [
      ['filter double', `$filter="city = 'Berlin'"`],
      ['filter single', `$filter='city = "Berlin"'`],
      ['filter bare', '$filter=city=Berlin'],
      ['orderby', '$orderby="ID"&$top=1'],
      ['top', `$top='1'`],
      ['skip', '$skip="0"&$top=1'],
      ['attributes', '$attributes="name"&$top=1'],
      ['expand', `$expand='staff'&$top=1`],
      ['params', `$filter="city = :1"&$params='["berlin"]'`],
      ['params double', `$filter="city = :1"&$params="["berlin"]"`],
    ] as const
  ).map(([name, query]) => ({
    id: `P1.5 quotes ${name}`,
    says: 'one pair of quotes around a value is stripped',
    request: get(`/rest/Company?${query}`),
    expect: { keys: ['1'] },
  })),
  {
    id: 'P1.5 quotes once',
    says: 'only one pair of quotes is stripped',
    request: get(`/rest/Company?$top="'1'"`),
    expect: refused(400, 1806),
  },
  {
    id: 'P1.6 unknown',
    says: 'an unknown parameter with $ is refused',
    request: get('/rest/Company?$fliter=x'),
    expect: { ...refused(400, 1811), message: /\$fliter.*\$filter/ },
  },
  {
    id: 'P1.6 unknown entity',
    says: 'an unknown parameter with $ is refused for one entity too',
    request: get('/rest/Company(1)?$what'),
    expect: refused(400, 1811),
  },
  {
    id: 'P1.5 tolerated',
    says: '$metadata and $version have no effect',
    request: get('/rest/Company(1)/name?$metadata=full&$version=12'),
    expect: { has: { name: 'Ärger' } },
  },
  {
    id: 'P1.6 others',
    says: 'other unknown parameters are ignored in reads',
    request: get('/rest/Company?cache=no&top=1&_=1700000000'),
    expect: { has: { __SENT: 5 } },
  },
  {
    id: 'P1.6 twice',
    says: 'a parameter given twice is refused',
    request: get('/rest/Company?$top=1&$top=1'),
    expect: { ...refused(400, 1806), message: /more than once/ },
  },
  {
    id: 'P1.6 twice in another case',
    says: 'a parameter given twice in different case is refused',
    request: get('/rest/Company?$top=1&$TOP=1'),
    expect: refused(400, 1806),
  },
  {
    id: 'P1.6 twice encoded',
    says: 'a parameter given twice, once encoded, is refused',
    request: get('/rest/Company?$top=1&%24top=1'),
    expect: refused(400, 1806),
  },
  {
    id: 'P1.5 single quote',
    says: 'a missing single quote is reported',
    request: get(`/rest/Company?$filter='city`),
    expect: refused(400, 1808),
  },
  {
    id: 'P1.5 double quote',
    says: 'a missing double quote is reported',
    request: get('/rest/Company?$filter="city'),
    expect: refused(400, 1809),
  },
  {
    id: 'P1.10 head',
    says: 'HEAD is GET without a body',
    request: other('HEAD', '/rest/Company(1)'),
    expect: { headers: { 'content-type': 'application/json; charset=utf-8' } },
  },
  {
    id: 'P1.10 head missing',
    says: 'HEAD of an unknown entity is 404',
    request: other('HEAD', '/rest/Company(99)'),
    expect: { status: 404 },
  },
  ...(['PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const).flatMap((method) =>
    ['/rest/Company', '/rest/Company(1)', '/rest/$catalog', '/rest/Nowhere', '/rest'].map(
      (url) => ({
        id: `P1.10 verb ${method} ${url}`,
        says: 'other verbs are refused with Allow',
        request: other(method, url),
        expect: notAllowed,
      }),
    ),
  ),
  ...['update', 'delete', 'validate'].flatMap((method) =>
    [`/rest/Company?$method=${method}`, `/rest/Company(1)?$method=${method}`].map((url) => ({
      id: `P1.10 change by GET ${url}`,
      says: 'a change by GET is refused and does nothing',
      request: get(url),
      expect: { ...refused(405, 1832), headers: { allow: 'POST' } },
      then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 5 } }]] as const,
    })),
  ),
  ...[
    'Company',
    'Company/name',
    'Company(1)',
    'Company:name(Bolt)',
    'Company(1)/staff?$expand=staff',
    'Company/$entityset/0123456789ABCDEF0123456789ABCD77?$savedfilter="ID < 4"',
    '$catalog',
  ].flatMap((address) =>
    ['$atMost=5', '$upsert=name'].map((parameter): Row => {
      const url = `/rest/${address}${address.includes('?') ? '&' : '?'}${parameter}`;
      return {
        id: `P1.7 save ${url}`,
        says: 'a parameter of a save is refused in a read',
        request: get(url),
        expect: { ...refused(400, 1806), message: /applies to a save: POST/ },
      };
    }),
  ),
  ...['$groupby=city', '$compute=count', '$distinct=true'].flatMap((parameter) =>
    [`Company(1)?$lock=true&${parameter}`, `$catalog?${parameter}`].map((address) => ({
      id: `P1.7 several ${address}`,
      says: 'what is about several entities is refused elsewhere',
      request: get(`/rest/${address}`),
      expect: refused(400, 1806),
    })),
  ),
  ...['-1', '1.5', 'ten', '', '1e2', '0x10', ' ', '9007199254740992', '٣'].flatMap((value) =>
    ['$top', '$limit', '$skip', '$timeout'].map((name) => ({
      id: `P1.8 number ${name}=${value}`,
      says: 'a value that is not a whole number from 0 up is refused',
      request: get(`/rest/Company?${name}=${value}`),
      expect: refused(400, 1806),
    })),
  ),
  {
    id: 'P1.8 top 0',
    says: '$top=0 answers only the count',
    request: get('/rest/Company?$top=0'),
    expect: { has: { __COUNT: 5, __SENT: 0, __FIRST: 0, __ENTITIES: [] } },
  },
  {
    id: 'P1.12 cross-site',
    says: 'a change from another site is refused',
    request: post(
      '/rest/Company?$method=update',
      { name: 'X' },
      { 'sec-fetch-site': 'cross-site' },
    ),
    expect: refused(403, 1831),
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 5 } }]],
  },
  {
    id: 'P1.12 same-site',
    says: 'a change from another subdomain is refused',
    request: post('/rest/Company?$method=update', { name: 'X' }, { 'sec-fetch-site': 'same-site' }),
    expect: refused(403, 1831),
  },
  {
    id: 'P1.12 origin',
    says: 'an Origin other than the requested host is refused',
    request: post('/rest/Company?$method=update', { name: 'X' }, { origin: 'http://evil.example' }),
    expect: refused(403, 1831),
  },
  {
    id: 'P1.12 port',
    says: 'an Origin with another port is refused',
    request: post(
      '/rest/Company?$method=update',
      { name: 'X' },
      { origin: 'http://one.example:81', host: 'one.example:80' },
    ),
    expect: refused(403, 1831),
  },
  {
    id: 'P1.12 same origin',
    says: 'the page of the same host and port may change data',
    request: post(
      '/rest/Company?$method=update',
      { name: 'X' },
      {
        origin: 'http://one.example:8080',
        host: 'one.example:8080',
        'sec-fetch-site': 'same-origin',
      },
    ),
    expect: { has: { __KEY: '6' } },
  },
  {
    id: 'P1.12 typed address',
    says: 'a request that no web page sends is allowed',
    request: post('/rest/Company?$method=update', { name: 'X' }, { 'sec-fetch-site': 'none' }),
    expect: { has: { __KEY: '6' } },
  },
  {
    id: 'P1.12 reads',
    says: 'reads from another site change nothing and are served',
    request: get('/rest/Company(1)', { 'sec-fetch-site': 'cross-site' }),
    expect: first,
  },
  {
    id: 'P1.13 tag',
    says: 'the tag of an entity is made of the answer',
    request: get(named),
    expect: {
      has: { name: 'Ärger' },
      headers: { etag: tag, 'cache-control': 'private, no-cache' },
    },
  },
  {
    id: 'P1.13 known',
    says: 'an answer that the client has is not sent',
    request: get(named, { 'if-none-match': tag }),
    expect: {
      status: 304,
      bytes: '',
      headers: { etag: tag, 'cache-control': 'private, no-cache' },
    },
  },
  {
    id: 'P1.13 one of several',
    says: 'one of the tags is enough',
    request: get(named, { 'if-none-match': `"1", W/"x", ${tag}` }),
    expect: { status: 304, bytes: '' },
  },
  {
    id: 'P1.13 stamp',
    says: 'the stamp of an entity is no tag of an answer',
    request: get(named, { 'if-none-match': '"1"' }),
    expect: { has: { name: 'Ärger' } },
  },
  {
    id: 'P1.13 changed',
    says: 'a change is seen',
    request: post('/rest/Company(1)', { __STAMP: 1, name: 'Anders' }),
    expect: { has: { __STATUS: { success: true } } },
    then: [[get(named, { 'if-none-match': tag }), { has: { name: 'Anders', __STAMP: 2 } }]],
  },
  ...['$method=entityset', '$cursor=true', '$queryplan=true'].map((parameter): Row => ({
    id: `P1.13 without ${parameter}`,
    says: `an answer with ${parameter} has no tag`,
    request: get(`/rest/Company?${parameter}`, { 'if-none-match': tag }),
    expect: { headers: { etag: undefined, 'cache-control': 'no-store' } },
  })),
  {
    id: 'P1.13 save',
    says: 'an answer to a change has no tag',
    request: post('/rest/Company?$method=update', { name: 'X' }, { 'if-none-match': tag }),
    expect: { has: { __KEY: '6' }, headers: { etag: undefined, 'cache-control': 'no-store' } },
  },
];
