import { employee } from '../../support/staff-fixture.js';
import { get, type Expectation, refused, type Row } from '../../support/row.js';

type Case = readonly [says: string, address: string, expect: Expectation];

const notFound = refused(404, 1500, 1804);

/** Protocol P5.1, P5.3 to P5.9. */
const computed: readonly Case[] = [
  [
    'all of a number',
    'Company/revenue?$compute=$all',
    { has: { revenue: { count: 3, sum: 1517.5, average: 1517.5 / 3, min: -3, max: 1500.5 } } },
  ],
  [
    'all of an integer',
    'Company/headcount?$compute=$all',
    { is: { headcount: { count: 2, sum: 19, average: 9.5, min: 7, max: 12 } } },
  ],
  [
    'all of a duration',
    'Employee/shift?$compute=$all',
    {
      is: {
        shift: {
          count: 1,
          sum: 28_800_000,
          average: 28_800_000,
          min: 28_800_000,
          max: 28_800_000,
        },
      },
    },
  ],
  [
    'all of a text, as it is stored',
    'Company/city?$compute=$all',
    { is: { city: { count: 4, min: 'Berlin', max: 'Paris' } } },
  ],
  [
    'all of a boolean',
    'Company/active?$compute=$all',
    { is: { active: { count: 5, min: false, max: true } } },
  ],
  [
    'all of a date',
    'Company/founded?$compute=$all',
    { is: { founded: { count: 1, min: '1990-05-04', max: '1990-05-04' } } },
  ],
  [
    'all of a uuid',
    'Employee/ID?$compute=$all',
    { is: { ID: { count: 4, min: employee(1), max: employee(4) } } },
  ],
  [
    'all of nothing, of a number',
    'Company/revenue?$compute=$all&$filter=ID>9',
    { is: { revenue: { count: 0, sum: 0, average: null, min: null, max: null } } },
  ],
  [
    'all of nothing, of a text',
    'Company/city?$compute=$all&$filter=ID>9',
    { is: { city: { count: 0, min: null, max: null } } },
  ],
  ['sum', 'Company/revenue?$compute=sum', { is: 1517.5 }],
  ['sum of nothing', 'Company/revenue?$compute=sum&$filter=ID>9', { is: 0 }],
  ['average', 'Employee/salary?$compute=average', { is: 11000 / 3 }],
  ['average of nothing', 'Company/revenue?$compute=average&$filter=ID>9', { is: null }],
  ['count leaves nulls out', 'Company/revenue?$compute=count', { is: 3 }],
  ['min of a number', 'Company/revenue?$compute=min', { is: -3 }],
  ['max of a number', 'Company/revenue?$compute=max', { is: 1500.5 }],
  ['min of a text', 'Company/name?$compute=min', { is: 'Bolt' }],
  ['max of a text', 'Company/name?$compute=max', { is: 'Ärger' }],
  ['min of a boolean', 'Company/active?$compute=min', { is: false }],
  ['max of a date', 'Employee/hiredAt?$compute=max', { is: '2020-01-02T03:04:05.678Z' }],
  ['the keyword in any case', 'Company/revenue?$compute=SUM', { is: 1517.5 }],
  ['the keyword in quotes', 'Company/revenue?$compute="sum"', { is: 1517.5 }],
  ['a slash at the end', 'Company/revenue/?$compute=sum', { is: 1517.5 }],
  ['with a filter', "Company/revenue?$compute=sum&$filter=city='paris'", { is: 17 }],
  [
    'with a filter and values',
    'Company/revenue?$compute=sum&$filter=city=:1&$params=["paris"]',
    { is: 17 },
  ],
  ['a property', 'Company/extra.deep.x?$compute=sum', { is: 1 }],
  ['a property of any type is counted', 'Company/extra.deep?$compute=count', { is: 1 }],
  [
    'elements of an array',
    'Company/extra.tags[]?$compute=$all',
    { is: { 'extra.tags[]': { count: 2, sum: 0, average: null, min: 'a', max: 'b' } } },
  ],
  ['the length of an array', 'Company/extra.tags.length?$compute=max', { is: 2 }],
  ['a to-one relation on the way', 'Employee/employer.revenue?$compute=sum', { is: 3021 }],
  ['a to-many relation on the way', 'Company/staff.salary?$compute=sum', { is: 11_000 }],
  [
    'related entities count once',
    "Employee/employer.staff.salary?$compute=sum&$filter=lastName='lovelace'",
    { is: 8000 },
  ],
  [
    'a to-one behind a to-many relation',
    'Company/staff.boss.lastName?$compute=max&$filter=ID=1',
    { is: 'Lovelace' },
  ],
  ['an alias', 'Employee/employerName?$compute=max', { is: 'Ärger' }],
  ['a computed attribute', 'Company/label?$compute=min', { is: 'Bolt, Paris' }],
  ['__STAMP', 'Company/__STAMP?$compute=sum', { is: 5 }],
  [
    'the related entities of one entity',
    'Company(1)/staff.salary?$compute=$all',
    {
      is: { 'staff.salary': { count: 2, sum: 8000, average: 4000, min: 3000, max: 5000 } },
    },
  ],
  [
    'some of the related entities of one entity',
    'Company(1)/staff.salary?$compute=sum&$filter=salary<4000',
    { is: 3000 },
  ],
  [
    'related entities of related entities of one entity',
    `Company(1)/staff.team.salary?$compute=count`,
    { is: 2 },
  ],
  [
    'a text key is found in another case',
    'Note(A%2F1 (x))/replies.text?$compute=max',
    { is: 'second' },
  ],
  ['an entity that is not there', 'Company(9)/staff.salary?$compute=sum', refused(404, 1543)],
];

/** Protocol P5.2, P5.7, P5.8. */
const different: readonly Case[] = [
  [
    'texts without regard to case',
    'Company/city?$distinct=true',
    { is: ['Berlin', 'Oslo', 'Paris'] },
  ],
  ['numbers', 'Employee/salary?$distinct=true', { is: [3000, 5000] }],
  ['booleans', 'Company/active?$distinct=true', { is: [false, true] }],
  ['dates', 'Company/founded?$distinct=true', { is: ['1990-05-04'] }],
  ['uuids', 'Employee/ID?$distinct=true&$top=1', { is: [employee(1)] }],
  ['$top', 'Company/city?$distinct=true&$top=2', { is: ['Berlin', 'Oslo'] }],
  ['$top=0', 'Company/city?$distinct=true&$top=0', { is: [] }],
  ['$skip', 'Company/city?$distinct=true&$skip=1', { is: ['Oslo', 'Paris'] }],
  ['$skip and $top', 'Company/city?$distinct=true&$skip=1&$top=1', { is: ['Oslo'] }],
  ['$skip beyond the end', 'Company/city?$distinct=true&$skip=9', { is: [] }],
  ['with a filter', 'Company/city?$distinct=true&$filter=ID<3', { is: ['Berlin', 'Paris'] }],
  ['of nothing', 'Company/city?$distinct=true&$filter=ID>9', { is: [] }],
  ['a property', 'Company/extra.deep.x?$distinct=true', { is: [1] }],
  ['an array stands for its elements', 'Company/extra.tags?$distinct=true', { is: ['a', 'b'] }],
  ['elements of an array', 'Company/extra.tags[]?$distinct=true', { is: ['a', 'b'] }],
  ['an object is no value', 'Company/extra.deep?$distinct=true', { is: [] }],
  [
    'a to-one relation on the way',
    'Employee/employer.city?$distinct=true',
    { is: ['Berlin', 'Paris'] },
  ],
  ['a to-many relation on the way', 'Company/staff.salary?$distinct=true', { is: [3000, 5000] }],
  [
    'the related entities of one entity',
    'Company(1)/staff.lastName?$distinct=true',
    { is: ['Lovelace', 'Ångström'] },
  ],
  ['an entity that is not there', 'Company(9)/staff.salary?$distinct=true', refused(404, 1543)],
  ['false is the ordinary read', 'Company/city?$distinct=false&$top=1', { has: { __SENT: 1 } }],
];

/** Protocol P5.4, P5.11, P3.19. */
const refusals: readonly Case[] = [
  [
    'a keyword that does not exist',
    'Company/revenue?$compute=avg',
    {
      ...refused(400, 1817),
      message: /expected one of \$all, count, sum, average, min, max\.$/,
    },
  ],
  ['no keyword', 'Company/revenue?$compute=', refused(400, 1817)],
  ['no attribute', 'Company?$compute=count', refused(400, 1816)],
  ['no attribute of $distinct', 'Company?$distinct=true', refused(400, 1816)],
  ['several attributes', 'Company/name,city?$compute=count', refused(400, 1806)],
  ['every attribute', 'Company/*?$compute=count', notFound],
  ['an unknown attribute', 'Company/nothing?$compute=count', notFound],
  ['an attribute that is not exposed', 'Company/internalRating?$compute=max', notFound],
  ['one of a related entity', 'Company/staff.secret?$distinct=true', notFound],
  ['a dataclass that is not exposed', 'Company/vaults.content?$distinct=true', notFound],
  ['the same of one entity', 'Company(1)/vaults.content?$distinct=true', notFound],
  ['a property of a text', 'Company/name.x?$compute=count', notFound],
  ['sum of a text', 'Company/city?$compute=sum', refused(400, 1813)],
  ['average of a date', 'Company/founded?$compute=average', refused(400, 1813)],
  ['sum of a boolean', 'Company/active?$compute=sum', refused(400, 1813)],
  ['an image', 'Company/logo?$compute=count', refused(400, 1813)],
  ['a BLOB', 'Company/brochure?$distinct=true', refused(400, 1813)],
  ['a vector', 'Company/embedding?$compute=$all', refused(400, 1813)],
  ['an object as a whole', 'Company/extra?$compute=count', refused(400, 1813)],
  ['a to-one relation', 'Company/manager?$compute=count', refused(400, 1813)],
  ['a to-many relation', 'Company/staff?$distinct=true', refused(400, 1813)],
  ['an attribute of one entity', 'Company(1)/revenue?$compute=sum', refused(400, 1813)],
  ['a to-one relation of one entity', 'Company(5)/manager.salary?$compute=sum', refused(400, 1813)],
  ['one entity', 'Company(1)?$compute=sum', refused(400, 1813)],
  ['one entity by value', 'Company:name(Bolt)/revenue?$compute=sum', refused(400, 1813)],
  ['an unknown attribute of one entity', 'Company(1)/nothing.x?$compute=sum', notFound],
  ['a name that is missing', 'Company/staff.?$compute=sum', refused(400, 1804)],
  ['brackets behind no array', 'Company/name[]?$compute=count', refused(400, 1804)],
  ['a bracket alone', 'Company/extra.tags[?$compute=count', refused(400, 1804)],
  ...[
    '$distinct=true',
    '$expand=staff',
    '$attributes=name',
    '$method=entityset',
    '$orderby=name',
  ].map((other): Case => [
    `$compute with ${other}`,
    `Company/revenue?$compute=sum&${other}`,
    refused(400, 1806),
  ]),
  ['$compute with $top', 'Company/revenue?$compute=sum&$top=1', refused(400, 1806)],
  ['$compute with $skip', 'Company/revenue?$compute=sum&$skip=1', refused(400, 1806)],
  ...[
    '$expand=staff',
    '$attributes=name',
    '$method=entityset',
    '$orderby=name',
    '$asArray=true',
  ].map((other): Case => [
    `$distinct with ${other}`,
    `Company/city?$distinct=true&${other}`,
    refused(400, 1806),
  ]),
  ['$distinct is a switch', 'Company/city?$distinct=yes', refused(400, 1806)],
];

function rows(family: string, cases: readonly Case[]): Row[] {
  return cases.map(([says, address, expect]) => ({
    id: `${family} ${says}`,
    says,
    request: get(`/rest/${address}`),
    expect,
  }));
}

export const aggregateRows: readonly Row[] = [
  ...rows('P5.1', computed),
  ...rows('P5.2', different),
  ...rows('P5.11', refusals),
];
