import type { ClassFunction, Dataclass, FunctionType, Parameter } from '../../model/model.js';
import type { Literal } from '../layout.js';

/** Plain JSON. */
type FunctionLiteral = string | { readonly [kind: string]: FunctionLiteral };

/** The class that a function belongs to. */
type FunctionLevel = 'datastore' | 'dataclass' | 'selection' | 'entity' | 'singleton';

/** The functions of a dataclass that clients may call, as its definition lists them; nothing when there are none. */
export function dataclassFunctions({ functions }: Dataclass): readonly Literal[] | undefined {
  const { dataclass, selection, entity } = functions;
  const all = [
    ...exposedFunctions(dataclass, 'dataclass'),
    ...exposedFunctions(selection, 'selection'),
    ...exposedFunctions(entity, 'entity'),
  ];
  return all.length === 0 ? undefined : all;
}

export function exposedFunctions(
  functions: readonly ClassFunction[],
  level: FunctionLevel,
): readonly Literal[] {
  return functions
    .filter(({ exposed }) => exposed)
    .map(({ name, onHTTPGet, params, returns, mandatoryResult, access, describe, promote }) => ({
      name,
      level,
      onHTTPGet: onHTTPGet ? true : undefined,
      params: parameterLiterals(params),
      returns: typeLiteral(returns),
      mandatoryResult,
      access,
      describe,
      promote,
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
