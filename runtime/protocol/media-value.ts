import type { ErrorName } from './errors.js';

/**
 * Stands in a body where a client names an upload that cannot be applied. Bytes stand there where it can: no JSON holds
 * either, so neither can be forged.
 */
export class UnusableUpload {
  constructor(
    readonly error: ErrorName,
    /** Predicate of a sentence that begins with the attribute's name. */
    readonly message: string,
  ) {}
}
