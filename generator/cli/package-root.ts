import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Finds the folder of this package, above one of its files: compiled sources are one level deeper
 * than written ones.
 */
export function findPackage(file: string): { root: string; version: string } {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const path = join(folder, 'package.json');
    if (existsSync(path)) {
      const content: unknown = JSON.parse(readFileSync(path, 'utf8'));
      if (isOurs(content)) return { root: folder, version: content.version };
    }
    if (dirname(folder) === folder) throw new Error(`${file} is in no folder of drs-gen.`);
  }
}

function isOurs(content: unknown): content is { readonly version: string } {
  return (
    typeof content === 'object' &&
    content !== null &&
    'name' in content &&
    content.name === 'drs-gen' &&
    'version' in content &&
    typeof content.version === 'string'
  );
}
