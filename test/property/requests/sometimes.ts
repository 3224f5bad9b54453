import fc from 'fast-check';

/** Something in so many of a hundred cases, otherwise nothing. */
export function sometimes<T>(
  percent: number,
  arbitrary: fc.Arbitrary<T>,
): fc.Arbitrary<T | undefined> {
  return fc.oneof(
    { weight: 100 - percent, arbitrary: fc.constant(undefined) },
    { weight: percent, arbitrary },
  );
}
