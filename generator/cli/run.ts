import { CommanderError } from 'commander';
import { Refusal } from '../output/refusal.js';
import { exitCode } from './exit-code.js';
import { Interruption, UsageError } from './failure.js';
import { makeProgram } from './program.js';
import { openSession, tell, type Session } from './session.js';
import { printable } from './terminal-text.js';
import type { World } from './world.js';

/** Runs one command line; returns its exit code. */
export async function run(argv: readonly string[], world: World): Promise<number> {
  const session = openSession(world, !argv.includes('--no-color'));
  let code: number = exitCode.ok;
  const program = makeProgram(session, (result) => {
    code = result;
  });
  try {
    if (argv.length === 0) {
      program.outputHelp({ error: true });
      return exitCode.usage;
    }
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    code = tellFailure(session, error);
  }
  return code;
}

function tellFailure(session: Session, error: unknown): number {
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
