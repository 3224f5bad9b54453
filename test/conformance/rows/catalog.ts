import { expect } from 'vitest';
import { get, type Row } from '../../support/row.js';

const brief = (name: string): object => ({
  name,
  uri: `/rest/$catalog/${name}`,
  dataURI: `/rest/${name}`,
});

/** Protocol P2.1 to P2.9. */
export const catalogRows: readonly Row[] = [
  {
    id: 'P2.1',
    says: 'the brief catalog lists the exposed dataclasses, sorted',
    request: get('/rest/$catalog'),
    expect: {
      has: {
        __BASEID: null,
        __NAME: 'staff',
        properties: { supportJSONEntityKey: true },
        dataClasses: [brief('Company'), brief('Employee'), brief('Note')],
      },
    },
  },
  {
    id: 'P2.2',
    says: '$all is the same with whole dataclasses',
    request: get('/rest/$catalog/$all'),
    expect: {
      has: {
        __NAME: 'staff',
        dataClasses: [
          { name: 'Company', key: [{ name: 'ID' }] },
          { name: 'Employee', key: [{ name: 'ID' }] },
          { name: 'Note', key: [{ name: 'code' }] },
        ],
      },
    },
  },
  {
    id: 'P2.3',
    says: 'one dataclass is sent without envelope',
    request: get('/rest/$catalog/Note'),
    expect: {
      is: {
        name: 'Note',
        className: 'Note',
        collectionName: 'NoteSelection',
        tableNumber: 3,
        scope: 'public',
        exposed: true,
        dataURI: '/rest/Note',
        attributes: [
          {
            name: 'code',
            kind: 'storage',
            scope: 'public',
            exposed: true,
            fieldPos: 1,
            type: 'string',
            indexed: true,
            unique: true,
            not_null: true,
            identifying: true,
          },
          {
            name: 'text',
            kind: 'storage',
            scope: 'public',
            exposed: true,
            fieldPos: 2,
            type: 'string',
          },
          {
            name: 'about',
            kind: 'relatedEntity',
            scope: 'public',
            exposed: true,
            type: 'Employee',
            path: 'Employee',
            not_null: true,
            onDelete: 'restrict',
          },
          {
            name: 'parent',
            kind: 'relatedEntity',
            scope: 'public',
            exposed: true,
            type: 'Note',
            path: 'Note',
            onDelete: 'setNull',
            inverseName: 'replies',
          },
          {
            name: 'replies',
            kind: 'relatedEntities',
            scope: 'public',
            exposed: true,
            fieldPos: 1,
            type: 'NoteSelection',
            reversePath: true,
            path: 'parent',
            inverseName: 'parent',
          },
        ],
        methods: [],
        key: [{ name: 'code' }],
      },
    },
  },
  {
    id: 'P2.2 several',
    says: 'several dataclasses are sent in the envelope',
    request: get('/rest/$catalog/Note,Company'),
    expect: { has: { __NAME: 'staff', dataClasses: [{ name: 'Note' }, { name: 'Company' }] } },
  },
  {
    id: 'P2.5',
    says: 'attributes have their kind and type',
    request: get('/rest/$catalog/Company'),
    expect: {
      has: {
        attributes: [
          { name: 'ID', type: 'long64', autosequence: true, identifying: true },
          { name: 'name', type: 'string', unique: true, not_null: true, maxLength: 120 },
          { name: 'city', type: 'string', indexed: true },
          { name: 'founded', type: 'date', simpleDate: true },
          { name: 'revenue', type: 'number' },
          { name: 'headcount', type: 'long64' },
          { name: 'active', type: 'bool' },
          { name: 'rank', type: 'string' },
          { name: 'extra', type: 'object' },
          { name: 'logo', type: 'image' },
          { name: 'brochure', type: 'blob' },
          { name: 'embedding', type: 'object', classID: '4D.Vector' },
          { name: 'rating', readOnly: true },
          { name: 'manager', kind: 'relatedEntity', type: 'Employee', path: 'Employee' },
          {
            name: 'staff',
            kind: 'relatedEntities',
            type: 'EmployeeSelection',
            path: 'employer',
            reversePath: true,
            inverseName: 'employer',
          },
          { name: 'label', kind: 'calculated', readOnly: true },
          { name: 'managerName', kind: 'alias', path: 'manager.lastName', readOnly: true },
        ],
      },
    },
  },
  {
    id: 'P2.10',
    says: 'the catalog lists what a value must comply with',
    request: get('/rest/$catalog/Employee'),
    expect: {
      has: {
        attributes: expect.arrayContaining([
          expect.objectContaining({ name: 'email', pattern: '.@.', minLength: 3 }),
          expect.objectContaining({ name: 'salary', min: 0, max: 1_000_000 }),
        ]) as unknown,
      },
    },
    then: [
      [
        get('/rest/$catalog/Company'),
        {
          has: {
            attributes: expect.arrayContaining([
              expect.objectContaining({ name: 'name', maxLength: 120 }),
              expect.objectContaining({ name: 'rank', enum: ['gold', 'silver', 'bronze'] }),
              expect.objectContaining({ name: 'embedding', dimensions: 3 }),
            ]) as unknown,
          },
        },
      ],
    ],
  },
];
