import type { Random } from '../../support/random-model/random.js';
import {
  allSaved,
  type Client,
  type Collection,
  type Entity,
  saved,
} from '../../support/processes/client.js';
import { check, type Drawn, type Worker } from './worker.js';

interface Held {
  readonly stamp: number;
  readonly value: number;
}

const most = 8;

/**
 * Creates and updates counters: one by one, and in lists where some entities are refused. No value
 * is used twice.
 */
export class Counters implements Worker {
  readonly #held = new Map<string, Held>();
  /** Values that were sent and not acknowledged, by the key that they were sent for. */
  readonly #updates = new Map<string, number>();
  readonly #creations = new Set<number>();
  #value = 0;

  constructor(
    private readonly owner: string,
    private readonly drawn: Drawn,
  ) {}

  async step(client: Client, random: Random): Promise<void> {
    if (this.#held.size < 2) await this.#createOne(client);
    else if (random.chance(60)) await this.#updateOne(client, random);
    else await this.#saveList(client, random);
    this.#updates.clear();
    this.#creations.clear();
  }

  async verify(client: Client): Promise<void> {
    const { __ENTITIES: found } = await client.all('Counter', 'owner = :1', this.owner);
    const missing = new Map(this.#held);
    for (const entity of found) {
      const { __KEY: key, __STAMP: stamp } = entity;
      const value = Number(entity['value']);
      const told = missing.get(key);
      missing.delete(key);
      const isAcknowledged =
        told === undefined
          ? false
          : (stamp === told.stamp && value === told.value) ||
            (stamp === told.stamp + 1 && value === this.#updates.get(key));
      const isNew = told === undefined && stamp === 1 && this.#creations.delete(value);
      check(isAcknowledged || isNew, () => {
        return `Counter ${key} of ${this.owner}: ${JSON.stringify({ stamp, value })}, acknowledged ${JSON.stringify(told)}, sent ${String(this.#updates.get(key))}`;
      });
      if (isNew) this.drawn.add('Counter', key);
      this.#held.set(key, { stamp, value });
    }
    check(missing.size === 0, () => `Counters are lost: ${[...missing.keys()].join()}`);
    this.#updates.clear();
    this.#creations.clear();
  }

  async #createOne(client: Client): Promise<void> {
    const body = this.#creation();
    this.#isCreated(saved(await client.post<Entity>('/rest/Counter?$method=update', body)));
  }

  async #updateOne(client: Client, random: Random): Promise<void> {
    const key = random.pick([...this.#held.keys()]);
    const body = this.#update(key);
    this.#isUpdated(saved(await client.post<Entity>('/rest/Counter?$method=update', body)));
  }

  async #saveList(client: Client, random: Random): Promise<void> {
    const [first, second] = random.shuffled([...this.#held.keys()]);
    const stale = { ...this.#keyed(String(second), -1), value: 0 };
    const body = [
      ...(this.#held.size < most ? [this.#creation()] : []),
      this.#update(String(first)),
      stale,
      { owner: this.owner, value: -1 },
    ];
    const { body: answer } = await client.post<Collection>('/rest/Counter?$method=update', body);
    const entities = answer.__ENTITIES;
    const [refusedStamp, refusedValue] = entities.slice(-2);
    check(refusedStamp?.__ERROR?.[0]?.errCode === 1263, () => JSON.stringify(refusedStamp));
    check(refusedValue?.__ERROR !== undefined, () => JSON.stringify(refusedValue));
    const good = { status: 200, body: { __ENTITIES: entities.slice(0, -2) } };
    for (const entity of allSaved({ ...good, headers: new Headers() })) {
      if (this.#held.has(entity.__KEY)) this.#isUpdated(entity);
      else this.#isCreated(entity);
    }
  }

  #creation(): object {
    this.#value += 1;
    this.#creations.add(this.#value);
    return { owner: this.owner, value: this.#value };
  }

  #update(key: string): object {
    this.#value += 1;
    this.#updates.set(key, this.#value);
    return { ...this.#keyed(key, 0), value: this.#value };
  }

  #keyed(key: string, offset: number): object {
    return { __KEY: key, __STAMP: Number(this.#held.get(key)?.stamp) + offset };
  }

  #isCreated({ __KEY: key, __STAMP: stamp, value }: Entity): void {
    this.drawn.add('Counter', key);
    check(stamp === 1, () => `A new counter has the stamp ${stamp}`);
    this.#held.set(key, { stamp, value: Number(value) });
  }

  #isUpdated({ __KEY: key, __STAMP: stamp, value }: Entity): void {
    const before = this.#held.get(key);
    check(
      stamp === Number(before?.stamp) + 1,
      () => `Counter ${key}: ${stamp} after ${before?.stamp}`,
    );
    check(value === this.#updates.get(key), () => `Counter ${key}: ${String(value)} was not sent`);
    this.#held.set(key, { stamp, value: Number(value) });
  }
}
