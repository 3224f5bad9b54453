/**
 * Milliseconds of processor time that this process has used: of two moments, what a statement between them cost, however many
 * others the machine runs meanwhile. A look at it costs as much as a short statement.
 */
export function processorMilliseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
