import type { Model } from '../../../generator/model/model.js';

/** PostgreSQL cannot store a text with the character U+0000, neither plain nor as JSON. */
export function canHold({ databases }: Model, text: string): boolean {
  return !databases.includes('postgres') || !(text.includes('\0') || text.includes('\\u0000'));
}
