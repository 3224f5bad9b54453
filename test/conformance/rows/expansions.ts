import { employee } from '../../support/staff-fixture.js';
import { get, type Expectation, post, refused, type Row } from '../../support/row.js';

type Case = readonly [says: string, path: string, expect: Expectation];

function staffOf(has: object): Expectation {
  return { has: { __ENTITIES: [{ __KEY: '1', staff: has }] } };
}

const ada = { __KEY: employee(1) };
const bo = { __KEY: employee(2) };
const first = 'Company?$top=1&$expand=';

/** Protocol P3.25 to P3.28. */
const cases: readonly Case[] = [
  [
    'a filter selects related entities, and __COUNT counts them',
    `${first}staff($filter="salary > 4000")`,
    staffOf({ __COUNT: 1, __SENT: 1, __FIRST: 0, __ENTITIES: [ada] }),
  ],
  [
    'a filter in single quotes holds others',
    `${first}staff($filter='lastName = "Lovelace"')`,
    staffOf({ __COUNT: 1, __ENTITIES: [ada] }),
  ],
  [
    'a filter without quotes ends at a parenthesis that it did not open',
    `${first}staff($filter=(salary > 1 and lastName != "x;)") and salary < 4000)`,
    staffOf({ __COUNT: 1, __ENTITIES: [bo] }),
  ],
  [
    '$orderby, $top and the number of all that match',
    `${first}staff($orderby=salary;$top=1)`,
    staffOf({ __COUNT: 2, __SENT: 1, __ENTITIES: [bo] }),
  ],
  [
    '$skip goes on, and __FIRST says where',
    `${first}staff( $OrderBy = salary desc ; $Top = 1 ; $Skip = 1 )`,
    staffOf({ __COUNT: 2, __SENT: 1, __FIRST: 1, __ENTITIES: [bo] }),
  ],
  [
    '$top=0 counts only',
    `${first}staff($top=0)`,
    staffOf({ __COUNT: 2, __SENT: 0, __ENTITIES: [] }),
  ],
  [
    'the order stands inside of the filter',
    `${first}staff($filter="salary > 0 order by salary")`,
    staffOf({ __COUNT: 2, __ENTITIES: [bo, ada] }),
  ],
  [
    'an order over a relation',
    `${first}staff($orderby=boss.lastName desc,ID;$top=1)`,
    staffOf({ __COUNT: 2, __ENTITIES: [bo] }),
  ],
  [
    'nested expansions have options of their own',
    `${first}staff($expand=team($filter="salary = 3000";$orderby=lastName;$top=1),employer;$top=1)`,
    staffOf({
      __COUNT: 2,
      __ENTITIES: [
        {
          ...ada,
          team: { __COUNT: 2, __SENT: 1, __ENTITIES: [{ __KEY: employee(3) }] },
          employer: { name: 'Ärger' },
        },
      ],
    }),
  ],
  [
    'options stand at the end of a path, too',
    'Company?$filter=ID=5&$expand=manager.team($top=1)',
    { has: { __ENTITIES: [{ manager: { ...ada, team: { __COUNT: 2, __SENT: 1 } } }] } },
  ],
  [
    'a to-one relation takes $expand and $attributes',
    'Company?$filter=ID=5&$expand=manager($attributes=lastName;$expand=team($top=1))',
    {
      has: {
        __ENTITIES: [{ manager: { ...ada, lastName: 'Lovelace', team: { __SENT: 1 } } }],
      },
    },
  ],
  [
    'placeholders take the values of $params, as those of $filter do',
    'Company?$filter="ID = :2"&$params=[4000,1]&$expand=staff($filter="salary > :1")',
    staffOf({ __COUNT: 1, __ENTITIES: [ada] }),
  ],
  [
    'a value that is null has another condition',
    'Company?$top=1&$params={"a":null}&$expand=staff($filter="boss = :a")',
    staffOf({ __COUNT: 1, __ENTITIES: [ada] }),
  ],
  [
    '$count=false leaves the number out',
    `${first}staff($top=1)&$count=false`,
    staffOf({ __SENT: 1, __ENTITIES: [ada] }),
  ],
  [
    'the address of the relation is that of all its entities',
    `${first}staff($top=1)`,
    staffOf({ __ENTITYSET: '/rest/Company(1)/staff?$expand=staff' }),
  ],
  [
    'a bare list has them, too',
    `${first}staff($filter="salary < 4000")&$asArray=true&$attributes=name`,
    { has: [{ name: 'Ärger', staff: [{ lastName: 'Ångström' }] }] },
  ],
  [
    'one entity',
    'Company(1)?$expand=staff($filter="salary > :1";$top=1)&$params=[4000]',
    { has: { __KEY: '1', staff: { __COUNT: 1, __ENTITIES: [ada] } } },
  ],
  [
    'an entity that is found by a value',
    'Company:name(Zeta)?$expand=staff($filter="salary > 1")',
    { has: { __KEY: '4', staff: { __COUNT: 0 } } },
  ],
  [
    'a relation that is read itself',
    'Company(1)/staff?$expand=staff,staff.team($top=1),boss&$orderby=salary desc',
    {
      keys: [employee(1), employee(2)],
      has: { __ENTITIES: [{ boss: null, team: { __COUNT: 2, __SENT: 1 } }, { boss: ada }] },
    },
  ],
];

const refusals: readonly Case[] = [
  [
    'no option',
    'staff()',
    { ...refused(400, 1805), message: /Character 7 of \$expand: expected one of \$filter/ },
  ],
  ['an unknown option', 'staff($format=x)', refused(400, 1805)],
  ['an option twice', 'staff($top=1;$TOP=2)', refused(400, 1805)],
  ['an option without a value', 'staff($top=)', refused(400, 1805)],
  ['an option without a sign', 'staff($top 1)', refused(400, 1805)],
  ['a parenthesis that is not closed', 'staff($top=1', refused(400, 1805)],
  ['a quote that is not closed', `staff($filter="salary > 1)`, refused(400, 1805)],
  ['something behind a quote', `staff($filter="salary > 1"x)`, refused(400, 1805)],
  ['options behind a star', 'staff.*($top=1)', refused(400, 1805)],
  ['the same relation with options twice', 'staff($top=1),staff($top=2)', refused(400, 1805)],
  [
    'a to-one relation with $top',
    'manager($top=1)',
    { ...refused(400, 1805), message: /leads to one entity/ },
  ],
  ['a to-one relation with a filter', 'manager($filter="ID=1")', refused(400, 1805)],
  [
    'an attribute with options',
    'name($top=1)',
    { ...refused(400, 1805), message: /is no relation/ },
  ],
  ['an unknown relation', 'nothing($top=1)', refused(400, 1500, 1805)],
  ['a relation to what is not exposed', 'vaults($filter="ID = 1")', refused(400, 1500, 1805)],
  ['an unknown attribute of the filter', 'staff($filter="nothing = 1")', refused(400, 1500, 1162)],
  [
    'an attribute that is not exposed',
    'staff($expand=employer($attributes=internalRating))',
    refused(400, 1500, 1805),
  ],
  [
    'an attribute of the filter that is not exposed',
    'staff($filter="employer.internalRating > 1")',
    refused(400, 1500, 1162),
  ],
  [
    'an attribute of the order that is not exposed',
    'staff($orderby=employer.internalRating)',
    refused(400, 1500, 1810),
  ],
  [
    'a wrong filter, with its place',
    'staff($filter="salary >")',
    { ...refused(400, 1162), message: /\$expand, options of staff: Character 9 of \$filter/ },
  ],
  [
    'a value that cannot be read, with its place',
    'staff($filter="salary != abc")',
    {
      ...refused(400, 1162),
      message: /^\$expand, options of staff: Character 11 of \$filter: expected a number .*"abc"/,
    },
  ],
  [
    'a wrong order',
    'staff($orderby=salary up)',
    { ...refused(400, 1810), message: /options of staff/ },
  ],
  ['no number', 'staff($top=many)', { ...refused(400, 1806), message: /options of staff/ }],
  ['a page above the limit', 'staff($top=100000000)', refused(400, 1806)],
  ['a placeholder without value', 'staff($filter="salary > :1")', refused(400, 1279)],
  ['an expansion too deep', 'staff($expand=boss($expand=boss.boss.boss.boss))', refused(400, 1805)],
  [
    'more entities than an answer may have',
    'staff($top=1000;$expand=team($top=1000;$expand=team($top=1000)))',
    refused(400, 1805),
  ],
];

export const expansionRows: readonly Row[] = [
  ...cases.map(([says, path, expect]) => ({
    id: `expansion ${path}`,
    says,
    request: get(`/rest/${path}`),
    expect,
  })),
  ...refusals.flatMap(([says, expand, expect]) => [
    {
      id: `expansion refused ${expand}`,
      says: `${says} is refused`,
      request: get(`/rest/Company?$expand=${expand}`),
      expect,
    },
    {
      id: `expansion of one refused ${expand}`,
      says: `${says} is refused for one entity`,
      request: get(`/rest/Company(1)?$expand=${expand}`),
      expect,
    },
  ]),
  {
    id: 'expansion of itself',
    says: 'options of the relation that is read itself are refused',
    request: get('/rest/Company(1)/staff?$expand=staff($top=1)'),
    expect: { ...refused(400, 1805), message: /are the answer/ },
  },
  {
    id: 'expansion set',
    says: 'pages of a set take options',
    request: get('/rest/Company?$method=entityset&$expand=staff($filter="salary > 4000")&$top=1'),
    expect: staffOf({ __COUNT: 1, __ENTITIES: [ada] }),
  },
  {
    id: 'expansion quotes',
    says: 'one pair of quotes around the whole list is removed',
    request: get(`/rest/Company(1)?$expand="staff($filter='salary > 4000')"`),
    expect: { has: { staff: { __COUNT: 1 } } },
  },
  {
    id: 'expansion saved',
    says: 'the answer to a save takes options',
    request: post(
      '/rest/Company(1)?$method=update&$expand=staff($filter="salary > :1";$top=1)&$params=[4000]',
      { __STAMP: 1, city: 'Bonn' },
    ),
    expect: { has: { city: 'Bonn', staff: { __COUNT: 1, __ENTITIES: [ada] } } },
    then: [
      [
        post('/rest/Company(1)?$method=update&$expand=staff($filter="salary > 4000")', {
          __STAMP: 1,
          city: 'x',
        }),
        { status: 409, has: { staff: { __COUNT: 1 } } },
      ],
      [
        post('/rest/Company(1)?$method=update&$expand=staff($top=x)', { __STAMP: 2, city: 'x' }),
        refused(400, 1806),
      ],
      [get('/rest/Company(1)'), { has: { city: 'Bonn' } }],
    ],
  },
];
