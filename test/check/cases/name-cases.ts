import { attributes, model, sound, type ProblemCase } from './case.js';

const long = 'n'.repeat(64);

function manyTexts(count: number): string {
  const texts = Array.from({ length: count }, (_, i) => `t${i}: { type: string, indexed: true }`);
  return texts.join(', ');
}

function manyVectors(count: number): string {
  const vectors = Array.from({ length: count }, (_, i) => `v${i}: { type: vector, dimensions: 2 }`);
  return vectors.join(', ');
}

/** Names, tables, columns, keys, indexes and limits. */
export const nameCases: readonly ProblemCase[] = [
  {
    name: 'characters, length, prefix',
    yaml: attributes([
      '<<a>>1st: string',
      '<<b>>two words: string',
      `<<c>>${long}: string`,
      '<<d>>__x: string',
      '<<e>>"": string',
      'überraschung2: string',
      'select: string',
      '<<f>>"e\\u0301": string',
    ]),
    expected: [
      { code: 'name/bad-character', at: 'a', says: 'cannot hold 1 there' },
      { code: 'name/bad-character', at: 'b', says: 'a space' },
      { code: 'name/too-long', at: 'c' },
      { code: 'name/reserved-prefix', at: 'd' },
      { code: 'name/empty', at: 'e' },
      { code: 'name/bad-character', at: 'f', says: 'U+0301' },
    ],
  },
  {
    name: 'the same but for case',
    yaml: model(`  A: { attributes: { ID: { type: integer, key: true }, ä: string, <<b>>Ä: string } }
  <<a>>a: { table: b, attributes: { ID: { type: integer, key: true } } }
`).replace(
      'roles: { restrictedByDefault: false }',
      'roles: { restrictedByDefault: false }\nsingletons: { <<c>>A: {} }',
    ),
    expected: [
      { code: 'name/duplicate', at: 'a', says: 'differ only in case' },
      { code: 'name/duplicate', at: 'b' },
      { code: 'name/duplicate', at: 'c', says: 'The model has the name A twice' },
      { code: 'name/collection', at: 'a' },
    ],
  },
  {
    name: 'REST names that requests cannot hold, or that another part has',
    yaml: attributes([
      ...[
        'a.b',
        'a,b',
        "it's",
        'a"b',
        'a[b]',
        'a/b',
        'a:b',
        '(a)',
        'a+b',
        '$a',
        '*',
        '{a}',
        'a\nb',
      ].map(
        (each, index) =>
          `c${index}: { type: string, restName: <<${'abcdefghijklm'.charAt(index)}>>${JSON.stringify(each)} }`,
      ),
      'edge: { type: string, restName: <<n>>" a" }',
      'prefix: { type: string, restName: <<o>>__proto__ }',
      'direction: { type: string, restName: <<p>>Total DESC }',
      'digits: { type: string, restName: <<q>>"2020" }',
      'reserved: { type: string, restName: <<r>>constructor }',
      'address: { type: string, restName: <<s>>uri }',
      'one: { type: string, restName: <<t>>TWO }',
      'two: { type: string, restName: Item 58 }',
      'three: { type: string, restName: <<u>>item 58 }',
      'itself: { type: string, restName: itself }',
      'decomposed: { type: string, restName: <<v>>"Gro\\u0308sse" }',
      'key: string',
      'shared: { type: string, restName: <<w>>key_ }',
      'good: { type: number, restName: "50 % - Größe #1 & @ ° € £ §" }',
    ]),
    expected: [
      ...Array.from('abcdefghijklmnopq', (at) => ({ code: 'name/rest-name' as const, at })),
      { code: 'name/reserved', at: 'r' },
      { code: 'name/reserved', at: 's' },
      { code: 'name/rest-taken', at: 't', says: 'two already' },
      { code: 'name/rest-taken', at: 'u' },
      { code: 'name/rest-name', at: 'v', says: 'composed form' },
      { code: 'name/reserved', at: 'w', says: 'the attribute key' },
    ],
  },
  {
    name: 'events of older servers',
    yaml: model(`  A:
    attributes: { ID: { type: integer, key: true } }
    events: [<<a>>init, saving, <<b>>clientRefresh]
`),
    expected: [
      { code: 'dataclass/old-event', at: 'a', says: 'use default, or the event saving' },
      { code: 'dataclass/old-event', at: 'b', says: 'compatibility: wakanda' },
    ],
  },
  {
    name: 'members of classes',
    yaml: model(`  <<a>>transaction:
    events: [saving]
    attributes:
      ID: { type: integer, key: true }
      <<b>>save: string
      <<c>>saving: string
      <<d>>first: { to: transaction }
      <<e>>uri: string
      key: { type: string, unique: true }
      <<g>>key_: string
      session: { computed: string, expression: "key || '!'" }
      <<h>>stamp: { computed: string }
      count: integer
      toString: string
  <<f>>DS: { attributes: { ID: { type: integer, key: true } } }
`),
    expected: [
      { code: 'name/reserved', at: 'a' },
      { code: 'name/reserved', at: 'b', says: 'every entity has it already' },
      { code: 'name/reserved', at: 'c' },
      { code: 'name/reserved', at: 'd' },
      { code: 'name/reserved', at: 'e' },
      { code: 'name/reserved', at: 'f' },
      { code: 'name/reserved', at: 'g', says: 'the attribute key, as its property in class code' },
      { code: 'name/reserved', at: 'h', says: 'every entity' },
    ],
  },
  {
    name: 'datastore and report format',
    yaml: sound('roles: { restrictedByDefault: false }\nreportFormat: <<b>>a b').replace(
      'name: test',
      'name: <<a>>1st',
    ),
    expected: [
      { code: 'name/datastore', at: 'a' },
      { code: 'name/report-format', at: 'b' },
    ],
  },
  {
    name: 'origins',
    yaml: sound(
      'roles: { restrictedByDefault: false }\norigins: [https://app.example.com, "http://localhost:5173", "capacitor://localhost", <<a>>https://app.example.com/, <<b>>HTTPS://APP.example.com, <<c>>"*", <<d>>"https://*.example.com", <<e>>"https://app.example.com:443", <<f>>app.example.com]',
    ),
    expected: ['a', 'b', 'c', 'd', 'e', 'f'].map((at) => ({ code: 'origin/bad-origin', at })),
  },
  {
    name: 'report format called as the other one',
    yaml: sound('roles: { restrictedByDefault: false }\nreportFormat: <<a>>Json'),
    expected: [{ code: 'name/report-format', at: 'a' }],
  },
  {
    name: 'collection names',
    yaml: model(`  A: { attributes: { ID: { type: integer, key: true } } }
  B: { collectionName: <<a>>aSelection, attributes: { ID: { type: integer, key: true } } }
  C: { collectionName: <<b>>a-b, attributes: { ID: { type: integer, key: true } } }
`),
    expected: [
      { code: 'name/collection', at: 'a' },
      { code: 'name/bad-character', at: 'b' },
    ],
  },
  {
    name: 'tables',
    yaml: model(`  A: { attributes: { ID: { type: integer, key: true } } }
  B: { table: <<a>>a, attributes: { ID: { type: integer, key: true } } }
  C: { table: <<b>>"", attributes: { ID: { type: integer, key: true } } }
  D: { table: <<c>>SQLite_x, attributes: { ID: { type: integer, key: true } } }
  E: { table: <<d>>__x, attributes: { ID: { type: integer, key: true } } }
  F: { table: <<e>>"a\\0b", attributes: { ID: { type: integer, key: true } } }
  G: { table: "order; drop", attributes: { ID: { type: integer, key: true } } }
  <<f>>sqlite_h: { attributes: { ID: { type: integer, key: true } } }
  I: { table: <<g>>${long}, attributes: { ID: { type: integer, key: true } } }
  J: { table: <<h>>JSON_each, attributes: { ID: { type: integer, key: true } } }
  <<i>>json_tree: { attributes: { ID: { type: integer, key: true } } }
  K: { table: <<j>>pragma_table_xinfo, attributes: { ID: { type: integer, key: true } } }
  L: { table: json_everything, attributes: { ID: { type: integer, key: true } } }
  M: { table: <<k>>shop.orders, attributes: { ID: { type: integer, key: true } } }
  N: { table: <<l>>orders as old, attributes: { ID: { type: integer, key: true } } }
`),
    expected: [
      { code: 'sql/duplicate-table', at: 'a' },
      ...['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'].map((at) => ({
        code: 'sql/bad-name' as const,
        at,
      })),
    ],
  },
  {
    name: 'columns',
    yaml: attributes([
      'a: { type: string, column: b }',
      '<<b>>B: string',
      'c: { type: string, column: <<c>>__STAMP }',
      'd: { type: string, column: <<d>>boss_id }',
      '<<e>>boss: { to: A }',
      'e: { type: string, column: <<f>>sum }',
      'sum: { computed: integer, expression: "1 + 1" }',
    ])
      .replace('column: <<d>>boss_id', 'column: boss_id')
      .replace('<<f>>sum', 'sum')
      .replace('      sum:', '      <<f>>sum:'),
    expected: [
      { code: 'sql/duplicate-column', at: 'b' },
      { code: 'sql/bad-name', at: 'c' },
      { code: 'sql/duplicate-column', at: 'e' },
      { code: 'sql/duplicate-column', at: 'f' },
    ],
  },
  {
    name: 'more columns than a table has',
    yaml: model(`  <<a>>A: { attributes: { ID: { type: integer, key: true }, ${manyTexts(999)} } }
  B: { attributes: { ID: { type: integer, key: true }, ${manyTexts(998)} } }
`),
    expected: [{ code: 'sql/too-many-columns', at: 'a', says: '2001 columns' }],
  },
  {
    name: 'more columns than a table has, since a vector takes three',
    yaml: model(`  <<a>>A: { attributes: { ID: { type: integer, key: true }, ${manyVectors(666)} } }
  B: { attributes: { ID: { type: integer, key: true }, ${manyVectors(665)} } }
`),
    expected: [{ code: 'sql/too-many-columns', at: 'a', says: '2001 columns' }],
  },
  {
    name: 'events that do not exist',
    yaml: model(`  A:
    attributes: { ID: { type: integer, key: true } }
    events: [<<a>>load]
`),
    expected: [
      { code: 'shape/unknown-value', at: 'a', says: 'Possible: validateSave, saving, afterSave' },
    ],
  },
  {
    name: 'events that do not exist, with a compatibility',
    yaml: `protocol: { compatibility: wakanda }\n${model(`  A:
    attributes: { ID: { type: integer, key: true } }
    events: [<<a>>load]
`)}`,
    expected: [{ code: 'shape/unknown-value', at: 'a', says: 'init' }],
  },
  {
    name: 'words of other tools for primary keys',
    yaml: model(`  A: { attributes: { x: { type: string, <<a>>primary: true } } }
  B: { attributes: { x: { type: string, <<b>>primaryKey: true } } }
  C: { attributes: { x: { type: string, key: <<c>>yes } } }
  D: { <<d>>key: x, attributes: { x: string } }
  E: { attributes: { x: { type: string, <<e>>keey: true } } }
`),
    expected: [
      { code: 'shape/unknown-key', at: 'a', says: 'write key: true' },
      { code: 'shape/unknown-key', at: 'b', says: 'write key: true' },
      { code: 'shape/wrong-type', at: 'c', says: 'write true' },
      { code: 'shape/unknown-key', at: 'd', says: 'write key: true at the attribute' },
      { code: 'shape/unknown-key', at: 'e', says: 'did you mean key?' },
    ],
  },
  {
    name: 'primary keys',
    yaml: model(`  <<a>>A: { attributes: { x: string } }
  B: { attributes: { x: { type: string, key: true }, y: { type: string, <<b>>key: true } } }
  C: { attributes: { x: { type: <<c>>date, key: true } } }
  D: { attributes: { x: { type: string, key: true, unique: <<d>>false, mandatory: <<e>>false } } }
`),
    expected: [
      { code: 'dataclass/no-key', at: 'a' },
      { code: 'dataclass/several-keys', at: 'b' },
      { code: 'storage/key-type', at: 'c' },
      { code: 'storage/key-optional', at: 'd' },
      { code: 'storage/key-optional', at: 'e' },
    ],
  },
  {
    name: 'indexes',
    yaml: attributes(
      [
        'x: string',
        'y: object',
        'boss: { to: A }',
        'z: { alias: boss.x }',
        'staff: { to: A, many: true, inverse: boss }',
      ],
      [
        'indexes:',
        '- [x, <<a>>xx]',
        '- [x, <<b>>y]',
        '- [x, <<c>>x]',
        '- [boss, <<d>>boss_id]',
        '- [x, boss]',
        '- <<e>>[x, boss_id]',
        '- [<<f>>z, <<g>>staff]',
        '- [ID, x]',
        '- { unique: true, attributes: [x, ID] }',
        '- <<h>>{ unique: true, attributes: [x, boss] }',
        '- { unique: true, attributes: [x, <<i>>w] }',
      ],
    ),
    expected: [
      { code: 'index/unknown-attribute', at: 'a' },
      { code: 'index/not-indexable', at: 'b' },
      { code: 'index/repeated-attribute', at: 'c' },
      { code: 'index/repeated-attribute', at: 'd' },
      { code: 'index/repeated', at: 'e' },
      { code: 'index/not-indexable', at: 'f' },
      { code: 'index/not-indexable', at: 'g' },
      { code: 'index/repeated', at: 'h' },
      { code: 'index/unknown-attribute', at: 'i' },
    ],
  },
  {
    name: 'audit',
    yaml: attributes(
      [
        'x: string',
        'picture: image',
        'boss: { to: A }',
        'z: { alias: boss.x }',
        'staff: { to: A, many: true, inverse: boss }',
        'renamed: { type: string, renamedFrom: former }',
      ],
      [
        'audit:',
        '  attributes: [x, <<a>>xx, <<b>>picture, boss, <<c>>boss_id, <<d>>z, <<e>>staff, <<f>>x, <<g>>former]',
        '  days: <<h>>0',
      ],
    ),
    expected: [
      { code: 'audit/unknown-attribute', at: 'a', says: 'did you mean x?' },
      { code: 'audit/not-recorded', at: 'b', says: 'of type image' },
      { code: 'audit/repeated-attribute', at: 'c' },
      { code: 'audit/not-recorded', at: 'd', says: 'an alias' },
      { code: 'audit/not-recorded', at: 'e', says: 'a to-many relation' },
      { code: 'audit/repeated-attribute', at: 'f' },
      { code: 'audit/unknown-attribute', at: 'g', says: 'renamed to renamed' },
      { code: 'shape/out-of-range', at: 'h' },
    ],
  },
  {
    name: 'limits that contradict each other',
    yaml: sound(
      'roles: { restrictedByDefault: false }\nlimits: { pageSize: <<a>>60, maxPageSize: 50, entitySetTimeout: <<b>>3, maxEntitySetTimeout: 2 }',
    ),
    expected: [
      { code: 'limits/order', at: 'a' },
      { code: 'limits/order', at: 'b' },
    ],
  },
];
