import type { Ratio, Summary } from './report.js';

/** The table for the terminal: a line for each kind of request and server. */
export function table(summaries: readonly Summary[]): string {
  const head = ['', '', 'req/s', 'median ms', 'p99 ms', 'cpu us', 'least', 'MB', 'ratio', 'cpu'];
  const rows = summaries.flatMap((summary) =>
    Object.entries(summary.servers).map(([name, sample], index) => [
      index === 0 ? summary.request : '',
      `${name}${name === summary.yardstick ? '*' : ' '}`,
      figure(sample.requestsPerSecond),
      sample.medianMilliseconds.toFixed(2),
      sample.p99Milliseconds.toFixed(2),
      orDash(sample.cpuMicroseconds),
      orDash(summary.leastCpu?.[name]),
      sample.residentMegabytes?.toFixed(0) ?? '-',
      index === 0 ? ratioText(summary.ratio) : '',
      index === 0 ? (summary.cpuRatio?.toFixed(2) ?? '-') : '',
    ]),
  );
  const compared = summaries.flatMap(({ request, durable, before }) =>
    Object.entries({ durable, before }).flatMap(([name, each]) =>
      each === undefined
        ? []
        : [[request, name, ratioText(each.ratio), each.cpuRatio?.toFixed(2) ?? '-']],
    ),
  );
  return [[head, ...rows], ...(compared.length === 0 ? [] : [compared])].map(aligned).join('\n\n');
}

function orDash(value: number | undefined): string {
  return value === undefined ? '-' : figure(value);
}

function ratioText({ median, quartiles: [low, high] }: Ratio): string {
  return `${median.toFixed(2)} (${low.toFixed(2)}-${high.toFixed(2)})`;
}

/** Three significant digits. */
export function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

/** Cells in right-aligned columns. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]): string =>
    row.map((cell, i) => cell.padStart(widths[i] ?? 0)).join('  ');
  return rows.map(line).join('\n');
}
