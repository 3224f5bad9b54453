import { type Pending, whenThere } from '../dialect/pending.js';
import type { SelectionRequest } from './selection-request.js';

/** Asks class code for the conditions and orders of attributes that it computes. */
export interface ComputedRequests {
  /**
   * @returns the request itself if it names no such attribute
   * @throws RequestError 400 for an attribute without the needed accessor
   */
  resolve<R extends SelectionRequest>(request: R): Pending<R>;
}

/** Continues with a request that class code has resolved. */
export function whenResolved<R extends SelectionRequest, T>(
  { computed }: { readonly computed?: ComputedRequests | undefined },
  request: R,
  next: (request: R) => Pending<T>,
): Pending<T> {
  return computed === undefined ? next(request) : whenThere(computed.resolve(request), next);
}
