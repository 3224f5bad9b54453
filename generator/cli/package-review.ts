import { posix } from 'node:path';
import type { EmittedFile } from '../emit/file.js';
import type { ReadUserText } from '../output/user-edits.js';

/**
 * A package that a server needs and that is missing in its `package.json`, which belongs to the
 * user.
 */
export interface MissingPackage {
  readonly name: string;
  readonly version: string;
  readonly isForDevelopment: boolean;
}

const packageFile = 'package.json';

interface Packages {
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/**
 * The packages that are missing in a `package.json` of an earlier run, because the model now has
 * vectors, another database or roles.
 */
export async function missingPackages(
  files: readonly EmittedFile[],
  read: ReadUserText,
): Promise<readonly MissingPackage[]> {
  const wanted = files.find(({ path }) => path === packageFile);
  const found = await read(packageFile);
  if (wanted === undefined || found.kind !== 'file') return [];
  const named = packagesOf(found.text);
  if (named === undefined) return [];
  const needed = packagesOf(wanted.text) ?? {};
  const all = { ...named.devDependencies, ...named.dependencies };
  return [...listed(needed.dependencies, false), ...listed(needed.devDependencies, true)].filter(
    ({ name }) => !(name in all) && (!isCalled(name, needed) || isCalled(name, named)),
  );
}

/**
 * Whether a script runs the program of that package. The user may have removed such a script, and
 * the package with it.
 */
function isCalled(name: string, { scripts = {} }: Packages): boolean {
  return Object.values(scripts).some((script) => script.split(' ').includes(name));
}

/** The advice about missing packages, line by line. */
export function renderMissingPackages(missing: readonly MissingPackage[], folder: string): string {
  return [
    `${posix.join(folder, packageFile)} belongs to you and lacks packages that the server needs. Run there:`,
    ...[false, true].flatMap((isForDevelopment) => {
      const names = missing
        .filter((each) => each.isForDevelopment === isForDevelopment)
        .map(({ name, version }) => `"${name}@${version}"`);
      if (names.length === 0) return [];
      return [`  npm install ${isForDevelopment ? '--save-dev ' : ''}${names.join(' ')}`];
    }),
  ].join('\n');
}

function listed(
  packages: Readonly<Record<string, string>> = {},
  isForDevelopment: boolean,
): readonly MissingPackage[] {
  return Object.entries(packages).map(([name, version]) => ({ name, version, isForDevelopment }));
}

/** @returns `undefined` if the text is not a JSON object: npm explains that better */
function packagesOf(text: string): Packages | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
