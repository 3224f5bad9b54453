import { randomBytes } from 'node:crypto';
import { ConstraintError } from '../dialect/executor.js';
import type { StateDatabase } from '../dialect/state-database.js';
import { protocolError, refuseBusy, RequestError } from '../protocol/errors.js';
import { headLength, imageType, type ImageType } from '../protocol/image-types.js';
import {
  allOf,
  inBlocks,
  lifeOf,
  mostUsed,
  noImage,
  sharesOf,
  tooLarge,
  type Upload,
  type UploadLimits,
  type UploadOptions,
  type Uploads,
  type UploadShare,
  uploadsFull,
  type UploadStore,
} from './upload-store.js';

/** Bytes of a part: a row of the database. */
const partSize = 1024 * 1024;
/** How long a part may take to arrive before the upload counts as given up, in milliseconds. */
const longestPause = 600_000;

/**
 * Uploads in the database, in parts of a mebibyte that are stored as they arrive, for all servers
 * that use it. Uploads that arrive at the same moment may exceed the limits by a part each.
 */
export class DatabaseUploadStore implements UploadStore {
  readonly #sql: UploadSql;
  readonly #memory = { used: 0 };

  /** @param stored makes sure that uploads can refer to a session */
  constructor(
    private readonly limits: UploadLimits,
    private readonly state: StateDatabase,
    private readonly stored: (session: string) => Promise<void>,
  ) {
    this.#sql = uploadSql(state);
  }

  async receive(
    chunks: AsyncIterable<Uint8Array>,
    { timeout, mustBeImage, sender, length }: UploadOptions,
    owner: () => string,
  ): Promise<string> {
    const id = randomBytes(16).toString('hex').toUpperCase();
    try {
      const parts = new Parts(this.limits.uploadSize);
      await this.state.run([this.#sql.begin, id, sender ?? null]);
      await this.#store(id, sender, length, parts.space, undefined);
      for await (const chunk of chunks) {
        for (const part of parts.add(chunk)) {
          await this.#store(id, sender, length, parts.space, part);
        }
      }
      const last = parts.end();
      if (last !== undefined) await this.#store(id, sender, length, parts.space, last);
      const type = imageType(parts.head);
      if (mustBeImage && type === undefined) throw noImage();
      const session = owner();
      await this.stored(session);
      const life = lifeOf(this.limits, timeout) * 1000;
      const kept = await this.state.run([this.#sql.keep, id, session, type ?? null, life]);
      if (kept.length === 0) throw givenUp();
      return id;
    } catch (error) {
      try {
        await this.state.run([this.#sql.end, id]);
      } catch {
        // It expires.
      }
      throw error instanceof ConstraintError ? givenUp() : error;
    }
  }

  /** @param part with its position; none reserves the first block */
  async #store(
    id: string,
    sender: string | undefined,
    length: number | undefined,
    space: number,
    part: Part | undefined,
  ): Promise<void> {
    const shares = sharesOf(this.limits, sender);
    const mostOf = (wanted: (account: string) => boolean): number =>
      shares.find(({ account }) => wanted(account))?.most ?? Number.MAX_SAFE_INTEGER;
    const all = mostOf((account) => account === 'all');
    const guests = mostOf((account) => account === 'guests');
    const own = mostOf((account) => account !== 'all' && account !== 'guests');
    const reserved = await this.state.run(
      [this.#sql.reserve, id, space, sender ?? '', all, guests, own],
      ...(part === undefined
        ? []
        : [[this.#sql.store, id, space, part.position, part.content] as const]),
      [this.#sql.reserved, id, space],
    );
    if (reserved.length > 0) return;
    const size = inBlocks(length ?? this.limits.uploadSize);
    throw await this.#full(shares, Math.max(size, space), id);
  }

  /** @param missing bytes of the refused upload */
  async #full(shares: readonly UploadShare[], missing: number, id: string): Promise<RequestError> {
    let full: UploadShare | undefined;
    let seconds = 0;
    for (const share of shares) {
      const [row] = await this.state.run([
        this.#sql.expiry,
        share.account,
        share.most - missing,
        id,
      ]);
      const [used, rest] = row as readonly [number, number | null];
      if (used + missing <= share.most) continue;
      full = share;
      seconds = Math.max(seconds, (rest ?? this.limits.uploadTimeout * 1000) / 1000);
    }
    return uploadsFull(full ?? allOf(this.limits), Math.floor(seconds) + 1);
  }

  of(session: string | undefined): Uploads {
    const { uploadSize, uploadSpace } = this.limits;
    const most = Math.max(uploadSize, uploadSpace / 4);
    return new LoadedUploads(this.state, this.#sql, session, this.#memory, most);
  }

  async tick(): Promise<void> {
    await this.state.run([this.#sql.endExpired]);
  }

  /** The uploads continue in the other servers. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}

interface Part {
  readonly position: number;
  readonly content: Uint8Array;
}

/** Cuts the chunks of an upload into parts. */
class Parts {
  head: Uint8Array = Buffer.alloc(0);
  #size = 0;
  #position = 0;
  #chunks: Uint8Array[] = [];
  #waiting = 0;

  constructor(private readonly mostBytes: number) {}

  /** The space that the upload takes so far. */
  get space(): number {
    return inBlocks(Math.max(1, this.#size));
  }

  add(chunk: Uint8Array): readonly Part[] {
    this.#size += chunk.length;
    if (this.#size > this.mostBytes) throw tooLarge(this.mostBytes);
    if (this.head.length < headLength) {
      this.head = Buffer.concat([this.head, chunk.subarray(0, headLength - this.head.length)]);
    }
    this.#chunks.push(chunk);
    this.#waiting += chunk.length;
    if (this.#waiting < partSize) return [];
    const all = Buffer.concat(this.#chunks);
    const parts: Part[] = [];
    let start = 0;
    for (; all.length - start >= partSize; start += partSize) {
      parts.push(this.#part(all.subarray(start, start + partSize)));
    }
    this.#chunks = [all.subarray(start)];
    this.#waiting = all.length - start;
    return parts;
  }

  end(): Part | undefined {
    return this.#waiting === 0 ? undefined : this.#part(Buffer.concat(this.#chunks));
  }

  #part(content: Uint8Array): Part {
    this.#position += 1;
    return { position: this.#position, content };
  }
}

interface Loaded {
  readonly type: ImageType | undefined;
  readonly content: Uint8Array;
  readonly most: number;
  written: number;
  /** What entities have used since it was stored last. */
  taken: number;
}

const isId = /^[0-9A-F]{32}$/;

/** Uploads that one request names. */
class LoadedUploads implements Uploads {
  readonly #loaded = new Map<string, Loaded>();
  #bytes = 0;

  /**
   * @param memory the bytes that all requests have loaded
   * @param most bytes that requests may load at once; one alone may load all of its session
   */
  constructor(
    private readonly state: StateDatabase,
    private readonly sql: UploadSql,
    private readonly session: string | undefined,
    private readonly memory: { used: number },
    private readonly most: number,
  ) {}

  async load(ids: readonly string[]): Promise<void> {
    if (this.session === undefined) return;
    for (const name of ids.map((id) => id.toUpperCase())) {
      // A transaction may be tried again.
      if (this.#loaded.has(name) || !isId.test(name)) continue;
      const [size] = await this.state.run([this.sql.size, name, this.session]);
      if (size === undefined) continue;
      this.#reserve(Number(size[0]));
      const rows = await this.state.run([this.sql.find, name, this.session]);
      const [row] = rows;
      if (row === undefined) continue;
      const [type, space, written] = row as unknown as readonly [ImageType | null, number, number];
      const parts = rows.flatMap(([, , , part]) => (part instanceof Uint8Array ? [part] : []));
      const content = Buffer.concat(parts);
      const most = mostUsed(space);
      this.#loaded.set(name, { type: type ?? undefined, content, most, written, taken: 0 });
    }
  }

  /** @throws RequestError 503 if other requests have loaded too much */
  #reserve(bytes: number): void {
    const { memory } = this;
    if (memory.used > this.#bytes && memory.used + bytes > this.most) {
      throw refuseBusy('Other requests use as many bytes of uploads as fit in memory.');
    }
    memory.used += bytes;
    this.#bytes += bytes;
  }

  release(): void {
    this.memory.used -= this.#bytes;
    this.#bytes = 0;
  }

  find(id: string): Upload | undefined {
    const loaded = this.#loaded.get(id.toUpperCase());
    if (loaded === undefined) return undefined;
    return {
      type: loaded.type,
      read: () => loaded.content,
      take: (bytes) => {
        if (loaded.written + bytes > loaded.most) return false;
        loaded.written += bytes;
        loaded.taken += bytes;
        return true;
      },
    };
  }

  async settle(): Promise<void> {
    const used = [...this.#loaded].filter(([, { taken }]) => taken !== 0);
    if (used.length === 0) return;
    await this.state.run(
      ...used.map(([id, loaded]) => {
        const { taken } = loaded;
        loaded.taken = 0;
        return [this.sql.write, id, taken] as const;
      }),
    );
  }
}

function givenUp(): RequestError {
  const text = 'The session has ended, or the upload took too long: send it again.';
  return new RequestError(408, [protocolError('malformedUrl', text)]);
}

interface UploadSql {
  readonly begin: string;
  readonly end: string;
  readonly endExpired: string;
  readonly expiry: string;
  readonly find: string;
  readonly keep: string;
  readonly reserve: string;
  readonly reserved: string;
  readonly size: string;
  readonly store: string;
  readonly write: string;
}

function uploadSql({ now, skipLocked }: StateDatabase): UploadSql {
  const others = (condition: string): string =>
    `coalesce((select sum(space) from drs_state.upload where expires > ${now} and id <> $1${condition}), 0)`;
  return {
    begin: `insert into drs_state.upload (id, sender, is_complete, space, written, expires)
      values ($1, $2, 0, 0, 0, ${now} + ${longestPause})`,
    end: 'delete from drs_state.upload where id = $1',
    reserve: `update drs_state.upload set space = cast($2 as bigint), expires = ${now} + ${longestPause}
      where id = $1 and ${others('')} + cast($2 as bigint) <= cast($4 as bigint)
        and ${others(` and sender like 'guest %'`)} + cast($2 as bigint) <= cast($5 as bigint)
        and ${others(' and sender = cast($3 as text)')} + cast($2 as bigint) <= cast($6 as bigint)`,
    store: `insert into drs_state.upload_part (upload, position, content)
      select id, cast($3 as integer), $4 from drs_state.upload where id = $1 and space = cast($2 as bigint)`,
    reserved: 'select 1 from drs_state.upload where id = $1 and space = cast($2 as bigint)',
    keep: `update drs_state.upload set owner = $2, type = $3, is_complete = 1, expires = ${now} + cast($4 as double precision)
      where id = $1 returning id`,
    size: `select space from drs_state.upload
      where id = $1 and owner = $2 and is_complete = 1 and expires > ${now}`,
    find: `select u.type, u.space, u.written, p.content from drs_state.upload u
      left join drs_state.upload_part p on p.upload = u.id
      where u.id = $1 and u.owner = $2 and u.is_complete = 1 and u.expires > ${now} order by p.position`,
    write: 'update drs_state.upload set written = written + cast($2 as bigint) where id = $1',
    // The bytes that are used, and the milliseconds until no more than so many are.
    expiry: `select coalesce(sum(space), 0), min(case when rest <= cast($2 as bigint) then expires - ${now} end)
      from (select space, expires, sum(space) over (order by expires desc, id) - space as rest
        from drs_state.upload where expires > ${now} and id <> $3
          and (cast($1 as text) = 'all' or sender = cast($1 as text)
            or (cast($1 as text) = 'guests' and sender like 'guest %'))) as living`,
    endExpired: `delete from drs_state.upload where id in (select id from drs_state.upload
      where expires <= ${now} limit 1000${skipLocked})`,
  };
}
