import { get, post, refused, type Expectation, type Request, type Row } from '../../support/row.js';

const otherId = 'FEDCBA9876543210FEDCBA9876543210';
const other = `/rest/Company/$entityset/${otherId}`;
const unknown = '00000000000000000000000000000000';
const ok: Expectation = { is: { ok: true } };
const missing = refused(404, 1802);

type Step = readonly [request: Request, expect: Expectation];

function row(
  rowId: string,
  says: string,
  request: Request,
  expect: Expectation,
  ...then: Step[]
): Row {
  return { id: rowId, says, request, expect, ...(then.length === 0 ? {} : { then }) };
}

/**
 * The ID of a set that a client names itself (protocol P9.11), so that later requests of the row
 * can name it.
 */
function idOf(number: number): string {
  return `0123456789ABCDEF0123456789ABCD${String(number).padStart(2, '0')}`;
}

function set(number: number): string {
  return `/rest/Company/$entityset/${idOf(number)}`;
}

/** Makes a set under its ID. */
function of(number: number, filter: string, order = 'ID'): Request {
  return get(`${set(number)}?$savedfilter="${filter}"&$savedorderby="${order}"`);
}

/** Protocol P9.1 to P9.18, P9.25. */
export const setRows: readonly Row[] = [
  row(
    'P9.1',
    '$method=entityset keeps a selection',
    get('/rest/Company?$filter="ID < 3"&$method=entityset'),
    { keys: ['1', '2'] },
  ),
  row('P9.1 by POST', 'a set can be created by POST', post('/rest/Company?$method=entityset'), {
    keys: ['1', '2', '3', '4', '5'],
  }),
  row(
    'P9.12 read',
    'an unknown set is refused',
    get(`/rest/Company/$entityset/${unknown}`),
    missing,
  ),
  row(
    'P9.12 attributes',
    'an unknown set with attributes is refused',
    get(`/rest/Company/name,city/$entityset/${unknown}`),
    missing,
  ),
  row('P9.12 foreign', 'a set of another dataclass is unknown', of(1, 'ID = 2'), { keys: ['2'] }, [
    get(`/rest/Employee/$entityset/${idOf(1)}`),
    missing,
  ]),
  row(
    'P9.1 timeout',
    '$timeout is the lifetime of a set',
    get('/rest/Company?$method=entityset&$timeout=60'),
    { keys: ['1', '2', '3', '4', '5'] },
  ),
  row(
    'P1.7 timeout alone',
    '$timeout without a set has no effect',
    get('/rest/Company?$timeout=60&$top=1'),
    {
      keys: ['1'],
    },
  ),
  row(
    'P1.8 timeout',
    '$timeout is a whole number',
    get('/rest/Company?$timeout=x'),
    refused(400, 1806),
  ),
  row(
    'P9.10 savedfilter',
    '$savedfilter stores the definition',
    get('/rest/Company?$filter="ID=1"&$method=entityset&$savedfilter=true'),
    { keys: ['1'] },
  ),
  row(
    'P9.10 savedorderby',
    '$savedorderby stores the order',
    get('/rest/Company?$orderby="ID desc"&$method=entityset&$savedorderby=true&$top=1'),
    { keys: ['5'] },
  ),
  row(
    'P9.11 expression',
    'a set is created from the expressions that the client sends, and exists afterwards',
    of(2, 'ID > 3', 'ID desc'),
    { keys: ['5', '4'] },
    [get(set(2)), { keys: ['5', '4'], has: { __DATACLASS: 'Company', __entityModel: 'Company' } }],
    [get(`${set(2)}?$top=1&$skip=1`), { keys: ['4'], has: { __COUNT: 2, __SENT: 1, __FIRST: 1 } }],
  ),
  row(
    'P9.12 no ID',
    'an address without the ID of a set is refused',
    get('/rest/Company/$entityset'),
    missing,
  ),
  row(
    'P9.12 no ID, slash',
    'an address without the ID of a set is refused, also with a slash',
    get('/rest/Company/$entityset/?$top=1'),
    missing,
  ),
  row(
    'P1.10 post set',
    'a set is read by GET',
    post(`/rest/Company/$entityset/${unknown}`),
    refused(400, 1812),
  ),
  row(
    'P9.3 filter',
    '$filter and $orderby apply to the answer',
    of(3, 'ID < 4'),
    { keys: ['1', '2', '3'] },
    [
      get(`${set(3)}?$filter="ID > 1"&$orderby="ID desc"`),
      { keys: ['3', '2'], has: { __COUNT: 2 } },
    ],
    [get(set(3)), { keys: ['1', '2', '3'] }],
  ),
  row(
    'P9.3 attributes',
    'a set can be read with a list of attributes',
    of(4, 'ID = 2'),
    { keys: ['2'] },
    [get(`/rest/Company/name/$entityset/${idOf(4)}`), { members: ['__KEY', '__STAMP', 'name'] }],
  ),
  row('P9.3 expand', 'a set can be read with an expansion', of(5, 'ID = 1'), { keys: ['1'] }, [
    get(`${set(5)}?$expand=staff&$attributes=name`),
    { keys: ['1'] },
  ]),
  row(
    'P9.17',
    '$method=subentityset on a set is passed over',
    of(6, 'ID < 3'),
    { keys: ['1', '2'] },
    [get(`${set(6)}?$method=subentityset`), { keys: ['1', '2'] }],
  ),
  row(
    'P9.4',
    'sets are combined',
    of(7, 'ID < 4', 'ID desc'),
    { keys: ['3', '2', '1'] },
    [get(`${other}?$savedfilter="ID > 1"&$savedorderby="ID"`), { keys: ['2', '3', '4', '5'] }],
    [get(`${set(7)}?$logicOperator=AND&$otherCollection=${otherId}`), { keys: ['3', '2'] }],
    [
      get(`${set(7)}?$logicOperator=or&$otherCollection=${otherId}`),
      { keys: ['3', '2', '1', '4', '5'] },
    ],
    [get(`${set(7)}?$logicOperator=EXCEPT&$otherCollection=${otherId}`), { keys: ['1'] }],
    [get(`${set(7)}?$logicOperator=INTERSECT&$otherCollection=${otherId}`), { is: true }],
    [get(`${set(7)}?$logicOperator=XOR&$otherCollection=${otherId}`), refused(400, 1818)],
    [get(`${set(7)}?$logicOperator=AND`), refused(400, 1819)],
    [get(`${set(7)}?$logicOperator=AND&$otherCollection=${unknown}`), refused(404, 1820)],
    [
      get(`${set(7)}?$logicOperator=AND&$otherCollection=${otherId}&$method=entityset`),
      { keys: ['3', '2'] },
    ],
  ),
  row(
    'P9.5',
    '$clean of an unknown set',
    get(`/rest/Company/$entityset/${unknown}?$clean=true&$method=entityset`),
    missing,
  ),
  row(
    'P9.5 view',
    '$clean without a new set only filters the answer',
    of(8, 'ID < 3'),
    { keys: ['1', '2'] },
    [get(`${set(8)}?$clean=true`), { keys: ['1', '2'] }],
  ),
  row(
    'P9.2',
    '$method=subentityset keeps related entities',
    get('/rest/Company(1)/staff?$expand=staff&$method=subentityset&$subOrderby=lastName DESC'),
    { has: { __entityModel: 'Employee' } },
  ),
  row(
    'P9.18 to-one',
    'a to-one relation cannot become a set',
    get('/rest/Company(1)/manager?$expand=manager&$method=subentityset'),
    refused(400, 1815),
  ),
  row(
    'P9.18 elsewhere',
    '$method=subentityset is refused for a dataclass',
    get('/rest/Company?$method=subentityset'),
    refused(400, 1815),
  ),
  row(
    'P9.6',
    'a set is released',
    of(9, 'ID = 3'),
    { keys: ['3'] },
    [get(`${set(9)}?$method=release`), ok],
    [get(set(9)), missing],
    [get(`${set(9)}?$method=release`), missing],
  ),
  row(
    'P9.7',
    'sets are released by a list',
    post('/rest/$entityset/$release', [idOf(10), unknown]),
    ok,
  ),
  row(
    'P9.7 no list',
    'a release of several sets needs a list of IDs',
    post('/rest/$entityset/$release', { id: idOf(11) }),
    refused(400, 1833),
  ),
  row(
    'P9.12 ID of a client',
    'an ID of a client has 32 hexadecimal digits',
    get('/rest/Company/$entityset/short?$savedfilter="ID=1"'),
    missing,
  ),
  row(
    'P9.11 wrong',
    'a wrong expression creates no set',
    get(`/rest/Company/$entityset/${unknown}?$savedfilter="none=1"`),
    refused(400, 1500, 1162),
  ),
  row(
    'P9.22 $clean',
    '$clean is refused without a set',
    get('/rest/Company?$clean=true'),
    refused(400, 1806),
  ),
];
