import { attributes, model, sound, type ProblemCase } from './case.js';

/** Earlier names, and references to them. */
export const renameCases: readonly ProblemCase[] = [
  {
    name: 'an earlier name belongs to one part that no other part bears',
    yaml: attributes([
      'fax: string',
      'phone: { type: string, renamedFrom: <<a>>fax }',
      'mobile: { type: string, renamedFrom: <<b>>mobile }',
      'home: { type: string, renamedFrom: [tel, <<c>>tel] }',
      'work: { type: string, renamedFrom: [office, <<d>>tel] }',
      'Case: { type: string, column: kept, renamedFrom: case }',
      'back: { type: string, renamedFrom: [back, forth] }',
    ]),
    expected: [
      { code: 'rename/still-used', at: 'a', says: 'A.phone was not renamed from fax: A.fax has' },
      { code: 'rename/itself', at: 'b' },
      { code: 'rename/twice', at: 'c', says: 'tel is an earlier name of A.home already' },
      { code: 'rename/twice', at: 'd', says: 'tel is an earlier name of A.home already' },
    ],
  },
  {
    name: 'what is no name',
    yaml: attributes([
      'a: { type: string, renamedFrom: <<a>>3 }',
      'b: { type: string, renamedFrom: <<b>>[] }',
      'c: { type: string, renamedFrom: [<<c>>{}] }',
      'd: { type: string, renamedFrom: <<d>>"" }',
      'e: { type: string, column: e, renamedFrom: <<e>>two words }',
    ]),
    expected: [
      { code: 'shape/wrong-type', at: 'a', says: 'a name or a list of names' },
      { code: 'shape/too-few', at: 'b' },
      { code: 'shape/wrong-type', at: 'c' },
      { code: 'name/empty', at: 'd' },
      { code: 'name/bad-character', at: 'e' },
    ],
  },
  {
    name: 'an earlier name that another attribute has for clients',
    yaml: attributes([
      'title: { type: string, renamedFrom: <<a>>name }',
      'full: { type: string, restName: Name }',
      'kept: { type: string, renamedFrom: old, restName: old }',
    ]),
    expected: [{ code: 'rename/still-used', at: 'a', says: 'full has that name now' }],
  },
  {
    name: 'earlier names of dataclasses, functions, singletons, roles and privileges',
    yaml: sound(`singletons:
  Clock: { renamedFrom: <<a>>Clock, functions: { now: {}, later: { renamedFrom: <<b>>now } } }
datastore: { functions: { greet: { renamedFrom: <<c>>greet } } }
roles:
  restrictedByDefault: false
  privileges:
    - { privilege: p }
    - { privilege: q, renamedFrom: <<d>>P }
    - { privilege: chief, renamedFrom: <<g>>webadmin }
  roles:
    - { role: r, renamedFrom: <<e>>r }
`).replace(
      'x: string } }\n',
      'x: string } }\n  B: { renamedFrom: <<f>>A, attributes: { ID: { type: integer, key: true } } }\n',
    ),
    expected: [
      { code: 'rename/itself', at: 'a' },
      { code: 'rename/still-used', at: 'b' },
      { code: 'rename/itself', at: 'c' },
      { code: 'rename/still-used', at: 'd' },
      { code: 'rename/itself', at: 'e' },
      { code: 'rename/still-used', at: 'g', says: 'WebAdmin has that name' },
      { code: 'rename/still-used', at: 'f' },
    ],
  },
  {
    name: 'what is kept under an earlier name belongs to nobody else',
    yaml: model(`  A:
    renamedFrom: Old
    attributes:
      ID: { type: integer, key: true }
      phone: { type: string, renamedFrom: tel }
      other: { type: string, column: <<a>>tel }
      <<chief>>chief: { to: A, renamedFrom: boss }
      chiefID: { type: integer, column: boss_id }
  B: { table: <<c>>old, attributes: { ID: { type: integer, key: true } } }
`),
    expected: [
      { code: 'sql/duplicate-column', at: 'a', says: 'that of the attribute phone' },
      { code: 'sql/duplicate-column', at: 'chief', says: 'that of the attribute chiefID' },
      { code: 'sql/duplicate-table', at: 'c' },
    ],
  },
  {
    name: 'references to earlier names name the new ones',
    yaml: model(`  A:
    renamedFrom: Old
    attributes:
      ID: { type: integer, key: true }
      phone: { type: string, renamedFrom: tel }
      chief: { to: A, renamedFrom: boss }
      team: { to: A, many: true, inverse: <<a>>boss }
      mate: { to: <<b>>Old }
      code: { type: integer, renamedFrom: number }
      friend: { to: A, foreignKey: <<c>>number }
      bossPhone: { alias: <<d>>boss.phone }
      chiefTel: { alias: <<e>>chief.tel }
      shout: { computed: string, expression: <<f>>upper(phone) }
      whisper: { computed: string, expression: lower(tel), renamedFrom: hush }
      twice: { computed: string, expression: hush || hush }
    functions: { entity: { with: { params: { one: <<g>>Old, many: <<h>>Old.selection } } } }
    indexes: [[phone, <<i>>tel], [code, <<j>>boss_id]]
`),
    expected: [
      {
        code: 'relation/inverse-unknown',
        at: 'a',
        says: 'A.boss was renamed to chief: write chief',
      },
      { code: 'relation/unknown-target', at: 'b', says: 'Old was renamed to A: write A' },
      { code: 'relation/foreign-key-unknown', at: 'c', says: 'renamed to code: write code' },
      { code: 'alias/unknown-step', at: 'd', says: 'A.boss was renamed to chief' },
      { code: 'alias/unknown-step', at: 'e', says: 'A.tel was renamed to phone' },
      {
        code: 'computed/bad-expression',
        at: 'f',
        says: 'A.phone is stored in the column tel: write tel',
      },
      { code: 'function/unknown-type', at: 'g', says: 'Old was renamed to A' },
      { code: 'function/unknown-type', at: 'h', says: 'Old was renamed to A' },
      { code: 'index/unknown-attribute', at: 'i', says: 'A.tel was renamed to phone' },
      { code: 'index/unknown-attribute', at: 'j', says: 'A.boss_id was renamed to chief_id' },
    ],
  },
  {
    name: 'expressions name the columns of attributes that were renamed',
    yaml: model(`  A:
    attributes:
      ID: { type: integer, key: true }
      phone: { type: string, renamedFrom: [tel, mobile] }
      chief: { to: A, renamedFrom: boss }
      code: { type: string, column: code_of_it }
      a: { computed: string, expression: <<a>>'upper("phone")' }
      b: { computed: string, expression: <<b>>upper(PHONE) }
      c: { computed: string, expression: <<c>>upper("mobile") }
      d: { computed: integer, expression: <<d>>chief_id + 1 }
      e: { computed: integer, expression: <<e>>chief + 1 }
      f: { computed: string, expression: <<f>>'"code" || tel' }
      g: { computed: string, expression: <<g>>'"code_off_it" || tel' }
      h: { computed: string, expression: '"tel" || TEL || [tel] || boss_id || code_of_it' }
      i: { computed: string, expression: <<i>>whatever }
`),
    expected: [
      ...['a', 'b', 'c'].map((at) => ({
        code: 'computed/bad-expression' as const,
        at,
        says: 'A.phone is stored in the column tel: write tel',
      })),
      {
        code: 'computed/bad-expression',
        at: 'd',
        says: 'no such column: chief_id. A.chief_id is stored in the column boss_id: write boss_id',
      },
      {
        code: 'computed/bad-expression',
        at: 'e',
        says: 'A.chief is stored in the column boss_id: write boss_id',
      },
      {
        code: 'computed/bad-expression',
        at: 'f',
        says: 'no such column: "code". A.code is stored in the column code_of_it: write code_of_it',
      },
      { code: 'computed/bad-expression', at: 'g', says: 'did you mean code_of_it?' },
      {
        code: 'computed/bad-expression',
        at: 'i',
        says: 'an expression names columns: ID, tel, code_of_it, a, b, c, d, e, f, g, …',
      },
    ],
  },
  {
    name: 'references to earlier names in a roles file',
    yaml: sound('roles: roles.json\n').replace(
      'A: { attributes: { ID: { type: integer, key: true }, x: string } }',
      'A: { renamedFrom: Old, attributes: { ID: { type: integer, key: true }, x: { type: string, renamedFrom: y } } }',
    ),
    beside: {
      'roles.json': `{
  "privileges": [{ "privilege": "p", "renamedFrom": "q" }, { "privilege": "s", "includes": [<<a>>"q"] }],
  "restrictedByDefault": false,
  "permissions": { "allowed": [
    { "applyTo": <<b>>"Old", "type": "dataclass", "read": ["p"] },
    { "applyTo": <<c>>"Old.y", "type": "attribute", "read": [<<d>>"q"] }
  ] }
}
`,
    },
    expected: [
      { code: 'roles/unknown-privilege', at: 'a', says: 'q was renamed to p: write p' },
      { code: 'roles/unknown-resource', at: 'b', says: 'Old was renamed: write A' },
      { code: 'roles/unknown-resource', at: 'c', says: 'Old.y was renamed: write A.x' },
      { code: 'roles/unknown-privilege', at: 'd', says: 'q was renamed to p: write p' },
    ],
  },
];
