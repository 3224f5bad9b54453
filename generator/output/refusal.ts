/** The output cannot or must not be written; the message says why and what the user can do. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
