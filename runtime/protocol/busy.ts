import { errorCodes, protocolError, RequestError } from './errors.js';

/**
 * What a request is refused with that the server cannot take now, and could a moment later: a line is full, or what is below it
 * does not answer. Nothing of the request was done.
 * @param message what is wrong, for the client
 * @param seconds after which another attempt has a chance: `Retry-After`, a whole number
 */
export function refuseBusy(message: string, seconds = 1): RequestError {
  return new RequestError(errorCodes.unavailable.status, [protocolError('unavailable', message)], {
    'retry-after': String(seconds),
  });
}
