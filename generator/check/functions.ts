import { booleanOf, child, entriesOf, entry, textOf } from '../source/tree.js';
import { checkName, checkReserved, checkUnique } from './names.js';
import { checkEntryRenames, renamedFromOf, renameHint } from './renames.js';
import { describedBy, type World } from './world.js';
import type { ClassFunction, FunctionType, Parameter } from '../model/model.js';
import type { SourceEntry, SourceNode } from '../source/tree.js';
import type { Context } from './context.js';
import { isOneOf, storageTypes } from '../source/vocabulary.js';
import { functionTypeHint } from './type-hints.js';

/** A mapping of functions, and their owner. */
interface FunctionGroup {
  readonly functions: SourceNode | undefined;
  /** The class of the functions in messages. */
  readonly owner: string;
  readonly reserved: ReadonlySet<string>;
}

export function classFunctions(
  context: Context,
  world: World,
  group: FunctionGroup,
): readonly ClassFunction[] {
  const found = entriesOf(group.functions);
  checkUnique(
    context,
    group.owner,
    found.map(({ key }) => key),
  );
  checkEntryRenames(context, '', group.functions);
  return found.map(({ key, value }) => {
    checkName(context, key);
    checkReserved(context, key, group.reserved, group.owner);
    return classFunction(context, world, { key, value });
  });
}

function classFunction(context: Context, world: World, { key, value }: SourceEntry): ClassFunction {
  const exposed = booleanOf(child(value, 'exposed')) === true;
  const get = entry(value, 'onHTTPGet');
  const onHTTPGet = get !== undefined && booleanOf(get.value) === true;
  if (onHTTPGet && !exposed) {
    context.report('function/get-not-exposed', { name: key.name }, get.key);
  }
  return {
    name: key.name,
    ...renamedFromOf(value),
    exposed,
    onHTTPGet,
    params: parameters(context, world, child(value, 'params')),
    returns: typeAt(context, world, child(value, 'returns'), true),
    ...describedBy(value),
  };
}

function parameters(
  context: Context,
  world: World,
  node: SourceNode | undefined,
): readonly Parameter[] {
  const found = entriesOf(node);
  checkUnique(
    context,
    'The list of parameters',
    found.map(({ key }) => key),
  );
  let lastOptional: string | undefined;
  return found.map(({ key, value }) => {
    checkName(context, key);
    const optional = booleanOf(child(value, 'optional')) === true;
    if (optional) lastOptional = key.name;
    else if (lastOptional !== undefined) {
      const fill = { parameter: key.name, optional: lastOptional };
      context.report('function/optional-order', fill, key);
    }
    const type = value.kind === 'mapping' ? child(value, 'type') : value;
    return {
      name: key.name,
      type: typeAt(context, world, type, false),
      optional,
      ...describedBy(value),
    };
  });
}

/** A missing type, or one with a wrong shape, is any. */
function typeAt(
  context: Context,
  world: World,
  at: SourceNode | undefined,
  isResult: boolean,
): FunctionType {
  const text = textOf(at);
  if (at === undefined || text === undefined) return { kind: 'any' };
  return functionType(context, world, { text, at, isResult });
}

interface TypeUse {
  readonly text: string;
  readonly at: SourceNode;
  /** Whether `void` and `message` are allowed. */
  readonly isResult: boolean;
}

/** Lists of lists of lists... mean nothing to anyone. */
const maxLists = 5;

/** A type of a parameter or result: `Company`, `Company.selection`, `string[]`. */
function functionType(context: Context, world: World, use: TypeUse): FunctionType {
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
