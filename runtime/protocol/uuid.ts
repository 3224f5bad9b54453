import { randomUUID } from 'node:crypto';

const hexDigits = /^[0-9A-Fa-f]{32}$/;
const dashed = /^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$/;

/**
 * The wire form of a UUID, 32 upper-case hexadecimal digits (protocol P4.8), from that form in any
 * case, with the usual dashes, or with dashes and braces. `undefined` if the text is no UUID.
 */
export function normaliseUuid(text: string): string | undefined {
  if (text.length === 32) return hexDigits.test(text) ? text.toUpperCase() : undefined;
  const plain =
    text.length === 38 && text.startsWith('{') && text.endsWith('}') ? text.slice(1, -1) : text;
  if (plain.length !== 36 || !dashed.test(plain)) return undefined;
  return plain.replaceAll('-', '').toUpperCase();
}

/** A random UUID in the wire form. */
export function newUuid(): string {
  return randomUUID().replaceAll('-', '').toUpperCase();
}
