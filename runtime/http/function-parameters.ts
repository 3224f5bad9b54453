import type { FastifyRequest } from 'fastify';
import type { FunctionDefinition, FunctionType } from '../protocol/definition.js';
import { refuse, type RequestError } from '../protocol/errors.js';
import type { Parameters } from '../query/parameters.js';
import { readJson } from './body.js';
import { readingParameters, refusedMethod } from './reading-parameters.js';

/** What a request contains in addition to the name of a function. */
export interface FunctionRequest {
  readonly args: readonly unknown[];
  /** Selects the entities of a selection function. */
  readonly input: Pick<Parameters, 'filter' | 'params' | 'orderby'>;
  /** How entities that the function returns are answered; what selects entities is in `input`. */
  readonly output: Parameters;
}

/** Methods of a POST elsewhere. */
const changes = ['update', 'validate', 'delete'];

/**
 * Reads a call of a function (protocol P11.6, P11.12 to P11.14). Arguments of a GET are in
 * `$params`; a filter has no placeholders there.
 * @throws RequestError 400 for arguments that are no list, and for parameters that do not apply to
 * this function
 */
export function readFunctionRequest(
  request: FastifyRequest,
  { name, level, returns }: FunctionDefinition,
): FunctionRequest {
  const isGet = request.method !== 'POST';
  const parameters = readingParameters(request, 'a function', [
    'entityset',
    ...(isGet ? [] : changes),
  ]);
  const { filter, params, orderby, method } = parameters;
  if (method !== undefined && method !== 'entityset') throw refusedMethod(method, 'POST');
  if (method === 'entityset' && !mayBeSelection(returns)) throw noSelection();
  if (level !== 'selection' && (filter !== undefined || orderby !== undefined)) {
    const given = filter === undefined ? '$orderby' : '$filter';
    throw refuse(
      'malformedUrl',
      `${given} applies to functions of entity selections, and ${name} is none.`,
    );
  }
  const { body: sent, headers } = request;
  const body: unknown = isGet ? params : readJson(sent, headers['content-type'], 'all');
  return {
    args: argumentList(body),
    input: { filter, params: isGet ? undefined : params, orderby },
    output: parameters,
  };
}

/** Anything else is refused before the function runs and changes something. */
function mayBeSelection(type: FunctionType): boolean {
  return type === 'any' || (typeof type === 'object' && 'selection' in type);
}

export function noSelection(): Error {
  return refuse(
    'methodNotApplicable',
    '$method=entityset makes a set of an entity selection, and the function returns none.',
  );
}

/**
 * The arguments of a request: a list, or `{"params": […]}` (protocol P11.6). Nothing is no
 * arguments.
 * @param json a body, or `$params`
 * @throws RequestError 400 for anything else
 */
export function argumentList(json: unknown): readonly unknown[] {
  if (json === undefined) return [];
  if (Array.isArray(json)) return json;
  if (typeof json === 'object' && json !== null) {
    const { params } = json as { readonly params?: unknown };
    if (Array.isArray(params)) return params;
  }
  throw notAList();
}

function notAList(): RequestError {
  return refuse(
    'wrongArgument',
    'The arguments of a function are a JSON list, one item for each parameter, or {"params": [...]} with such a list.',
  );
}
