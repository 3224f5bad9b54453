import { created, employee } from '../../support/staff-fixture.js';
import { type Expectation, get, post, type Request, refused, type Row } from '../../support/row.js';

const set = '/rest/Employee/$entityset/0123456789ABCDEF0123456789ABCD99';
const unclear = refused(400, 1813);

/** A change of all that a filter matches. */
function change(filter: string, body: unknown, more = ''): Request {
  return post(`/rest/Employee?$method=update&$filter="${filter}"${more}`, body);
}

function changes(says: string, request: Request, changed: number, keys: readonly string[]): Row {
  return {
    id: `P7.42 ${says}`,
    says: `$filter of a change: ${says}`,
    request,
    expect: { is: { ok: true, changed } },
    then: [
      [get('/rest/Employee?$filter="salary = 7"'), { keys }],
      [get('/rest/Employee?$top=0'), { has: { __COUNT: 4, __GlobalStamp: created + changed } }],
    ],
  };
}

/** A request that changes nothing. */
function refuses(says: string, request: Request, expect: Expectation): Row {
  return {
    id: `P7.42 keeps: ${says}`,
    says: `$filter of a change: ${says}`,
    request,
    expect,
    then: [[get('/rest/Employee?$top=0'), { has: { __COUNT: 4, __GlobalStamp: created } }]],
  };
}

const [ada, bo, cy, dee] = [1, 2, 3, 4].map(employee) as [string, string, string, string];

/** Changes by filter and of sets: protocol P7.42 to P7.46. */
export const changeRows: readonly Row[] = [
  changes('all that match', change('salary = 3000', { salary: 7 }), 2, [bo, cy]),
  changes('placeholders', change('lastName = :1', { salary: 7 }, '&$params=["lovelace"]'), 2, [
    ada,
    dee,
  ]),
  changes('none', change('salary = 1', { salary: 7 }), 0, []),
  changes('as many as $atMost', change('salary = 3000', { salary: 7 }, '&$atMost=2'), 2, [bo, cy]),
  changes(
    '$atomic is true in any case',
    change('ID = null', { salary: 7 }, '&$atomic=false'),
    0,
    [],
  ),
  changes('a filter that all match', change('__KEY != null', { salary: 7 }), 4, [ada, bo, cy, dee]),
  changes(
    'over a relation that changes with it',
    change('employer.name = bolt', { salary: 7, employer: 1 }),
    1,
    [cy],
  ),
  ...(
    [
      ['a set', '', 2, [ada, bo]],
      ['a set and a filter', '&$filter="salary = 3000"&$atMost=1', 1, [bo]],
    ] as const
  ).map(([says, more, changed, keys]): Row => {
    const row = changes(says, post(`${set}?$method=update${more}`, { salary: 7 }), changed, keys);
    const made = post(`${set}?$method=subentityset&$savedfilter="employer.ID = 1"`);
    const { request, expect, then = [] } = row;
    return {
      ...row,
      request: made,
      expect: { has: { __COUNT: 2 } },
      then: [[request, expect], ...then],
    };
  }),
  {
    id: 'P7.42 unchanged',
    says: '$filter of a change: entities that are the same already keep their stamps',
    request: change('salary >= 3000', { salary: 3000 }),
    expect: { is: { ok: true, changed: 1 } },
    then: [
      [get(`/rest/Employee(${ada})`), { has: { __STAMP: 2, salary: 3000 } }],
      [get(`/rest/Employee(${bo})`), { has: { __STAMP: 1 } }],
    ],
  },
  refuses('more than $atMost', change('salary = 3000', { salary: 7 }, '&$atMost=1'), {
    ...refused(413, 1834),
    message: /at least 2 entities match, and \$atMost is 1/,
  }),
  refuses('$atMost=0', change('salary = 3000', { salary: 7 }, '&$atMost=0'), refused(413, 1834)),
  refuses(
    'a value that breaks a rule of one entity',
    change('__KEY != null', { salary: 1000001 }),
    { ...refused(422, 1569, 1570, 1517), has: { ok: false }, message: /salary/ },
  ),
  refuses('a unique value', change('salary = 3000', { email: 'a@example.org' }), {
    ...refused(409, 1569, 1046, 1517),
    has: { ok: false },
  }),
  refuses('an unknown attribute', change('salary = 3000', { nothing: 1 }), {
    ...refused(400, 1500, 1570, 1517),
    has: { ok: false },
  }),
  refuses('a key', change('salary = 3000', { __KEY: bo, salary: 7 }), refused(400, 1833)),
  refuses('a stamp', change('salary = 3000', { __STAMP: 1, salary: 7 }), refused(400, 1833)),
  refuses('a list', change('salary = 3000', [{ salary: 7 }]), refused(400, 1833)),
  refuses('no body', change('salary = 3000', undefined), refused(400, 1833)),
  refuses(
    'entities in lists',
    change('salary = 3000', { team: [{ firstName: 'x', lastName: 'x' }] }),
    refused(400, 1833),
  ),
  refuses('an empty filter', change('', { salary: 7 }), unclear),
  refuses(
    '$atMost without a filter',
    post('/rest/Employee?$method=update&$atMost=5', { salary: 7 }),
    { ...unclear, message: /an entity set, or a \$filter/ },
  ),
  ...[
    '$top=1',
    '$skip=1',
    '$orderby=ID',
    '$attributes=salary',
    '$upsert=email',
    '$refresh=true',
  ].map((more) => refuses(more, change('salary = 3000', { salary: 7 }, `&${more}`), unclear)),
  refuses('an order', change('salary = 3000 order by ID', { salary: 7 }), unclear),
  refuses(
    'If-Match',
    { ...change('ID = null', {}), headers: { 'if-match': '*' } },
    refused(400, 1806),
  ),
  refuses('a value that cannot be read', change("salary != '12,50'", {}), refused(400, 1162)),
  refuses('$atMost too large', change('ID = null', {}, '&$atMost=100000000'), refused(400, 1806)),
  refuses('$atMost that is no number', change('ID = null', {}, '&$atMost=x'), refused(400, 1806)),
  refuses(
    '$method=validate',
    post('/rest/Employee?$method=validate&$filter="ID = null"', { salary: 7 }),
    unclear,
  ),
  refuses(
    'a key in the address',
    post(`/rest/Employee(${bo})?$filter="ID = null"`, { salary: 7 }),
    unclear,
  ),
  refuses('an unknown set', post(`${set}?$method=update`, { salary: 7 }), refused(404, 1802)),
  refuses(
    'an attribute that is not exposed',
    post('/rest/Company?$method=update&$filter="internalRating = 1"', { city: 'x' }),
    refused(400, 1500, 1162),
  ),
];
