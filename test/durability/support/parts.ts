import type { Random } from '../../support/random-model/random.js';
import {
  allSaved,
  type Client,
  type Collection,
  type Entity,
} from '../../support/processes/client.js';
import { check, type Drawn, type Worker } from './worker.js';

/** Requests without an answer. */
type Sent =
  | {
      readonly kind: 'batch';
      readonly tag: number;
      readonly updated: readonly string[];
      readonly size: number;
    }
  | { readonly kind: 'refused'; readonly tag: number }
  | { readonly kind: 'delete'; readonly tags: readonly number[] };

/**
 * Sends `$atomic` batches that give a new tag to half of the entities of earlier batches and to as
 * many new ones: the count of a tag reveals an incomplete batch.
 */
export class Parts implements Worker {
  /** Tag and stamp of each entity. */
  readonly #held = new Map<string, { readonly tag: number; readonly stamp: number }>();
  #sent: Sent | undefined;
  #tag: number;

  /** @param first the tags of this worker lie above it, and more than a million below the next worker's */
  constructor(
    private readonly first: number,
    private readonly largest: number,
    private readonly drawn: Drawn,
  ) {
    this.#tag = first;
  }

  async step(client: Client, random: Random): Promise<void> {
    if (this.#held.size > this.largest * 3) await this.#delete(client);
    else if (random.chance(15) && this.#held.size > 0) await this.#refused(client, random);
    else await this.#batch(client, random);
    this.#sent = undefined;
  }

  async verify(client: Client): Promise<void> {
    const filter = 'tag > :1 and tag < :2';
    const range = [this.first, this.first + 1_000_000] as const;
    const { __ENTITIES: found } = await client.all('Part', filter, ...range);
    const entities = new Map(found.map((each) => [each.__KEY, each]));
    if (this.#sent?.kind === 'batch') this.#settleBatch(this.#sent, entities);
    if (this.#sent?.kind === 'delete') this.#settleDeletion(this.#sent.tags, entities);
    this.#sent = undefined;
    for (const [key, { tag, stamp }] of this.#held) {
      const entity = entities.get(key);
      check(entity?.['tag'] === tag && entity.__STAMP === stamp, () => {
        return `Part ${key} is ${JSON.stringify(entity)}, acknowledged ${JSON.stringify({ tag, stamp })}`;
      });
      entities.delete(key);
    }
    check(entities.size === 0, () => `Half a batch: ${JSON.stringify([...entities.values()][0])}`);
  }

  async #batch(client: Client, random: Random): Promise<void> {
    const count = random.int(1, this.largest / 2);
    const updated = random.shuffled([...this.#held.keys()]).slice(0, count);
    const tag = this.#nextTag();
    const filler = 'x'.repeat(random.int(0, 200));
    const body = [
      ...updated.map((key) => ({ ...this.#keyed(key), tag, filler })),
      ...Array.from({ length: count }, () => ({ tag, filler })),
    ];
    this.#sent = { kind: 'batch', tag, updated, size: body.length };
    const path = '/rest/Part?$method=update&$atomic=true';
    for (const entity of allSaved(await client.post<Collection>(path, body))) {
      this.#hold(entity, tag);
    }
  }

  /** The last one of the batch has an outdated stamp, or a wrong value. */
  async #refused(client: Client, random: Random): Promise<void> {
    const [key = ''] = random.shuffled([...this.#held.keys()]);
    const tag = this.#nextTag();
    const stale = { __KEY: key, __STAMP: Number(this.#held.get(key)?.stamp) - 1, tag };
    const body = [{ tag }, { ...this.#keyed(key), tag }, random.chance(50) ? stale : { tag: -1 }];
    this.#sent = { kind: 'refused', tag };
    const path = '/rest/Part?$method=update&$atomic=true';
    const { status } = await client.post<Collection>(path, body);
    check(status === 409 || status === 422, () => `A wrong batch is answered with ${status}`);
  }

  async #delete(client: Client): Promise<void> {
    const tags = [...new Set([...this.#held.values()].map(({ tag }) => tag))];
    const oldest = tags.sort((a, b) => a - b).slice(0, Math.ceil(tags.length / 2));
    this.#sent = { kind: 'delete', tags: oldest };
    const query = new URLSearchParams({
      $method: 'delete',
      $filter: 'tag in :1',
      $params: JSON.stringify([oldest]),
    });
    const { status, body } = await client.post<object>(`/rest/Part?${query.toString()}`, []);
    check(status === 200, () => JSON.stringify(body));
    this.#forget(oldest);
  }

  #settleBatch(
    { tag, updated, size }: Sent & { readonly kind: 'batch' },
    entities: ReadonlyMap<string, Entity>,
  ): void {
    const stored = [...entities.values()].filter((each) => each['tag'] === tag);
    if (stored.length === 0) return;
    check(stored.length === size, () => `Batch ${tag} has ${stored.length} of ${size} entities`);
    for (const key of updated) {
      const stamp = Number(this.#held.get(key)?.stamp) + 1;
      const found = entities.get(key)?.__STAMP;
      check(found === stamp, () => `Part ${key} of batch ${tag} has ${found}, not ${stamp}`);
    }
    for (const entity of stored) this.#hold(entity, tag);
  }

  #settleDeletion(tags: readonly number[], entities: ReadonlyMap<string, Entity>): void {
    const doomed = [...this.#held].filter(([, { tag }]) => tags.includes(tag));
    const left = doomed.filter(([key]) => entities.has(key));
    check(left.length === 0 || left.length === doomed.length, () => {
      return `A deletion is half done: ${left.length} of ${doomed.length} are left`;
    });
    if (left.length === 0) this.#forget(tags);
  }

  #hold({ __KEY: key, __STAMP: stamp, serial }: Entity, tag: number): void {
    if (!this.#held.has(key)) {
      this.drawn.add('Part', key);
      this.drawn.add('Part.serial', serial);
    }
    this.#held.set(key, { tag, stamp });
  }

  #forget(tags: readonly number[]): void {
    for (const [key, { tag }] of this.#held) if (tags.includes(tag)) this.#held.delete(key);
  }

  #nextTag(): number {
    this.#tag += 1;
    return this.#tag;
  }

  #keyed(key: string): object {
    return { __KEY: key, __STAMP: this.#held.get(key)?.stamp };
  }
}
