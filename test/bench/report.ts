import type { Sample } from './put-load.js';
import type { BenchRequest } from './requests.js';

/** The samples of one kind of request by server, in the order of the rounds. */
export interface Measured {
  readonly request: BenchRequest;
  readonly rows: number;
  readonly samples: Readonly<Record<string, readonly Sample[]>>;
  /** Microseconds per request by server, from short slices. */
  readonly leastCpu: Readonly<Record<string, number>> | undefined;
}

/** The ratios of the rounds: their median and their spread. */
export interface Ratio {
  readonly median: number;
  /** A quarter of the rounds is below, a quarter above. */
  readonly quartiles: readonly [number, number];
}

/** Medians of a server's samples. */
export type Figures = Omit<Sample, 'requests' | 'failures' | 'causes'>;

export interface Summary {
  readonly request: string;
  readonly title: string;
  readonly rows: number;
  /** Medians of the rounds. */
  readonly servers: Readonly<Record<string, Figures>>;
  readonly yardstick: string;
  /** Requests per second of the generated server, divided by those of the yardstick. */
  readonly ratio: Ratio;
  /** Microseconds per request by server: the minimum of many short slices. */
  readonly leastCpu: Readonly<Record<string, number>> | undefined;
  /**
   * The processor time of the cheaper server written by hand, divided by that of the generated
   * server: more than 1 is better than by hand.
   */
  readonly cpuRatio: number | undefined;
  /** Both ratios against the durable yardstick, if the database has one. */
  readonly durable?: Compared | undefined;
  /** Both ratios against the server of another version, if that is measured. */
  readonly before: Compared | undefined;
}

export interface Compared {
  readonly ratio: Ratio;
  readonly cpuRatio: number | undefined;
}

const yardsticks = ['sql-json', 'raw-rows', 'postgres'] as const;

export function summarize({ request, rows, samples, leastCpu }: Measured): Summary {
  const of = (server: string): readonly Sample[] => samples[server] ?? [];
  const measured = yardsticks.filter((name) => samples[name] !== undefined);
  const yardstick = best(measured, (name) =>
    median(of(name).map(({ requestsPerSecond }) => requestsPerSecond)),
  );
  const compared = (server: string): Compared | undefined =>
    samples[server] === undefined
      ? undefined
      : {
          ratio: ratioOf(of('generated'), of(server)),
          cpuRatio:
            leastCpu === undefined
              ? undefined
              : (leastCpu[server] ?? Number.NaN) / (leastCpu['generated'] ?? Number.NaN),
        };
  const byHand = measured.map((name) => leastCpu?.[name] ?? Number.NaN);
  return {
    request: request.name,
    title: request.title,
    rows,
    servers: Object.fromEntries(
      Object.entries(samples).map(([name, each]) => [name, medianSample(each)]),
    ),
    yardstick,
    ratio: ratioOf(of('generated'), of(yardstick)),
    leastCpu,
    cpuRatio:
      leastCpu === undefined
        ? undefined
        : Math.min(...byHand) / (leastCpu['generated'] ?? Number.NaN),
    durable: compared('postgres-durable'),
    before: compared('before'),
  };
}

/** Round by round: a disturbance that is longer than a round affects both. */
function ratioOf(generated: readonly Sample[], byHand: readonly Sample[]): Ratio {
  const ratios = generated.flatMap((each, round) => {
    const other = byHand[round];
    return other === undefined ? [] : [each.requestsPerSecond / other.requestsPerSecond];
  });
  return {
    median: median(ratios),
    quartiles: [quantile(ratios, 0.25), quantile(ratios, 0.75)],
  };
}

function best<T>(all: readonly T[], worth: (one: T) => number): T {
  return all.reduce((found, each) => (worth(each) > worth(found) ? each : found));
}

function medianSample(samples: readonly Sample[]): Figures {
  return {
    requestsPerSecond: median(samples.map((each) => each.requestsPerSecond)),
    medianMilliseconds: median(samples.map((each) => each.medianMilliseconds)),
    p99Milliseconds: median(samples.map((each) => each.p99Milliseconds)),
    cpuMicroseconds: medianOfKnown(samples.map((each) => each.cpuMicroseconds)),
    residentMegabytes: medianOfKnown(samples.map((each) => each.residentMegabytes)),
  };
}

function medianOfKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((each) => each !== undefined);
  return known.length === 0 ? undefined : median(known);
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Interpolates between the two nearest values. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * part;
  const low = sorted[Math.floor(place)] ?? Number.NaN;
  const high = sorted[Math.ceil(place)] ?? Number.NaN;
  return low + (high - low) * (place - Math.floor(place));
}
