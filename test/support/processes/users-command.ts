import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { vi } from 'vitest';
import type { users as run } from '../../../runtime/users/command.js';

/** How the command has ended. */
interface UsersAnswer {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs `npm run users`. */
export type UsersCommand = (args: readonly string[], input?: string) => Promise<UsersAnswer>;

/**
 * The command of a compiled server, in a process of its own.
 * @param program the main file of the server
 * @param folder where its database is
 */
export function usersCommand(
  program: string,
  folder: string,
  environment: Readonly<Record<string, string>> = {},
): UsersCommand {
  return async (args, input = '') => {
    const file = join(dirname(program), 'generated/users.js');
    const env = { PATH: process.env['PATH'], ...environment };
    const child = spawn(process.execPath, [file, ...args], { cwd: folder, env });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    // It may end before it has read its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, out, err };
  };
}

/** Runs the command in this process, which has loaded the server: a process takes much longer than a command. */
export function usersHere(
  program: string,
  folder: string,
  environment: Readonly<Record<string, string>> = {},
): UsersCommand {
  const load = (file: string): Promise<unknown> =>
    import(/* @vite-ignore */ pathToFileURL(join(dirname(program), file)).href);
  return async (args, input = '') => {
    const { users } = (await load('../../runtime/users.js')) as { users: typeof run };
    type Options = Parameters<typeof run>[0];
    const { databases } = (await load('generated/databases.js')) as Pick<Options, 'databases'>;
    const { settings } = (await load('generated/settings.js')) as Pick<Options, 'settings'>;
    const { argv, exitCode } = process;
    let [out, err] = ['', ''];
    const stdin = Readable.from(input === '' ? [] : [Buffer.from(input)]) as typeof process.stdin;
    const replaced = [
      vi.spyOn(process, 'stdin', 'get').mockReturnValue(stdin),
      vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((out += text), true)),
      vi.spyOn(process.stderr, 'write').mockImplementation((text) => ((err += text), true)),
    ];
    const variables = { DATABASE_URL: `sqlite:${join(folder, 'data.sqlite')}`, ...environment };
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    process.argv = [...argv.slice(0, 2), ...args];
    process.exitCode = 0;
    try {
      await users({ databases, settings });
      return { code: process.exitCode, out, err };
    } finally {
      Object.assign(process, { argv, exitCode });
      vi.unstubAllEnvs();
      for (const each of replaced) each.mockRestore();
    }
  };
}
