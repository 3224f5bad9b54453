import { setTimeout } from 'node:timers/promises';

const trials = 5;
const pauseMilliseconds = 2_000;

/**
 * Tries again what failed, and tells so: a machine that has other things to do must not end a run of hours.
 * @param what is tried, as it is told
 * @throws Error when every trial fails; its message is that of the last one
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
      console.error(`  ${what} failed and is measured again: ${reason}`);
      await setTimeout(pauseMilliseconds);
    }
  }
}
