import { refuse, type RequestError } from '../protocol/errors.js';

/**
 * What a function throws that nobody has written yet: 501 with the file where it is to be written.
 * @param name with its class, as `Company.fromCity`
 * @param given its arguments, which a function that is not written has no other use for
 */
export function notWritten(name: string, file: string, ...given: readonly unknown[]): RequestError;
export function notWritten(name: string, file: string): RequestError {
  return refuse('notBuilt', `${name} is not written yet: ${file}.`);
}
