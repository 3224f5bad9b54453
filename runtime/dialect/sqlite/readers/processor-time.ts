/**
 * Milliseconds of processor time that this process has used: of two moments, what a statement between them cost, however many
 * others the machine runs meanwhile. A look at it costs as much as a short statement.
 */
export function processorMilliseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Others that the machine runs may take this many times as long meanwhile; what is beyond is time that the disk takes. */
const mostBeside = 8;

/**
 * What a statement took, in milliseconds: no more than has passed, since other threads of the process use the processor, too.
 * @param start of `performance.now()`
 * @param used of `processorMilliseconds()`, where that was asked
 */
export function costSince(start: number, used: number | undefined): number {
  const passed = performance.now() - start;
  if (used === undefined) return passed;
  return Math.min(passed, Math.max(processorMilliseconds() - used, passed / mostBeside));
}
