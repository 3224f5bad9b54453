/** The command line is wrong; the message says what to change. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The user asked the program to stop. */
export class Interruption extends Error {
  override readonly name = 'Interruption';

  constructor(readonly signal: 'SIGINT' | 'SIGTERM') {
    super(`Interrupted by ${signal}.`);
  }
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether the operating system refused something, as opposed to a bug. */
export function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error;
}
