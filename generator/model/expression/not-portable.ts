/** An expression contains something without an equivalent in PostgreSQL. */
export class NotPortable extends Error {
  /** @param reason the end of the sentence "the expression has no form for PostgreSQL: …" */
  constructor(readonly reason: string) {
    super(reason);
  }
}
