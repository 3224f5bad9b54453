import type { Random } from '../../support/random-model/random.js';
import { type Client, type Entity, saved } from '../../support/processes/client.js';
import { check, type Drawn, type Worker } from './worker.js';

/** The shared knowledge of all clients about one counter that they all change. */
export class SharedCounter {
  key: string | undefined;
  /** The value of each stamp that was acknowledged. */
  readonly acknowledged = new Map<number, number>();
  /** Values that were sent and not acknowledged, with the stamp that they would get. */
  readonly sent = new Map<number, number>();
  highest = 0;
  value = 0;

  constructor(
    readonly owner: string,
    readonly drawn: Drawn,
  ) {}

  async create(client: Client): Promise<void> {
    this.value += 1;
    const body = { owner: this.owner, value: this.value };
    const made = saved(await client.post<Entity>('/rest/Counter?$method=update', body));
    this.drawn.add('Counter', made.__KEY);
    this.key = made.__KEY;
    this.acknowledge(made.__STAMP, this.value);
  }

  acknowledge(stamp: number, value: number): void {
    check(!this.acknowledged.has(stamp), () => `Two writers got the stamp ${stamp}`);
    this.acknowledged.set(stamp, value);
    this.highest = Math.max(this.highest, stamp);
  }

  async verify(client: Client): Promise<void> {
    if (this.key === undefined) return;
    const { body } = await client.get<Entity>(`/rest/Counter(${this.key})`);
    const { __STAMP: stamp, value } = body;
    const isAcknowledged = stamp === this.highest && value === this.acknowledged.get(stamp);
    // Each writer has sent at most one value, for the stamp that it knew.
    const isSent = stamp > this.highest && this.sent.get(Number(value)) === stamp;
    check(
      isAcknowledged || isSent,
      () =>
        `The shared counter is ${JSON.stringify({ stamp, value })}, acknowledged ${this.highest} ${this.acknowledged.get(this.highest)}, sent ${JSON.stringify([...this.sent])}`,
    );
    if (isSent) this.acknowledge(stamp, Number(value));
    this.sent.clear();
  }
}

/** One of the clients that race for the stamps of a counter. */
export class Contender implements Worker {
  #stamp = 0;

  constructor(private readonly counter: SharedCounter) {}

  async step(client: Client, random: Random): Promise<void> {
    const { counter } = this;
    if (counter.key === undefined) return;
    if (this.#stamp === 0 || random.chance(5)) {
      const { body } = await client.get<Entity>(`/rest/Counter(${counter.key})`);
      check(
        body.__STAMP >= counter.highest || body.__STAMP >= this.#stamp,
        () => 'A read went back',
      );
      this.#stamp = body.__STAMP;
    }
    counter.value += 1;
    const { value } = counter;
    counter.sent.set(value, this.#stamp + 1);
    const body = { __KEY: counter.key, __STAMP: this.#stamp, value };
    const answer = await client.post<Entity>('/rest/Counter?$method=update', body);
    counter.sent.delete(value);
    check(answer.status === 200 || answer.status === 409, () => JSON.stringify(answer));
    if (answer.status === 200) counter.acknowledge(answer.body.__STAMP, value);
    this.#stamp = answer.body.__STAMP;
  }

  verify(): Promise<void> {
    this.#stamp = 0;
    return Promise.resolve();
  }
}
