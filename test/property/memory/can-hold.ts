import type { Model } from '../../../generator/model/model.js';

/** PostgreSQL keeps no text with the character U+0000, be it written as JSON or not. */
export function canHold({ databases }: Model, text: string): boolean {
  return !databases.includes('postgres') || !(text.includes('\0') || text.includes('\\u0000'));
}
