import type { ProtocolError } from '../protocol/errors.js';
import type { EventError } from './lifecycle.js';

/** What a client is told of the refusal of an event (protocol section 18.2). */
export function eventProblem({
  errCode,
  message,
  attribute,
  extraDescription,
}: EventError): ProtocolError {
  return {
    message,
    componentSignature: 'DBEV',
    errCode,
    ...(attribute === undefined ? {} : { attribute }),
    ...(extraDescription === undefined ? {} : { extraDescription }),
  };
}
