import type { Result } from './result.js';
import type { Figures, Ratio, Summary } from './report.js';
import { figure } from './table.js';

/**
 * A run of the bench as a table for README.md. In pairs of figures, the first is the generated
 * server's and the second is the yardstick's.
 */
export function markdown(result: Result & { readonly picture: string }): string {
  const { database, node, rounds, seconds, results, picture } = result;
  const on = database === 'postgres' ? 'PostgreSQL, ' : '';
  const hasCap = results.some(({ servers }) => servers['cap'] !== undefined);
  const hasDurable = results.some(({ durable }) => durable !== undefined);
  const head = [
    'request',
    'employees',
    'ratio',
    'processor',
    ...(hasDurable ? ['durable: ratio', 'durable: processor'] : []),
    'a second',
    'median ms',
    'p99 ms',
    'MB',
    ...(hasCap ? ['CAP a second'] : []),
  ];
  return [
    '',
    `${on}Node ${node.replace(/^v/, '')}, ${rounds} rounds of ${seconds} s (R9 to R12, R17, R18: ${2 * seconds} s):`,
    '',
    line(head),
    line(head.map((_, index) => (index === 0 ? '---' : '---:'))),
    ...results.map((each) =>
      line([
        ...cells(each, hasDurable),
        ...(hasCap ? [shown(each.servers['cap']?.requestsPerSecond)] : []),
      ]),
    ),
    '',
    `![Ratios of the generated server to the one written by hand](${picture})`,
    '',
  ].join('\n');
}

function cells(summary: Summary, hasDurable: boolean): string[] {
  const { request, title, rows, servers, yardstick, ratio, cpuRatio, durable } = summary;
  const pair = (value: (figures: Figures) => number | undefined): string =>
    [servers['generated'], servers[yardstick]]
      .map((each) => shown(each === undefined ? undefined : value(each)))
      .join(' · ');
  return [
    `${request} ${title}`,
    rows.toLocaleString('en'),
    shownRatio(ratio),
    shownPart(cpuRatio),
    ...(hasDurable
      ? [durable === undefined ? '–' : shownRatio(durable.ratio), shownPart(durable?.cpuRatio)]
      : []),
    pair((each) => each.requestsPerSecond),
    pair((each) => each.medianMilliseconds),
    pair((each) => each.p99Milliseconds),
    pair((each) => each.residentMegabytes),
  ];
}

function shownRatio(ratio: Ratio): string {
  const [low, high] = ratio.quartiles.map((each) => each.toFixed(2));
  return `${ratio.median.toFixed(2)} (${String(low)}–${String(high)})`;
}

function shownPart(value: number | undefined): string {
  return value?.toFixed(2) ?? '–';
}

function shown(value: number | undefined): string {
  return value === undefined ? '–' : figure(value);
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
