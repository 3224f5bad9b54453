/** An expression says something that PostgreSQL has no equal for. */
export class NotPortable extends Error {
  /** @param reason the end of the sentence "the expression has no form for PostgreSQL: …" */
  constructor(readonly reason: string) {
    super(reason);
  }
}
