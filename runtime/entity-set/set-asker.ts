/** Who asks for entity sets, and what is allowed beside the server's limits. */
export interface SetAsker {
  /** ID of the session that new sets belong to; `undefined` for a guest, whose sets are open to all (protocol decision 15). */
  readonly owner: string | undefined;
  /** Whom the definitions that are kept belong to: a user by name, in whichever session; `undefined` for a guest. */
  readonly keeper: string | undefined;
  /** The session's own limits, in the place of the server's (protocol section 19.1); seconds. */
  readonly defaultTimeout?: number | undefined;
  readonly maxTimeout?: number | undefined;
  /** Sets that are alive at once. */
  readonly maxSets?: number | undefined;
  /**
   * ID of the session that sets are counted for; asked where they are limited.
   * @throws RequestError 402 with 1823 when a guest gets no session
   */
  counted(): string;
}
