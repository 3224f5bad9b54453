import type { Resources } from './random-roles.js';

/**
 * A model with attributes of every kind, so that each can be restricted; every stored text names
 * its place.
 */
export const servedModel = `
drs: 1
name: guarded
dataclasses:
  Firm:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      code: { type: string, unique: true }
      facts: object
      upper: { computed: string, expression: "upper(name)" }
      parent: { to: Firm, inverse: children }
      children: { to: Firm, many: true, inverse: parent }
      people: { to: Person, many: true, inverse: firm }
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, indexed: true }
      pay: number
      born: { type: date, dateOnly: true }
      note: string
      photo: image
      place: { type: vector, dimensions: 2 }
      firm: { to: Firm, foreignKey: firmID, inverse: people }
      firmID: integer
      firmName: { alias: firm.name }
      firmCode: { alias: firm.code }
      letters: { to: Letter, many: true, inverse: person }
  Letter:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      text: string
      person: { to: Person, inverse: letters, onDelete: cascade }
      firmName: { alias: person.firm.name }
`;

/** The attributes of each dataclass, and what they lead to. */
export const attributes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Firm: {
    ID: '',
    name: '',
    code: '',
    facts: '',
    upper: '',
    parent: 'Firm',
    children: 'Firm',
    people: 'Person',
  },
  Person: {
    ID: '',
    name: '',
    pay: '',
    born: '',
    note: '',
    photo: '',
    place: '',
    firm: 'Firm',
    firmID: '',
    firmName: '',
    firmCode: '',
    letters: 'Letter',
  },
  Letter: { ID: '', text: '', person: 'Person', firmName: '' },
};

export const servedResources: Resources = {
  dataclasses: Object.fromEntries(
    Object.entries(attributes).map(([name, own]) => [name, Object.keys(own)]),
  ),
  methods: [],
  singletons: {},
};

/** Texts of only one attribute; other ways to read it are listed with it. */
export const marks: readonly {
  readonly mark: string;
  readonly readBy: readonly (readonly [dataclass: string, attribute: string])[];
}[] = [
  {
    mark: 'firm-name',
    readBy: [
      ['Firm', 'name'],
      ['Person', 'firmName'],
      ['Letter', 'firmName'],
    ],
  },
  { mark: 'FIRM-NAME', readBy: [['Firm', 'upper']] },
  {
    mark: 'firm-code',
    readBy: [
      ['Firm', 'code'],
      ['Person', 'firmCode'],
    ],
  },
  { mark: 'firm-facts', readBy: [['Firm', 'facts']] },
  { mark: 'person-name', readBy: [['Person', 'name']] },
  { mark: '987654', readBy: [['Person', 'pay']] },
  { mark: '1911-02-03', readBy: [['Person', 'born']] },
  { mark: 'person-note', readBy: [['Person', 'note']] },
  { mark: '0.8125', readBy: [['Person', 'place']] },
  { mark: 'letter-text', readBy: [['Letter', 'text']] },
];

/** The stored entities, in the order of their creation. */
export const entities: readonly (readonly [dataclass: string, list: readonly object[]])[] = [
  [
    'Firm',
    [1, 2, 3].map((n) => ({
      name: `firm-name-${n}`,
      code: `firm-code-${n}`,
      facts: { kind: `firm-facts-${n}`, list: [n] },
      parent: n === 1 ? null : 1,
    })),
  ],
  [
    'Person',
    [1, 2, 3, 4].map((n) => ({
      name: `person-name-${n}`,
      pay: 987654 + n / 10,
      born: '1911-02-03',
      note: `person-note-${n}`,
      place: [0.8125, n],
      firm: (n % 3) + 1,
    })),
  ],
  [
    'Letter',
    [1, 2, 3].map((n) => ({
      ID: `00000000-0000-4000-8000-00000000000${n}`,
      text: `letter-text-${n}`,
      person: n,
    })),
  ],
];
