import { employee } from '../../support/staff-fixture.js';
import { type Expectation, get, post, refused, type Row } from '../../support/row.js';

/** No entity refers to her. */
const dee = `/rest/Employee(${employee(4)})`;
const done: Expectation = { is: { result: true, __STATUS: { success: true } } };
/** The answer to requests without the cookie of the lock's holder. */
const taken: Expectation = {
  is: {
    result: false,
    __STATUS: {
      status: 3,
      statusText: 'Already Locked',
      lockKind: 7,
      lockKindText: 'Locked By Session',
      lockInfo: {
        host: '127.0.0.1:0',
        IPAddr: '127.0.0.1',
        recordNumber: -1,
        userAgent: 'lightMyRequest',
      },
    },
  },
};
const wrongLogin: Expectation = { status: 401, is: { result: false } };
const login = '/rest/$directory/login';

function row(id: string, says: string, request: Row['request'], expect: Expectation): Row {
  return { id, says, request, expect };
}

/** Protocol P12.1 to P12.4, `access.md#sessions`; the server has no users, so nobody can log in. */
export const sessionRows: readonly Row[] = [
  {
    ...row('P12.1 lock', 'a lock of an entity is granted', post(`${dee}?$lock=true`), done),
    then: [
      [post(`${dee}?$lock=true`), taken],
      [get(`${dee}?$lock=true`), taken],
      [post(`${dee}?$lock=false`), taken],
      [get(dee), { has: { firstName: 'Dee' } }],
      [
        post('/rest/Employee?$method=update', {
          __KEY: employee(4),
          __STAMP: 1,
          firstName: 'Eve',
        }),
        { status: 423, has: { __STATUS: { status: 3, success: false } } },
      ],
      [post(`${dee}?$method=delete`), { status: 423, has: { ok: false } }],
      [get('/rest/$info'), { has: { entitySetCount: 0, sessionInfo: [] } }],
    ],
  },
  row(
    'P12.1 unlock',
    'an unlock of an entity without a lock is answered with ok',
    get(`${dee}?$lock=false`),
    done,
  ),
  row(
    'P1.2 slash of a lock',
    'the address may end with a slash',
    get(`/rest/Employee(${employee(2)})/?$lock=false`),
    done,
  ),
  row(
    'P12.1 missing',
    'an entity that does not exist cannot be locked',
    post(`/rest/Employee(${employee(9)})?$lock=true`),
    refused(404, 1543),
  ),
  row('P12.1 no key', 'an invalid key cannot be locked', post('/rest/Company(x)?$lock=true'), {
    ...refused(404, 1543),
  }),
  row(
    'P12.1 collection',
    'a collection cannot be locked',
    get('/rest/Employee?$lock=true'),
    refused(400, 1813),
  ),
  row(
    'P12.1 attribute',
    'an attribute cannot be locked',
    post(`${dee}/salary?$lock=true`),
    refused(400, 1813),
  ),
  row(
    'P12.1 value',
    'a value other than true and false is refused',
    get(`${dee}?$lock=1`),
    refused(400, 1806),
  ),
  row(
    'P1.12 lock',
    'a lock from another site is refused',
    get(`${dee}?$lock=true`, { 'sec-fetch-site': 'cross-site' }),
    refused(403, 1831),
  ),
  row(
    'login',
    'a login may be a list of name, password and time',
    post(login, ['user', 'password', 60]),
    wrongLogin,
  ),
  row('login list', 'a login may omit the time', post(login, ['user', 'password']), wrongLogin),
  row(
    'login object',
    'a login may be an object',
    post(login, { user: 'user', password: 'password', seconds: 60 }),
    wrongLogin,
  ),
  row(
    'login headers',
    'a login may be in headers',
    post(login, undefined, {
      'username-4D': 'user',
      'password-4D': 'password',
      'session-4D-length': '60',
    }),
    wrongLogin,
  ),
  row('login empty', 'a login without data is answered as a wrong one', post(login), wrongLogin),
  row(
    'login number',
    'a login with a number as the name is refused',
    post(login, [1, 'x']),
    refused(400, 1833),
  ),
  row('login get', 'a login by GET is refused', get(login), {
    ...refused(405, 1832),
    headers: { allow: 'POST' },
  }),
  row('logout', 'a logout without a session answers false', get('/rest/$directory/logout'), {
    is: { result: false },
    headers: { 'set-cookie': undefined },
  }),
  row('P1.11 logout', 'a logout by POST has the same answer', post('/rest/$directory/logout'), {
    is: { result: false },
  }),
  row('currentUser', 'the current user of a guest is null', get('/rest/$directory/currentUser'), {
    is: { result: null },
    headers: { 'set-cookie': undefined },
  }),
  row(
    'currentUserBelongsTo',
    'a guest belongs to nothing',
    post('/rest/$directory/currentUserBelongsTo', ['admins', 'none']),
    { is: { result: false } },
  ),
  row('$info', '$info lists sets and sessions', get('/rest/$info'), {
    has: { entitySetCount: 0, entitySet: [], sessionInfo: [], privileges: { privileges: [] } },
  }),
];
