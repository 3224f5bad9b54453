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
  const listed = child(value, 'params');
  const params = parameters(context, world, listed);
  checkOrder(context, params, listed);
  return {
    name: key.name,
    ...renamedFromOf(value),
    exposed,
    onHTTPGet,
    params,
    ...result(context, world, key.name, child(value, 'returns')),
    ...describedBy(value),
  };
}

/** The parameters of a function or a job. */
export function parameters(
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
  return found.map(({ key, value }) => {
    checkName(context, key);
    return {
      name: key.name,
      type: typeAt(context, world, value, { label: key.name, isResult: false }),
      optional: booleanOf(child(value, 'optional')) === true,
      ...describedBy(value),
    };
  });
}

/** Callers of a function leave out parameters at its end. */
function checkOrder(
  { report }: Context,
  params: readonly Parameter[],
  node: SourceNode | undefined,
): void {
  let lastOptional: string | undefined;
  for (const [index, { key }] of entriesOf(node).entries()) {
    if (params[index]?.optional === true) lastOptional = key.name;
    else if (lastOptional !== undefined) {
      const fill = { parameter: key.name, optional: lastOptional };
      report('function/optional-order', fill, key);
    }
  }
}

function result(
  context: Context,
  world: World,
  name: string,
  node: SourceNode | undefined,
): Pick<ClassFunction, 'returns' | 'mandatoryResult'> {
  const label = `The result of ${name}`;
  const returns = typeAt(context, world, node, { label, isResult: true });
  const mandatory = node?.kind === 'mapping' ? entry(node, 'mandatory') : undefined;
  if (mandatory === undefined || booleanOf(mandatory.value) !== true) return { returns };
  if (returns.kind === 'void') context.report('function/void-mandatory', { name }, mandatory.key);
  return { returns, mandatoryResult: true };
}

interface TypePlace {
  /** The parameter or result in messages. */
  readonly label: string;
  /** Whether `void` and `message` are allowed. */
  readonly isResult: boolean;
}

/** The type of a parameter or result, alone or in a mapping. A missing type, or one with a wrong shape, is any. */
function typeAt(
  context: Context,
  world: World,
  node: SourceNode | undefined,
  { label, isResult }: TypePlace,
): FunctionType {
  const isMapping = node?.kind === 'mapping';
  const at = isMapping ? child(node, 'type') : node;
  const text = textOf(at);
  if (at === undefined || text === undefined) return { kind: 'any' };
  const type = functionType(context, world, { text, at, isResult });
  const given = isMapping ? entry(node, 'dateOnly') : undefined;
  if (given === undefined || booleanOf(given.value) !== true) return type;
  const day = asDay(type);
  if (day === undefined) {
    context.report('attribute/date-only', { attribute: label, type: text }, given.key);
  }
  return day ?? type;
}

/** A date, or a list of dates, without time; `undefined` for another type. */
function asDay(type: FunctionType): FunctionType | undefined {
  if (type.kind === 'storage' && type.type === 'date') return { ...type, dateOnly: true };
  const of = type.kind === 'list' ? asDay(type.of) : undefined;
  return of === undefined ? undefined : { kind: 'list', of };
}

interface TypeUse {
  readonly text: string;
  readonly at: SourceNode;
  readonly isResult: TypePlace['isResult'];
}

/** The deepest nesting of lists in a type; deeper ones are a mistake. */
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
