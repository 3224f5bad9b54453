import type { MessageTable } from './message.js';

/** Names, tables and columns; dataclasses, their indexes and limits. */
export const nameMessages = {
  'name/bad-character': {
    severity: 'error',
    meaning:
      'A name holds a character that is no letter, digit or underscore, or begins with a digit.',
    text: (f: { name: string; character: string }) =>
      `The name ${f.name} cannot hold ${f.character} there. Names are letters, digits and _, and do not begin with a digit.`,
  },
  'name/collection': {
    severity: 'error',
    meaning: 'Two dataclasses have the same collection name, without regard to case.',
    text: (f: { name: string; other: string }) =>
      `The collection name ${f.name} is that of ${f.other} already, without regard to case.`,
  },
  'name/datastore': {
    severity: 'error',
    meaning: 'The name of the datastore cannot be the name of an npm package.',
    text: (f: { name: string }) =>
      `The datastore cannot be called ${f.name}. Its name starts with a letter from a to z or A to Z, contains only these letters, digits, _ and -, and has at most 63 characters.`,
  },
  'name/duplicate': {
    severity: 'error',
    meaning: 'Two names of one scope are the same, without regard to case.',
    text: (f: { name: string; other: string; scope: string }) =>
      f.name === f.other
        ? `${f.scope} has the name ${f.name} twice.`
        : `${f.scope} has the names ${f.other} and ${f.name}, which differ only in case.`,
  },
  'name/empty': {
    severity: 'error',
    meaning: 'A name is an empty text.',
    text: () => 'A name is missing here. It begins with a letter or _.',
  },
  'name/report-format': {
    severity: 'error',
    meaning:
      'The report format has a character that a URL must encode, or is json, which is another format.',
    text: (f: { name: string }) =>
      `The report format cannot be called ${f.name}. Its name is 1 to 63 of the letters a to z and A to Z, digits, _, . and -, and not json.`,
  },
  'name/reserved': {
    severity: 'error',
    meaning: 'A name is reserved: a base class has a member with it, or the protocol uses it.',
    text: (f: { name: string; owner: string }) =>
      `The name ${f.name} is taken: ${f.owner} has it already.`,
  },
  'name/reserved-prefix': {
    severity: 'error',
    meaning: 'A name begins with two underscores.',
    text: (f: { name: string }) =>
      `The name ${f.name} begins with __, and such names belong to the protocol.`,
  },
  'name/rest-name': {
    severity: 'error',
    meaning: 'A restName is a name that requests cannot hold, or that has a meaning there.',
    text: (f: { name: string; reason: string }) => `The REST name ${f.name} ${f.reason}.`,
  },
  'name/rest-taken': {
    severity: 'error',
    meaning:
      'A restName is the name of another attribute or of a function, without regard to case.',
    text: (f: { name: string; other: string }) =>
      `The REST name ${f.name} is that of ${f.other} already, without regard to case.`,
  },
  'name/too-long': {
    severity: 'error',
    meaning: 'A name has more than 63 characters.',
    text: (f: { name: string; length: number }) =>
      `The name ${f.name} has ${f.length} characters, and may have 63.`,
  },
  'rename/itself': {
    severity: 'error',
    meaning: 'renamedFrom holds the current name of the part, without another name in between.',
    text: (f: { part: string; earlier: string }) =>
      `${f.part} cannot be renamed from ${f.earlier}, which is its name now.`,
  },
  'rename/still-used': {
    severity: 'error',
    meaning: 'renamedFrom holds a name that another part of the same kind has now.',
    text: (f: { part: string; earlier: string; other: string }) =>
      `${f.part} was not renamed from ${f.earlier}: ${f.other} has that name now. Remove or rename that one, or take the name out of renamedFrom.`,
  },
  'rename/twice': {
    severity: 'error',
    meaning: 'An earlier name is in renamedFrom twice, of one part or of two.',
    text: (f: { part: string; earlier: string; other: string }) =>
      `${f.earlier} is an earlier name of ${f.other} already.`,
  },
  'sql/bad-name': {
    severity: 'error',
    meaning: 'A table or column name is one that a database refuses or keeps for itself.',
    text: (f: { what: string; reason: string }) => `The ${f.what} name ${f.reason}.`,
  },
  'sql/duplicate-column': {
    severity: 'error',
    meaning: 'Two attributes of a dataclass have the same column, without regard to case.',
    text: (f: { column: string; other: string }) =>
      `The column ${f.column} is that of the attribute ${f.other} already, without regard to case.`,
  },
  'sql/duplicate-table': {
    severity: 'error',
    meaning: 'Two dataclasses have the same table, without regard to case.',
    text: (f: { table: string; other: string }) =>
      `The table ${f.table} is that of the dataclass ${f.other} already, without regard to case.`,
  },
  'sql/too-many-columns': {
    severity: 'error',
    meaning: 'A dataclass needs more columns than a table can have.',
    text: (f: { dataclass: string; count: number; most: number }) =>
      `${f.dataclass} needs ${f.count} columns, and a table has at most ${f.most}; indexed text takes two.`,
  },
  'dataclass/no-key': {
    severity: 'error',
    meaning: 'A dataclass has no primary key.',
    text: (f: { dataclass: string }) =>
      `${f.dataclass} has no primary key. Give one of its attributes key: true.`,
  },
  'dataclass/old-event': {
    severity: 'error',
    meaning: 'An event that only clients of older servers know is used without a compatibility.',
    text: (f: { event: string; instead: string }) =>
      `The event ${f.event} exists only with protocol: { compatibility: wakanda }. ${f.instead}`,
  },
  'dataclass/several-keys': {
    severity: 'error',
    meaning: 'A dataclass has more than one primary key.',
    text: (f: { dataclass: string; first: string }) =>
      `${f.dataclass} has a primary key already, ${f.first}, and can have one only.`,
  },
  'audit/not-recorded': {
    severity: 'error',
    meaning: 'audit names an attribute whose values cannot be recorded.',
    text: (f: { attribute: string; kind: string }) =>
      `${f.attribute} is ${f.kind}, and audit cannot record it.`,
  },
  'audit/repeated-attribute': {
    severity: 'error',
    meaning: 'audit names an attribute twice.',
    text: (f: { attribute: string }) => `${f.attribute} is recorded already.`,
  },
  'audit/unknown-attribute': {
    severity: 'error',
    meaning: 'audit names an attribute that does not exist.',
    text: (f: { dataclass: string; attribute: string }) =>
      `${f.dataclass} has no attribute ${f.attribute} that audit could record.`,
  },
  'index/not-indexable': {
    severity: 'error',
    meaning: 'An index names an attribute that no index can hold.',
    text: (f: { attribute: string; kind: string }) =>
      `${f.attribute} is ${f.kind}, and an index cannot hold it.`,
  },
  'index/repeated': {
    severity: 'error',
    meaning: 'Two indexes of a dataclass are over the same attributes in the same order.',
    text: (f: { attributes: string }) => `There is an index over ${f.attributes} already.`,
  },
  'index/repeated-attribute': {
    severity: 'error',
    meaning: 'An index names an attribute twice.',
    text: (f: { attribute: string }) => `${f.attribute} is already in this index.`,
  },
  'index/too-few': {
    severity: 'error',
    meaning: 'An item of indexes has fewer than two attributes.',
    text: (f: { line: string }) =>
      `Each index in indexes is over two attributes or more. For an index over one attribute, write it at the attribute: ${f.line}`,
  },
  'index/unknown-attribute': {
    severity: 'error',
    meaning: 'An index names an attribute that does not exist.',
    text: (f: { dataclass: string; attribute: string }) =>
      `${f.dataclass} has no attribute ${f.attribute} that an index could hold.`,
  },
  'origin/bad-origin': {
    severity: 'error',
    meaning: 'An origin is not written as a browser sends it.',
    text: (f: { origin: string }) =>
      `${f.origin} is not an origin. Write it as a browser sends it: https://app.example.com, in lower case, without a path, a wildcard or the usual port.`,
  },
  'limits/order': {
    severity: 'error',
    meaning: 'pageSize or entitySetTimeout is above the limit that the model sets for requests.',
    text: (f: { smaller: string; larger: string; value: number; limit: number }) =>
      `${f.smaller} is ${f.value}, and must not be above ${f.larger}, which is ${f.limit}.`,
  },
} satisfies MessageTable;
