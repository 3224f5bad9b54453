import { RequestError } from './errors.js';

/**
 * Thrown by class code to end a request with a status and a message of its own (protocol decision 22); the message of any other
 * error stays in the server's log.
 */
export class RestError extends RequestError {
  /**
   * @param status of HTTP, 400 to 599
   * @param errCode a whole number of the application's own
   * @param details `attribute`: the attribute that is at fault, for a form that shows the message there
   * @throws RangeError for a status that tells of no error, and a code that is no whole number
   */
  constructor(
    status: number,
    readonly errCode: number,
    message: string,
    { attribute }: { readonly attribute?: string } = {},
  ) {
    if (!Number.isInteger(status) || status < 400 || status > 599) {
      throw new RangeError(`A RestError has a status from 400 to 599, and this one is ${status}.`);
    }
    if (!Number.isSafeInteger(errCode)) {
      throw new RangeError(
        `The code of a RestError is a whole number, and this one is ${errCode}.`,
      );
    }
    const error = { message, componentSignature: 'dbmg', errCode };
    super(status, [attribute === undefined ? error : { ...error, attribute }]);
    this.name = 'RestError';
  }
}
