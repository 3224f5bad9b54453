import type { ChangeKind } from './changes.js';

/** A request. With a body and without a method it is a POST. */
export interface SentRequest {
  readonly method?: 'POST' | 'PATCH';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The product whose format of changes is used. */
export type ServiceName = 'own' | 'cap';

/** The job of one load process. */
export interface LoadJob {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Whether to send over `RawConnection`, which costs less, for servers that are faster than two
   * processes of autocannon.
   */
  readonly isRaw?: true;
  /** The requests, sent one after the other and repeatedly. */
  readonly requests: readonly SentRequest[];
  /** The changes to send instead. */
  readonly change?: LoadedChange;
}

export interface LoadedChange {
  readonly kind: ChangeKind;
  readonly service: ServiceName;
  readonly seed: number;
  /** The employees that only this process changes. */
  readonly keys: readonly number[];
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Answers other than 200, and broken connections. */
  readonly failures: number;
  /** The number of failures by cause. */
  readonly causes: Readonly<Record<string, number>>;
  /** The number of answers by duration, in steps of `latencyStep`. */
  readonly latencies: readonly (readonly [step: number, count: number])[];
}

/** Milliseconds. */
export const latencyStep = 0.02;
