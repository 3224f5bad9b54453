import type { ChangeKind } from './changes.js';

/** A request that is sent: by POST when it has a body and no method. */
export interface SentRequest {
  readonly method?: 'POST' | 'PATCH';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Whose way of changing entities is spoken. */
export type ServiceName = 'own' | 'cap';

/** What one process of load is told to do. */
export interface LoadJob {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent over `RawConnection`, which costs less: for servers that answer faster than two processes of autocannon ask. */
  readonly isRaw?: true;
  /** What is sent, one after the other and then from the start again. */
  readonly requests: readonly SentRequest[];
  /** What is changed instead. */
  readonly change?: LoadedChange;
}

export interface LoadedChange {
  readonly kind: ChangeKind;
  readonly service: ServiceName;
  readonly seed: number;
  /** Employees that no other process changes. */
  readonly keys: readonly number[];
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Answers that were not 200, and connections that broke. */
  readonly failures: number;
  /** How many of the failures have which cause. */
  readonly causes: Readonly<Record<string, number>>;
  /** How many answers took how long, by `latencyStep`. */
  readonly latencies: readonly (readonly [step: number, count: number])[];
}

/** Milliseconds. */
export const latencyStep = 0.02;
