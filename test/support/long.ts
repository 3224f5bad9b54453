/** `LONG_TESTS=on` runs all of what the ordinary run samples because it takes minutes. */
export const isLong = process.env['LONG_TESTS'] === 'on';
