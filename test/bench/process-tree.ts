import { readdirSync, readFileSync } from 'node:fs';

/**
 * Milliseconds of a clock tick, the unit of processor times in the kernel. On Linux it is always
 * this value.
 */
const tickMilliseconds = 10;

/**
 * Processor time of a process and its descendants, including ended ones; `undefined` without
 * `/proc`.
 */
export function cpuMilliseconds(pid: number): number | undefined {
  return sum(pid, (each) => {
    const stat = readFileSync(`/proc/${each}/stat`, 'utf8');
    // utime, stime, and both of the children that have ended.
    const times = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15);
    return times.reduce((total, ticks) => total + Number(ticks) * tickMilliseconds, 0);
  });
}

/**
 * Exact processor time in nanoseconds of each live thread of a process and its descendants;
 * `undefined` without `/proc`.
 */
export function threadTimes(pid: number): ReadonlyMap<string, number> | undefined {
  const times = new Map<string, number>();
  const told = sum(pid, (each) => {
    for (const thread of readdirSync(`/proc/${each}/task`)) {
      const [time] = readFileSync(`/proc/${each}/task/${thread}/schedstat`, 'utf8').split(' ');
      times.set(thread, Number(time));
    }
    return 0;
  });
  return told === undefined ? undefined : times;
}

/**
 * The difference between two measurements in nanoseconds; `undefined` if a thread has ended,
 * because its last part is unknown.
 */
export function passed(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): number | undefined {
  if ([...before.keys()].some((thread) => !after.has(thread))) return undefined;
  let total = 0;
  for (const [thread, time] of after) total += time - (before.get(thread) ?? 0);
  return total;
}

/** Resident memory of a process and its descendants; `undefined` without `/proc`. */
export function residentMegabytes(pid: number): number | undefined {
  return sum(pid, (each) => megabytes(each, 'VmRSS'));
}

/**
 * The most resident memory that a process has had, and the sum of that of its descendants;
 * `undefined` without `/proc`.
 */
export function peakMegabytes(
  pid: number,
): { readonly own: number; readonly descendants: number } | undefined {
  const all = sum(pid, (each) => megabytes(each, 'VmHWM'));
  if (all === undefined) return undefined;
  const own = megabytes(pid, 'VmHWM');
  return { own, descendants: all - own };
}

function megabytes(pid: number, name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1024;
}

function sum(pid: number, measure: (pid: number) => number): number | undefined {
  try {
    return (
      measure(pid) + children(pid).reduce((total, each) => total + (sum(each, measure) ?? 0), 0)
    );
  } catch {
    return undefined;
  }
}

/** Each thread has a list of its child processes. */
function children(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
      .split(' ')
      .filter((each) => each !== '')
      .map(Number),
  );
}
