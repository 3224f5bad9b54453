import { readdirSync, readFileSync } from 'node:fs';

/** Of a clock tick, in which the kernel tells processor times: Linux knows no other value where Node runs. */
const tickMilliseconds = 10;

/** Processor time of a process and all it started, those that ended included; nothing where there is no `/proc`. */
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
 * Processor time of each thread that a process and those it started have now, exactly, in nanoseconds; nothing where there is no
 * `/proc`.
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

/** What passed between two of them, in nanoseconds; nothing where a thread has ended, whose last part nobody tells. */
export function passed(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): number | undefined {
  if ([...before.keys()].some((thread) => !after.has(thread))) return undefined;
  let total = 0;
  for (const [thread, time] of after) total += time - (before.get(thread) ?? 0);
  return total;
}

/** Resident memory of a process and all it started; nothing where there is no `/proc`. */
export function residentMegabytes(pid: number): number | undefined {
  return sum(pid, (each) => {
    const status = readFileSync(`/proc/${each}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
  });
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

/** Each thread has a list of the processes that it started. */
function children(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
      .split(' ')
      .filter((each) => each !== '')
      .map(Number),
  );
}
