import type { Clock } from '../entity-set/clock.js';
import { RequestError } from '../protocol/errors.js';
import type { Generations } from './generations.js';
import type { StateDatabase } from './state-database.js';

/** What the stores of a process that is one of several stand on. */
export interface Sharing {
  readonly state: StateDatabase;
  readonly generations: Generations;
  readonly clock: Clock;
  /**
   * Whatever is used often is written as used again when so much of its lifetime has gone by: it lives longer by that, and
   * most reads write nothing. 0 writes each use.
   */
  readonly grain: number;
}

/** The longest time between two notes of a use, in milliseconds. */
const longestGrain = 10_000;

/** @param lifetime milliseconds */
export function grainOf({ grain }: Sharing, lifetime: number): number {
  return Math.min(lifetime * grain, longestGrain);
}

/** What was read is read again after this time, in milliseconds: a process may have died between a change and its number. */
export const longestTrust = 1000;

/**
 * Does a second's work for all processes, which may fail now and then: what is left is done a second later.
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
