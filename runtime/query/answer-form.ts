import { type RequestError, refuse } from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import type { AnswerOptions } from './context.js';
import type { Parameters } from './parameters.js';

/** The ordinary collection, a bare list, or a report (protocol P6.1, P6.2). */
export type AnswerForm = 'collection' | 'array' | 'report';

type FormParameters = Pick<
  Parameters,
  'format' | 'asArray' | 'count' | 'queryplan' | 'querypath' | 'method'
>;

/** The form that a request selects. @throws RequestError 400 with 1801 or 1806 */
export function answerForm(
  parameters: FormParameters,
  { reportFormat }: Pick<AnswerOptions, 'reportFormat'>,
): AnswerForm {
  const { format, asArray, method } = parameters;
  if (format === undefined && !asArray) return 'collection';
  if (format !== undefined) checkFormat(format, reportFormat);
  const form = format === undefined ? '$asArray' : `$format=${reportFormat}`;
  if (format !== undefined && asArray) throw apart(form, '$asArray');
  if (format !== undefined && parameters.count === false) throw apart(form, '$count=false');
  // The answer to a request that makes a set contains the set's address.
  if (method !== undefined) throw apart(form, `$method=${method}`);
  if (parameters.queryplan) throw apart(form, '$queryplan');
  if (parameters.querypath) throw apart(form, '$querypath');
  return format === undefined ? 'array' : 'report';
}

/** Refuses forms of several entities; `what` is at the address instead. @throws RequestError 400 with 1801 or 1806 */
export function refuseForms(
  { format, asArray, queryplan, querypath }: FormParameters,
  { reportFormat }: Pick<AnswerOptions, 'reportFormat'>,
  what: string,
): void {
  if (format !== undefined) {
    checkFormat(format, reportFormat);
    throw misplaced(`$format=${reportFormat}`, what);
  }
  if (asArray) throw misplaced('$asArray', what);
  if (queryplan) throw misplaced('$queryplan', what);
  if (querypath) throw misplaced('$querypath', what);
}

function misplaced(name: string, what: string): RequestError {
  return refuse('malformedUrl', `${name} applies to a read of several entities, not to ${what}.`);
}

/** Names of formats are compared without regard to case, as `json` is. */
function checkFormat(format: string, reportFormat: string): void {
  if (format.toLowerCase() === reportFormat.toLowerCase()) return;
  throw refuse(
    'unsupportedFormat',
    `$format=${shortened(format)} is not known: it is json or ${reportFormat}.`,
  );
}

function apart(one: string, other: string): RequestError {
  return refuse('malformedUrl', `${one} and ${other} cannot be combined.`);
}
