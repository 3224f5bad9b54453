/** `LONG_TESTS=on` runs all of what the ordinary run samples because it takes minutes. */
export const isLong = process.env['LONG_TESTS'] === 'on';

/** How many of so many random inputs this run tries: the ordinary run tries a third. */
export function sampled(all: number): number {
  return isLong ? all : Math.ceil(all / 3);
}
