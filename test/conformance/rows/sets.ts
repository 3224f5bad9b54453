import { get, post, refused, type Expectation, type Request, type Row } from '../row.js';

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

/** The ID of a set that a client names itself (decision 21), so that later requests of the row can name it. */
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

/** Specification, "Entity sets" and "States and transitions"; decisions 14 to 16, 20, 21; protocol section 10. */
export const setRows: readonly Row[] = [
  row(
    'spec.set',
    '$method=entityset keeps a selection',
    get('/rest/Company?$filter="ID < 3"&$method=entityset'),
    { keys: ['1', '2'] },
  ),
  row('spec.set by POST', 'also by POST (decision 20)', post('/rest/Company?$method=entityset'), {
    keys: ['1', '2', '3', '4', '5'],
  }),
  row('spec.set read', 'an unknown set', get(`/rest/Company/$entityset/${unknown}`), missing),
  row(
    'spec.set attributes',
    'an unknown set with attributes',
    get(`/rest/Company/name,city/$entityset/${unknown}`),
    missing,
  ),
  row(
    'd15.foreign',
    'a set of another dataclass is as good as none',
    of(1, 'ID = 2'),
    { keys: ['2'] },
    [get(`/rest/Employee/$entityset/${idOf(1)}`), missing],
  ),
  row(
    'spec.timeout',
    '$timeout is the lifetime of a set',
    get('/rest/Company?$method=entityset&$timeout=60'),
    { keys: ['1', '2', '3', '4', '5'] },
  ),
  row(
    'timeout alone',
    '$timeout without a set has no effect',
    get('/rest/Company?$timeout=60&$top=1'),
    {
      keys: ['1'],
    },
  ),
  row(
    'd5.timeout',
    '$timeout is a whole number',
    get('/rest/Company?$timeout=x'),
    refused(400, 1806),
  ),
  row(
    'spec.savedfilter',
    '$savedfilter keeps the definition',
    get('/rest/Company?$filter="ID=1"&$method=entityset&$savedfilter=true'),
    { keys: ['1'] },
  ),
  row(
    'spec.savedorderby',
    '$savedorderby keeps the order',
    get('/rest/Company?$orderby="ID desc"&$method=entityset&$savedorderby=true&$top=1'),
    { keys: ['5'] },
  ),
  row(
    'd16.expression',
    'a set is made of the expressions that the client sends, and then it is there',
    of(2, 'ID > 3', 'ID desc'),
    { keys: ['5', '4'] },
    [get(set(2)), { keys: ['5', '4'], has: { __DATACLASS: 'Company', __entityModel: 'Company' } }],
    [get(`${set(2)}?$top=1&$skip=1`), { keys: ['4'], has: { __COUNT: 2, __SENT: 1, __FIRST: 1 } }],
  ),
  row('10 no ID', 'a set has an ID', get('/rest/Company/$entityset'), missing),
  row('10 no ID, slash', 'also with a slash', get('/rest/Company/$entityset/?$top=1'), missing),
  row(
    'd4.post set',
    'a set is read by GET',
    post(`/rest/Company/$entityset/${unknown}`),
    refused(400, 1812),
  ),
  row(
    '10.7 filter',
    '$filter and $orderby concern the answer',
    of(3, 'ID < 4'),
    { keys: ['1', '2', '3'] },
    [
      get(`${set(3)}?$filter="ID > 1"&$orderby="ID desc"`),
      { keys: ['3', '2'], has: { __COUNT: 2 } },
    ],
    [get(set(3)), { keys: ['1', '2', '3'] }],
  ),
  row('10.7 attributes', 'a set restricted to attributes', of(4, 'ID = 2'), { keys: ['2'] }, [
    get(`/rest/Company/name/$entityset/${idOf(4)}`),
    { members: ['__KEY', '__STAMP', 'name'] },
  ]),
  row('10.7 expand', 'a set with an expansion', of(5, 'ID = 1'), { keys: ['1'] }, [
    get(`${set(5)}?$expand=staff&$attributes=name`),
    { keys: ['1'] },
  ]),
  row(
    'd14.subentityset',
    '$method=subentityset on a set is passed over',
    of(6, 'ID < 3'),
    { keys: ['1', '2'] },
    [get(`${set(6)}?$method=subentityset`), { keys: ['1', '2'] }],
  ),
  row(
    'spec.logic',
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
    'spec.clean',
    '$clean of an unknown set',
    get(`/rest/Company/$entityset/${unknown}?$clean=true&$method=entityset`),
    missing,
  ),
  row(
    'spec.clean view',
    '$clean without a new set is a view',
    of(8, 'ID < 3'),
    { keys: ['1', '2'] },
    [get(`${set(8)}?$clean=true`), { keys: ['1', '2'] }],
  ),
  row(
    'spec.subentityset',
    '$method=subentityset keeps related entities',
    get('/rest/Company(1)/staff?$expand=staff&$method=subentityset&$subOrderby=lastName DESC'),
    { has: { __entityModel: 'Employee' } },
  ),
  row(
    '10.10 to-one',
    'a to-one relation gives no set',
    get('/rest/Company(1)/manager?$expand=manager&$method=subentityset'),
    refused(400, 1815),
  ),
  row(
    '10.10 elsewhere',
    'nor does a dataclass',
    get('/rest/Company?$method=subentityset'),
    refused(400, 1815),
  ),
  row(
    'd16.release',
    'a set is released',
    of(9, 'ID = 3'),
    { keys: ['3'] },
    [get(`${set(9)}?$method=release`), ok],
    [get(set(9)), missing],
    [get(`${set(9)}?$method=release`), missing],
  ),
  row(
    'd16.release list',
    'sets are released by a list',
    post('/rest/$entityset/$release', [idOf(10), unknown]),
    ok,
  ),
  row(
    'd16.release no list',
    'which must be one',
    post('/rest/$entityset/$release', { id: idOf(11) }),
    refused(400, 1833),
  ),
  row(
    'd21.id',
    'a client names an ID of 32 hexadecimal digits',
    get('/rest/Company/$entityset/short?$savedfilter="ID=1"'),
    missing,
  ),
  row(
    '10.4 wrong',
    'a wrong expression makes no set',
    get(`/rest/Company/$entityset/${unknown}?$savedfilter="none=1"`),
    refused(400, 1500, 1162),
  ),
  row(
    '10.9 elsewhere',
    '$clean means nothing without a set',
    get('/rest/Company?$clean=true'),
    refused(400, 1806),
  ),
];
