import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newUuid, normaliseUuid } from '../../../runtime/protocol/uuid.js';

describe('UUID', () => {
  it('is new each time, in the format of the protocol', () => {
    const made = new Set(Array.from({ length: 100 }, newUuid));
    expect(made.size).toBe(100);
    for (const uuid of made) {
      expect(uuid).toMatch(/^[0-9A-F]{32}$/);
      expect(normaliseUuid(uuid)).toBe(uuid);
    }
  });

  it('is the same with and without dashes', () => {
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        const wire = uuid.replaceAll('-', '').toUpperCase();
        expect([uuid, wire, wire.toLowerCase(), `{${uuid}}`].map(normaliseUuid)).toEqual(
          Array.from({ length: 4 }, () => wire),
        );
      }),
    );
  });

  it.each(['', '{}', '{0123456789abcdefABCDEF0123456789ab}', '０'.repeat(32)])(
    'is not %j',
    (text) => {
      expect(normaliseUuid(text)).toBeUndefined();
    },
  );
});
