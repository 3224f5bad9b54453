import { createHash } from 'node:crypto';

/** PostgreSQL silently truncates longer names. */
export const maxNameBytes = 63;

const hashLength = 12;

/** How many bytes a name has in PostgreSQL. */
export function nameBytes(name: string): number {
  return Buffer.byteLength(name);
}

/**
 * A generated name, such as that of an index: itself, or its beginning and a hash if it is too
 * long.
 */
export function shortName(name: string): string {
  if (nameBytes(name) <= maxNameBytes) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, hashLength);
  let beginning = '';
  for (const character of name) {
    if (nameBytes(beginning + character) > maxNameBytes - hashLength - 1) break;
    beginning += character;
  }
  return `${beginning}~${hash}`;
}
