import { type Pending, whenThere } from '../dialect/pending.js';
import type { SelectionRequest } from './selection-request.js';

/** Asks class code for the conditions and orders that attributes stand for which it computes. */
export interface ComputedRequests {
  /**
   * @returns the request itself where it names no such attribute
   * @throws RequestError 400 for an attribute without the accessor that is needed
   */
  settle<R extends SelectionRequest>(request: R): Pending<R>;
}

/** Goes on with a request in which nothing is left for class code to say. */
export function whenSettled<R extends SelectionRequest, T>(
  { computed }: { readonly computed?: ComputedRequests | undefined },
  request: R,
  next: (request: R) => Pending<T>,
): Pending<T> {
  return computed === undefined ? next(request) : whenThere(computed.settle(request), next);
}
