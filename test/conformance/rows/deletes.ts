import { created, employee } from '../../support/staff-fixture.js';
import { type Expectation, get, post, type Request, refused, type Row } from '../../support/row.js';

const ok: Expectation = { is: { ok: true } };
const missing = refused(404, 1543);
const unclear = refused(400, 1813);
const restricted: Expectation = { ...refused(409, 1840), has: { ok: false } };
const set = '/rest/Company/$entityset/0123456789ABCDEF0123456789ABCDEF';
const ada = `/rest/Employee(${employee(1)})`;

type Step = readonly [request: Request, expect: Expectation];

/** Nothing was deleted or changed. */
const untouched: readonly Step[] = [
  [get('/rest/Company?$top=0'), { has: { __COUNT: 5, __GlobalStamp: created } }],
  [get('/rest/Employee?$top=0'), { has: { __COUNT: 4 } }],
  [get('/rest/Note?$top=0'), { has: { __COUNT: 2 } }],
];

function row(
  id: string,
  says: string,
  request: Request,
  expect: Expectation,
  then: readonly Step[] = untouched,
): Row {
  return { id, says, request, expect, then };
}

function remove(path: string): Request {
  return post(`/rest/${path}${path.includes('?') ? '&' : '?'}$method=delete`);
}

/** Protocol P8.1 to P8.8. */
export const deleteRows: readonly Row[] = [
  row('P8.1 key', 'an entity is deleted by its key', remove('Company(4)'), ok, [
    [get('/rest/Company(4)'), missing],
    [get('/rest/Company?$top=0'), { has: { __COUNT: 4, __GlobalStamp: created + 1 } }],
  ]),
  row('P1.2 slash of a deletion', 'a slash may follow the key', remove('Company(4)/'), ok, [
    [get('/rest/Company(4)'), missing],
  ]),
  row(
    'P8.2 filter',
    'the entities of a filter are deleted',
    remove('Company?$filter="ID = 4"'),
    ok,
    [[get('/rest/Company'), { keys: ['1', '2', '3', '5'] }]],
  ),
  row(
    'P8.2 params',
    'a filter may have placeholders',
    remove(`Note?$filter="code = :1"&$params=["B"]`),
    ok,
    [[get('/rest/Note'), { keys: ['A/1 (x)'] }]],
  ),
  row(
    'P8.3 set',
    'the entities of a set are deleted',
    post(`${set}?$method=subentityset&$savedfilter="ID = 4 or name = 'Managed'"`),
    { keys: ['4', '5'] },
    [
      [post(`${set}?$method=delete`), ok],
      [get('/rest/Company'), { keys: ['1', '2', '3'] }],
      [get(set), { has: { __COUNT: 2, __ENTITIES: [{ __STAMP: 0 }, { __STAMP: 0 }] } }],
      [post(`${set}?$method=delete`), ok],
    ],
  ),
  row(
    'P8.3 part',
    'only the members of a set that match the filter are deleted',
    post(`${set}?$method=subentityset&$savedfilter="ID > 3"`),
    { keys: ['4', '5'] },
    [
      [post(`${set}?$method=delete&$filter="city = 'oslo'"`), ok],
      [get('/rest/Company'), { keys: ['1', '2', '3', '4'] }],
    ],
  ),
  row(
    'P9.12 delete',
    'an unknown set deletes nothing',
    post(`${set}?$method=delete`),
    refused(404, 1802),
  ),
  row('P8.6 key', 'an unknown key deletes nothing', remove('Company(77)'), missing),
  row('P8.6 no key', 'an invalid key deletes nothing', remove('Company(x)'), missing),
  row(
    'P1.3 case of a deleted key',
    'a text key may be written in another case',
    remove("Note('B')"),
    ok,
    [[get('/rest/Note'), { keys: ['A/1 (x)'] }]],
  ),
  row(
    'P8.6 nothing',
    'a filter that matches nothing is answered with ok',
    remove('Company?$filter="ID = 77"'),
    ok,
  ),
  row('P8.5', 'a delete without a filter deletes nothing', remove('Company'), unclear),
  row(
    'P8.5 empty',
    'a delete with an empty filter deletes nothing',
    remove('Company?$filter='),
    unclear,
  ),
  row(
    'P8.5 quoted',
    'a delete with an empty filter in quotes deletes nothing',
    remove('Company?$filter="  "'),
    unclear,
  ),
  row(
    'P1.6 misspelt',
    'an unknown parameter is refused',
    remove('Company?$filter="ID=4"&filter=x'),
    refused(400, 1811),
  ),
  row(
    'P8.5 wrong',
    'a wrong filter deletes nothing',
    remove('Company?$filter="ID = "'),
    refused(400, 1162),
  ),
  row(
    'P8.5 unreadable',
    'a delete with a value that cannot be read deletes nothing',
    remove('Company?$filter="founded != \'2024-02-30\'"'),
    refused(400, 1162),
  ),
  row(
    'P8.5 top',
    'a delete with $top deletes nothing',
    remove('Company?$filter="ID > 3"&$top=1'),
    unclear,
  ),
  row(
    'P8.5 skip',
    'a delete with $skip deletes nothing',
    remove('Company?$filter="ID > 3"&$skip=0'),
    unclear,
  ),
  row(
    'P8.5 orderby',
    'a delete with $orderby deletes nothing',
    remove('Company?$filter="ID > 3"&$orderby=ID'),
    unclear,
  ),
  row(
    'P8.5 order',
    'a delete with an order in the filter deletes nothing',
    remove('Company?$filter="ID > 3 order by ID"'),
    unclear,
  ),
  row(
    'P8.5 both',
    'a key together with a filter deletes nothing',
    remove('Company(4)?$filter="ID = 5"'),
    unclear,
  ),
  row('P1.10 delete', 'a deletion is sent with POST', get('/rest/Company(4)?$method=delete'), {
    ...refused(405, 1832),
    headers: { allow: 'POST' },
  }),
  row('P8.7 restrict', 'a restricted delete deletes nothing', remove('Company(1)'), restricted),
  row('P8.4 all', 'all are deleted or none', remove('Company?$filter="ID > 0"'), restricted),
  row(
    'P8.7 mandatory',
    'a mandatory relation restricts unless onDelete says otherwise',
    remove(ada.slice(6)),
    restricted,
  ),
  row(
    'P8.8 set null',
    'a relation that is not mandatory becomes null',
    remove('Note?$filter="text = \'second\'"'),
    ok,
    [
      [remove(ada.slice(6)), restricted],
      [remove("Note('a%2F1 (X)')"), ok],
      [remove(ada.slice(6)), ok],
      [get('/rest/Company(5)'), { has: { __STAMP: 2, manager: null } }],
      [get(`/rest/Employee(${employee(2)})`), { has: { __STAMP: 2, boss: null } }],
      [get(`/rest/Employee(${employee(4)})`), { has: { __STAMP: 1 } }],
      // Two notes, Ada, and what Ada was related to: a company and two employees.
      [get('/rest/Note?$top=0'), { has: { __COUNT: 0, __GlobalStamp: created + 6 } }],
    ],
  ),
  row(
    'P1.1 delete',
    'a dataclass that is not exposed is unknown',
    remove('Vault(1)'),
    refused(404, 1800),
  ),
];
