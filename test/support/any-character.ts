import fc from 'fast-check';

const surrogates = { first: 0xd800, count: 0x800 };

/**
 * Any character of Unicode. `unit: 'binary'` of fast-check draws from the same ones, and makes a table of all of them in
 * each process, which takes longer than most files of tests.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat(0x10ffff - surrogates.count)
  .map((point) =>
    String.fromCodePoint(point < surrogates.first ? point : point + surrogates.count),
  );
