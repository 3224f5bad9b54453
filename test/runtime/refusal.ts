import { RequestError } from '../../runtime/protocol/errors.js';

/** The answer to a refused request: status, code of the first error, message. */
export interface Refusal {
  readonly status: number;
  readonly code: number | undefined;
  readonly message: string;
}

/** The refusal that `act` ends in; any other error passes through, and none at all is an error. */
export function refusalOf(act: () => unknown): Refusal {
  try {
    act();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return { status: error.status, code: error.errors[0]?.errCode, message: error.message };
  }
  throw new Error('expected a refusal, and there was none');
}

/** Whether `act` ends well or in a refusal; any other error passes through. */
export function isServed(act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (error instanceof RequestError) return false;
    throw error;
  }
}
