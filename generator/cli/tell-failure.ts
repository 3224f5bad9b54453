import { CommanderError } from 'commander';
import { Refusal } from '../output/refusal.js';
import { exitCode } from './exit-code.js';
import { Interruption, UsageError } from './failure.js';
import { tell, type Session } from './session.js';
import { printable } from './terminal-text.js';

/** Prints why a command failed; returns its exit code. */
export function tellFailure(session: Session, error: unknown): number {
  const { err } = session;
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.ok : exitCode.usage;
  if (error instanceof Interruption) {
    tell(session, 'Interrupted; nothing was changed.');
    return exitCode.interrupted[error.signal];
  }
  if (error instanceof UsageError) {
    tell(session, `${err.red('error')}: ${printable(error.message)}`);
    return exitCode.usage;
  }
  if (error instanceof Refusal) {
    tell(session, `${err.red('Refused')}: ${printable(error.message)}`);
    return exitCode.refused;
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  tell(session, `${err.red('internal error, please report')}\n${printable(stack)}`);
  return exitCode.bug;
}
