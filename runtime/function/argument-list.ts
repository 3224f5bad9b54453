import { refuse, type RequestError } from '../protocol/errors.js';

/**
 * The arguments that a request brings: a list, or `{"params": […]}` (protocol section 15.3). Nothing is no arguments.
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
