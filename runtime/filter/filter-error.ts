import { type ErrorName, type RequestError, refuse } from '../protocol/errors.js';

/**
 * Refuses a filter (protocol decision 12): where, and what is wrong or was expected. Characters are counted from 1, in
 * UTF-16 code units of the filter without the quotes around it.
 *
 * @example throw filterError(0, 'expected an attribute, found the end');
 */
export function filterError(
  offset: number,
  problem: string,
  name: ErrorName = 'invalidQuery',
): RequestError {
  return refuse(name, `Character ${offset + 1} of $filter: ${problem}.`);
}
