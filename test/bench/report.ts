import type { Sample } from './measure.js';
import type { BenchRequest } from './requests.js';
import type { ServerName } from './server.js';

/** Samples of one kind of request, in the order of the rounds. */
export interface Measured {
  readonly request: BenchRequest;
  readonly samples: Readonly<Record<ServerName, readonly Sample[]>>;
}

export interface Summary {
  readonly request: string;
  readonly title: string;
  readonly servers: Readonly<Record<ServerName, Sample>>;
  readonly yardstick: ServerName;
  /** Requests a second of the generated server by those of the yardstick. */
  readonly ratio: number;
  /** Processor time of the yardstick by that of the generated server: 1 is as good as by hand here, too. */
  readonly cpuRatio: number | undefined;
}

const serverNames: readonly ServerName[] = ['generated', 'sql-json', 'raw-rows'];

export function summarize({ request, samples }: Measured): Summary {
  const servers = {
    generated: medianSample(samples.generated),
    'sql-json': medianSample(samples['sql-json']),
    'raw-rows': medianSample(samples['raw-rows']),
  };
  const isRawFaster = servers['raw-rows'].requestsPerSecond > servers['sql-json'].requestsPerSecond;
  const yardstick = isRawFaster ? 'raw-rows' : 'sql-json';
  // Round by round: what disturbs the machine for longer than a round disturbs both.
  const pairs = samples.generated.flatMap((generated, round) => {
    const byHand = samples[yardstick][round];
    return byHand === undefined ? [] : [{ generated, byHand }];
  });
  return {
    request: request.name,
    title: request.title,
    servers,
    yardstick,
    ratio: median(
      pairs.map((each) => each.generated.requestsPerSecond / each.byHand.requestsPerSecond),
    ),
    cpuRatio: medianOfKnown(
      pairs.map(({ generated, byHand }) =>
        generated.cpuMicroseconds === undefined || byHand.cpuMicroseconds === undefined
          ? undefined
          : byHand.cpuMicroseconds / generated.cpuMicroseconds,
      ),
    ),
  };
}

/** The table, a line for each kind of request. */
export function table(summaries: readonly Summary[]): string {
  const head = ['', ...serverNames.flatMap((name) => [name, 'p99 ms', 'cpu us'])];
  const rows = summaries.map(({ request, servers, yardstick, ratio, cpuRatio }) => [
    request,
    ...serverNames.flatMap((name) => {
      const { requestsPerSecond, p99Milliseconds, cpuMicroseconds } = servers[name];
      return [
        requestsPerSecond.toFixed(0) + (name === yardstick ? '*' : ' '),
        p99Milliseconds.toFixed(2),
        cpuMicroseconds?.toFixed(1) ?? '-',
      ];
    }),
    ratio.toFixed(2),
    cpuRatio?.toFixed(2) ?? '-',
  ]);
  return aligned([[...head, 'ratio', 'cpu ratio'], ...rows]);
}

/** Cells in columns, at the right. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]): string =>
    row.map((cell, i) => cell.padStart(widths[i] ?? 0)).join('  ');
  return rows.map(line).join('\n');
}

function medianSample(samples: readonly Sample[]): Sample {
  return {
    requestsPerSecond: median(samples.map((each) => each.requestsPerSecond)),
    p99Milliseconds: median(samples.map((each) => each.p99Milliseconds)),
    cpuMicroseconds: medianOfKnown(samples.map((each) => each.cpuMicroseconds)),
  };
}

function medianOfKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((each) => each !== undefined);
  return known.length === 0 ? undefined : median(known);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const low = sorted[Math.floor(middle)] ?? Number.NaN;
  const high = sorted[Math.ceil(middle)] ?? Number.NaN;
  return (low + high) / 2;
}
