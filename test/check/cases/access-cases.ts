import { model, sound, type ProblemCase } from './case.js';

/** Functions, singletons and roles. */
export const functionCases: readonly ProblemCase[] = [
  {
    name: 'functions',
    yaml: model(`  A:
    attributes:
      ID: { type: integer, key: true }
      x: string
      full: { computed: string, accessors: [get, query] }
    restrict: true
    events: [saving]
    functions:
      dataclass:
        <<a>>all: {}
        <<b>>x: {}
        <<c>>queryFull: {}
        <<d>>restrict: {}
        twice: {}
        <<e>>Twice: {}
        again: { exposed: true }
        <<p>>hidden: { exposed: true }
      selection:
        <<f>>TWICE: {}
        again: {}
        <<g>>first: {}
        <<h>>then: {}
        hidden: { exposed: true }
      entity:
        <<i>>save: {}
        <<j>>saving: {}
        <<k>>a b: {}
        hidden: { exposed: true }
        get: { <<l>>onHTTPGet: true }
datastore:
  functions: { <<m>>A: {}, <<n>>transaction: {}, all: {} }
singletons:
  S: { functions: { <<o>>constructor: {} } }
`),
    expected: [
      ...['a', 'd', 'g', 'h', 'i', 'j', 'm', 'n', 'o'].map((at) => ({
        code: 'name/reserved' as const,
        at,
      })),
      { code: 'function/name-taken', at: 'b' },
      { code: 'function/accessor-name', at: 'c' },
      { code: 'name/duplicate', at: 'e' },
      { code: 'function/name-taken', at: 'f' },
      { code: 'name/bad-character', at: 'k' },
      { code: 'function/get-not-exposed', at: 'l' },
      { code: 'function/hidden', at: 'p' },
    ],
  },
  {
    name: 'restrict',
    yaml: model(`  A:
    attributes: { ID: { type: integer, key: true } }
    restrict: { <<a>>write: true }
  B:
    attributes: { ID: { type: integer, key: true } }
    restrict: { writes: <<b>>all }
  C:
    attributes: { ID: { type: integer, key: true } }
    restrict: <<c>>all
`),
    expected: [
      { code: 'shape/unknown-key', at: 'a', says: 'did you mean writes?' },
      { code: 'shape/wrong-type', at: 'b' },
      { code: 'shape/wrong-type', at: 'c' },
    ],
  },
  {
    name: 'types',
    yaml: sound(`roles: { restrictedByDefault: false }
datastore:
  functions:
    a: { params: { p: <<a>>B, q: <<b>>void, r: "A.selection[]" }, returns: message }
    b: { params: { p: { type: string, optional: true }, <<c>>q: string }, returns: <<d>>"void[]" }
    c: { params: { p: string, <<e>>P: any }, returns: <<f>>A.slection }
    d: { params: { p: "string[][]", q: A }, returns: A.selection }
    e: { params: { p: { type: "date[]", dateOnly: true }, q: { type: string, <<g>>dateOnly: true } }, returns: { type: A, mandatory: true } }
    f: { returns: { type: void, <<h>>mandatory: true } }
    g: { returns: { type: "integer[]", <<i>>dateOnly: true } }
    h: { returns: { type: date, dateOnly: true, <<j>>optional: true } }
    i: { <<k>>returns: {} }
`),
    expected: [
      { code: 'function/unknown-type', at: 'a' },
      { code: 'function/result-only-type', at: 'b' },
      { code: 'function/optional-order', at: 'c' },
      { code: 'function/result-only-type', at: 'd' },
      { code: 'name/duplicate', at: 'e' },
      { code: 'function/unknown-type', at: 'f', says: 'did you mean A.selection?' },
      { code: 'attribute/date-only', at: 'g', says: 'q is of type string' },
      { code: 'function/void-mandatory', at: 'h' },
      { code: 'attribute/date-only', at: 'i', says: 'The result of g is of type integer[]' },
      { code: 'shape/unknown-key', at: 'j' },
      { code: 'shape/missing-key', at: 'k' },
    ],
  },
  {
    name: 'jobs',
    yaml: sound(`roles: { restrictedByDefault: false }
jobs:
  mail: { params: { to: { type: string, optional: true }, who: <<a>>A, all: <<b>>"A[]", picture: { type: <<c>>image } } }
  <<d>>Mail: {}
  tidy: { retries: <<e>>-1, <<f>>retrys: 3 }
  count: { params: { n: <<g>>intger, n2: <<h>>A.selection }, retries: 0 }
datastore:
  functions:
    <<i>>enqueue: {}
`),
    expected: [
      { code: 'job/type', at: 'a', says: 'who of the job mail cannot be an entity of A' },
      { code: 'job/type', at: 'b', says: 'Pass the key' },
      { code: 'job/type', at: 'c', says: 'an image' },
      { code: 'name/duplicate', at: 'd' },
      { code: 'shape/out-of-range', at: 'e' },
      { code: 'shape/unknown-key', at: 'f', says: 'did you mean retries?' },
      { code: 'function/unknown-type', at: 'g', says: 'did you mean integer?' },
      { code: 'job/type', at: 'h', says: 'a selection of A' },
      { code: 'name/reserved', at: 'i' },
    ],
  },
];

export const roleCases: readonly ProblemCase[] = [
  { name: 'no roles', yaml: sound(''), expected: [{ code: 'roles/absent' }] },
  {
    name: 'files that cannot be read',
    yaml: sound('roles: <<a>>roles.json'),
    expected: [{ code: 'roles/file-not-found', at: 'a' }],
  },
  {
    name: 'files elsewhere',
    yaml: sound('roles: <<a>>../roles.json'),
    beside: { '../roles.json': '{}' },
    expected: [{ code: 'roles/file-outside', at: 'a' }],
  },
  {
    name: 'problems in a roles file',
    yaml: sound('roles: conf/roles.json'),
    beside: {
      'conf/roles.json': `{
  "restrictedByDefault": false,
  "privileges": [
    { "privilege": "read", "includes": [<<a>>"rad"], "id": "1" },
    { "privilege": "none", <<b>>"include": [] },
    { "privilege": <<c>>"Read" },
    { "privilege": "p1", "includes": ["P2"] },
    { "privilege": "p2", "includes": [<<d>>"p1", "read"] }
  ],
  "roles": [{ "role": "X", "privileges": [<<e>>"write", "READ"] }, { "role": <<f>>"x" }],
  "permissions": { "allowed": [
    { "applyTo": "ds", "type": "datastore", "read": ["none"], "promote": ["none"], "create": <<n>>[] },
    { "applyTo": <<g>>"B", "type": "dataclass", "read": [<<h>>"rea"] },
    { "applyTo": "a.X", "type": "attribute", <<i>>"execute": ["read"] },
    { "applyTo": <<j>>"A.x", "type": "attribute" },
    { "applyTo": <<k>>"A.x", "type": "method", "execute": ["guest"] },
    { "applyTo": "A", "type": <<l>>"class" }
  ] }
}`.replace('"none", <<b>>', '<<m>>"none", <<b>>'),
    },
    expected: [
      { code: 'roles/unknown-privilege', at: 'a', says: 'did you mean read?' },
      { code: 'shape/unknown-key', at: 'b', says: 'did you mean includes?' },
      { code: 'roles/duplicate', at: 'c' },
      { code: 'roles/include-cycle', at: 'd', says: 'p1 > p2 > p1' },
      { code: 'roles/unknown-privilege', at: 'e' },
      { code: 'roles/duplicate', at: 'f' },
      { code: 'roles/unknown-resource', at: 'g' },
      { code: 'roles/unknown-privilege', at: 'h' },
      { code: 'roles/action', at: 'i' },
      { code: 'roles/duplicate', at: 'j' },
      { code: 'roles/unknown-resource', at: 'k' },
      { code: 'shape/unknown-value', at: 'l' },
      { code: 'roles/reserved-privilege', at: 'm' },
      {
        code: 'roles/empty-list',
        at: 'n',
        says: 'Write [guest] for everybody or [none] for nobody, or leave create out.',
      },
    ],
  },
  {
    name: 'what nobody can reach',
    yaml: `drs: 1
name: test
dataclasses:
  Open:
    attributes: { ID: { type: integer, key: true } }
  Created:
    attributes: { ID: { type: integer, key: true } }
  <<a>>Called:
    attributes: { ID: { type: integer, key: true } }
    functions:
      dataclass: { open: { exposed: true }, closed: { exposed: true }, own: {} }
      entity: { none: { exposed: true } }
  <<b>>Changed:
    attributes: { ID: { type: integer, key: true } }
    functions: { entity: { f: { exposed: true } } }
  Own:
    exposed: false
    attributes: { ID: { type: integer, key: true } }
<<c>>datastore: { functions: { login: { exposed: true }, open: { exposed: true } } }
singletons:
  <<d>>Clock: { functions: { now: { exposed: true }, set: {} } }
  Counter: { functions: { next: { exposed: true } } }
roles:
  privileges: [{ privilege: view }]
  permissions:
    allowed:
      - { applyTo: Open, type: dataclass, read: [guest] }
      - { applyTo: Created, type: dataclass, create: [view] }
      - { applyTo: Called.open, type: method, execute: [view] }
      - { applyTo: Called.none, type: method, execute: [none] }
      - { applyTo: Changed, type: dataclass, update: [view], drop: [view] }
      - { applyTo: ds.open, type: method, execute: [guest] }
      - { applyTo: Counter, type: singleton, execute: [view] }
`,
    expected: [
      {
        code: 'roles/unreachable',
        at: 'a',
        says: 'No permission lets anybody reach Called.closed, Called.none.',
      },
      { code: 'roles/unreachable', at: 'b', says: 'No permission lets anybody reach Changed.' },
      { code: 'roles/unreachable', at: 'c', says: 'reach ds.login.' },
      { code: 'roles/unreachable', at: 'd', says: 'reach Clock.now.' },
    ],
  },
  {
    name: 'the privilege of the explorer',
    yaml: sound(
      'explorer: { privilege: <<a>>views }\nroles: { restrictedByDefault: false, privileges: [{ privilege: view }] }\n',
    ),
    expected: [{ code: 'roles/unknown-privilege', at: 'a', says: 'did you mean view?' }],
  },
  {
    name: 'the privilege of the explorer of a model without roles',
    yaml: sound('explorer: { privilege: <<a>>view }\n'),
    expected: [{ code: 'roles/absent' }, { code: 'roles/needed-for-explorer', at: 'a' }],
  },
  {
    name: 'aliases that open what is closed',
    yaml: `drs: 1
name: test
dataclasses:
  Employee:
    attributes:
      ID: { type: integer, key: true }
      company: { to: Company }
      secret: { to: Company }
      <<a>>code: { alias: company.code }
      <<b>>country: { alias: company.country.name }
      city: { alias: company.city }
      <<c>>secretCity: { alias: secret.city }
      chosen: { alias: company.code }
      hidden: { alias: company.hidden }
      <<d>>again: { alias: company.name }
      <<e>>countries: { alias: secret.country.companies }
      secretCompany: { alias: company.country }
  Company:
    attributes:
      ID: { type: integer, key: true }
      code: string
      city: string
      hidden: { type: string, exposed: false }
      country: { to: Country, inverse: companies }
      name: { alias: country.name }
  Country:
    attributes:
      ID: { type: integer, key: true }
      name: string
      companies: { to: Company, many: true, inverse: country }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }, { privilege: manage, includes: [view] }]
  permissions:
    allowed:
      - { applyTo: Employee, type: dataclass, read: [view] }
      - { applyTo: Employee.secret, type: attribute, read: [none] }
      - { applyTo: Employee.chosen, type: attribute, read: [view] }
      - { applyTo: Company.code, type: attribute, read: [manage] }
      - { applyTo: Company.name, type: attribute, read: [manage] }
      - { applyTo: Country, type: dataclass, read: [manage] }
`,
    expected: [
      {
        code: 'alias/opens-closed',
        at: 'a',
        says: 'shows its value to the privilege view, who may not read Company.code',
      },
      {
        code: 'alias/opens-closed',
        at: 'b',
        says: 'shows its value to the privilege view, who may not read Company.country',
      },
      {
        code: 'alias/opens-closed',
        at: 'c',
        says: 'shows its value to the privilege view and 1 more, who may not read Employee.secret',
      },
      { code: 'alias/opens-closed', at: 'd', says: 'Employee.again' },
      { code: 'alias/opens-closed', at: 'e', says: 'who may not read Employee.secret' },
    ],
  },
  {
    name: 'a roles file that is not YAML',
    yaml: sound('roles: roles.yaml'),
    beside: { 'roles.yaml': 'roles: <<a>>@' },
    expected: [{ code: 'yaml/unexpected-character', at: 'a' }],
  },
];
