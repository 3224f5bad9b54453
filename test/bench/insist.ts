import { setTimeout } from 'node:timers/promises';

const trials = 5;
const pauseMilliseconds = 2_000;

/**
 * Retries failed work and logs it, so that a busy machine does not end a run of hours.
 * @param what name of the work for the log
 * @throws Error if every attempt fails, with the last message
 */
export async function insist<T>(what: string, act: () => Promise<T>): Promise<T> {
  for (let trial = 1; ; trial += 1) {
    try {
      return await act();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (trial === trials) {
        throw new Error(`${what} failed ${trials} times, at last: ${reason}`, { cause: error });
      }
      console.error(`  ${what} failed and is repeated: ${reason}`);
      await setTimeout(pauseMilliseconds);
    }
  }
}
