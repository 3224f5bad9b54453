/** What one process of load is told to do. */
export interface LoadJob {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly paths: readonly string[];
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Answers that were not 200, and connections that broke. */
  readonly failures: number;
  /** How many answers took how long, by `latencyStep`. */
  readonly latencies: readonly (readonly [step: number, count: number])[];
}

/** Milliseconds. */
export const latencyStep = 0.02;
