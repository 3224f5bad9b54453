import { exitCode } from './exit-code.js';
import { makeProgram } from './program.js';
import { openSession } from './session.js';
import { tellFailure } from './tell-failure.js';
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
