import type { StorageType } from './definition.js';

export interface KeyText {
  readonly text: string;
  readonly quoted: boolean;
}

export function readKeyClause(clause: string): KeyText {
  void clause;
  throw new Error('not written yet');
}

/** `undefined`: no entity can have this key. */
export function decodeKey(type: StorageType, text: string): string | number | undefined {
  void [type, text];
  throw new Error('not written yet');
}
