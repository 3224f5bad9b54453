import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import type { Clock } from '../entity-set/clock.js';
import { refuseBusy } from '../protocol/busy.js';
import { protocolError, refuse, RequestError } from '../protocol/errors.js';
import { headLength, imageType, type ImageType } from './image-types.js';
import type { UploadFile, UploadFiles } from './upload-folder.js';
import { type KeptUpload, MemoryUploadLedger, type UploadLedger } from './upload-ledger.js';

/** Sizes are bytes. */
export interface UploadLimits {
  /** One upload. */
  readonly uploadSize: number;
  /** All uploads that wait. */
  readonly uploadSpace: number;
  /** Seconds that an upload is kept, when the client names no time. */
  readonly uploadTimeout: number;
}

/** A file that was sent and waits for the entities that take it. */
export interface Upload {
  /** `undefined` when it is no image. */
  readonly type: ImageType | undefined;
  /** @returns its bytes; `undefined` when its file is gone */
  read(): Uint8Array | undefined;
}

/** Finds uploads by their IDs. */
export interface Uploads {
  find(id: string): Upload | undefined;
}

/** What a body says about how its file is to be kept. */
export interface UploadOptions {
  /** Seconds. */
  readonly timeout: number | undefined;
  readonly mustBeImage: boolean;
}

/** The longest `$timeout`, in seconds; a longer one becomes this one. */
const longestTimeout = 24 * 3600;
/** A file takes whole blocks of a disk, an empty one its entry. */
const blockSize = 4096;

/**
 * Keeps uploads on disk until they expire, or the session ends that sent them (protocol section 14.5). An ID is 128 bits from
 * a secure source: its session may use the upload as often as wanted, and to others it does not exist. It never becomes a part
 * of a path.
 */
export class UploadStore {
  /** What ends the uploads that this process has received, by their IDs, when their time is over. */
  readonly #timers = new Map<string, () => void>();
  #isClosed = false;

  constructor(
    private readonly limits: UploadLimits,
    private readonly clock: Clock,
    private readonly folder: UploadFiles,
    private readonly ledger: UploadLedger = new MemoryUploadLedger(),
  ) {}

  /**
   * Stores what comes, chunk by chunk; nothing stays of an upload that fails.
   * @param owner tells the ID of the session that sends it, when everything has come
   * @returns its ID, 32 hexadecimal digits
   * @throws RequestError 413 when it is too large, 429 while all uploads together are, 400 with 1824 when it is no image and
   * must be one, 503 when it cannot be written; what `chunks` and `owner` throw
   */
  async receive(
    chunks: AsyncIterable<Uint8Array>,
    { timeout, mustBeImage }: UploadOptions,
    owner: () => string,
  ): Promise<string> {
    this.#refuseWhenClosed();
    const file = await onDisk(this.folder.create());
    const space = new Reservation((bytes) => {
      this.#reserve(bytes);
    });
    try {
      const head = await this.#write(file, chunks, space).finally(() => file.handle.close());
      const type = imageType(head);
      if (mustBeImage && type === undefined) throw noImage();
      this.#refuseWhenClosed();
      const seconds = timeout ?? this.limits.uploadTimeout;
      return this.#keep({ owner: owner(), path: file.path, type, space: space.bytes }, seconds);
    } catch (error) {
      this.ledger.free(space.bytes);
      await unlink(file.path).catch(() => undefined);
      throw error;
    }
  }

  /** The uploads of one session; a guest without state has none. */
  of(session: string | undefined): Uploads {
    return { find: (id) => (session === undefined ? undefined : this.#find(id, session)) };
  }

  /** Ends the uploads of a session. */
  releaseOf(session: string): void {
    for (const id of this.ledger.idsOf(session)) this.#forget(id);
  }

  /** Gives the uploads of a session to another one, which has none. */
  move(from: string, to: string): void {
    this.ledger.move(from, to);
  }

  #find(id: string, session: string): Upload | undefined {
    const name = id.toUpperCase();
    const kept = this.ledger.find(name);
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
    };
  }

  /** Bytes on disk, whole blocks. */
  get space(): number {
    return this.ledger.space;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    this.ledger.close();
    await this.folder.remove();
  }

  #refuseWhenClosed(): void {
    if (this.#isClosed) throw refuseBusy('The server is stopping.');
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

  #keep(upload: Omit<KeptUpload, 'expires'>, seconds: number): string {
    const id = randomBytes(16).toString('hex').toUpperCase();
    const longest = Math.max(longestTimeout, this.limits.uploadTimeout);
    const life = Math.min(seconds, longest) * 1000;
    const cancel = this.clock.after(life, () => {
      this.#forget(id);
    });
    this.#timers.set(id, cancel);
    this.ledger.keep(id, { ...upload, expires: this.clock.now() + life });
    return id;
  }

  #forget(id: string): void {
    this.#timers.get(id)?.();
    this.#timers.delete(id);
    const kept = this.ledger.forget(id);
    if (kept === undefined) return;
    void unlink(kept.path)
      .catch(() => undefined)
      .then(() => {
        this.ledger.removed(kept);
      });
  }

  #reserve(bytes: number): void {
    if (!this.ledger.reserve(bytes, this.limits.uploadSpace)) throw this.#full();
  }

  #full(): RequestError {
    const now = this.clock.now();
    const longest = now + this.limits.uploadTimeout * 1000;
    const soonest = Math.min(this.ledger.soonestExpiry() ?? longest, longest);
    const seconds = Math.max(1, Math.ceil((soonest - now) / 1000));
    const text = `The uploads that wait take up the ${this.limits.uploadSpace} bytes that are meant for them.`;
    return new RequestError(429, [protocolError('uploadsFull', text)], {
      'retry-after': String(seconds),
    });
  }
}

/** Space for one upload, taken block by block while it comes. */
class Reservation {
  bytes = 0;

  constructor(private readonly reserve: (bytes: number) => void) {}

  grow(size: number): void {
    const more = Math.ceil(size / blockSize) * blockSize - this.bytes;
    if (more <= 0) return;
    this.reserve(more);
    this.bytes += more;
  }
}

/** @param size bytes that one upload may have */
export function tooLarge(size: number): RequestError {
  return refuse('tooLarge', `An upload has at most ${size} bytes.`);
}

/** What bytes that are no image are refused with. */
export function noImage(): RequestError {
  return refuse(
    'pictureType',
    'The bytes are no image of a known kind: PNG, JPEG, GIF, WebP, TIFF, BMP, AVIF, HEIC, ICO or SVG.',
  );
}

/** Tells a disk that is full or cannot be written from what is a client's fault, without its paths. */
async function onDisk<T>(done: Promise<T>): Promise<T> {
  try {
    return await done;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const text = `The upload cannot be stored now (${code ?? 'unknown reason'}).`;
    throw refuseBusy(text);
  }
}
