import { attributes, model, type ProblemCase } from './case.js';

const tooLong = 'r'.repeat(61);

export const relationCases: readonly ProblemCase[] = [
  {
    name: 'targets',
    yaml: model(`  Company: { attributes: { ID: { type: integer, key: true } } }
  Hidden: { exposed: false, attributes: { ID: { type: integer, key: true } } }
  A:
    attributes:
      ID: { type: integer, key: true }
      a: { to: <<a>>Compnay }
      b: { to: <<b>>Nowhere }
      c: { to: Hidden, exposed: <<c>>true }
      d: { to: Hidden }
      e: { to: <<e>>Nobody, many: true, inverse: x }
`),
    expected: [
      { code: 'relation/unknown-target', at: 'a', says: 'did you mean Company?' },
      { code: 'relation/unknown-target', at: 'b' },
      { code: 'relation/target-not-exposed', at: 'c' },
      { code: 'relation/unknown-target', at: 'e' },
    ],
  },
  {
    name: 'foreign keys',
    yaml: attributes([
      'key1: string',
      'key2: integer',
      'b_id: integer',
      'a: { to: A, foreignKey: <<a>>kee2 }',
      '<<b>>b: { to: A }',
      'c: { to: A, foreignKey: <<c>>key1 }',
      'd: { to: A, foreignKey: <<d>>a }',
      'e: { to: A, foreignKey: key2 }',
      'f: { to: A, foreignKey: <<f>>key2 }',
      `<<g>>${tooLong}: { to: A }`,
    ]),
    expected: [
      { code: 'relation/foreign-key-unknown', at: 'a', says: 'did you mean key2?' },
      { code: 'relation/foreign-key-name', at: 'b', says: 'foreignKey: b_id uses that one' },
      { code: 'relation/foreign-key-type', at: 'c' },
      { code: 'relation/foreign-key-kind', at: 'd' },
      { code: 'relation/foreign-key-shared', at: 'f' },
      { code: 'relation/foreign-key-name', at: 'g' },
    ],
  },
  {
    name: 'inverses',
    yaml: model(`  A:
    attributes:
      ID: { type: integer, key: true }
      x: string
      b: { to: B, inverse: as }
      b2: { to: B, inverse: <<a>>nothing }
      b3: { to: B, inverse: <<b>>x }
      b4: { to: B, inverse: <<c>>as }
      b5: { to: B, inverse: <<d>>cs }
      self: { to: A }
  B:
    attributes:
      ID: { type: integer, key: true }
      x: string
      as: { to: A, many: true, inverse: b }
      as2: { to: A, many: true, inverse: <<e>>bb }
      as3: { to: A, many: true, inverse: <<f>>x }
      as4: { to: A, many: true, inverse: <<g>>self }
      as5: { to: A, many: true, inverse: <<h>>b }
      cs: { to: C, many: true, inverse: b }
      cs2: { to: C, many: true, inverse: <<i>>b }
  C:
    attributes:
      ID: { type: integer, key: true }
      b: { to: B }
`),
    expected: [
      { code: 'relation/inverse-unknown', at: 'a' },
      { code: 'relation/inverse-kind', at: 'b' },
      { code: 'relation/inverse-mismatch', at: 'c' },
      { code: 'relation/inverse-target', at: 'd' },
      { code: 'relation/inverse-unknown', at: 'e', says: 'did you mean b?' },
      { code: 'relation/inverse-kind', at: 'f' },
      { code: 'relation/inverse-target', at: 'g' },
      { code: 'relation/inverse-mismatch', at: 'h' },
      { code: 'relation/inverse-shared', at: 'i' },
    ],
  },
  {
    name: 'deletes',
    yaml: attributes([
      'key1: { type: integer, mandatory: true }',
      'a: { to: A, mandatory: true, onDelete: <<a>>setNull }',
      'b: { to: A, foreignKey: key1, onDelete: <<b>>setNull }',
      'c: { to: A, mandatory: true }',
    ]),
    expected: [
      { code: 'relation/set-null-mandatory', at: 'a' },
      { code: 'relation/set-null-mandatory', at: 'b' },
    ],
  },
];
