import type { EventError } from '../entity/lifecycle.js';

/**
 * What an event refuses with, as its class code returned it; `undefined` for nothing.
 * @param shown the event with its class
 * @throws TypeError for an answer that says neither: a mistake of the class code, which must not let an entity pass
 */
export function eventError(shown: string, answer: unknown): EventError | undefined {
  if (answer === undefined || answer === null) return undefined;
  const { errCode, message, attribute, seriousError, extraDescription } =
    answer as Partial<EventError>;
  if (!Number.isSafeInteger(errCode) || typeof message !== 'string') {
    throw new TypeError(
      `${shown} must return nothing, or { errCode, message } with a whole number and a text.`,
    );
  }
  if (attribute !== undefined && typeof attribute !== 'string') {
    throw new TypeError(`${shown}: attribute must be the name of an attribute.`);
  }
  return {
    errCode: errCode as number,
    message,
    ...(attribute === undefined ? {} : { attribute }),
    seriousError: seriousError === true,
    ...(extraDescription === undefined
      ? {}
      : { extraDescription: asJson(shown, extraDescription) }),
  };
}

/** The answer is written later, when nothing can go wrong any more. */
function asJson(shown: string, description: object): Readonly<Record<string, unknown>> {
  const json: unknown = JSON.parse(JSON.stringify(description));
  if (typeof json === 'object' && json !== null) return json as Readonly<Record<string, unknown>>;
  throw new TypeError(`${shown}: extraDescription must be an object.`);
}
