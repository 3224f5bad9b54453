import fc from 'fast-check';
import type { Key, KeyType } from '../../runtime/entity-set/key-list.js';
import { anyCharacter } from './any-character.js';

/** Keys of one type and distribution, and how a database writes a list of them. */
export interface KeyKind {
  readonly name: string;
  readonly type: KeyType;
  readonly key: fc.Arbitrary<Key>;
  readonly written: (keys: readonly Key[]) => string;
}

const commas = (keys: readonly Key[]): string => keys.join(',');
const json = (keys: readonly Key[]): string => (keys.length === 0 ? '' : JSON.stringify(keys));

const hexDigit = fc.constantFrom(...Array.from('0123456789ABCDEF'));
const uuid = fc.string({ unit: hexDigit, minLength: 32, maxLength: 32 });
const nearUuid = fc.nat(20).map((last) => last.toString(16).toUpperCase().padStart(32, '0'));
const textUnit = fc.constantFrom('a', 'b', ',', '"', '\\', '\0', '\u001f', 'é', 'İ', '\u{1f600}');

/** Few different keys, so that lists have some in common. */
export const keyKinds: readonly KeyKind[] = [
  kind('small integer', 'integer', fc.nat(20)),
  kind(
    '32-bit integer',
    'integer',
    fc.oneof(fc.nat(9), fc.integer({ min: 2 ** 32 - 9, max: 2 ** 32 - 1 })),
  ),
  kind('negative integer', 'integer', fc.integer({ min: -9, max: 9 })),
  kind(
    'large integer',
    'integer',
    fc.oneof(fc.integer({ min: 2 ** 32 - 3, max: 2 ** 32 + 3 }), fc.nat(5)),
  ),
  kind('extreme integer', 'integer', fc.oneof(fc.maxSafeInteger(), edges())),
  kind(
    'number',
    'number',
    fc.oneof(
      fc.integer({ min: -40, max: 40 }).map((n) => n / 8),
      anyNumber(),
    ),
  ),
  kind('uuid', 'uuid', fc.oneof(uuid, nearUuid), json),
  kind('text', 'string', fc.string({ unit: textUnit, maxLength: 2 }), json),
  kind('any text', 'string', fc.string({ unit: anyCharacter, maxLength: 3 }), json),
];

function kind(name: string, type: KeyType, key: fc.Arbitrary<Key>, written = commas): KeyKind {
  return { name, type, key, written };
}

function edges(): fc.Arbitrary<number> {
  const { MAX_SAFE_INTEGER, MIN_SAFE_INTEGER } = Number;
  return fc.constantFrom(
    0,
    -1,
    1,
    MAX_SAFE_INTEGER,
    MIN_SAFE_INTEGER,
    2 ** 31,
    -(2 ** 31),
    2 ** 52,
  );
}

function anyNumber(): fc.Arbitrary<number> {
  return fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
}
