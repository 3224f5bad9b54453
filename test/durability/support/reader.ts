import type { Random } from '../../support/random-model/random.js';
import type { Client } from '../../support/processes/client.js';
import { check, type Worker } from './worker.js';

/** Reads while others write: everything that it reads must be stored. */
export class Reader implements Worker {
  #globalStamp = 0;
  readonly #stamps = new Map<string, number>();

  async step(client: Client, random: Random): Promise<void> {
    const { body } = await client.get(`/rest/Counter?$top=50&$skip=${random.int(0, 10)}`);
    this.#compare(body.__GlobalStamp, 'while it runs');
    for (const { __KEY: key, __STAMP: stamp } of body.__ENTITIES) {
      check(stamp >= (this.#stamps.get(key) ?? 0), () => `Counter ${key} went back to ${stamp}`);
      this.#stamps.set(key, stamp);
    }
  }

  async verify(client: Client): Promise<void> {
    const { __GlobalStamp: stamp, __ENTITIES: found } = await client.all('Counter', 'ID > 0');
    this.#compare(stamp, 'after a restart');
    const stored = new Map(found.map((each) => [each.__KEY, each.__STAMP]));
    for (const [key, seen] of this.#stamps) {
      const is = stored.get(key) ?? 0;
      check(is >= seen, () => `Counter ${key} has the stamp ${is}, and ${seen} was seen`);
    }
  }

  #compare(stamp: number, when: string): void {
    check(stamp >= this.#globalStamp, () => {
      return `__GlobalStamp is ${stamp} ${when}, and ${this.#globalStamp} was seen`;
    });
    this.#globalStamp = stamp;
  }
}
