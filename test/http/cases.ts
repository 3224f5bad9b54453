import { employee } from '../support/staff-fixture.js';

/** A request whose answer and SQL are stored in `expected/<topic>/<name>.txt`. */
export interface Case {
  readonly topic: string;
  readonly name: string;
  readonly url: string;
  /** Sent with POST. */
  readonly body?: unknown;
  /** The allowed number of statements: one for a read, whatever it expands. */
  readonly statements: number;
}

type Lines = Readonly<Record<string, string>>;

function reads(topic: string, lines: Lines, statements = 1): Case[] {
  return Object.entries(lines).map(([name, url]) => ({
    topic,
    name,
    url: `/rest/${url}`,
    statements,
  }));
}

function writes(
  topic: string,
  lines: Readonly<Record<string, readonly [path: string, body: unknown, statements: number]>>,
): Case[] {
  return Object.entries(lines).map(([name, [path, body, statements]]) => ({
    topic,
    name,
    url: `/rest/${path}${path.includes('?') ? '&' : '?'}$method=update`,
    body,
    statements,
  }));
}

const first = { __KEY: '1', __STAMP: 1 };
const ada = `Employee(${employee(1)})`;

export const readCases: readonly Case[] = [
  ...reads('collection', {
    all: 'Company',
    page: 'Company?$skip=1&$top=2',
    count: 'Company?$top=0',
    'beyond the end': 'Company?$skip=99',
    'listed in the path': 'Company/name,city?$top=2',
    'text keys': 'Note',
    'uuid keys': 'Employee?$attributes=lastName',
  }),
  ...reads('entity', {
    whole: 'Company(1)',
    brackets: 'Company[1]/name',
    'text key in another case': 'Note(B)',
    'uuid key': ada,
    listed: 'Company(1)/name,city',
    'by value': 'Company:name("äRGER")/city',
    'by value not unique': 'Company:city(paris)/name',
    'by value without index': 'Employee:salary(3000)/lastName',
    'by value of a date': 'Company:founded(1990-05-04)/name',
    missing: 'Company(99)',
    'missing value': 'Company:name(nobody)',
  }),
  ...reads('relation', {
    'to-many': 'Company(1)/staff?$expand=staff',
    'to-many filtered': 'Company(1)/staff?$expand=staff&$filter=salary>4000&$attributes=lastName',
    'to-many ordered': 'Company(1)/staff?$expand=staff&$orderby=lastName desc&$top=1',
    'to-many of a missing entity': 'Company(99)/staff?$expand=staff',
    'to-many over text keys': 'Note(a%2F1 (X))/replies?$expand=replies',
    'to-one': `${ada}/employer?$expand=employer`,
    deferred: `${ada}/employer,team`,
  }),
  ...reads('expand', {
    'to-one': 'Employee?$expand=employer&$top=2',
    'to-many': 'Company?$expand=staff&$top=2',
    'to-one of to-one': 'Employee?$attributes=lastName,boss.employer.name',
    'to-many of to-one': 'Employee?$attributes=employer.staff.lastName&$top=2',
    'to-many of to-many': 'Company?$attributes=staff.team.lastName&$top=2',
    'to-one of to-many': 'Company?$attributes=name,staff.boss.lastName&$top=2',
    'two to-many': 'Employee?$attributes=lastName,team.lastName,employer.staff.lastName',
    'everything to the limit':
      'Company?$attributes=staff.team.boss.boss.lastName,manager.team.employer.name&$top=5',
    'one entity': 'Company(1)?$expand=staff,manager',
    alias: 'Employee?$attributes=employerName',
    'over text keys': 'Note?$attributes=parent.text,replies.text',
  }),
  ...reads('filter', {
    equal: "Company?$filter=city='PARIS'&$attributes=name",
    'not equal': "Company?$filter=city!='PARIS'&$attributes=name",
    less: 'Company?$filter=revenue<20&$attributes=name',
    begin: "Company?$filter=name begin 'z'&$attributes=name",
    null: 'Company?$filter=city=null&$attributes=name',
    'not null': 'Company?$filter=city!=null&$attributes=name',
    'and, or, except':
      "Company?$filter=(city='paris' or ID=1) and active=true except ID=2&$attributes=name",
    not: "Company?$filter=not(city='paris' and active=true)&$attributes=name",
    placeholders: 'Company?$filter=city=:1 or headcount>:2&$params=["berlin",7]&$attributes=name',
    'null placeholder': 'Company?$filter=city=:1&$params=[null]&$attributes=name',
    'to-one': "Employee?$filter=employer.city='paris'&$attributes=lastName",
    'to-one unequal': "Employee?$filter=employer.city!='paris'&$attributes=lastName",
    'to-one key': 'Employee?$filter=employer=1&$attributes=lastName',
    'to-many': "Company?$filter=staff.lastName='cohen'&$attributes=name",
    'to-many unequal': "Company?$filter=staff.lastName!='cohen'&$attributes=name",
    'to-many of one entity':
      "Company?$filter=staff.salary=3000 and staff.lastName='cohen'&$attributes=name",
    'to-many of to-many': "Company?$filter=staff.team.lastName='cohen'&$attributes=name",
    'value that no integer equals': 'Company?$filter=headcount=1.5&$attributes=name',
    date: 'Employee?$filter=hiredAt>=2020-01-02 and birthDate<10!12!1900&$attributes=lastName',
    computed: "Company?$filter=label begin 'bolt'&$attributes=name",
    'alias and stamp': "Employee?$filter=employerName='bolt' and __STAMP=1&$attributes=lastName",
    'with order and page':
      "Employee?$filter=lastName>'a'&$orderby=salary desc&$skip=1&$top=2&$attributes=salary",
  }),
  ...reads('order', {
    ascending: 'Company?$orderby=city&$attributes=city',
    descending: 'Company?$orderby=city desc,name&$attributes=city',
    key: 'Company?$orderby=ID desc&$attributes=ID',
    'to-one': 'Employee?$orderby=employer.name,boss.lastName desc&$attributes=lastName',
    alias: 'Employee?$orderby=employerName&$attributes=employerName',
    computed: 'Company?$orderby=label&$attributes=label',
  }),
  ...reads('compute', {
    'all of a number': 'Company/revenue?$compute=$all',
    'all of a text': 'Company/city?$compute=$all',
    'all of a property': 'Company/extra.deep.x?$compute=$all',
    'elements of an array': 'Company/extra.tags[]?$compute=max',
    filtered: "Company/revenue?$compute=sum&$filter=city='paris'",
    'least text': 'Employee/firstName?$compute=min',
    'to-one': 'Employee/employer.revenue?$compute=average',
    'to-many': "Company/staff.salary?$compute=sum&$filter=city='paris'",
    'related to one entity': 'Company(1)/staff.salary?$compute=$all',
    'related to a missing entity': 'Company(99)/staff.salary?$compute=$all',
  }),
  ...reads('groups', {
    'text and part of a date':
      'Employee?$groupby=employer.city,hiredAt:month&$compute=count,average(salary),min(lastName)&$orderby=count desc',
    'with having':
      'Company?$groupby=city&$compute=sum(revenue)&$having=count>1 and not(max(revenue)=null)&$count=false',
    property: 'Company(1)/staff?$groupby=remote&$compute=max(hiredAt)',
  }),
  ...reads('distinct', {
    'indexed texts': 'Company/city?$distinct=true',
    'first indexed texts': 'Company/city?$distinct=true&$top=2',
    texts: 'Employee/firstName?$distinct=true&$skip=1',
    numbers: 'Employee/salary?$distinct=true',
    keys: 'Company/ID?$distinct=true&$top=2',
    booleans: 'Company/active?$distinct=true&$filter=ID>2',
    'an array': 'Company/extra.tags?$distinct=true',
    'related to one entity': 'Company(1)/staff.lastName?$distinct=true',
  }),
  ...reads(
    'refused',
    { keyword: 'Company/revenue?$compute=avg', aggregate: 'Company/logo?$compute=count' },
    0,
  ),
  ...reads(
    'refused',
    { attribute: 'Company/nothing', dataclass: 'Vault', filter: 'Company?$filter=city' },
    0,
  ),
  ...reads(
    'refused',
    { top: 'Company?$top=x', change: 'Company?$method=delete', expand: 'Company?$expand=x' },
    0,
  ),
  ...reads(
    'refused',
    {
      ampersand: 'Company&$top=1',
      'ampersand behind what is not there': 'Vault&$top=1?$skip=1',
      'lower case': 'company(1)/name',
      'too deep': 'Company(1)/staff/lastName',
      'long name': 'AnEntityThatNobodyHasEverHeardOf',
    },
    0,
  ),
  ...reads('report', {
    all: 'Company?$format=looker&$top=2',
    'over to-one relations':
      'Employee/lastName,employer.name,boss.employer.active?$format=looker&$orderby=lastName&$filter=salary>1',
    'to-many': 'Company(1)/staff?$expand=staff&$format=looker&$attributes=lastName',
  }),
  ...reads('array', {
    all: 'Employee?$asArray=true&$top=1',
    expanded: 'Company?$asArray=true&$attributes=name,staff.boss.lastName&$top=2',
    'to-many': 'Note(b)/replies?$expand=replies&$asArray=true',
  }),
  ...reads('plan', {
    'to-one':
      'Employee?$attributes=lastName&$filter=employer.name=bolt and salary>1&$queryplan=true',
  }),
  ...reads('catalog', { dataclass: '$catalog/Company', 'text key': '$catalog/Note' }, 0),
];

/** The counter of changes is raised with the commit, which is not listed either. */
export const writeCases: readonly Case[] = [
  ...writes('create', {
    one: ['Company', { name: 'New', city: 'Rome' }, 2],
    several: ['Company', [{ name: 'New' }, { name: 'Newer' }, { name: 'Newest' }], 6],
    related: ['Employee', { ID: employee(9), lastName: 'Nine', employer: 1, boss: employee(1) }, 2],
    'text key': ['Note', { code: 'C', about: employee(1), parent: 'B' }, 3],
    'own key': ['Company', { __KEY: '70', name: 'Own' }, 3],
    'some refused': ['Company', [{ name: 'New' }, { name: 'bolt' }, { city: 'x' }], 4],
    refused: ['Company', { rank: 'x', headcount: 1.5 }, 0],
    'not unique': ['Company', { name: 'BOLT' }, 2],
    'existing key': ['Company', { __KEY: '1', name: 'Own' }, 2],
    'unknown relation': ['Employee', { ID: employee(9), lastName: 'Nine', employer: 99 }, 3],
    nothing: ['Company', [], 0],
  }),
  ...writes('update', {
    one: ['Company', { ...first, city: 'Rome' }, 2],
    'key in the address': ['Company(1)', { __STAMP: 1, city: 'Rome' }, 2],
    related: ['Employee', { __KEY: employee(2), __STAMP: 1, employer: 2, boss: null }, 2],
    'text key': ['Note', { __KEY: 'B', __STAMP: 1, code: 'B', parent: 'B' }, 3],
    vector: ['Company', { ...first, embedding: [0, 3, 4] }, 2],
    mixed: ['Company', [{ ...first, city: 'Rome' }, { name: 'New' }], 4],
    'same shape': [
      'Company',
      [
        { ...first, city: 'Rome' },
        { __KEY: '2', __STAMP: 1, city: 'Rome' },
      ],
      4,
    ],
    unchanged: ['Company', { ...first, name: 'Ärger', rating: 3 }, 4],
    stale: ['Company', { ...first, __STAMP: 2, city: 'Rome' }, 3],
    'unknown key': ['Company', { __KEY: '99', __STAMP: 1, city: 'Rome' }, 2],
    'read-only': ['Company', { ...first, city: 'Rome', rating: 4 }, 4],
    refused: ['Company', { ...first, name: null, headcount: 1.5 }, 2],
    'not unique': ['Company', { ...first, name: 'BOLT' }, 3],
    'unknown relation': ['Company', { ...first, manager: employee(9) }, 3],
    'atomic, undone': [
      'Company?$atomic=true',
      [
        { ...first, city: 'Rome' },
        { __KEY: '2', __STAMP: 7 },
      ],
      4,
    ],
    refreshed: ['Company?$refresh=true', { ...first, city: 'Rome' }, 2],
  }),
];
