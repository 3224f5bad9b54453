import type { MessageTable } from './message.js';

interface Detail {
  readonly detail: string;
}

/** What keeps a file from being read, and what does not have the shape of a model. */
export const fileMessages = {
  'yaml/alias': {
    severity: 'error',
    meaning: 'An alias names an anchor that is not defined before it, or that contains it.',
    text: (f: Detail) =>
      f.detail === '' || f.detail.includes(' ')
        ? `This alias or anchor cannot be followed: ${f.detail}.`
        : `*${f.detail} is an alias of an anchor &${f.detail} that is not defined before it.`,
  },
  'yaml/directive': {
    severity: 'error',
    meaning: 'A line that begins with % is not a directive of YAML 1.2.',
    text: (f: Detail) => `This is not a directive of YAML 1.2: ${f.detail}.`,
  },
  'yaml/duplicate-key': {
    severity: 'error',
    meaning: 'A mapping has the same key twice.',
    text: (f: Detail) => `The key ${f.detail} is defined twice in this mapping.`,
  },
  'yaml/empty': {
    severity: 'error',
    meaning: 'The file holds nothing.',
    text: () => 'The file is empty, and a mapping was expected.',
  },
  'yaml/escape': {
    severity: 'error',
    meaning: 'A backslash in a double-quoted text begins no known escape.',
    text: (f: Detail) => `${f.detail}. Write \\\\ for a backslash, or use single quotes.`,
  },
  'yaml/indent': {
    severity: 'error',
    meaning: 'A line is indented by too much or too little.',
    text: (f: Detail) => `The indentation is wrong here: ${f.detail}.`,
  },
  'yaml/key': {
    severity: 'error',
    meaning: 'A key is not plain text on one line, or a value with a colon has no quotes.',
    text: (f: Detail) =>
      `This cannot be a key: ${f.detail}. Put a text that holds a colon in quotes.`,
  },
  'yaml/missing-character': {
    severity: 'error',
    meaning: 'A closing quote, a colon, a comma or a space is missing.',
    text: (f: Detail) => `A character is missing here: ${f.detail}.`,
  },
  'yaml/not-a-number': {
    severity: 'error',
    meaning: 'A number is infinite or not a number.',
    text: () => 'Only finite numbers can be used here.',
  },
  'yaml/not-utf8': {
    severity: 'error',
    meaning: 'The file holds bytes that are not UTF-8.',
    text: () => 'The bytes here are not UTF-8. Save the file in that encoding.',
  },
  'yaml/several-documents': {
    severity: 'error',
    meaning: 'The file holds more than one YAML document.',
    text: () => 'A second document begins here, and a model file holds one only.',
  },
  'yaml/syntax': {
    severity: 'error',
    meaning: 'The file breaks another rule of YAML.',
    text: (f: Detail) => `This is not YAML: ${f.detail}.`,
  },
  'yaml/tab': {
    severity: 'error',
    meaning: 'A line is indented with a tab.',
    text: () => 'A tab cannot indent a line in YAML. Use spaces.',
  },
  'yaml/tag': {
    severity: 'error',
    meaning: 'A tag (!name) is used; a model needs none.',
    text: (f: Detail) => `A model file has no tags: ${f.detail}.`,
  },
  'yaml/too-deep': {
    severity: 'error',
    meaning: 'Mappings and lists are nested beyond 100 levels.',
    text: () => 'This is nested too deeply. The limit is 100 levels.',
  },
  'yaml/too-many-aliases': {
    severity: 'error',
    meaning: 'The aliases of the file stand for more than 100 000 values.',
    text: () => 'The aliases of this file stand for too many values. The limit is 100 000.',
  },
  'yaml/unclosed': {
    severity: 'error',
    meaning: 'A brace or bracket is opened and never closed.',
    text: ({ detail }: Detail) => {
      const close = detail === '{' ? '}' : ']';
      return `This ${detail} has no ${close}, or the ${close} is indented less than what it closes.`;
    },
  },
  'yaml/unexpected-character': {
    severity: 'error',
    meaning: 'A character cannot stand where it does.',
    text: (f: Detail) => `${f.detail}. Put a text that begins with such a character in quotes.`,
  },
  'yaml/unquoted-list': {
    severity: 'error',
    meaning: 'A type that ends with [] is inside braces or brackets without quotes.',
    text: (f: Detail) => `${f.detail} needs quotes inside braces and brackets: "${f.detail}".`,
  },
  'shape/misplaced-key': {
    severity: 'error',
    meaning: 'A key belongs to another kind of attribute.',
    text: (f: { key: string; kind: string }) => `The key ${f.key} does not belong to ${f.kind}.`,
  },
  'shape/missing-key': {
    severity: 'error',
    meaning: 'A required key is missing.',
    text: (f: { owner: string; key: string }) => `${f.owner} lacks the key ${f.key}.`,
  },
  'shape/out-of-range': {
    severity: 'error',
    meaning: 'A number is too small or too large.',
    text: (f: { what: string; bound: string }) => `${f.what} must be ${f.bound}.`,
  },
  'shape/repeated-item': {
    severity: 'error',
    meaning: 'A list holds the same item twice.',
    text: (f: { what: string }) => `${f.what} contains the same item twice.`,
  },
  'shape/too-few': {
    severity: 'error',
    meaning: 'A list, mapping or text has too few items or characters.',
    text: (f: { what: string }) => `${f.what} must hold at least one.`,
  },
  'shape/unknown-key': {
    severity: 'error',
    meaning: 'A key is not known at this place.',
    text: (f: { owner: string; key: string }) => `${f.owner} has no key ${f.key}.`,
  },
  'shape/unknown-value': {
    severity: 'error',
    meaning: 'A value is not one of the allowed ones.',
    text: (f: { what: string; value: string; possible: string }) =>
      `${f.what} cannot be ${f.value}. Possible: ${f.possible}.`,
  },
  'shape/wrong-type': {
    severity: 'error',
    meaning: 'A value is of another type, for instance a text instead of a number.',
    text: (f: { what: string; expected: string; found: string }) =>
      `${f.what} must be ${f.expected}, and is ${f.found}.`,
  },
} satisfies MessageTable;
