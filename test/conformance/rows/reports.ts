import { employee } from '../../support/staff-fixture.js';
import { isOnPostgres } from '../../support/server.js';
import { type Expectation, get, post, refused, type Row } from '../../support/row.js';

/** Databases differ in when they use an index. */
function foundBy(isIndex: boolean, attribute: string, rest: string): string {
  return `${isIndex ? `[index : ${attribute} ]` : attribute} ${rest}`;
}

export function number(name: string): object {
  return {
    name,
    dataType: 'NUMBER',
    semantics: { conceptType: 'METRIC', semanticGroup: 'NUMERIC', semanticType: 'NUMBER' },
  };
}

export function text(name: string): object {
  return {
    name,
    dataType: 'STRING',
    semantics: { conceptType: 'DIMENSION', semanticGroup: 'TEXT', semanticType: 'TEXT' },
  };
}

/** A whole report whose page begins at the beginning. */
export function report(
  count: number,
  schema: readonly object[],
  rows: readonly (readonly unknown[])[],
  filtersApplied = false,
): Expectation {
  return {
    is: {
      __COUNT: count,
      __FIRST: 0,
      schema,
      rows: rows.map((values) => ({ values })),
      filtersApplied,
    },
  };
}

type Case = readonly [id: string, says: string, address: string, expect: Expectation];

/** Protocol P6.1, P6.4 to P6.6. */
const reports: readonly Case[] = [
  [
    'a report',
    'columns are the attributes that are numbers or texts, in model order; nulls are nulls',
    'Company?$format=looker&$top=2',
    report(
      5,
      [
        number('ID'),
        text('name'),
        text('city'),
        text('founded'),
        number('revenue'),
        number('headcount'),
        text('active'),
        text('rank'),
        number('rating'),
        text('label'),
        text('managerName'),
      ],
      [
        [1, 'Ärger', 'Berlin', '1990-05-04', 1500.5, 12, 'true', 'gold', 3, 'Ärger, Berlin', null],
        [2, 'Bolt', 'Paris', null, 20, 7, 'true', 'silver', 3, 'Bolt, Paris', null],
      ],
    ),
  ],
  [
    'types',
    'a uuid, a date with its time and a boolean are texts, a duration is a number',
    'Employee/ID,hiredAt,remote,shift?$format=looker&$top=1',
    report(
      4,
      [text('ID'), text('hiredAt'), text('remote'), number('shift')],
      [[employee(1), '2020-01-02T03:04:05.678Z', 'true', 28_800_000]],
    ),
  ],
  [
    'case of the value',
    '$format is compared without regard to case',
    'Company/ID?$format=Looker&$top=0',
    report(5, [number('ID')], []),
  ],
  [
    'filter, order and page',
    'filtersApplied tells of $filter; __COUNT is that of all, __FIRST the first of the page',
    'Company?$format=looker&$attributes=name&$filter="city=paris"&$orderby=name desc&$skip=1',
    {
      is: {
        __COUNT: 2,
        __FIRST: 1,
        schema: [text('name')],
        rows: [{ values: ['Bolt'] }],
        filtersApplied: true,
      },
    },
  ],
  [
    'order of columns',
    'columns stand in the order of the list, each once, and $attributes wins',
    'Company/rank?$format=looker&$attributes=city, ID,city&$top=1',
    report(5, [text('city'), number('ID')], [['Berlin', 1]]),
  ],
  [
    'paths',
    'a path over to-one relations is a column, named by the path; null where it ends early',
    'Employee/lastName,employer.name,boss.employer.revenue?$format=looker&$skip=0&$top=4',
    report(
      4,
      [text('lastName'), text('employer.name'), number('boss.employer.revenue')],
      [
        ['Lovelace', 'Ärger', null],
        ['Ångström', 'Ärger', 1500.5],
        ['Cohen', 'Bolt', 1500.5],
        ['LOVELACE', null, 1500.5],
      ],
    ),
  ],
  [
    'a null flag of a missing relation',
    'a value that is never null in its dataclass is null where there is no related entity',
    'Employee/employer.ID,employer.rating,employer.active?$format=looker&$orderby=ID desc&$top=1',
    report(
      4,
      [number('employer.ID'), number('employer.rating'), text('employer.active')],
      [[null, null, null]],
    ),
  ],
  [
    'stars',
    '* is every column of the dataclass, rel.* of the related one',
    'Note?$format=looker&$attributes=parent.*,*&$top=1&$orderby=code desc',
    report(
      2,
      [text('parent.code'), text('parent.text'), text('code'), text('text')],
      [['A/1 (x)', 'first', 'b', 'second']],
    ),
  ],
  [
    'key and stamp',
    '__KEY, __STAMP and __TIMESTAMP can be columns: the key has its own type',
    'Company/__KEY,__STAMP?$format=looker&$top=1',
    report(5, [number('__KEY'), number('__STAMP')], [[1, 1]]),
  ],
  [
    'a relation',
    'the related entities of one entity',
    'Company(1)/staff?$expand=staff&$format=looker&$attributes=firstName,salary',
    report(
      2,
      [text('firstName'), number('salary')],
      [
        ['Ada', 5000],
        ['Bo', 3000],
      ],
    ),
  ],
  [
    'a relation of no entity',
    'the related entities of an entity that does not exist',
    'Company(9)/staff?$expand=staff&$format=looker',
    refused(404, 1543),
  ],
  ['1801', 'a format that is none', 'Company?$format=xml', refused(400, 1801)],
  ['1801 empty', 'an empty format', 'Company?$format=', refused(400, 1801)],
  ['1801 of one entity', 'a format that is none', 'Company(1)?$format=xml', refused(400, 1801)],
  ['json', '$format=json is the default', 'Company/ID?$format=JSON&$top=1', { keys: ['1'] }],
  [
    'one entity',
    'one entity is no report',
    'Company(1)?$format=looker',
    { ...refused(400, 1806), message: /one entity/ },
  ],
  ['a look-up', 'nor is one that is looked up', 'Company:ID(1)?$format=looker', refused(400, 1806)],
  ['the catalog', 'nor is the catalog', '$catalog?$format=looker', refused(400, 1806)],
  ...['extra', 'logo', 'brochure', 'embedding', 'manager', 'extra.deep'].map((name): Case => [
    `no column ${name}`,
    'what is neither a number nor a text cannot be a column',
    `Company?$format=looker&$attributes=ID,${name}`,
    { ...refused(400, 1804), message: /Character 4 of \$attributes/ },
  ]),
  [
    'to-many column',
    'nor can what has several values',
    'Company/staff.lastName?$format=looker',
    { ...refused(400, 1804), message: /to-many/ },
  ],
  [
    'unknown column',
    'nor what is not exposed, which is answered like what does not exist',
    'Company?$format=looker&$attributes=internalRating',
    refused(400, 1500, 1804),
  ],
  ['unknown in the path', 'in a path', 'Company/nothing?$format=looker', refused(404, 1500, 1804)],
  [
    'unknown behind a relation',
    'behind a relation',
    'Employee?$format=looker&$attributes=employer.internalRating',
    refused(400, 1500, 1804),
  ],
  ['expand', '$expand', 'Company?$format=looker&$expand=staff', refused(400, 1806)],
  ['asArray', '$asArray', 'Company?$format=looker&$asArray=true', refused(400, 1806)],
  ['compute', '$compute', 'Company/ID?$format=looker&$compute=sum', refused(400, 1806)],
  ['distinct', '$distinct', 'Company/ID?$format=looker&$distinct=true', refused(400, 1806)],
  ['set', '$method', 'Company?$format=looker&$method=entityset', refused(400, 1806)],
  ['plan', '$queryplan', 'Company?$format=looker&$queryplan=true', refused(400, 1806)],
];

/** Protocol P6.2, P6.8. */
const arrays: readonly Case[] = [
  [
    'entities',
    'key with its type, and stamp, under __KEY; attributes; to-many relations as numbers, to-one ones as keys',
    'Company/name,manager,staff?$asArray=true&$skip=3',
    {
      is: [
        { __KEY: { ID: 4, __STAMP: 1 }, name: 'Zeta', manager: null, staff: { __COUNT: 0 } },
        {
          __KEY: { ID: 5, __STAMP: 1 },
          name: 'Managed',
          manager: { __KEY: { ID: employee(1) } },
          staff: { __COUNT: 0 },
        },
      ],
    },
  ],
  [
    'whole entities',
    'everything that an ordinary answer holds, media deferred',
    'Company?$asArray=true&$top=1',
    {
      is: [
        {
          __KEY: { ID: 1, __STAMP: 1 },
          ID: 1,
          name: 'Ärger',
          city: 'Berlin',
          founded: '1990-05-04',
          revenue: 1500.5,
          headcount: 12,
          active: true,
          rank: 'gold',
          extra: { tags: ['a', 'b'], deep: { x: 1 } },
          logo: {
            __deferred: {
              uri: '/rest/Company(1)/logo?$imageformat=best&$version=1&$expand=logo',
              image: true,
            },
          },
          brochure: {
            __deferred: { uri: '/rest/Company(1)/brochure?$binary=true&$expand=brochure' },
          },
          embedding: [1, 0, 0],
          rating: 3,
          manager: null,
          staff: { __COUNT: 2 },
          label: 'Ärger, Berlin',
          managerName: null,
        },
      ],
    },
  ],
  [
    'text keys',
    'keys that are texts',
    'Note/parent,about?$asArray=true&$orderby=code desc&$top=1',
    {
      is: [
        {
          __KEY: { code: 'b', __STAMP: 1 },
          about: { __KEY: { ID: employee(1) } },
          parent: { __KEY: { code: 'A/1 (x)' } },
        },
      ],
    },
  ],
  [
    'expanded',
    'related entities stand in the same form, to-many ones as a list',
    'Company?$asArray=true&$attributes=staff.lastName,manager.employer.name&$filter="ID=2 or ID=5"',
    {
      is: [
        {
          __KEY: { ID: 2, __STAMP: 1 },
          manager: null,
          staff: [{ __KEY: { ID: employee(3), __STAMP: 1 }, lastName: 'Cohen' }],
        },
        {
          __KEY: { ID: 5, __STAMP: 1 },
          manager: {
            __KEY: { ID: employee(1), __STAMP: 1 },
            employer: { __KEY: { ID: 1, __STAMP: 1 }, name: 'Ärger' },
          },
          staff: [],
        },
      ],
    },
  ],
  ['nothing', 'an empty list', 'Company?$asArray=true&$top=0', { is: [] }],
  [
    'a relation',
    'the related entities of one entity',
    'Company(2)/staff?$expand=staff&$asArray=true&$attributes=firstName',
    { is: [{ __KEY: { ID: employee(3), __STAMP: 1 }, firstName: 'Cy' }] },
  ],
  [
    'a relation of no entity',
    'the related entities of an entity that does not exist',
    'Company(9)/staff?$expand=staff&$asArray=true',
    refused(404, 1543),
  ],
  ['off', '$asArray=false is the default', 'Company?$asArray=false&$top=1', { keys: ['1'] }],
  ['not a switch', '$asArray is true or false', 'Company?$asArray=1', refused(400, 1806)],
  ['one entity', 'one entity is no list', 'Company(1)?$asArray=true', refused(400, 1806)],
  ['unknown', 'an unknown attribute', 'Company/x?$asArray=true', refused(404, 1500, 1804)],
  ['set', '$method', 'Company?$asArray=true&$method=entityset', refused(400, 1806)],
  ['compute', '$compute', 'Company/ID?$asArray=true&$compute=sum', refused(400, 1806)],
  ['path', '$querypath', 'Company?$asArray=true&$querypath=true', refused(400, 1806)],
];

const plan = '$queryplan=true';

/** Protocol P6.3, P6.9. */
const plans: readonly Case[] = [
  [
    'one comparison',
    'a comparison that an index finds',
    'Company?$filter="city = Paris"&$queryplan=true',
    { keys: ['2', '3'], has: { __queryPlan: { item: '[index : Company.city ] = Paris' } } },
  ],
  [
    'AND',
    'one index serves; the other comparison is looked at in what it found',
    'Company?$filter="city = Paris and headcount > 1"&$queryplan=true',
    {
      has: {
        __queryPlan: {
          And: [{ item: '[index : Company.city ] = Paris' }, { item: 'Company.headcount > 1' }],
        },
      },
    },
  ],
  [
    'OR',
    'an index serves nothing beside a comparison that none serves',
    'Company?$filter="city = Paris or headcount > 1"&$queryplan=true',
    {
      has: {
        __queryPlan: { Or: [{ item: 'Company.city = Paris' }, { item: 'Company.headcount > 1' }] },
      },
    },
  ],
  [
    'the key',
    'a key that is compared with a list',
    'Company?$filter="ID in :1"&$params=[[2,3]]&$queryplan=true',
    { has: { __queryPlan: { item: foundBy(!isOnPostgres, 'Company.ID', 'in [2,3]') } } },
  ],
  [
    'a relation',
    'comparisons of one related entity are one join',
    'Employee?$filter="employer.name = Bolt and employer.revenue > 1"&$queryplan=true',
    {
      keys: [employee(3)],
      has: {
        __queryPlan: {
          item: 'Join on Table : Company : Employee.employer = Company.ID',
          subquery: [{ item: '[index : Company.name ] = Bolt' }, { item: 'Company.revenue > 1' }],
        },
      },
    },
  ],
  [
    'NOT',
    'EXCEPT is AND NOT, and != over a to-many relation is NOT (=)',
    'Company?$filter="staff.lastName != cohen except rank = gold"&$queryplan=true&$attributes=ID',
    {
      keys: ['3', '4', '5'],
      has: {
        __queryPlan: {
          And: [
            {
              Not: [
                {
                  item: 'Join on Table : Employee : Company.staff = Employee.ID',
                  subquery: [{ item: foundBy(isOnPostgres, 'Employee.lastName', '= cohen') }],
                },
              ],
            },
            { Not: [{ item: 'Company.rank = gold' }] },
          ],
        },
      },
    },
  ],
  [
    'no filter',
    'the whole dataclass',
    `Company?${plan}`,
    { has: { __queryPlan: { item: 'Company : sequential' } } },
  ],
  [
    'a relation of one entity',
    'what the filter is applied to comes first',
    `Company(1)/staff?$expand=staff&$filter="salary > 4000"&${plan}`,
    {
      has: {
        __queryPlan: {
          And: [{ item: '[index : Company.staff ] = 1' }, { item: 'Employee.salary > 4000' }],
        },
      },
    },
  ],
  [
    'path',
    'the path tells what each step found',
    'Company?$filter="city = Paris and headcount > 1"&$querypath=true',
    {
      keys: ['2'],
      has: {
        __queryPath: {
          steps: [
            {
              description: 'AND',
              recordsfounds: 1,
              steps: [
                { description: '[index : Company.city ] = Paris', recordsfounds: 2 },
                { description: 'Company.headcount > 1', recordsfounds: 2 },
              ],
            },
          ],
        },
      },
    },
  ],
  [
    'path not taken',
    'behind an empty step of an AND nothing is run',
    'Employee?$filter="employer.name = nobody and salary > 1"&$querypath=true',
    {
      keys: [],
      has: {
        __queryPath: {
          steps: [
            {
              description: 'AND',
              recordsfounds: 0,
              steps: [
                {
                  description: 'Join on Table : Company : Employee.employer = Company.ID',
                  recordsfounds: 0,
                  steps: [
                    {
                      steps: [
                        { description: '[index : Company.name ] = nobody', recordsfounds: 0 },
                      ],
                    },
                  ],
                },
              ],
            },
          ],
        },
      },
    },
  ],
  ['of one entity', 'one entity has no plan', `Company(1)?${plan}`, refused(400, 1806)],
];

/** A set under an ID that the client names (protocol P9.11). */
const set = '$entityset/ABCDEF0123456789ABCDEF0123456789';
const saved = '$savedfilter="ID < 4"&$savedorderby="ID desc"';

const sets: readonly Case[] = [
  [
    'report',
    'a set as a report',
    `Company/name/${set}?${saved}&$format=looker&$skip=1&$top=1`,
    {
      is: {
        __COUNT: 3,
        __FIRST: 1,
        schema: [text('name')],
        rows: [{ values: ['Bolt'] }],
        filtersApplied: false,
      },
    },
  ],
  [
    'array',
    'a set as a list',
    `Company/city/${set}?${saved}&$asArray=true&$filter="ID = 3"`,
    { is: [{ __KEY: { ID: 3, __STAMP: 1 }, city: 'paris' }] },
  ],
  [
    'plan',
    'what of a set a filter finds',
    `Company/${set}?${saved}&$filter="city = paris"&$queryplan=true&$querypath=true`,
    {
      keys: ['3', '2'],
      has: {
        __queryPlan: { And: [{ item: 'Company : entity set' }, {}] },
        __queryPath: {
          steps: [
            {
              description: 'AND',
              recordsfounds: 2,
              steps: [{ description: 'Company : entity set', recordsfounds: 3 }, {}],
            },
          ],
        },
      },
    },
  ],
  [
    'plan of a new set',
    'the request that makes a set tells its plan',
    'Company?$filter="city = paris"&$method=entityset&$queryplan=true',
    { keys: ['2', '3'], has: { __queryPlan: { item: '[index : Company.city ] = paris' } } },
  ],
];

function rows(topic: string, cases: readonly Case[]): readonly Row[] {
  return cases.map(([id, says, address, expect]) => ({
    id: `${topic}: ${id}`,
    says,
    request: get(`/rest/${address}`),
    expect,
  }));
}

export const reportRows: readonly Row[] = [
  ...rows('report', reports),
  ...rows('array', arrays),
  ...rows('plan', plans),
  ...rows('set', sets),
  {
    id: 'report: a change',
    says: 'a change cannot be answered as a report, and changes nothing',
    request: post('/rest/Company?$method=update&$format=looker', { name: 'New' }),
    expect: refused(400, 1806),
    // A refused change changes nothing.
    then: [[get('/rest/Company?$top=0'), { has: { __COUNT: 5 } }]],
  },
];
