import { createHash } from 'node:crypto';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Text of a file for comparison: git may have turned every line break into CRLF at checkout. */
export function decodeText(bytes: Uint8Array): string {
  return withPlainLineEnds(decoder.decode(bytes));
}

export function withPlainLineEnds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** SHA-256 of a text with plain line ends, in hex. */
export function hashText(text: string): string {
  return createHash('sha256').update(withPlainLineEnds(text), 'utf8').digest('hex');
}
