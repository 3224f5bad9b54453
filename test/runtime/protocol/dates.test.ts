import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayFromText, instantFromText } from '../../../runtime/protocol/dates.js';

const neither = [
  '',
  '2021-02-30',
  '2021-02-29',
  '1900-02-29',
  '2021-13-01',
  '2021-00-01',
  '2021-01-00',
  '2021-04-31',
  '21-01-01',
  '12021-01-01',
  '+002021-01-01',
  '-001-01-01',
  '2021-1-1',
  '2021/01/01',
  '20210101',
  ' 2021-01-01',
  '2021-01-01 ',
  '2021-01-01\n',
  '2021-01-01T',
  '2021-01-01T1:00',
  '2021-01-01T10',
  '2021-01-01  10:00:00',
  '2021-01-01t10:00:00z',
  '2021-01-01T24:00:00Z',
  '2021-01-01T10:60:00Z',
  '2021-01-01T10:00:60Z',
  '2021-01-01T10:00:00.Z',
  '2021-01-01T10:00:00ZZ',
  '2021-01-01T10:00:00Z ',
  '2021-01-01T10:00:00+2',
  '2021-01-01T10:00:00+02:0',
  '2021-01-01T10:00:00+24:00',
  '2021-01-01T10:00:00  02:00',
  '２０２１-01-01',
  '!!2021-01-01!!',
  'now',
];

describe('instantFromText', () => {
  it.each([
    ['2026-03-09T14:25:36Z', '2026-03-09T14:25:36.000Z'],
    ['2026-03-09T14:25:36.1Z', '2026-03-09T14:25:36.100Z'],
    ['2026-03-09T14:25:36.123456789Z', '2026-03-09T14:25:36.123Z'],
    ['2026-03-09T14:25:36', '2026-03-09T14:25:36.000Z'],
    ['2026-03-09T14:25', '2026-03-09T14:25:00.000Z'],
    ['2026-03-09', '2026-03-09T00:00:00.000Z'],
    ['2026-03-09T00:25:36+02:00', '2026-03-08T22:25:36.000Z'],
    ['2026-03-09T23:30:00.5-0130', '2026-03-10T01:00:00.500Z'],
    ['2026-03-09T14:25:36-00:00', '2026-03-09T14:25:36.000Z'],
    ['2000-02-29', '2000-02-29T00:00:00.000Z'],
    ['0000-01-01', '0000-01-01T00:00:00.000Z'],
    ['0000-02-29', '0000-02-29T00:00:00.000Z'],
    ['0050-01-01T00:00:00-01:00', '0050-01-01T01:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['2021-01-01 10:00:00', '2021-01-01T10:00:00.000Z'],
    ['2021-01-01T10:00:00 02:00', '2021-01-01T08:00:00.000Z'],
    ['0000-01-01T00:30:00+01:00', undefined],
    ['9999-12-31T23:30:00-01:00', undefined],
    ['9!3!2026', undefined],
  ])('reads %s as %s', (text, want) => {
    expect(instantFromText(text)).toBe(want);
  });

  it.each(neither)('refuses %j', (text) => {
    expect(instantFromText(text)).toBeUndefined();
    expect(dayFromText(text)).toBeUndefined();
  });

  it('agrees with the Date of JavaScript', () => {
    const years = { min: new Date(-62_167_219_200_000), max: new Date(253_402_300_799_999) };
    fc.assert(
      fc.property(fc.date({ ...years, noInvalidDate: true }), (date) => {
        expect(instantFromText(date.toISOString())).toBe(date.toISOString());
      }),
    );
    const two = fc.integer({ min: 0, max: 99 }).map((number) => String(number).padStart(2, '0'));
    fc.assert(
      fc.property(fc.tuple(two, two, two, two, two), ([month, day, hour, minute, offset]) => {
        const text = `2023-${month}-${day}T${hour}:${minute}:00+${offset}:00`;
        const moment = Date.parse(text);
        // JavaScript turns 30 February into a day of March.
        const rolls =
          new Date(Date.parse(`2023-${month}-${day}T00:00:00Z`)).getUTCDate() !== Number(day);
        const isDate = !Number.isNaN(moment) && !rolls && hour !== '24';
        expect(instantFromText(text)).toBe(isDate ? new Date(moment).toISOString() : undefined);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('dayFromText', () => {
  it.each([
    ['2026-03-09', '2026-03-09'],
    ['2026-03-09T23:25:36Z', '2026-03-09'],
    ['2026-03-09T00:25:36+02:00', '2026-03-09'],
    ['0000-01-01T00:30:00+01:00', '0000-01-01'],
    ['9!3!2026', '2026-03-09'],
    ['09!03!2026', '2026-03-09'],
    ['31!12!0001', '0001-12-31'],
    ['29!2!2024', '2024-02-29'],
    ['29!2!2023', undefined],
    ['31!4!2023', undefined],
    ['0!0!0', undefined],
    ['0!0!0000', undefined],
    ['1!1!23', undefined],
    ['1!1!02023', undefined],
    ['001!1!2023', undefined],
    ['1!!2023', undefined],
    ['!1!2023!', undefined],
    ['-1!1!2023', undefined],
  ])('reads %s as %s', (text, want) => {
    expect(dayFromText(text)).toBe(want);
  });
});
