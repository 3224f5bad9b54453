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
    name: 'attributes that relations reference',
    yaml: attributes([
      'code: { type: string, unique: true }',
      'size: { type: number, unique: true }',
      'day: { type: date, unique: true }',
      'plain: string',
      'text: string',
      'a: { to: A, references: <<a>>cod }',
      'b: { to: A, references: <<b>>plain }',
      'c: { to: A, references: <<c>>day }',
      'd: { to: A, references: <<d>>a }',
      'e: { to: A, foreignKey: <<e>>text, references: size }',
      'f: { to: A, foreignKey: plain, references: code }',
      'g: { to: A, references: ID }',
      'h: { to: A, many: true, inverse: f, <<h>>references: code }',
    ]),
    expected: [
      { code: 'relation/references-unknown', at: 'a', says: 'did you mean code?' },
      { code: 'relation/references-not-unique', at: 'b' },
      { code: 'relation/references-type', at: 'c' },
      { code: 'relation/references-not-unique', at: 'd' },
      { code: 'relation/foreign-key-type', at: 'e', says: 'must be of type number as A.size is' },
      { code: 'shape/misplaced-key', at: 'h' },
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
      '<<c>>a: { to: A, mandatory: true, onDelete: <<a>>setNull }',
      '<<d>>b: { to: A, foreignKey: key1, onDelete: <<b>>setNull }',
      'c: { to: A }',
    ]),
    expected: [
      { code: 'relation/set-null-mandatory', at: 'a' },
      { code: 'relation/set-null-mandatory', at: 'b' },
      { code: 'relation/mandatory-circle', at: 'c', says: 'A.a is mandatory and leads to its own' },
      { code: 'relation/mandatory-circle', at: 'd' },
    ],
  },
  {
    name: 'circles of mandatory relations',
    yaml: model(`  A:
    attributes:
      ID: { type: integer, key: true }
      <<a>>b: { to: B, mandatory: true }
      c: { to: C, mandatory: true }
  B:
    attributes:
      ID: { type: integer, key: true }
      aID: { type: integer, mandatory: true }
      a: { to: A, foreignKey: aID }
      as: { to: A, many: true, inverse: b }
  C:
    attributes:
      ID: { type: integer, key: true }
      <<b>>d: { to: D, mandatory: true }
  D:
    attributes:
      ID: { type: integer, key: true }
      e: { to: E, mandatory: true }
      free: { to: C }
      a: { to: A }
  E:
    attributes:
      ID: { type: integer, key: true }
      c: { to: C, mandatory: true }
  F:
    attributes:
      ID: { type: integer, key: true }
      a: { to: A, mandatory: true }
`),
    expected: [
      {
        code: 'relation/mandatory-circle',
        at: 'a',
        says: 'A.b, B.a. An entity can only refer to one that is stored, so the first A or B can never be created.',
      },
      {
        code: 'relation/mandatory-circle',
        at: 'b',
        says: 'C.d, D.e, E.c. An entity can only refer to one that is stored, so the first C, D or E can never',
      },
    ],
  },
  {
    name: 'to-many on both sides',
    yaml: model(`  Student:
    attributes:
      ID: { type: integer, key: true }
      <<a>>courses: { to: Course, many: true, inverse: students }
      <<b>>clubs: { to: Club, many: true }
      <<c>>friends: { to: Student, many: true, inverse: friends }
  Course:
    attributes:
      ID: { type: integer, key: true }
      students: { to: Student, many: true, inverse: courses }
      <<d>>lessons: { to: Lesson, many: true }
      <<e>>rooms: { to: Club, many: true }
  Club:
    attributes:
      ID: { type: integer, key: true }
      members: { to: Student, many: true }
  Lesson:
    attributes:
      ID: { type: integer, key: true }
      course: { to: Course }
`),
    expected: [
      {
        code: 'relation/many-to-many',
        at: 'a',
        says:
          'Use a link dataclass with a to-one relation to each side. for instance StudentCourse: { attributes: { ID: { type: integer, key: true, generated: sequence }, ' +
          'student: { to: Student, inverse: courses, mandatory: true }, course: { to: Course, inverse: students, mandatory: true } } }, ' +
          'with Student.courses as { to: StudentCourse, many: true, inverse: student } and Course.students as { to: StudentCourse, many: true, inverse: course }',
      },
      { code: 'relation/many-to-many', at: 'b', says: 'Student.clubs and Club.members are' },
      { code: 'relation/many-to-many', at: 'c', says: 'Student.linked as' },
      { code: 'shape/missing-key', at: 'd', says: 'write inverse: course' },
      { code: 'shape/missing-key', at: 'e', says: 'give Club a relation { to: Course }' },
    ],
  },
  {
    name: 'dataclasses in the place of types',
    yaml: model(`  Visit:
    attributes:
      ID: { type: integer, key: true }
      patient: <<a>>Patient
      doctor: { type: <<b>>doctor, mandatory: true }
      next: { type: <<c>>Visit, many: true, inverse: previous }
      old: { computed: <<d>>Patient }
  Doctor:
    attributes:
      ID: { type: integer, key: true }
      visits: <<e>>Visit[]
      patients: <<f>>Patient.selection
      others: { to: Visit, many: true, inverse: doctor }
  Patient:
    attributes:
      ID: { type: integer, key: true }
      doctor: { to: Doctor }
      kind: <<g>>Patiant
`),
    expected: [
      { code: 'shape/unknown-value', at: 'a', says: 'use { to: Patient }' },
      { code: 'shape/unknown-value', at: 'b', says: 'use { to: Doctor }' },
      { code: 'shape/unknown-value', at: 'c', says: 'use { to: Visit }' },
      { code: 'shape/unknown-value', at: 'd', says: 'use { to: Patient }' },
      {
        code: 'shape/unknown-value',
        at: 'e',
        says: 'use { to: Visit, many: true, inverse: <the to-one relation of Visit that leads here> }',
      },
      {
        code: 'shape/unknown-value',
        at: 'f',
        says: 'use { to: Patient, many: true, inverse: doctor }',
      },
      { code: 'shape/unknown-value', at: 'g' },
    ],
  },
];
