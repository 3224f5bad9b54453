import fc from 'fast-check';
import type { Attribute, JsonValue, StorageType } from '../../../generator/model/model.js';
import { anyCharacter } from '../any-character.js';

/** Pieces whose case, order, composition or escaping is not plain. */
const awkwardPieces = [
  ...[
    'a',
    'A',
    'b',
    'B',
    'é',
    'É',
    'e\u0301',
    'E\u0301',
    'ß',
    'ẞ',
    'Σ',
    'σ',
    'ς',
    'İ',
    'i',
    'I',
    'ı',
  ],
  ...[
    '\u0307',
    '\u0323',
    ' ',
    '"',
    "'",
    '\\',
    '\0',
    '\n',
    '\u001f',
    '\u007f',
    '\u2028',
    '%',
    '_',
    '*',
    '@',
  ],
  ...[
    'Å',
    '\u212b',
    'K',
    'Ǆ',
    'ǅ',
    '😀',
    '𐐀',
    '𐐨',
    '\uff5e',
    '\ud7ff',
    '\ue000',
    '\u{10ffff}',
    '\uffff',
  ],
];

const awkwardTexts = [
  '',
  'Paris',
  'PARIS',
  'paris ',
  'ΟΔΟΣ',
  'οδος',
  'straße',
  'STRASSE',
  'null',
  'true',
  '12',
  '1e3',
  ':1',
  '{"a":1}',
  '</script>',
  'and',
  "O'Reilly (Jr.) & Co",
  '\\u0041',
  '\ufeffmark',
  'New York, new_york',
  'old-york NEW',
  "l'e\u0301te\u0301 à l’ÉTÉ",
  '100% @home *',
  'k\u0332 ok',
  'a\u0332b a',
  'a b',
];

export const texts: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom(...awkwardPieces), maxLength: 3 }) },
  { weight: 3, arbitrary: fc.constantFrom(...awkwardTexts) },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 6 }) },
);

const largest = Number.MAX_SAFE_INTEGER;
export const integers: fc.Arbitrary<number> = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -4, max: 4 }) },
  { weight: 1, arbitrary: fc.constantFrom(largest, -largest, 2 ** 31, -(2 ** 31) - 1, 2 ** 32) },
  { weight: 1, arbitrary: fc.maxSafeInteger() },
);

export const numbers: fc.Arbitrary<number> = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: -4, max: 4 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ...[0, -0, 0.5, 0.1 + 0.2, 0.3, 1e300, -1e300, 5e-324, Number.MAX_VALUE],
      ...[largest, 2 ** 53, 2 ** 63, -(2 ** 63), 1e21, 1e-7, 2 ** 62, 123456789012345680000],
    ),
  },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
);

/** Decimals of at most 12 digits, 2 of them behind the point, as clients may write them. */
export const decimals: fc.Arbitrary<string | number> = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: -300, max: 300 }).map((each) => each / 100) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('12.50', '12.5', '+12.500', '012.5', '1e2', '-0', '0.10'),
  },
  { weight: 1, arbitrary: fc.constantFrom('9999999999.99', '-9999999999.99', 9999999999.99, -0) },
);

/** Instants as they are sent, and in a client's shorter spelling if there is one. */
export const instants: fc.Arbitrary<string> = fc
  .oneof(
    fc.constantFrom(
      '2026-03-09T14:25:36.000Z',
      '2024-02-29T00:00:00.000Z',
      '0000-01-01T00:00:00.000Z',
    ),
    fc
      .date({
        min: new Date('0001-01-01T00:00:00Z'),
        max: new Date('9999-12-31T23:59:59.999Z'),
        noInvalidDate: true,
      })
      .map((each) => each.toISOString()),
  )
  .chain((text) => fc.constantFrom(text, text.replace('.000Z', 'Z'), text.replace(/Z$/, '+00:00')));

export const days: fc.Arbitrary<string> = fc
  .oneof(
    fc.constantFrom('2026-03-09', '2024-02-29', '0001-01-01', '9999-12-31'),
    instants.map((each) => each.slice(0, 10)),
  )
  .chain((day) => {
    const [year, month, date] = day.split('-') as [string, string, string];
    const bang = `${String(Number(date))}!${String(Number(month))}!${year}`;
    return fc.constantFrom(day, bang, `${date}!${month}!${year}`, `${day}T23:59:59Z`);
  });

const someUuids = ['0123456789ABCDEF0123456789ABCDEF', 'FFFFFFFF00000000FFFFFFFF00000000'];
export const uuids: fc.Arbitrary<string> = fc
  .oneof(
    fc.constantFrom(...someUuids),
    fc.uuid().map((each) => each.replaceAll('-', '').toUpperCase()),
  )
  .chain((hex) =>
    fc.constantFrom(
      hex,
      hex.toLowerCase(),
      hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    ),
  );

/** Few names, so that objects share them; some cannot be written directly in a filter. */
const propertyNames = [
  ...[
    'a',
    'b',
    'a',
    'b',
    'list',
    'list',
    'x',
    'y',
    'x',
    'y',
    'length',
    'größe',
    'null',
    'constructor',
    '__proto__',
  ],
  ...[
    '0',
    'A',
    'a b',
    'x=y',
    "it's",
    '"q"',
    '#>',
    '\\',
    '$',
    '@',
    'de\u0301',
    'a-b',
    '%',
    ':1',
    '(',
    '@.',
  ],
];
const leaves: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(1, 2, 1, 2, 'a', 'A', 'b', true, false, null, '1', 'true'),
  },
  { weight: 1, arbitrary: texts },
  { weight: 1, arbitrary: numbers },
);
const { node: nested } = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, depthSize: 'medium', withCrossShrink: true },
    { weight: 3, arbitrary: leaves },
    { weight: 2, arbitrary: fc.array(tie('node'), { maxLength: 3 }) },
    { weight: 3, arbitrary: dictionary(tie('node')) },
  ),
}));

function dictionary(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.dictionary(fc.constantFrom(...propertyNames), values, { maxKeys: 4 });
}

const elements = fc.array(dictionary(leaves), { minLength: 1, maxLength: 3 });

const objects = fc
  .oneof(
    { weight: 3, arbitrary: dictionary(nested) },
    { weight: 3, arbitrary: fc.record({ list: elements, a: nested, b: leaves }) },
    { weight: 1, arbitrary: fc.dictionary(texts, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }) },
    { weight: 1, arbitrary: fc.oneof(elements, fc.array(leaves, { maxLength: 3 })) },
  )
  .map((each) => JSON.parse(JSON.stringify(each)) as JsonValue);

const vectors = fc
  .array(numbers, { minLength: 3, maxLength: 3 })
  .map((each) => JSON.parse(JSON.stringify(each)) as JsonValue);

/** Values as a client may send them for an attribute; image and BLOB can only be null so far. */
export function inputsOf(type: StorageType, dateOnly: boolean): fc.Arbitrary<JsonValue> {
  switch (type) {
    case 'string':
      return texts;
    case 'uuid':
      return uuids;
    case 'number':
      return numbers;
    case 'integer':
    case 'duration':
      return integers;
    case 'decimal':
      return decimals;
    case 'boolean':
      return fc.boolean();
    case 'date':
      return dateOnly ? days : instants;
    case 'object':
      return objects;
    case 'vector':
      return vectors;
    case 'image':
    case 'blob':
      return fc.constant(null);
  }
}

/** Whether values of the attribute can be compared and sorted. */
export function isScalar(attribute: Attribute): boolean {
  if ('target' in attribute) return false;
  return !['object', 'vector', 'image', 'blob'].includes(attribute.type);
}
