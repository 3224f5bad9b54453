import type { Clock } from '../entity-set/clock.js';

/**
 * The difference between the monotonic clock of this machine and the time of day, in milliseconds.
 */
export function timeBase(): number {
  return Date.now() - uptime();
}

/**
 * A clock that is the same in all processes of a server, even if somebody changes the time of day.
 * @param base the {@link timeBase} of one of them
 */
export function sharedClock(base: number): Clock {
  // `performance.now` counts from the start of the process, and is faster.
  const start = base + uptime() - performance.now();
  return {
    now: () => start + performance.now(),
    after: (milliseconds, call) => {
      const timer = setTimeout(call, milliseconds).unref();
      return () => {
        clearTimeout(timer);
      };
    },
  };
}

function uptime(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
