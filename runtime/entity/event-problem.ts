import type { ProtocolError } from '../protocol/errors.js';
import type { EventError } from './lifecycle.js';

/** What a client is told of the refusal of an event (protocol section 18.2). */
export function eventProblem({ errCode, message, extraDescription }: EventError): ProtocolError {
  const problem = { message, componentSignature: 'DBEV', errCode };
  return extraDescription === undefined ? problem : { ...problem, extraDescription };
}
