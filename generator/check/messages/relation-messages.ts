import type { MessageTable } from './message.js';

/** Relations and their foreign keys. */
export const relationMessages = {
  'relation/foreign-key-kind': {
    severity: 'error',
    meaning: 'A foreign key is not a storage attribute.',
    text: (f: { relation: string; foreignKey: string }) =>
      `The foreign key of ${f.relation} must be a storage attribute, and ${f.foreignKey} is none.`,
  },
  'relation/foreign-key-name': {
    severity: 'error',
    meaning: 'The foreign key that would be made has a name that is taken or too long.',
    text: (f: { relation: string; foreignKey: string; reason: string }) =>
      `${f.relation} would get the foreign key ${f.foreignKey}, a name that ${f.reason}. Name one with foreignKey.`,
  },
  'relation/foreign-key-shared': {
    severity: 'error',
    meaning: 'Two relations use the same foreign key.',
    text: (f: { relation: string; foreignKey: string; other: string }) =>
      `${f.foreignKey} is the foreign key of ${f.other} already, so ${f.relation} needs one of its own.`,
  },
  'relation/foreign-key-type': {
    severity: 'error',
    meaning: 'A foreign key has another type than the key that it refers to.',
    text: (f: { foreignKey: string; type: string; key: string; keyType: string }) =>
      `${f.foreignKey} is of type ${f.type}, and must be of type ${f.keyType} as ${f.key} is.`,
  },
  'relation/foreign-key-unknown': {
    severity: 'error',
    meaning: 'A foreign key is an attribute that does not exist.',
    text: (f: { relation: string; dataclass: string; foreignKey: string }) =>
      `The foreign key of ${f.relation} is ${f.foreignKey}, and ${f.dataclass} has no such attribute.`,
  },
  'relation/inverse-kind': {
    severity: 'error',
    meaning: 'The inverse of a relation is not a relation of the other kind.',
    text: (f: { relation: string; inverse: string; needed: string }) =>
      `The inverse of ${f.relation} must be ${f.needed}, and ${f.inverse} is none.`,
  },
  'relation/inverse-mismatch': {
    severity: 'error',
    meaning: 'The inverse of a relation names another relation as its own inverse.',
    text: (f: { relation: string; inverse: string; other: string }) =>
      `${f.relation} names ${f.inverse} as its inverse, and that one names ${f.other}.`,
  },
  'relation/inverse-shared': {
    severity: 'error',
    meaning: 'Two to-many relations name the same inverse.',
    text: (f: { relation: string; inverse: string; other: string }) =>
      `${f.inverse} is the inverse of ${f.other} already, and cannot be that of ${f.relation} too.`,
  },
  'relation/inverse-target': {
    severity: 'error',
    meaning: 'The inverse of a relation does not lead back.',
    text: (f: { relation: string; inverse: string; target: string; expected: string }) =>
      `${f.inverse} leads to ${f.target}; to be the inverse of ${f.relation} it must lead to ${f.expected}.`,
  },
  'relation/inverse-unknown': {
    severity: 'error',
    meaning: 'The inverse of a relation does not exist.',
    text: (f: { relation: string; target: string; inverse: string }) =>
      `The inverse of ${f.relation} is ${f.inverse}, and ${f.target} has no such attribute.`,
  },
  'relation/mandatory-circle': {
    severity: 'warning',
    meaning: 'Mandatory relations lead in a circle, so the first entity cannot be created.',
    text: (f: { circle: string; entities: string }) =>
      f.entities === ''
        ? `${f.circle} is mandatory and leads to its own dataclass, so the first entity can only refer to itself, by a key that the client sends. Make it optional.`
        : `These relations are mandatory: ${f.circle}. An entity can only refer to one that is stored, so the first ${f.entities} can never be created. Make one of the relations optional.`,
  },
  'relation/many-to-many': {
    severity: 'error',
    meaning: 'A relation is to-many on both sides; it needs a dataclass in between.',
    text: (f: { relation: string; other: string }) =>
      `${f.relation} and ${f.other} are to-many on both sides. Use a link dataclass with a to-one relation to each side.`,
  },
  'relation/references-not-unique': {
    severity: 'error',
    meaning: 'A relation references an attribute that is not unique.',
    text: (f: { relation: string; attribute: string }) =>
      `${f.relation} references ${f.attribute}, which is no storage attribute with unique: true.`,
  },
  'relation/references-type': {
    severity: 'error',
    meaning: 'A relation references an attribute of a type that foreign keys cannot have.',
    text: (f: { relation: string; attribute: string; type: string }) =>
      `${f.relation} references ${f.attribute} of type ${f.type}. A foreign key is a string, uuid, integer or number.`,
  },
  'relation/references-unknown': {
    severity: 'error',
    meaning: 'A relation references an attribute that does not exist.',
    text: (f: { relation: string; target: string; attribute: string }) =>
      `${f.relation} references ${f.attribute}, and ${f.target} has no such attribute.`,
  },
  'relation/set-null-mandatory': {
    severity: 'error',
    meaning: 'A mandatory relation has onDelete: setNull.',
    text: (f: { relation: string }) =>
      `${f.relation} is mandatory, so it cannot be set to null. Use onDelete: restrict or cascade.`,
  },
  'relation/target-not-exposed': {
    severity: 'warning',
    meaning: 'A relation says exposed: true, and leads to a dataclass that is not exposed.',
    text: (f: { relation: string; target: string }) =>
      `${f.relation} leads to ${f.target}, which is not exposed, so clients will not see the relation.`,
  },
  'relation/unknown-target': {
    severity: 'error',
    meaning: 'A relation leads to a dataclass that does not exist.',
    text: (f: { relation: string; target: string }) =>
      `${f.relation} leads to ${f.target}, and no dataclass has that name.`,
  },
} satisfies MessageTable;
