import { entry, booleanOf, child } from '../source/tree.js';
import { kindKeys } from '../source/vocabulary.js';
import type { SourceNode } from '../source/tree.js';

export type AttributeKind = 'storage' | 'toOne' | 'toMany' | 'computed' | 'alias' | 'aggregate';

/**
 * The kind keys of an attribute's mapping in the order of the file; a correct attribute has one.
 */
export function kindKeysOf(node: SourceNode): readonly (typeof kindKeys)[number][] {
  if (node.kind !== 'mapping') return [];
  return kindKeys
    .filter((key) => node.entries.has(key))
    .sort((a, b) => (entry(node, a)?.key.start ?? 0) - (entry(node, b)?.key.start ?? 0));
}

/** The kind of an attribute, by its keys; `undefined` if they do not decide it. */
export function attributeKind(node: SourceNode): AttributeKind | undefined {
  if (node.kind === 'scalar') return typeof node.value === 'string' ? 'storage' : undefined;
  switch (kindKeysOf(node)[0]) {
    case 'type':
      return 'storage';
    case 'to':
      return booleanOf(child(node, 'many')) === true ? 'toMany' : 'toOne';
    case 'computed':
      return 'computed';
    case 'alias':
      return 'alias';
    case 'aggregate':
      return 'aggregate';
    case undefined:
      return undefined;
  }
}
