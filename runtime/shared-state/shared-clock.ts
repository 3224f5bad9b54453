import type { Clock } from '../entity-set/clock.js';

/** What the monotonic clock of this machine is behind the time of day, in milliseconds. */
export function timeBase(): number {
  return Date.now() - uptime();
}

/**
 * The same time in all processes of a server, whatever becomes of the time of day.
 * @param base what {@link timeBase} gave one of them
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
