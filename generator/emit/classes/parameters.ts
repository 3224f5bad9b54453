import type { ClassFunction, Model } from '../../model/model.js';
import { identifiers } from '../identifiers.js';
import type { AllClassNames } from './class-names.js';
import type { ParameterText } from './members.js';
import { reservedWords } from './taken-names.js';
import { argumentType, type TypeText } from './type-text.js';

/** The signature of a function in TypeScript. */
export interface FunctionSignature {
  readonly params: readonly ParameterText[];
  /** Without null, and without the promise. */
  readonly returns: TypeText;
  readonly uses: readonly string[];
}

export function signatureOf(
  model: Model,
  names: AllClassNames,
  { params, returns }: ClassFunction,
): FunctionSignature {
  const plain = identifiers(params.map(({ name }) => name));
  const types = params.map(({ type }) => argumentType(model, names, type));
  const result = argumentType(model, names, returns);
  return {
    params: params.map(({ name, optional }, index) => ({
      name: parameterName(plain.get(name) ?? name),
      type: types[index]?.text ?? 'unknown',
      optional,
    })),
    returns: result,
    uses: [...types.flatMap(({ uses }) => uses), ...result.uses],
  };
}

/** Parameters are positional, so a name that TypeScript reserves may change. */
function parameterName(name: string): string {
  return reservedWords.includes(name) ? `${name}_` : name;
}
