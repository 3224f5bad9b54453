import { employee } from '../../support/staff-fixture.js';
import { number, report, text } from './reports.js';
import { get, type Expectation, post, refused, type Row } from '../../support/row.js';

type Case = readonly [says: string, address: string, expect: Expectation];

function groups(...list: readonly object[]): Expectation {
  return { has: { __GROUPS: list } };
}

/** Protocol P5.13. */
const answers: readonly Case[] = [
  [
    'an answer is a collection of groups',
    'Company?$groupby=city',
    {
      is: {
        __entityModel: 'Company',
        __GlobalStamp: 11,
        __COUNT: 4,
        __SENT: 4,
        __FIRST: 0,
        __GROUPS: [
          { city: null, count: 1 },
          { city: 'Berlin', count: 1 },
          { city: 'Oslo', count: 1 },
          { city: 'Paris', count: 2 },
        ],
      },
    },
  ],
  [
    'a page of groups',
    'Company?$groupby=city&$top=2&$skip=1',
    {
      is: {
        __entityModel: 'Company',
        __GlobalStamp: 11,
        __COUNT: 4,
        __SENT: 2,
        __FIRST: 1,
        __GROUPS: [
          { city: 'Berlin', count: 1 },
          { city: 'Oslo', count: 1 },
        ],
      },
    },
  ],
  [
    'without the number of groups',
    'Company?$groupby=city&$top=1&$count=false',
    {
      is: {
        __entityModel: 'Company',
        __GlobalStamp: 11,
        __SENT: 1,
        __FIRST: 0,
        __GROUPS: [{ city: null, count: 1 }],
      },
    },
  ],
  [
    'behind the last group',
    'Company?$groupby=city&$skip=9',
    { has: { __COUNT: 4, __SENT: 0, __FIRST: 9, __GROUPS: [] } },
  ],
  ['$top=0', 'Company?$groupby=city&$top=0', { has: { __COUNT: 4, __SENT: 0, __GROUPS: [] } }],
  ['of nothing', 'Company?$groupby=city&$filter=ID>9', { has: { __COUNT: 0, __GROUPS: [] } }],
  [
    'with a filter',
    "Company?$groupby=city&$filter=city='paris'",
    groups({ city: 'Paris', count: 2 }),
  ],
  [
    'the related entities of one entity',
    'Company(1)/staff?$groupby=boss.lastName&$compute=sum(salary)',
    groups(
      { 'boss.lastName': null, 'sum(salary)': 5000 },
      { 'boss.lastName': 'Lovelace', 'sum(salary)': 3000 },
    ),
  ],
  ['an entity that is not there', 'Company(9)/staff?$groupby=lastName', refused(404, 1543)],
  [
    '$queryplan',
    'Company?$groupby=city&$filter=revenue=20&$queryplan=true',
    {
      has: {
        __GROUPS: [{ city: 'Paris', count: 1 }],
        __queryPlan: { item: 'Company.revenue = 20' },
      },
    },
  ],
];

/** Protocol P5.14. */
const keys: readonly Case[] = [
  [
    'several keys, and one twice',
    'Company?$groupby=active, city ,active&$filter=ID<4',
    groups(
      { active: false, city: 'paris', count: 1 },
      { active: true, city: 'Berlin', count: 1 },
      { active: true, city: 'Paris', count: 1 },
    ),
  ],
  [
    'a number, and null',
    'Employee?$groupby=salary',
    groups({ salary: null, count: 1 }, { salary: 3000, count: 2 }, { salary: 5000, count: 1 }),
  ],
  [
    'texts without regard to case',
    'Employee?$groupby=lastName',
    groups(
      { lastName: 'Cohen', count: 1 },
      { lastName: 'LOVELACE', count: 2 },
      { lastName: 'Ångström', count: 1 },
    ),
  ],
  [
    'a related attribute',
    'Employee?$groupby=employer.city',
    groups(
      { 'employer.city': null, count: 1 },
      { 'employer.city': 'Berlin', count: 2 },
      { 'employer.city': 'Paris', count: 1 },
    ),
  ],
  [
    'a to-one relation',
    'Employee?$groupby=employer',
    groups({ employer: null, count: 1 }, { employer: 1, count: 2 }, { employer: 2, count: 1 }),
  ],
  [
    'a relation of a related entity',
    'Employee?$groupby=boss.boss',
    groups({ 'boss.boss': null, count: 3 }, { 'boss.boss': employee(1), count: 1 }),
  ],
  [
    'an alias',
    'Employee?$groupby=employerName&$filter=employer!=null',
    groups({ employerName: 'Bolt', count: 1 }, { employerName: 'Ärger', count: 2 }),
  ],
  [
    'a property',
    'Company?$groupby=extra.deep.x',
    groups({ 'extra.deep.x': null, count: 4 }, { 'extra.deep.x': 1, count: 1 }),
  ],
  [
    'a list or an object in a property is null',
    'Company?$groupby=extra.tags,extra.deep',
    groups({ 'extra.tags': null, 'extra.deep': null, count: 5 }),
  ],
  [
    'the length of a list',
    'Company?$groupby=extra.tags.length&$filter=ID<3',
    groups({ 'extra.tags.length': null, count: 1 }, { 'extra.tags.length': 2, count: 1 }),
  ],
  [
    'a computed attribute',
    "Company?$groupby=label&$filter=name='bolt'",
    groups({ label: 'Bolt, Paris', count: 1 }),
  ],
  [
    'the parts of a date',
    'Employee?$groupby=hiredAt:year,hiredAt:Quarter,hiredAt:month,hiredAt:day&$filter=hiredAt!=null',
    groups({
      'hiredAt:year': '2020',
      'hiredAt:quarter': '2020-Q1',
      'hiredAt:month': '2020-01',
      'hiredAt:day': '2020-01-02',
      count: 1,
    }),
  ],
  [
    'the parts of a date without a time',
    'Company?$groupby=founded:quarter',
    groups({ 'founded:quarter': null, count: 4 }, { 'founded:quarter': '1990-Q2', count: 1 }),
  ],
  ['__KEY', 'Company?$groupby=__KEY&$top=1', groups({ __KEY: 1, count: 1 })],
];

/** Protocol P5.15. */
const computed: readonly Case[] = [
  [
    'every function',
    'Company?$groupby=city&$compute=count,count(revenue),sum(revenue),average(revenue),min(revenue),max(revenue)&$filter=city=paris',
    {
      is: {
        __entityModel: 'Company',
        __GlobalStamp: 11,
        __COUNT: 1,
        __SENT: 1,
        __FIRST: 0,
        __GROUPS: [
          {
            city: 'Paris',
            count: 2,
            'count(revenue)': 2,
            'sum(revenue)': 17,
            'average(revenue)': 8.5,
            'min(revenue)': -3,
            'max(revenue)': 20,
          },
        ],
      },
    },
  ],
  [
    'of no values',
    'Company?$groupby=city&$compute=count(revenue),sum(revenue),average(revenue),min(name),max(founded)&$filter=city=Oslo',
    groups({
      city: 'Oslo',
      'count(revenue)': 0,
      'sum(revenue)': 0,
      'average(revenue)': null,
      'min(name)': 'Managed',
      'max(founded)': null,
    }),
  ],
  [
    'functions in any case, with spaces',
    'Company?$groupby=active&$compute=SUM( headcount ) , Count',
    groups(
      { active: false, 'sum(headcount)': 0, count: 1 },
      { active: true, 'sum(headcount)': 19, count: 4 },
    ),
  ],
  [
    'texts as they are stored',
    'Employee?$groupby=remote&$compute=min(lastName),max(lastName)&$orderby=remote desc',
    groups(
      { remote: true, 'min(lastName)': 'Lovelace', 'max(lastName)': 'Lovelace' },
      { remote: false, 'min(lastName)': 'LOVELACE', 'max(lastName)': 'LOVELACE' },
      { remote: null, 'min(lastName)': 'Cohen', 'max(lastName)': 'Ångström' },
    ),
  ],
  [
    'the first by code point of texts that are equal but for case',
    "Employee?$groupby=__STAMP&$compute=max(lastName)&$filter=lastName='lovelace'",
    groups({ __STAMP: 1, 'max(lastName)': 'LOVELACE' }),
  ],
  [
    'dates, booleans, uuids and durations',
    'Employee?$groupby=employer&$compute=max(hiredAt),min(remote),max(ID),sum(shift)&$filter=employer=1',
    groups({
      employer: 1,
      'max(hiredAt)': '2020-01-02T03:04:05.678Z',
      'min(remote)': true,
      'max(ID)': employee(2),
      'sum(shift)': 28_800_000,
    }),
  ],
  [
    'properties',
    'Company?$groupby=active&$compute=sum(extra.deep.x),min(extra.deep.x),count(extra.deep.x)',
    groups(
      {
        active: false,
        'sum(extra.deep.x)': 0,
        'min(extra.deep.x)': null,
        'count(extra.deep.x)': 0,
      },
      { active: true, 'sum(extra.deep.x)': 1, 'min(extra.deep.x)': 1, 'count(extra.deep.x)': 1 },
    ),
  ],
  [
    'related attributes and aliases',
    'Employee?$groupby=salary&$compute=max(employer.revenue),min(employerName)&$filter=salary=3000',
    groups({ salary: 3000, 'max(employer.revenue)': 1500.5, 'min(employerName)': 'Bolt' }),
  ],
];

/** Protocol P5.16. */
const having: readonly Case[] = [
  [
    'a computed number',
    'Company?$groupby=city&$having="count > 1"',
    { has: { __COUNT: 1, __GROUPS: [{ city: 'Paris', count: 2 }] } },
  ],
  [
    'a term that is not shown',
    'Company?$groupby=city&$having="sum(revenue) > 100 or max(revenue) = 20"',
    groups({ city: 'Berlin', count: 1 }, { city: 'Paris', count: 2 }),
  ],
  [
    'values of $params, also of the filter',
    'Company?$groupby=city&$filter=ID<:1&$having="sum(revenue)>=:2"&$params=[3,20]',
    groups({ city: 'Berlin', count: 1 }, { city: 'Paris', count: 1 }),
  ],
  [
    'keys, in any case of a text',
    "Company?$groupby=city&$having=\"city in ['PARIS','oslo']\"",
    groups({ city: 'Oslo', count: 1 }, { city: 'Paris', count: 2 }),
  ],
  [
    'a key that is null',
    'Company?$groupby=city&$having="city = null"',
    groups({ city: null, count: 1 }),
  ],
  [
    'not a value',
    'Company?$groupby=city&$having="city != oslo"',
    groups({ city: null, count: 1 }, { city: 'Berlin', count: 1 }, { city: 'Paris', count: 2 }),
  ],
  [
    'NOT, EXCEPT and parentheses',
    'Company?$groupby=city&$having="not (city begin b) and (count=1 or count=2) except city=null"',
    groups({ city: 'Oslo', count: 1 }, { city: 'Paris', count: 2 }),
  ],
  [
    'a part of a date',
    'Employee?$groupby=hiredAt:month&$having="hiredAt:month >= \'2020-01\'"',
    groups({ 'hiredAt:month': '2020-01', count: 1 }),
  ],
  [
    'a quarter',
    'Employee?$groupby=hiredAt:quarter&$having="hiredAt:quarter = \'2020-Q1\'"',
    groups({ 'hiredAt:quarter': '2020-Q1', count: 1 }),
  ],
  [
    'a property',
    'Company?$groupby=extra.deep.x&$having="extra.deep.x = 1 and max(extra.deep.x) < 2"',
    groups({ 'extra.deep.x': 1, count: 1 }),
  ],
  [
    'a property of another type',
    'Company?$groupby=extra.deep.x&$having="extra.deep.x != \'1\'"',
    groups({ 'extra.deep.x': null, count: 4 }, { 'extra.deep.x': 1, count: 1 }),
  ],
  [
    'a date',
    'Employee?$groupby=employer&$having="max(hiredAt) > \'2019-12-31\'"',
    groups({ employer: 1, count: 2 }),
  ],
];

/** Protocol P5.17. */
const orders: readonly Case[] = [
  [
    'a computed value, then the keys',
    'Company?$groupby=city&$orderby=count desc',
    groups(
      { city: 'Paris', count: 2 },
      { city: null, count: 1 },
      { city: 'Berlin', count: 1 },
      { city: 'Oslo', count: 1 },
    ),
  ],
  [
    'a term that is not shown',
    'Company?$groupby=city&$orderby=sum(revenue) desc,city desc',
    groups(
      { city: 'Berlin', count: 1 },
      { city: 'Paris', count: 2 },
      { city: 'Oslo', count: 1 },
      { city: null, count: 1 },
    ),
  ],
  [
    'an order in the filter',
    'Company?$groupby=city&$filter="ID < 4 order by max(name) desc"',
    groups({ city: 'Berlin', count: 1 }, { city: 'Paris', count: 2 }),
  ],
];

/** Protocol P5.18, P3.19. */
const refusals: readonly Case[] = [
  ['no key', 'Company?$groupby=', refused(400, 1804)],
  [
    'an unknown key',
    'Company?$groupby=city,nothing',
    { ...refused(400, 1500, 1804), message: /"nothing"/ },
  ],
  ['a key that is not exposed', 'Company?$groupby=internalRating', refused(400, 1500, 1804)],
  ['one of a related entity', 'Employee?$groupby=secret', refused(400, 1500, 1804)],
  ['an unknown value', 'Company?$groupby=city&$compute=sum(nothing)', refused(400, 1500, 1817)],
  [
    'a value that is not exposed',
    'Company?$groupby=city&$compute=max(internalRating)',
    refused(400, 1500, 1817),
  ],
  [
    'a value that is not exposed in $having',
    'Company?$groupby=city&$having="max(internalRating) = 1"',
    refused(400, 1500, 1162),
  ],
  [
    'a value that is not exposed in $orderby',
    'Company?$groupby=city&$orderby=max(internalRating)',
    refused(400, 1500, 1810),
  ],
  [
    'an attribute of $having that is no key',
    'Company?$groupby=city&$having="name = x"',
    { ...refused(400, 1162), message: /^Character 1 of \$having: expected a key of \$groupby/ },
  ],
  [
    'an attribute of $having that is not exposed',
    'Company?$groupby=city&$having="internalRating = 1"',
    { ...refused(400, 1162), message: /^Character 1 of \$having: expected a key of \$groupby/ },
  ],
  [
    'an attribute of $orderby that is no key',
    'Company?$groupby=city&$orderby=name',
    refused(400, 1810),
  ],
  ['a to-many relation', 'Company?$groupby=staff', refused(400, 1813)],
  ['a key behind a to-many relation', 'Company?$groupby=staff.lastName', refused(400, 1813)],
  [
    'a value behind a to-many relation',
    'Company?$groupby=city&$compute=sum(staff.salary)',
    { ...refused(400, 1813), message: /an entity would count several times/ },
  ],
  ['an object', 'Company?$groupby=extra', refused(400, 1813)],
  ['an image', 'Company?$groupby=logo', refused(400, 1813)],
  ['a vector', 'Company?$groupby=city&$compute=count(embedding)', refused(400, 1813)],
  ['the sum of a text', 'Company?$groupby=city&$compute=sum(name)', refused(400, 1813)],
  ['a part of a text', 'Company?$groupby=city:month', refused(400, 1813)],
  [
    'an unknown part',
    'Company?$groupby=founded:week',
    { ...refused(400, 1804), message: /year, quarter, month, day/ },
  ],
  ['an unknown function', 'Company?$groupby=city&$compute=avg(revenue)', refused(400, 1817)],
  ['a formula', 'Company?$groupby=city&$having="eval(1) = 1"', refused(400, 1278)],
  ['$compute with a path alone', 'Company?$groupby=city&$compute=revenue', refused(400, 1817)],
  ['a function as a key', 'Company?$groupby=sum(revenue)', refused(400, 1804)],
  ['an open parenthesis', 'Company?$groupby=city&$compute=sum(revenue', refused(400, 1817)],
  [
    'a value that cannot be read',
    'Company?$groupby=city&$having="sum(revenue) != x"',
    { ...refused(400, 1162), message: /^Character 17 of \$having: expected a number .*"x"/ },
  ],
  ['$having without $groupby', 'Company?$having="count>1"', refused(400, 1806)],
  [
    '$having with an order',
    'Company?$groupby=city&$having="count>1 order by city"',
    refused(400, 1162),
  ],
  [
    '$having that cannot be understood',
    'Company?$groupby=city&$having="count more than 1"',
    { ...refused(400, 1162), message: /^Character 7 of \$having: expected a comparator/ },
  ],
  [
    '$having with a comparator that does not apply',
    'Company?$groupby=city&$having="sum(revenue) begin 1"',
    { ...refused(400, 1112), message: /of \$having/ },
  ],
  [
    '$having without a value in $params',
    'Company?$groupby=city&$having="count>:1"',
    { ...refused(400, 1279), message: /of \$having/ },
  ],
  [
    '$having with a list for one value',
    'Company?$groupby=city&$having="count>:1"&$params=[[1]]',
    { ...refused(400, 1280), message: /of \$having/ },
  ],
  ['attributes in the address', 'Company/name?$groupby=city', refused(400, 1806)],
  ['one entity', 'Company(1)?$groupby=city', refused(400, 1813)],
  ['one entity by value', 'Company:name(Bolt)?$groupby=city', refused(400, 1813)],
  ['a $top above the limit', 'Company?$groupby=city&$top=100000', refused(400, 1806)],
  [
    'too many keys',
    `Company?$groupby=${Array.from({ length: 21 }, (_, index) => `extra.p${index}`).join()}`,
    { ...refused(400, 1804), message: /at most 20/ },
  ],
  [
    'too many terms',
    `Company?$groupby=city&$compute=${Array.from({ length: 51 }, (_, index) => `sum(extra.p${index})`).join()}`,
    { ...refused(400, 1817), message: /at most 50/ },
  ],
  ...[
    '$distinct=true',
    '$expand=staff',
    '$attributes=name',
    '$method=entityset',
    '$asArray=true',
  ].map((other): Case => [
    `$groupby with ${other}`,
    `Company?$groupby=city&${other}`,
    refused(400, 1806),
  ]),
];

const cities = [text('city'), number('count')];

/** Protocol P6.11. */
const reports: readonly Case[] = [
  [
    'a row for each group',
    'Company?$format=LOOKER&$groupby=city',
    report(4, cities, [
      [null, 1],
      ['Berlin', 1],
      ['Oslo', 1],
      ['Paris', 2],
    ]),
  ],
  [
    'a page of groups in an order, with filters',
    'Company?$format=looker&$groupby=city&$filter=ID<5&$having="not(city=null)"&$orderby=count desc,city&$top=1',
    report(2, cities, [['Paris', 2]], true),
  ],
  [
    'a filter of groups alone',
    'Company?$format=looker&$groupby=city&$having="count > 1"',
    report(1, cities, [['Paris', 2]], true),
  ],
  [
    'groups behind the first ones',
    'Company?$format=looker&$groupby=city&$skip=3',
    { has: { __COUNT: 4, __FIRST: 3, rows: [{ values: ['Paris', 2] }] } },
  ],
  ['of nothing', 'Company?$format=looker&$groupby=city&$filter=ID>9', report(0, cities, [], true)],
  [
    'the types of keys',
    'Employee?$format=looker&$groupby=remote,employer,hiredAt:year,salary,boss.lastName&$top=0',
    report(
      4,
      [
        text('remote'),
        number('employer'),
        text('hiredAt:year'),
        number('salary'),
        text('boss.lastName'),
        number('count'),
      ],
      [],
    ),
  ],
  [
    'the types of computed values',
    'Employee?$format=looker&$groupby=employer&$compute=max(hiredAt),min(remote),max(ID),sum(shift),max(lastName),average(salary),count(remote)&$filter=employer=1',
    report(
      1,
      [
        number('employer'),
        text('max(hiredAt)'),
        text('min(remote)'),
        text('max(ID)'),
        number('sum(shift)'),
        text('max(lastName)'),
        number('average(salary)'),
        number('count(remote)'),
      ],
      [[1, '2020-01-02T03:04:05.678Z', 'true', employee(2), 28_800_000, 'Ångström', 4000, 1]],
      true,
    ),
  ],
  [
    'booleans',
    'Company?$format=looker&$groupby=active&$compute=count,sum(extra.deep.x)',
    report(
      2,
      [text('active'), number('count'), number('sum(extra.deep.x)')],
      [
        ['false', 1, 0],
        ['true', 4, 1],
      ],
    ),
  ],
  [
    'related entities',
    'Company(1)/staff?$format=looker&$groupby=boss.lastName&$compute=sum(salary)',
    { has: { schema: [text('boss.lastName'), number('sum(salary)')] } },
  ],
  [
    'an entity that is not there',
    'Company(9)/staff?$format=looker&$groupby=ID',
    refused(404, 1543),
  ],
  [
    'a property as a key',
    'Company?$format=looker&$groupby=city,extra.deep.x',
    { ...refused(400, 1804), message: /^Character 6 of \$groupby: extra.deep.x is a property/ },
  ],
  [
    'the least value of a property',
    'Company?$format=looker&$groupby=city&$compute=min(extra.deep.x)',
    {
      ...refused(400, 1817),
      message: /^Character 1 of \$compute: min\(extra.deep.x\) is a property/,
    },
  ],
  ['another format', 'Company?$format=REPORT&$groupby=city', refused(400, 1801)],
  ...['$count=false', '$queryplan=true', '$asArray=true', '$attributes=name'].map((other): Case => [
    `a report with ${other}`,
    `Company?$format=looker&$groupby=city&${other}`,
    refused(400, 1806),
  ]),
];

function rows(family: string, cases: readonly Case[]): Row[] {
  return cases.map(([says, address, expect]) => ({
    id: `${family} ${says}`,
    says,
    request: get(`/rest/${address}`),
    expect,
  }));
}

/** A set that the client names itself, so that later requests can name it. */
const set = '/rest/Company/$entityset/0123456789ABCDEF0123456789ABCD77';

export const groupRows: readonly Row[] = [
  {
    id: 'P5.13 set',
    says: 'the members of a set',
    request: get(`${set}?$savedfilter="ID < 4"&$groupby=city`),
    expect: groups({ city: 'Berlin', count: 1 }, { city: 'Paris', count: 2 }),
    then: [
      [
        get(`${set}?$groupby=city&$filter="ID > 1"&$having="sum(revenue) = 17"&$queryplan=true`),
        { has: { __COUNT: 1, __GROUPS: [{ city: 'Paris', count: 2 }] } },
      ],
      [
        get(`${set}?$groupby=city&$format=looker`),
        report(2, cities, [
          ['Berlin', 1],
          ['Paris', 2],
        ]),
      ],
      [
        get(`/rest/Company/name${set.slice('/rest/Company'.length)}?$groupby=city`),
        refused(400, 1806),
      ],
    ],
  },
  ...[
    'Company?$method=update&$groupby=city',
    'Company?$method=validate&$groupby=city',
    'Company?$method=update&$groupby=city&$having="count > 1"',
    'Company?$method=update&$upsert=name&$compute=count',
    'Company(1)?$distinct=true',
    'Company(1)/logo?$rawPict=true&$groupby=city',
  ].map((address) => ({
    id: `P1.7 save ${address}`,
    says: 'a save has no groups',
    request: post(`/rest/${address}`, { name: 'M' }),
    expect: { ...refused(400, 1806), message: /several entities, not to an? (change|image)/ },
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 5 } }]] as const,
  })),
  ...rows('P5.13', answers),
  ...rows('P5.14', keys),
  ...rows('P5.15', computed),
  ...rows('P5.16', having),
  ...rows('P5.17', orders),
  ...rows('P5.18', refusals),
  ...rows('P6.11', reports),
];
