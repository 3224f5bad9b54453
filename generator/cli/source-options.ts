import type { Command } from 'commander';
import { UsageError } from './failure.js';
import type { World } from './world.js';

/** How `import` and `import-data` log in to a running server. */
export interface LoginOptions {
  readonly user?: string;
  readonly authentify?: boolean;
  readonly args?: string;
  readonly cookie?: string;
}

/** Adds the options of a login. */
export function withLogin(command: Command): Command {
  return command
    .option('--user <name>', `log in to the server; ${passwordVariable} holds the password`)
    .option('--authentify', 'log in to the server with its function authentify')
    .option('--args <list>', 'the arguments of authentify, a JSON list')
    .option('--cookie <text>', 'a cookie of a session of the server');
}

/** @throws UsageError */
export function loginOf(env: World['env'], { user, authentify, args, cookie }: LoginOptions) {
  const password = env[passwordVariable];
  if (user !== undefined && password === undefined) {
    throw new UsageError(
      `--user needs the password in the environment variable ${passwordVariable}.`,
    );
  }
  if (args !== undefined && authentify !== true) {
    throw new UsageError('--args are the arguments of authentify; give --authentify too.');
  }
  let list: unknown;
  try {
    list = JSON.parse(args ?? '[]');
  } catch {
    // Told below.
  }
  if (!Array.isArray(list)) throw new UsageError('--args is no JSON list: ["mia", "secret"].');
  return {
    user: user === undefined ? undefined : { name: user, password: password ?? '' },
    authentify: authentify === true ? (list as readonly unknown[]) : undefined,
    cookie,
  };
}

/** Arguments appear in the list of processes and in the history of the shell. */
const passwordVariable = 'IMPORT_PASSWORD';

/** The parts of a list with commas between. */
export function listed(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}
