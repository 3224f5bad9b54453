import { pathToFileURL } from 'node:url';
import { vi } from 'vitest';

/** How a command has ended. */
export interface EndedCommand {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

let runs = 0;

/**
 * Runs a command of a compiled server as `node <file> <args>` does, but in this process: another one
 * takes longer to start than most commands run. One of them runs at a time.
 * @param environment what it has in addition to that of the tests
 */
export async function runHere(
  file: string,
  args: readonly string[],
  { cwd, environment }: { readonly cwd: string; readonly environment: NodeJS.ProcessEnv },
): Promise<EndedCommand> {
  const { argv, env, exitCode } = process;
  const folder = process.cwd();
  const [out, err] = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockReturnValue(true),
  );
  const textOf = (written: typeof out): string =>
    written?.mock.calls.map(([text]) => String(text)).join('') ?? '';
  try {
    process.argv = [process.execPath, file, ...args];
    process.env = { ...env, ...environment };
    process.exitCode = undefined;
    process.chdir(cwd);
    // A module runs once under each address; those that it imports are loaded already.
    runs += 1;
    await import(/* @vite-ignore */ `${pathToFileURL(file).href}?run=${runs}`);
    return { code: Number(process.exitCode ?? 0), out: textOf(out), err: textOf(err) };
  } finally {
    Object.assign(process, { argv, env, exitCode });
    process.chdir(folder);
    for (const each of [out, err]) each?.mockRestore();
  }
}
