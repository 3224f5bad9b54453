import { employee } from '../../support/staff-fixture.js';
import { get, type Expectation, refused, type Row } from '../../support/row.js';

type Case = readonly [says: string, order: string, keys: readonly (number | string)[]];

/** Protocol P3.6, P3.12 to P3.15, P3.17, P3.18. */
const companies: readonly Case[] = [
  ['ascending without a word', 'name', [1, 2, 5, 3, 4].toSorted(byName)],
  ['ASC in any case', 'name aSc', [1, 2, 5, 3, 4].toSorted(byName)],
  ['DESC', 'name DESC', [1, 2, 5, 3, 4].toSorted(byName).reverse()],
  ['nulls first ascending, ties in key order', 'city', [4, 1, 5, 2, 3]],
  ['nulls last descending, ties in key order', 'city desc', [2, 3, 5, 1, 4]],
  ['several', 'city, ID desc', [4, 1, 5, 3, 2]],
  ['numbers as numbers', 'headcount', [3, 4, 5, 2, 1]],
  ['booleans', 'active, ID desc', [3, 5, 4, 2, 1]],
  ['a to-one relation on the way', 'manager.lastName desc', [5, 1, 2, 3, 4]],
  ['a to-one relation by its key', 'manager desc', [5, 1, 2, 3, 4]],
  ['a computed attribute', 'label desc', [3, 5, 2, 1, 4].toSorted(byLabel)],
  ['an alias', 'managerName desc', [5, 1, 2, 3, 4]],
  ['__KEY', '__KEY desc', [5, 4, 3, 2, 1]],
  ['__STAMP', '__STAMP', [1, 2, 3, 4, 5]],
  ['a property of an object, nulls first', 'extra.deep.x', [2, 3, 4, 5, 1]],
  ['a property of an object, nulls last', 'extra.deep.x desc', [1, 2, 3, 4, 5]],
  ['the length of an array', 'extra.tags.length desc', [1, 2, 3, 4, 5]],
  ['what has no order, as null', 'extra.tags', [1, 2, 3, 4, 5]],
  ['a path named twice counts once', 'city, city desc', [4, 1, 5, 2, 3]],
];

/** `ärger` comes after `zeta`: text is ordered by code point. */
function byName(a: number, b: number): number {
  const order = [2, 5, 3, 4, 1];
  return order.indexOf(a) - order.indexOf(b);
}

function byLabel(a: number, b: number): number {
  const order = [1, 3, 5, 2, 4];
  return order.indexOf(a) - order.indexOf(b);
}

const refusals: readonly (readonly [says: string, order: string, expect: Expectation])[] = [
  ['nothing', '', refused(400, 1810)],
  ['a comma alone', ',', refused(400, 1810)],
  ['a trailing comma', 'name,', refused(400, 1810)],
  ['another direction', 'name up', refused(400, 1810)],
  ['an unknown attribute', 'nothing', refused(400, 1500, 1810)],
  ['an attribute that is not exposed', 'internalRating', refused(400, 1500, 1810)],
  ['beyond a value', 'name.length', refused(400, 1500, 1810)],
  ['a to-many relation', 'staff.lastName', refused(400, 1810)],
  ['a to-many relation itself', 'staff', refused(400, 1810)],
  ['an image', 'logo', refused(400, 1810)],
  ['an object', 'extra', refused(400, 1810)],
  ['a formula', 'eval(This.ID)', refused(400, 1278)],
  ['an unknown attribute of a relation', 'manager.nothing', refused(400, 1500, 1810)],
];

export const orderRows: readonly Row[] = [
  ...companies.map(([says, order, keys]) => ({
    id: `orderby ${order}`,
    says,
    request: get(`/rest/Company?$orderby="${order}"`),
    expect: { keys: keys.map(String) },
  })),
  ...refusals.map(([says, order, expect]) => ({
    id: `orderby refused: ${says}`,
    says: `${says} is refused`,
    request: get(`/rest/Company?$orderby="${order}"`),
    expect,
  })),
  {
    id: 'P3.14 order',
    says: 'an order ignores case, with ties in key order',
    request: get('/rest/Employee?$orderby=lastName'),
    expect: { keys: [3, 1, 4, 2].map(employee) },
  },
  {
    id: 'P3.14 paging',
    says: 'pages of entities that are equal do not overlap',
    request: get('/rest/Employee?$orderby=salary&$skip=1&$top=1'),
    expect: { keys: [employee(2)] },
    then: [[get('/rest/Employee?$orderby=salary&$skip=2&$top=1'), { keys: [employee(3)] }]],
  },
  {
    id: 'P3.6 list',
    says: 'a list in the path keeps the order',
    request: get('/rest/Company/name?$orderby=ID desc&$top=2'),
    expect: { keys: ['5', '4'], members: ['__KEY', '__STAMP', 'name'] },
  },
];
