import type { ProtocolError } from '../protocol/errors.js';

/** What {@link SaveError} is made of: a refusal of the saver is one. */
export interface SaveProblem {
  readonly problems: readonly ProtocolError[];
  /** Of HTTP. */
  readonly status: number;
  /** `status` of `__STATUS` (protocol section 11.4). */
  readonly entityStatus: number;
}

/** An entity was not saved or not deleted, and nothing of it was stored. */
export class SaveError extends Error {
  /** As the protocol has it in `__STATUS` (section 11.4): 2 its stamp has changed, 3 it is locked, 5 it does not exist any more. */
  readonly status: number;
  /** Everything that is wrong, as `__ERROR` would tell it. */
  readonly errors: readonly ProtocolError[];
  /** What a request that saves the entity would be answered with. */
  readonly httpStatus: number;

  constructor({ problems, status, entityStatus }: SaveProblem) {
    super(problems.map(({ message }) => message).join(' '));
    this.name = 'SaveError';
    this.status = entityStatus;
    this.errors = problems;
    this.httpStatus = status;
  }
}
