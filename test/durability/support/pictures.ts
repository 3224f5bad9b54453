import { createHash, randomBytes } from 'node:crypto';
import type { Random } from '../../support/random-model/random.js';
import { type Answer, type Client, type Entity, saved } from '../../support/processes/client.js';
import { check, type Worker } from './worker.js';

interface Bytes {
  readonly photo: string;
  readonly file: string;
}

const signature = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const most = 6;

/**
 * Uploads files, gives them to entities, and leaves some unused. Photo and BLOB of an entity change
 * together.
 */
export class Pictures implements Worker {
  readonly #held = new Map<string, Bytes & { readonly stamp: number }>();
  /** `key` is undefined for a new entity. */
  #sent: (Bytes & { readonly key: string | undefined; readonly round: number }) | undefined;
  #round = 0;

  async step(client: Client, random: Random): Promise<void> {
    const photo = Buffer.concat([signature, randomBytes(random.int(10, 60_000))]);
    const file = randomBytes(random.int(1, 60_000));
    const photoId = await upload(client, photo, '$rawPict=true');
    if (random.chance(20)) return;
    const fileId = await upload(client, file, '$binary=true');
    this.#round += 1;
    const bytes = { photo: hash(photo), file: hash(file) };
    const key = this.#held.size < most ? undefined : random.pick([...this.#held.keys()]);
    this.#sent = { ...bytes, key, round: this.#round };
    const body = {
      ...(key === undefined ? {} : { __KEY: key, __STAMP: this.#held.get(key)?.stamp }),
      round: this.#round,
      photo: { ID: photoId },
      file: { ID: fileId },
    };
    const entity = saved(await client.post<Entity>('/rest/Picture?$method=update', body));
    this.#held.set(entity.__KEY, { ...bytes, stamp: entity.__STAMP });
    this.#sent = undefined;
  }

  async verify(client: Client): Promise<void> {
    const { __ENTITIES: found } = await client.all('Picture', 'ID > 0');
    const sent = this.#sent;
    for (const entity of found) {
      const { __KEY: key, __STAMP: stamp } = entity;
      const stored = await storedBytes(client, key);
      const held = this.#held.get(key);
      const isHeld = held?.stamp === stamp && isSame(held, stored);
      const isSent =
        sent !== undefined &&
        sent.key === (held === undefined ? undefined : key) &&
        stamp === (held?.stamp ?? 0) + 1 &&
        isSame(sent, stored);
      check(isHeld || isSent, () => `Picture ${key}: ${JSON.stringify({ stamp, stored, held })}`);
      this.#held.set(key, { ...stored, stamp });
    }
    check(found.length === this.#held.size, () => 'Pictures are lost');
    this.#sent = undefined;
  }
}

async function upload(client: Client, bytes: Buffer, query: string): Promise<string> {
  const { status, body }: Answer<{ readonly ID: string }> = await client.post(
    `/rest/$upload?${query}`,
    bytes,
  );
  check(status === 200, () => JSON.stringify(body));
  return body.ID;
}

async function storedBytes(client: Client, key: string): Promise<Bytes> {
  const entity = `/rest/Picture(${key})`;
  const photo = await client.bytes(`${entity}/photo?$imageformat=best&$expand=photo`);
  const file = await client.bytes(`${entity}/file?$binary=true&$expand=file`);
  return { photo: hash(photo), file: hash(file) };
}

function isSame(one: Bytes, other: Bytes): boolean {
  return one.photo === other.photo && one.file === other.file;
}

function hash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}
