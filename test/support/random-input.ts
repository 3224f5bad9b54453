import fc from 'fast-check';

/**
 * Random input is the same in every run, so that a test fails because of a change.
 * `TEST_SEED=random` draws new input, and `TEST_SEED=<number>` that of another seed.
 */
const { TEST_SEED: wanted = '1' } = process.env;
if (wanted !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(wanted) });
