import type { Random } from '../../support/random-model/random.js';
import type { Client } from '../../support/processes/client.js';

/**
 * A client that records acknowledged changes. Each client has entities that no other one changes.
 */
export interface Worker {
  /**
   * Sends one request, or some that belong together.
   * @throws ServerGone when the server was killed; any other error fails the test
   */
  step(client: Client, random: Random): Promise<void>;
  /**
   * Compares the data of a restarted server with the record, and adopts the result of changes that
   * were not acknowledged.
   */
  verify(client: Client): Promise<void>;
}

/** Generated values: none may occur twice, not even after the deletion of its entity. */
export class Drawn {
  readonly #seen = new Map<string, Set<string>>();

  add(what: string, value: unknown): void {
    const text = String(value);
    const seen = this.#seen.get(what) ?? new Set();
    this.#seen.set(what, seen);
    if (seen.has(text)) throw new Error(`${what} ${text} was given before`);
    seen.add(text);
  }
}

export function check(condition: boolean, message: () => string): asserts condition {
  if (!condition) throw new Error(message());
}
