import { badKeys } from './bad-keys.js';
import { UuidKeys } from './uuid-keys.js';

const notADigit = 0xff;
const digitValues = new Uint8Array(256).fill(notADigit);
const digits = '0123456789ABCDEF';
for (let value = 0; value < 16; value += 1) digitValues[digits.charCodeAt(value)] = value;

/** @param bytes 32 upper-case hexadecimal digits each, with commas between; one at least */
export function parseUuids(bytes: Uint8Array): UuidKeys {
  if (bytes.length % 33 !== 32) throw badKeys('uuid', 'their digits are not 32 each');
  const words = new Uint32Array(4 * ((bytes.length + 1) / 33));
  let strange = 0;
  for (let start = 0, word = 0; start < bytes.length; start += 33) {
    if (start > 0 && bytes[start - 1] !== 0x2c) strange = notADigit;
    for (let at = start; at < start + 32; at += 8, word += 1) {
      let value = 0;
      for (let digitAt = at; digitAt < at + 8; digitAt += 1) {
        const digit = digitValues[bytes[digitAt] as number] as number;
        strange |= digit;
        value = (value << 4) | digit;
      }
      words[word] = value;
    }
  }
  if (strange > 0xf) throw badKeys('uuid', 'a digit is not one of 0 to 9 and A to F');
  return new UuidKeys(words);
}
