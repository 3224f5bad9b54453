import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';

/** How the command has ended. */
interface UsersAnswer {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs `npm run users` of a compiled server. */
export type UsersCommand = (args: readonly string[], input?: string) => Promise<UsersAnswer>;

/**
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
