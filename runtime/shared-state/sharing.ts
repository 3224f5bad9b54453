import type { Clock } from '../entity-set/clock.js';
import { RequestError } from '../protocol/errors.js';
import type { Generations } from './generations.js';
import type { StateDatabase } from './state-database.js';

/** What the stores need in a process that is one of several. */
export interface Sharing {
  readonly state: StateDatabase;
  readonly generations: Generations;
  readonly clock: Clock;
  /**
   * The part of a lifetime after which another use is written. An object lives longer by that part,
   * and most reads write nothing. 0 writes each use.
   */
  readonly grain: number;
}

/** The longest time between two writes of a use, in milliseconds. */
const longestGrain = 10_000;

/** @param lifetime milliseconds */
export function grainOf({ grain }: Sharing, lifetime: number): number {
  return Math.min(lifetime * grain, longestGrain);
}

/**
 * Values are read again after this time in milliseconds, because a process may die between a change
 * and the raise of its number.
 */
export const longestTrust = 1000;

/**
 * Runs a second's work for all processes. It may fail now and then: the next second repeats it.
 * @returns what ends it
 */
export function everySecond({ clock }: Sharing, work: () => void): () => void {
  let cancel = clock.after(1000, again);
  function again(): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
    } finally {
      cancel = clock.after(1000, again);
    }
  }
  return () => {
    cancel();
  };
}
