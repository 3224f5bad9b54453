import type { YamlProblem } from './yaml-problem.js';

interface DecodedText {
  /** The text without a byte order mark, so that offsets count visible text. */
  readonly text: string;
  readonly problem?: YamlProblem;
}

/** The text of a file; bytes have to be UTF-8. */
export function decodeText(source: string | Uint8Array): DecodedText {
  if (typeof source === 'string') {
    return { text: source.startsWith('\uFEFF') ? source.slice(1) : source };
  }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(source) };
  } catch {
    const text = new TextDecoder().decode(source);
    const start = Math.max(0, text.indexOf('\uFFFD'));
    return { text, problem: { kind: 'not-utf8', detail: '', start, end: start + 1, path: '' } };
  }
}
