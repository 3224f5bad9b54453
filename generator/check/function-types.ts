import { isOneOf, storageTypes } from '../source/vocabulary.js';
import { renameHint } from './renames.js';
import { functionTypeHint } from './type-hints.js';
import type { FunctionType } from '../model/model.js';
import type { SourceNode } from '../source/tree.js';
import type { Context } from './context.js';
import type { World } from './world.js';

export interface TypeUse {
  readonly text: string;
  readonly at: SourceNode;
  /** Whether `void` and `message` are allowed. */
  readonly isResult: boolean;
}

/** Lists of lists of lists... mean nothing to anyone. */
const maxLists = 5;

/** A type of a parameter or result: `Company`, `Company.selection`, `string[]`. */
export function functionType(context: Context, world: World, use: TypeUse): FunctionType {
  const { text, at } = use;
  if (text.endsWith('[]'.repeat(maxLists + 1))) {
    unknownType(context, world, text, at);
  } else if (text.endsWith('[]')) {
    const item = { text: text.slice(0, -2), at, isResult: false };
    return { kind: 'list', of: functionType(context, world, item) };
  }
  if (text === 'void' || text === 'message') {
    if (!use.isResult) context.report('function/result-only-type', { type: text }, at);
    return { kind: text };
  }
  if (text === 'any') return { kind: 'any' };
  if (isOneOf(storageTypes, text)) return { kind: 'storage', type: text };
  const isSelection = text.endsWith('.selection');
  const dataclass = isSelection ? text.slice(0, -'.selection'.length) : text;
  if (!world.dataclass.has(dataclass)) unknownType(context, world, text, at);
  return { kind: isSelection ? 'selection' : 'entity', dataclass };
}

function unknownType(context: Context, world: World, type: string, at: SourceNode): void {
  const dataclasses = [...world.dataclass.keys()];
  const known = [
    ...storageTypes,
    'any',
    'void',
    'message',
    ...dataclasses,
    ...dataclasses.map((name) => `${name}.selection`),
  ];
  context.report(
    'function/unknown-type',
    { type },
    at,
    renameHint('', type.replace(/\.selection$/, ''), world.dataclasses) ??
      functionTypeHint(type) ??
      context.suggest(type, known),
  );
}
