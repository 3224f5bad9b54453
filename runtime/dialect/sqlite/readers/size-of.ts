import type { ReadAnswer } from './messages.js';

/** What a value of a row is sent with. */
const bytesPerValue = 16;

/** Bytes of what is sent between processes, roughly. */
export function sizeOf(answer: ReadAnswer): number {
  if (typeof answer === 'string' || answer instanceof Uint8Array) return answer.length;
  if (answer === null || typeof answer !== 'object') return 8;
  const rows = 'rows' in answer ? answer.rows : answer;
  return rows.length * (rows[0]?.length ?? 0) * bytesPerValue;
}
