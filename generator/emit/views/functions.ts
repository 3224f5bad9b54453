import type { ClassFunction, Dataclass, FunctionType, Parameter } from '../../model/model.js';
import type { AccessBits } from '../access-bits.js';
import type { Literal } from '../layout.js';

/** Plain JSON. */
type FunctionLiteral = string | { readonly [kind: string]: FunctionLiteral };

/** The class that a function belongs to. */
type FunctionLevel = 'datastore' | 'dataclass' | 'selection' | 'entity' | 'singleton';

/** The functions of a dataclass that clients may call, as its definition lists them; nothing when there are none. */
export function dataclassFunctions(
  { functions }: Dataclass,
  bits: AccessBits,
): readonly Literal[] | undefined {
  const { dataclass, selection, entity } = functions;
  const all = [
    ...exposedFunctions(dataclass, 'dataclass', bits),
    ...exposedFunctions(selection, 'selection', bits),
    ...exposedFunctions(entity, 'entity', bits),
  ];
  return all.length === 0 ? undefined : all;
}

export function exposedFunctions(
  functions: readonly ClassFunction[],
  level: FunctionLevel,
  bits: AccessBits,
): readonly Literal[] {
  return functions
    .filter(({ exposed }) => exposed)
    .map((each) => ({
      name: each.name,
      level,
      onHTTPGet: each.onHTTPGet ? true : undefined,
      params: parameterLiterals(each.params),
      returns: typeLiteral(each.returns),
      mandatoryResult: each.mandatoryResult,
      ...bits.ofFunction(each),
      promote: each.promote,
    }));
}

/** Parameters as the runtime knows them. */
export function parameterLiterals(params: readonly Parameter[]): readonly Literal[] {
  return params.map(({ name, type, optional }) => ({
    name,
    type: typeLiteral(type),
    optional: optional ? true : undefined,
  }));
}

/** A type of a function as the runtime knows it. */
function typeLiteral(type: FunctionType): FunctionLiteral {
  switch (type.kind) {
    case 'storage':
      return type.dateOnly === true ? 'dateOnly' : type.type;
    case 'any':
    case 'void':
    case 'message':
      return type.kind;
    case 'entity':
      return { entity: type.dataclass };
    case 'selection':
      return { selection: type.dataclass };
    case 'list':
      return { list: typeLiteral(type.of) };
  }
}
