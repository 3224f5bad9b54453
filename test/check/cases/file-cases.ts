import { attributes, model, sound, type ProblemCase } from './case.js';

/** Errors that prevent the file from being read. */
export const fileCases: readonly ProblemCase[] = [
  { name: 'alias of nothing', yaml: 'drs: <<a>>*one', expected: [{ code: 'yaml/alias', at: 'a' }] },
  {
    name: 'alias inside its own anchor',
    yaml: 'drs: &one [<<a>>*one]',
    expected: [{ code: 'yaml/alias', at: 'a' }],
  },
  { name: 'directive', yaml: '%NO\n---\ndrs: 1', expected: [{ code: 'yaml/directive' }] },
  {
    name: 'duplicate key',
    yaml: sound('roles: { restrictedByDefault: false }\n<<a>>name: again\n'),
    expected: [{ code: 'yaml/duplicate-key', at: 'a' }],
  },
  { name: 'empty file', yaml: '# nothing\n', expected: [{ code: 'yaml/empty' }] },
  { name: 'escape', yaml: 'name: "<<a>>\\q"', expected: [{ code: 'yaml/escape', at: 'a' }] },
  {
    name: 'indentation',
    yaml: 'a:\n  b: 1\n<<a>> c: 2',
    expected: [{ code: 'yaml/indent', at: 'a' }],
  },
  { name: 'key', yaml: 'a: <<a>>b: c', expected: [{ code: 'yaml/key', at: 'a' }] },
  {
    name: 'missing quote',
    yaml: 'a: "bc<<a>>',
    expected: [{ code: 'yaml/missing-character', at: 'a' }],
  },
  {
    name: 'not a number',
    yaml: 'a: <<a>>.inf',
    expected: [{ code: 'yaml/not-a-number', at: 'a' }],
  },
  {
    name: 'two documents',
    yaml: 'a: 1\n<<a>>---\nb: 2',
    expected: [{ code: 'yaml/several-documents', at: 'a' }],
  },
  {
    name: 'a block in brackets',
    yaml: 'a: {b:\n <<a>>- c}',
    expected: [{ code: 'yaml/syntax', at: 'a' }],
  },
  {
    name: 'tab',
    yaml: 'a:\n<<a>>\tb: 1',
    expected: [{ code: 'yaml/tab', at: 'a' }],
  },
  { name: 'tag', yaml: 'a: <<a>>!x 1', expected: [{ code: 'yaml/tag', at: 'a' }] },
  {
    name: 'depth',
    yaml: `a: ${'['.repeat(99)}[<<a>>[${']'.repeat(101)}`,
    expected: [{ code: 'yaml/too-deep', at: 'a' }],
  },
  {
    name: 'type of a list without quotes',
    yaml: sound(
      'datastore:\n  functions:\n    f: { params: { x: <<a>>Item.selection[][] }, returns: void[] }\n    g: { returns: number }\n',
    ),
    expected: [{ code: 'yaml/unquoted-list', at: 'a' }],
  },
  {
    name: 'errors that follow from a typing error are not reported',
    yaml: 'a: "<<a>>\\q"\nb: <<b>>}\nc: { d: 1 }\n e: "\n',
    expected: [
      { code: 'yaml/escape', at: 'a' },
      { code: 'yaml/unexpected-character', at: 'b' },
    ],
  },
  ...(
    [
      ['mapping', 'a:\n  b: <<a>>{ type: string, mandatory: true\n  c: string\nd: 1\n'],
      ['mapping before the end', 'a: <<a>>{ b: { c: 1 }\n'],
      ['list', 'a:\n  b: <<a>>[x, y\n  c: string\n'],
      ['list that ends with a brace', 'a:\n  b: { x: <<a>>[1, 2 }\n  c: 1\n'],
      ['mapping over lines', 'a:\n  b: <<a>>{ type: string,\n    unique: true\n  c: string\n'],
      ['mapping in a mapping', 'a: {\n  b: <<a>>{ c: 1,\n  d: { e: 2 },\n}\nf: 1\n'],
      ['mapping in a mapping before a line', 'a: {\n  b: <<a>>{ c: 1\n  d: { e: 2 }\n}\nf: 1\n'],
      ['JSON', '<<a>>{\n "a": { "b": 1,\n "c": 2\n}\n'],
    ] as const
  ).map(([what, yaml]) => ({
    name: `unclosed ${what}`,
    yaml,
    expected: [{ code: 'yaml/unclosed' as const, at: 'a' }],
  })),
  {
    name: 'a comma is missing between braces that are closed',
    yaml: 'a: {\n  b: <<a>>1\n  c: 2\n}\n',
    expected: [{ code: 'yaml/key', at: 'a' }],
  },
  {
    name: 'a quote is missing between braces',
    yaml: 'a: { b: "x }\nc: 1\n<<a>>',
    expected: [{ code: 'yaml/missing-character', at: 'a' }],
  },
  {
    name: 'unexpected character',
    yaml: 'a: <<a>>@x',
    expected: [{ code: 'yaml/unexpected-character', at: 'a' }],
  },
];

/** Files that do not have the shape of a model. */
export const shapeCases: readonly ProblemCase[] = [
  {
    name: 'a list instead of a model',
    yaml: '[1]',
    expected: [
      { code: 'shape/wrong-type', says: 'The file must be a mapping, and is a list.' },
      { code: 'roles/absent' },
    ],
  },
  {
    name: 'nothing but a version',
    yaml: 'drs: 1',
    expected: [
      { code: 'shape/missing-key', says: 'lacks the key name' },
      { code: 'shape/missing-key', says: 'lacks the key dataclasses' },
      { code: 'roles/absent' },
    ],
  },
  {
    name: 'another version',
    yaml: sound('roles: { restrictedByDefault: false }').replace('drs: 1', 'drs: <<a>>2'),
    expected: [{ code: 'shape/unknown-value', at: 'a', says: 'drs cannot be 2' }],
  },
  {
    name: 'unknown keys, near and far',
    yaml: sound('roles: { restrictedByDefault: false }\n<<a>>databse: sqlite\n<<b>>xyz: 1'),
    expected: [
      { code: 'shape/unknown-key', at: 'a', says: 'did you mean database?' },
      { code: 'shape/unknown-key', at: 'b' },
    ],
  },
  {
    name: 'keys of another kind',
    yaml: attributes([
      'a: { type: string, <<a>>inverse: x }',
      'b: { to: A, <<b>>maxLength: 3 }',
      'c: { to: A, many: true, inverse: b, <<c>>foreignKey: a }',
      'd: { computed: string, expression: "1", <<d>>column: x }',
      'e: { alias: b.a, <<e>>mandatory: true }',
      'f: { type: string, <<f>>nonsense: true }',
    ]),
    expected: ['a', 'b', 'c', 'd', 'e', 'f'].map((at) => ({
      code: at === 'f' ? ('shape/unknown-key' as const) : ('shape/misplaced-key' as const),
      at,
    })),
  },
  {
    name: 'numbers out of range and of another kind',
    yaml: sound(
      'roles: { restrictedByDefault: false }\nlimits: { pageSize: <<a>>0, filterDepth: <<b>>5000, bodySize: <<c>>1.5, queryTimeout: <<d>>many, maxEntitySetTimeout: null, <<e>>uploadSize: }',
    ),
    expected: [
      { code: 'shape/out-of-range', at: 'a', says: 'at least 1' },
      { code: 'shape/out-of-range', at: 'b', says: 'at most 1000' },
      { code: 'shape/wrong-type', at: 'c', says: 'must be a whole number, and is the number 1.5' },
      { code: 'shape/wrong-type', at: 'd', says: 'a whole number or null, and is a text' },
      { code: 'shape/wrong-type', at: 'e', says: 'is empty' },
    ],
  },
  {
    name: 'databases',
    yaml: sound(
      'roles: { restrictedByDefault: false }\ndatabase: [sqlite, <<a>>mysql, <<b>>sqlite]',
    ),
    expected: [
      { code: 'shape/unknown-value', at: 'a' },
      { code: 'shape/repeated-item', at: 'b' },
    ],
  },
  {
    name: 'mappings where databases are named',
    yaml: sound('roles: { restrictedByDefault: false }\ndatabase: [<<a>>{}, <<b>>{}]'),
    expected: [
      { code: 'shape/wrong-type', at: 'a', says: 'must be one of sqlite, postgres' },
      { code: 'shape/wrong-type', at: 'b' },
    ],
  },
  {
    name: 'lists that hold too little',
    yaml: attributes(
      [
        'x: string',
        'y: { type: string, <<b>>enum: [] }',
        'z: { computed: string, <<c>>accessors: [] }',
      ],
      ['indexes: [<<a>>[x]]'],
    ),
    expected: [
      { code: 'index/too-few', at: 'a', says: 'x: { …, indexed: true }' },
      { code: 'shape/too-few', at: 'b' },
      { code: 'shape/too-few', at: 'c' },
    ],
  },
  {
    name: 'indexes that are neither lists nor complete mappings',
    yaml: attributes(
      ['x: string', 'y: string'],
      [
        'indexes:',
        '- <<a>>x',
        '- { <<b>>unique: true }',
        '- { attributes: [x, y], <<c>>uniqe: true }',
        '- { attributes: <<d>>[x], unique: true }',
        '- { attributes: [y, x], unique: <<e>>yes }',
      ],
    ),
    expected: [
      { code: 'shape/wrong-type', at: 'a', says: 'a list' },
      { code: 'shape/missing-key', at: 'b', says: 'attributes' },
      { code: 'shape/unknown-key', at: 'c', says: 'unique' },
      { code: 'index/too-few', at: 'd', says: 'x: { …, unique: true }' },
      { code: 'shape/wrong-type', at: 'e' },
    ],
  },
  {
    name: 'no dataclasses',
    yaml: 'drs: 1\nname: test\nroles: {}\n<<a>>dataclasses: {}',
    expected: [{ code: 'shape/too-few', at: 'a' }],
  },
  {
    name: 'types of attributes',
    yaml: attributes([
      'a: <<a>>strng',
      'b: { type: <<b>>text }',
      'c: <<c>>3',
      'd: <<d>>[string]',
      '<<e>>e:',
      'f: { type: <<f>>[x] }',
    ]),
    expected: [
      { code: 'shape/unknown-value', at: 'a', says: 'did you mean string?' },
      { code: 'shape/unknown-value', at: 'b' },
      { code: 'shape/wrong-type', at: 'c' },
      { code: 'shape/wrong-type', at: 'd' },
      { code: 'attribute/no-kind', at: 'e' },
      { code: 'shape/wrong-type', at: 'f' },
    ],
  },
  {
    name: 'types of other systems',
    yaml: attributes([
      'a: <<a>>numeric(10, 2)',
      'b: { type: <<b>>money, min: 0 }',
      'c: <<c>>text',
      'd: <<d>>int',
      'e: <<e>>bigint',
      'f: <<f>>datetime',
      'g: <<g>>Timestamp',
      'h: <<h>>time',
      'i: <<i>>bool',
      'j: <<j>>json',
      'k: { type: <<k>>enum, enum: [a, b] }',
      'l: <<l>>array',
      'm: { computed: <<m>>float, expression: "1" }',
      'n: <<n>>varchar(20)',
      'o: <<o>>double precision',
      'p: { type: <<p>>serial }',
      'q: <<q>>string(20)',
      'r: <<r>>guid',
      's: <<s>>constructor',
    ]),
    expected: (
      [
        ['a', 'use { type: decimal, precision: 10, scale: 2 }'],
        ['b', 'use { type: decimal, scale: 2 }, which is exact, or number (a double)'],
        ['c', 'use string'],
        ['d', 'use integer (53 bits)'],
        ['e', 'or string for larger numbers'],
        ['f', 'use date, which has a day and a time'],
        ['g', 'use date, which has a day and a time'],
        ['h', 'use duration (milliseconds'],
        ['i', 'use boolean'],
        ['j', 'use object (JSON)'],
        ['k', 'use { type: string, enum: [open, closed] }'],
        ['l', 'use object, which may hold a list'],
        ['m', 'use number (a double)'],
        ['n', 'use string'],
        ['o', 'use number (a double)'],
        ['p', 'use { type: integer, generated: sequence }'],
        ['q', 'use { type: string, maxLength: 20 }'],
        ['r', 'use uuid'],
        ['s', 's cannot be constructor'],
      ] as const
    ).map(([at, says]) => ({ code: 'shape/unknown-value' as const, at, says })),
  },
  {
    name: 'types of other systems in functions',
    yaml: sound(
      'roles: { restrictedByDefault: false }\ndatastore: { functions: { f: { params: { a: <<a>>int, b: <<b>>strng }, returns: <<c>>datetime } } }\n',
    ),
    expected: [
      { code: 'function/unknown-type', at: 'a', says: 'use integer' },
      { code: 'function/unknown-type', at: 'b', says: 'did you mean string?' },
      { code: 'function/unknown-type', at: 'c', says: 'use date' },
    ],
  },
  {
    name: 'defaults that other systems compute',
    yaml: attributes([
      'a: { type: date, default: <<a>>now }',
      'b: { type: date, dateOnly: true, default: <<b>>today }',
      'c: { type: date, default: <<c>>CURRENT_TIMESTAMP }',
      'd: { type: date, default: <<d>>now() }',
      'e: { type: uuid, default: <<e>>uuid }',
      'f: { type: uuid, default: <<f>>gen_random_uuid() }',
      'g: { type: integer, default: <<g>>autoincrement }',
      'h: { type: number, default: <<h>>now }',
      'i: { type: string, default: now }',
      'j: { type: boolean, default: <<j>>maybe }',
    ]),
    expected: (
      [
        ['a', 'set the date in the event saving, with events: [saving]'],
        ['b', 'set the date in the event saving, with events: [saving]'],
        ['c', 'set the date in the event saving, with events: [saving]'],
        ['d', 'set the date in the event saving, with events: [saving]'],
        ['e', 'use generated: uuid'],
        ['f', 'use generated: uuid'],
        ['g', 'use generated: sequence'],
        ['h', 'set the date in the event saving'],
        ['j', 'must be true or false'],
      ] as const
    ).map(([at, says]) => ({ code: 'storage/bad-default' as const, at, says })),
  },
  {
    name: 'a default that generates a key',
    yaml: model('  A: { attributes: { ID: { type: uuid, key: true, <<a>>default: uuid() } } }\n'),
    expected: [{ code: 'storage/default-assigned', at: 'a', says: 'use generated: uuid' }],
  },
  {
    name: 'events twice, scope and parameters',
    yaml: model(`  A:
    attributes: { ID: { type: integer, key: true } }
    events: [saving, <<a>>saving, <<b>>savng]
    functions:
      dataclass: { f: { params: { p: <<c>>3, <<q>>q: { <<d>>typ: string } } } }
`).replace(
      'roles: { restrictedByDefault: false }',
      'roles: { restrictedByDefault: false }\nsingletons: { S: { scope: <<e>>global } }',
    ),
    expected: [
      { code: 'shape/repeated-item', at: 'a' },
      { code: 'shape/unknown-value', at: 'b', says: 'did you mean saving?' },
      { code: 'shape/wrong-type', at: 'c' },
      { code: 'shape/unknown-key', at: 'd' },
      { code: 'shape/unknown-value', at: 'e' },
      { code: 'shape/missing-key', at: 'q' },
    ],
  },
];
