import { created, employee } from '../../support/staff-fixture.js';
import { type Expectation, get, post, type Request, refused, type Row } from '../../support/row.js';

const company = '/rest/Company(1)';
const update = '/rest/Company?$method=update';
const first = { __KEY: '1', city: 'Rome' };
const stale: Expectation = {
  ...refused(412, 1263, 1046, 1517),
  has: { __STATUS: { status: 2, success: false }, __KEY: '1', __STAMP: 1, city: 'Berlin' },
};
const unknown: Expectation = refused(412, 1542);

function tagged(url: string, body: unknown, tag: string): Request {
  return post(url, body, { 'if-match': tag });
}

/** A change that is stored. */
function changes(says: string, request: Request, has: object = { city: 'Rome' }): Row {
  return {
    id: `If-Match: ${says}`,
    says: `If-Match: ${says}`,
    request,
    expect: { has: { __STATUS: { success: true }, __STAMP: 2, ...has } },
    then: [[get('/rest/Company?$top=0'), { has: { __GlobalStamp: created + 1 } }]],
  };
}

/** A request that changes nothing. */
function refuses(says: string, request: Request, expect: Expectation): Row {
  return {
    id: `If-Match keeps: ${says}`,
    says: `If-Match: ${says}`,
    request,
    expect,
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 5, __GlobalStamp: created } }]],
  };
}

/** `If-Match`: protocol P7.36, P7.37 and P8.11. */
export const conditionRows: readonly Row[] = [
  changes('a stamp stands for __STAMP', tagged(company, { city: 'Rome' }, '"1"')),
  changes('the body may name the entity', tagged(update, first, '"1"')),
  changes('beside the same __STAMP', tagged(update, { ...first, __STAMP: '1' }, ' "1" ')),
  changes('with $atomic', tagged(`${update}&$atomic=true`, first, '"1"')),
  changes('* changes any stamp', tagged(company, { city: 'Rome' }, '*')),
  changes('* beside a __STAMP', tagged(company, { city: 'Rome', __STAMP: 1 }, '*')),
  changes('a text key', tagged('/rest/Note(B)', { text: 'x' }, '*'), { __KEY: 'b', text: 'x' }),
  {
    ...changes(
      '* creates entities in lists',
      tagged(company, { staff: [{ firstName: 'E', lastName: 'New' }] }, '*'),
      { __STAMP: 1 },
    ),
    then: [[get('/rest/Employee?$top=0'), { has: { __COUNT: 5 } }]],
  },
  refuses('a stale stamp is 412', tagged(company, { city: 'Rome' }, '"2"'), stale),
  refuses('a stamp of 0 is stale', tagged(company, { city: 'Rome' }, '"0"'), stale),
  refuses(
    'a stale stamp is 412 with $atomic',
    tagged(`${update}&$atomic=true`, first, '"2"'),
    stale,
  ),
  refuses('a stale __STAMP beside * is 412', tagged(update, { ...first, __STAMP: 7 }, '*'), stale),
  refuses('wrong values are 422', tagged(company, { name: null }, '"1"'), {
    status: 422,
    codes: [1569, 1570, 1517],
  }),
  refuses('$method=validate is 412 too', tagged('/rest/Company?$method=validate', first, '"2"'), {
    status: 412,
    has: { __ENTITIES: [{ __KEY: '1', __ERROR: [{ errCode: 1263 }, {}, {}] }] },
  }),
  refuses('$refresh=true is 412 too', tagged(`${update}&$refresh=true`, first, '"2"'), stale),
  refuses('a stamp without an entity', tagged('/rest/Company(99)', { name: 'M' }, '"1"'), unknown),
  refuses('* without an entity', tagged('/rest/Company(99)', { name: 'M' }, '*'), unknown),
  refuses('* with what is no key', tagged('/rest/Company(x)', { name: 'M' }, '*'), unknown),
  ...['W/"1"', '"1", "2"', '1', '"x"', '""', '"1', '"-1"', '"99999999999999999999"', '*, "1"'].map(
    (tag) =>
      refuses(`${tag} is no stamp`, tagged(company, { city: 'Rome' }, tag), {
        ...refused(400, 1806),
        message: /If-Match must be the stamp/,
      }),
  ),
  refuses(
    'not the __STAMP of the body',
    tagged(update, { ...first, __STAMP: 2 }, '"1"'),
    refused(400, 1806),
  ),
  refuses('a list', tagged(update, [first], '"1"'), refused(400, 1833)),
  refuses('a creation', tagged(update, { name: 'M' }, '"1"'), refused(400, 1813)),
  refuses('a creation with *', tagged(update, { name: 'M' }, '*'), refused(400, 1813)),
  refuses(
    'a deletion by a filter',
    tagged('/rest/Company?$filter="ID=4"&$method=delete', undefined, '"1"'),
    refused(400, 1806),
  ),
  refuses(
    'a deletion of a set',
    tagged(
      '/rest/Company/$entityset/0123456789ABCDEF0123456789ABCDEF?$method=delete',
      undefined,
      '*',
    ),
    refused(400, 1806),
  ),
  refuses('a deletion with a stale stamp', tagged('/rest/Company(4)?$method=delete', '', '"2"'), {
    ...refused(412, 1263),
    has: { ok: false },
  }),
  refuses(
    'a deletion of nothing is 404',
    tagged('/rest/Company(99)?$method=delete', '', '"1"'),
    refused(404, 1543),
  ),
  refuses(
    'an image of another stamp',
    {
      ...post(`${company}/logo?$rawPict=true`, undefined, { 'if-match': '"2"' }),
      text: '<svg xmlns="http://www.w3.org/2000/svg"/>',
    },
    refused(412, 1263, 1046, 1517),
  ),
  {
    id: 'If-Match: an image of the stamp',
    says: 'If-Match: an image may have a stamp, too',
    request: {
      ...post(`${company}/logo?$rawPict=true`, undefined, { 'if-match': '"1"' }),
      text: '<svg xmlns="http://www.w3.org/2000/svg"/>',
    },
    expect: { has: { __STATUS: { success: true }, __STAMP: 2 } },
  },
  ...['"1"', '*'].map((tag): Row => ({
    id: `If-Match: ${tag} deletes`,
    says: 'If-Match: an entity with the stamp is deleted',
    request: tagged('/rest/Company(4)?$method=delete', '', tag),
    expect: { is: { ok: true } },
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 4, __GlobalStamp: created + 1 } }]],
  })),
  {
    id: 'If-Match: one change',
    says: 'If-Match: of two changes with one stamp the second is refused',
    request: tagged(`/rest/Employee(${employee(1)})`, { salary: 1 }, '"1"'),
    expect: { has: { __STAMP: 2, salary: 1 } },
    then: [
      [
        tagged(`/rest/Employee(${employee(1)})`, { salary: 2 }, '"1"'),
        { ...refused(412, 1263, 1046, 1517), has: { __STAMP: 2, salary: 1 } },
      ],
      [
        tagged(`/rest/Employee(${employee(1)})?$method=delete`, '', '"1"'),
        { ...refused(412, 1263), has: { ok: false } },
      ],
    ],
  },
];
