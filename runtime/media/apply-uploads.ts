import { isSendable } from '../dataclass/permissions.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import { UnusableUpload } from '../protocol/values.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import type { Upload, Uploads } from './upload-store.js';

type UploadBody = Readonly<Record<string, unknown>>;

/**
 * The images and BLOBs that clients can name, including those that they may only give to a new
 * entity.
 */
function mediaAttributes(dataclass: Dataclass): readonly StorageDefinition[] {
  return dataclass.attributes.filter(
    (each): each is StorageDefinition =>
      each.kind === 'storage' &&
      (each.type === 'image' || each.type === 'blob') &&
      isSendable(dataclass, each),
  );
}

/** The bytes of an upload that an entity has used; none after they were given back. */
interface Taken {
  readonly upload: Upload;
  bytes: number;
}

function giveBack(taken: Taken): void {
  if (taken.bytes > 0) taken.upload.take(-taken.bytes);
  taken.bytes = 0;
}

/** The uploads that the entities of one request use. */
export class UploadApplier {
  #bytes = 0;
  readonly #all: Taken[] = [];
  readonly #attributes = new Map<Dataclass, readonly StorageDefinition[]>();

  /** @param most bytes that one request may store: it may name one upload in thousands of entities */
  constructor(
    private readonly uploads: Uploads,
    private readonly most: number,
  ) {}

  /** Bytes read for this request so far. */
  get bytes(): number {
    return this.#bytes;
  }

  get taken(): number {
    return this.#all.length;
  }

  /** Reads what bodies name, which takes time if it is in the database. */
  async load(dataclass: Dataclass, bodies: readonly UploadBody[]): Promise<void> {
    const attributes = this.#attributesOf(dataclass);
    const ids = bodies.flatMap((body) =>
      attributes.flatMap(({ name }) => {
        const id = idIn(body, name);
        return typeof id === 'string' ? [id] : [];
      }),
    );
    if (ids.length > 0) await this.uploads.load(ids);
  }

  /** Stores how much of the uploads was used; call it when the entities are stored. */
  async settle(): Promise<void> {
    if (this.#all.length > 0) await this.uploads.settle();
  }

  release(): void {
    this.uploads.release();
  }

  /**
   * Replaces `{"ID": "…"}` by the bytes of uploads (protocol P10.4), or by what is wrong with them.
   * @returns a new body if one is needed; its bytes are read now, so call this shortly before they
   * are stored
   * @throws RequestError 413 if the request would store too many bytes
   */
  applied(dataclass: Dataclass, body: UploadBody): UploadBody {
    let applied: Record<string, unknown> | undefined;
    for (const { name, type } of this.#attributesOf(dataclass)) {
      const id = idIn(body, name);
      if (id === undefined) continue;
      applied ??= { ...body };
      applied[name] = this.#taken(id, type);
    }
    return applied ?? body;
  }

  #attributesOf(dataclass: Dataclass): readonly StorageDefinition[] {
    return getOrInsertComputed(this.#attributes, dataclass, () => mediaAttributes(dataclass));
  }

  giveBack(since: number): void {
    for (const taken of this.#all.slice(since)) giveBack(taken);
  }

  #taken(id: unknown, type: StorageDefinition['type']): Uint8Array | UnusableUpload {
    const bytes = uploadedBytes(id, type, this.uploads);
    if (!(bytes instanceof Uint8Array)) return bytes;
    const upload = this.uploads.find(String(id));
    if (upload?.take(bytes.length) !== true) {
      return new UnusableUpload(
        missingCode(type),
        'names an upload that was given to as many entities as it can be: send the file again',
      );
    }
    const taken = { upload, bytes: bytes.length };
    this.#all.push(taken);
    this.#count(bytes.length);
    return bytes;
  }

  #count(length: number): void {
    this.#bytes += length;
    if (this.#bytes <= this.most) return;
    throw refuse('tooLarge', `One request stores at most ${this.most} bytes of uploads.`);
  }
}

/** The value of `ID` in the value of an attribute; `undefined` if it names no upload. */
function idIn(body: UploadBody, name: string): unknown {
  const json = Object.hasOwn(body, name) ? body[name] : undefined;
  if (typeof json !== 'object' || json === null || !Object.hasOwn(json, 'ID')) return undefined;
  return (json as { readonly ID: unknown }).ID ?? null;
}

/** The bytes of an upload for an attribute of that type, or why it cannot be applied. */
export function uploadedBytes(
  id: unknown,
  type: StorageDefinition['type'],
  uploads: Uploads,
): Uint8Array | UnusableUpload {
  const upload = typeof id === 'string' ? uploads.find(id) : undefined;
  const isImage = type === 'image';
  if (upload !== undefined && isImage && upload.type === undefined) {
    return new UnusableUpload('pictureType', 'must be an image, and the upload is none');
  }
  const bytes = upload?.read();
  if (bytes !== undefined) return bytes;
  return new UnusableUpload(
    missingCode(type),
    'names an upload that does not exist, or has expired',
  );
}

function missingCode(type: StorageDefinition['type']): 'pictureMissing' | 'blobMissing' {
  return type === 'image' ? 'pictureMissing' : 'blobMissing';
}
