import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import type { Clock } from '../entity-set/clock.js';
import { protocolError, refuse, RequestError, refuseBusy } from '../protocol/errors.js';
import { headLength, imageType, type ImageType } from '../protocol/image-types.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import type { UploadFile, UploadFolder } from './upload-folder.js';

/** Sizes are bytes. */
export interface UploadLimits {
  /** One upload. */
  readonly uploadSize: number;
  /** Bytes of all waiting uploads: one sender may use a quarter, guests together a half. */
  readonly uploadSpace: number;
  /** Seconds that an upload is kept if the client names no time. */
  readonly uploadTimeout: number;
}

/** A file that was sent and waits for the entities that use it. */
export interface Upload {
  /** `undefined` if it is no image. */
  readonly type: ImageType | undefined;
  /** @returns its bytes; `undefined` if its file does not exist any longer */
  read(): Uint8Array | undefined;
  /**
   * Counts bytes of it that an entity uses; a negative number if the entity was not stored.
   * @returns `false` if entities have used as much of it as they may
   */
  take(bytes: number): boolean;
}

/** The uploads of a session, for one request. */
export interface Uploads {
  /** Reads uploads that are elsewhere; call it before a transaction begins. */
  load(ids: readonly string[]): Promise<void>;
  /** Finds a loaded upload by its ID. */
  find(id: string): Upload | undefined;
  /** Stores how much of the uploads entities have used. */
  settle(): Promise<void>;
  /** Call it when the bytes that were loaded are no longer needed. */
  release(): void;
}

/** Keeps uploads until they expire or their session ends (protocol P10.6). */
export interface UploadStore {
  /**
   * Stores chunk by chunk; nothing remains of an upload that fails.
   * @param owner returns the ID of the session that sends it, after everything has arrived
   * @returns its ID, 32 hexadecimal digits
   * @throws RequestError 413 if it is too large, 429 while all uploads together are, or those of
   * its sender or of guests, 400 with 1824 if it is no image and must be one, 503 if it cannot be
   * written; what `chunks` and `owner` throw
   */
  receive(
    chunks: AsyncIterable<Uint8Array>,
    options: UploadOptions,
    owner: () => string,
  ): Promise<string>;
  /** The uploads of one session; a guest without state has none. */
  of(session: string | undefined): Uploads;
  close(): Promise<void>;
}

/** How to keep the file of a body. */
export interface UploadOptions {
  /** Seconds. */
  readonly timeout: number | undefined;
  readonly mustBeImage: boolean;
  /** Whose share of the space it uses: `guest <name>`, or any other name. */
  readonly sender?: string;
  /** Its length in bytes, if the client sent it. */
  readonly length?: number | undefined;
}

/** The longest `$timeout`, in seconds; a longer one is reduced to it. */
const longestTimeout = 24 * 3600;
/** A file takes whole blocks of a disk, an empty one its directory entry. */
const blockSize = 4096;
/**
 * One upload is for a few entities: they may use that many times its size, or that many bytes,
 * whichever is more.
 */
const mostCopies = 8;
const mostCopied = 1024 * 1024;

/** The bytes of one upload that entities may use. */
export function mostUsed(space: number): number {
  return Math.max(mostCopies * space, mostCopied);
}

/** The limit of the uploads of an account together, in bytes. */
export interface UploadShare {
  readonly account: string;
  readonly most: number;
}

/** The accounts for which an upload counts. */
function accountsOf(sender: string | undefined): readonly string[] {
  if (sender === undefined) return ['all'];
  return sender.startsWith('guest ') ? ['all', 'guests', sender] : ['all', sender];
}

/** An upload whose file is complete. */
interface KeptUpload {
  /** ID of the session that sent it. */
  owner: string;
  readonly path: string;
  /** `undefined` if it is no image. */
  readonly type: ImageType | undefined;
  /** Bytes on disk, whole blocks. */
  readonly space: number;
  readonly sender: string | undefined;
  /** Milliseconds of the store's clock. */
  readonly expires: number;
  /** Bytes that entities have used. */
  written: number;
  /** Keeps it from being removed when it expires. */
  readonly cancel: () => void;
}

/**
 * Keeps uploads on the disk of the only process. An ID is 128 bits from a secure source: for other
 * sessions it does not exist. It never becomes part of a path.
 */
export class FileUploadStore implements UploadStore {
  /** Complete uploads by their IDs. */
  readonly #kept = new Map<string, KeptUpload>();
  readonly #ofSession = new Map<string, Set<string>>();
  /** Bytes on disk by account, with those of incomplete uploads. */
  readonly #spaces = new Map<string, number>();
  #isClosed = false;

  constructor(
    private readonly limits: UploadLimits,
    private readonly clock: Clock,
    private readonly folder: UploadFolder,
  ) {}

  async receive(
    chunks: AsyncIterable<Uint8Array>,
    { timeout, mustBeImage, sender, length }: UploadOptions,
    owner: () => string,
  ): Promise<string> {
    this.#refuseWhenClosed();
    const file = await onDisk(this.folder.create());
    const shares = sharesOf(this.limits, sender);
    const space = new Reservation((bytes, reserved) => {
      if (shares.some(({ account, most }) => this.#spaceOf(account) + bytes > most)) {
        const size = inBlocks(length ?? this.limits.uploadSize);
        throw this.#full(shares, Math.max(size, reserved + bytes) - reserved);
      }
      for (const { account } of shares) this.#spaces.set(account, this.#spaceOf(account) + bytes);
    });
    try {
      const head = await this.#write(file, chunks, space).finally(() => file.handle.close());
      const type = imageType(head);
      if (mustBeImage && type === undefined) throw noImage();
      this.#refuseWhenClosed();
      const kept = { owner: owner(), path: file.path, type, space: space.bytes, sender };
      return this.#keep(kept, timeout);
    } catch (error) {
      this.#free(space.bytes, sender);
      await unlink(file.path).catch(() => undefined);
      throw error;
    }
  }

  of(session: string | undefined): Uploads {
    return {
      load: () => Promise.resolve(),
      find: (id) => (session === undefined ? undefined : this.#find(id, session)),
      settle: () => Promise.resolve(),
      release: () => undefined,
    };
  }

  /** Ends the uploads of a session. */
  releaseOf(session: string): void {
    for (const id of this.#ofSession.get(session) ?? []) this.#forget(id);
  }

  /** Moves the uploads of a session to another one, which has none. */
  move(from: string, to: string): void {
    const moved = this.#ofSession.get(from);
    if (moved === undefined) return;
    this.#ofSession.delete(from);
    this.#ofSession.set(to, moved);
    for (const id of moved) (this.#kept.get(id) as KeptUpload).owner = to;
  }

  #find(id: string, session: string): Upload | undefined {
    const name = id.toUpperCase();
    const kept = this.#kept.get(name);
    if (kept === undefined || kept.expires <= this.clock.now()) return undefined;
    if (kept.owner !== session) return undefined;
    return {
      type: kept.type,
      read: () => {
        try {
          return readFileSync(kept.path);
        } catch {
          this.#forget(name);
          return undefined;
        }
      },
      take: (bytes) => {
        const written = kept.written + bytes;
        if (written > mostUsed(kept.space) || !this.#kept.has(name)) return false;
        kept.written = written;
        return true;
      },
    };
  }

  /** Bytes on disk, whole blocks. */
  get space(): number {
    return this.#spaceOf('all');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { cancel } of this.#kept.values()) cancel();
    this.#kept.clear();
    this.#ofSession.clear();
    await this.folder.remove();
  }

  #refuseWhenClosed(): void {
    if (this.#isClosed) throw refuseBusy('The server is stopping.');
  }

  #spaceOf(account: string): number {
    return this.#spaces.get(account) ?? 0;
  }

  #free(bytes: number, sender: string | undefined): void {
    for (const account of accountsOf(sender)) {
      const rest = this.#spaceOf(account) - bytes;
      if (rest > 0) this.#spaces.set(account, rest);
      else this.#spaces.delete(account);
    }
  }

  /** @returns the beginning */
  async #write(
    { handle }: UploadFile,
    chunks: AsyncIterable<Uint8Array>,
    space: Reservation,
  ): Promise<Uint8Array> {
    const { uploadSize } = this.limits;
    let head: Uint8Array = Buffer.alloc(0);
    let size = 0;
    space.grow(1);
    for await (const chunk of chunks) {
      size += chunk.length;
      if (size > uploadSize) throw tooLarge(uploadSize);
      space.grow(size);
      if (head.length < headLength) {
        head = Buffer.concat([head, chunk.subarray(0, headLength - head.length)]);
      }
      await onDisk(handle.writeFile(chunk));
    }
    return head;
  }

  #keep(
    upload: Omit<KeptUpload, 'expires' | 'written' | 'cancel'>,
    seconds: number | undefined,
  ): string {
    const id = randomBytes(16).toString('hex').toUpperCase();
    const life = lifeOf(this.limits, seconds) * 1000;
    const cancel = this.clock.after(life, () => {
      this.#forget(id);
    });
    this.#kept.set(id, { ...upload, expires: this.clock.now() + life, written: 0, cancel });
    getOrInsertComputed(this.#ofSession, upload.owner, () => new Set<string>()).add(id);
    return id;
  }

  #forget(id: string): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    kept.cancel();
    this.#kept.delete(id);
    const siblings = this.#ofSession.get(kept.owner);
    siblings?.delete(id);
    if (siblings?.size === 0) this.#ofSession.delete(kept.owner);
    void unlink(kept.path)
      .catch(() => undefined)
      .then(() => {
        this.#free(kept.space, kept.sender);
      });
  }

  /**
   * @param missing bytes that the refused upload lacked, in addition to those that it had and gives
   * back
   */
  #full(shares: readonly UploadShare[], missing: number): RequestError {
    const now = this.clock.now();
    let end = now;
    const full: UploadShare[] = [];
    for (const share of shares) {
      const excess = this.#spaceOf(share.account) + missing - share.most;
      if (excess <= 0) continue;
      full.push(share);
      // Incoming uploads expire later.
      const expiry = this.#expiryOf(excess, share.account);
      end = Math.max(end, expiry ?? now + this.limits.uploadTimeout * 1000);
    }
    // A file is removed in the second after its expiry.
    return uploadsFull(full.at(-1) ?? allOf(this.limits), Math.floor((end - now) / 1000) + 1);
  }

  /**
   * When uploads of an account with that many bytes will have expired; `undefined` if it has fewer
   * bytes.
   */
  #expiryOf(bytes: number, account: string): number | undefined {
    let freed = 0;
    let last = 0;
    // Usually the first ones to arrive expire first; otherwise the time is later than necessary.
    for (const { space, sender, expires } of this.#kept.values()) {
      if (!accountsOf(sender).includes(account)) continue;
      freed += space;
      last = Math.max(last, expires);
      if (freed >= bytes) return last;
    }
    return undefined;
  }
}

/** Seconds that an upload is kept. */
export function lifeOf({ uploadTimeout }: UploadLimits, seconds = uploadTimeout): number {
  return Math.min(seconds, Math.max(longestTimeout, uploadTimeout));
}

/** The limits of the accounts of a sender. */
export function sharesOf(limits: UploadLimits, sender: string | undefined): readonly UploadShare[] {
  const { uploadSize, uploadSpace } = limits;
  // The largest upload fits into each share.
  const least = Math.min(inBlocks(uploadSize), uploadSpace);
  const share = (part: number): number => Math.max(Math.floor(uploadSpace / part), least);
  return accountsOf(sender).map((account) => ({
    account,
    most: account === 'all' ? uploadSpace : share(account === 'guests' ? 2 : 4),
  }));
}

export function allOf({ uploadSpace }: UploadLimits): UploadShare {
  return { account: 'all', most: uploadSpace };
}

/** @param seconds until there is room */
export function uploadsFull({ account, most }: UploadShare, seconds: number): RequestError {
  const whose =
    account === 'all'
      ? 'The uploads'
      : account === 'guests'
        ? 'The uploads of guests'
        : 'Your uploads';
  const text = `${whose} that wait use all of their ${most} bytes.`;
  return new RequestError(429, [protocolError('uploadsFull', text)], {
    'retry-after': String(seconds),
  });
}

/** The space that a file takes. */
export function inBlocks(size: number): number {
  return Math.ceil(size / blockSize) * blockSize;
}

/** Space for one upload, reserved block by block while it arrives. */
class Reservation {
  bytes = 0;

  /** @param reserve gets the number of bytes that are reserved already */
  constructor(private readonly reserve: (bytes: number, reserved: number) => void) {}

  grow(size: number): void {
    const more = inBlocks(size) - this.bytes;
    if (more <= 0) return;
    this.reserve(more, this.bytes);
    this.bytes += more;
  }
}

/** @param size the largest upload in bytes */
export function tooLarge(size: number): RequestError {
  return refuse('tooLarge', `An upload has at most ${size} bytes.`);
}

/** The refusal of bytes that are no image. */
export function noImage(): RequestError {
  return refuse(
    'pictureType',
    'The bytes are not an image of a known type: PNG, JPEG, GIF, WebP, TIFF, BMP, AVIF, HEIC, ICO or SVG.',
  );
}

/**
 * Distinguishes a disk that is full or cannot be written from an error of the client, and hides its
 * paths.
 */
async function onDisk<T>(done: Promise<T>): Promise<T> {
  try {
    return await done;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const text = `The upload cannot be stored now (${code ?? 'unknown reason'}).`;
    throw refuseBusy(text);
  }
}
