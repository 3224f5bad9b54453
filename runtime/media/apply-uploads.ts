import type { Dataclass } from '../dataclass/dataclasses.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import { UnusableUpload } from '../protocol/media-value.js';
import type { Uploads } from './upload-store.js';

type Body = Readonly<Record<string, unknown>>;

/** The images and BLOBs that clients can name; what they may give to a new entity alone is among them. */
export function mediaAttributes(dataclass: Dataclass): readonly StorageDefinition[] {
  const onlyCreated = dataclass.permissions?.onlyCreated.values() ?? [];
  return [...dataclass.exposedAttributes.values(), ...onlyCreated].filter(
    (each): each is StorageDefinition =>
      each.kind === 'storage' && (each.type === 'image' || each.type === 'blob'),
  );
}

/** The uploads that the entities of one request take. */
export class AppliedUploads {
  #bytes = 0;

  /**
   * @param attributes of the entities' dataclass, as {@link mediaAttributes} gives them
   * @param most bytes that one request may store: it may name one upload in thousands of entities
   */
  constructor(
    private readonly attributes: readonly StorageDefinition[],
    private readonly uploads: Uploads,
    private readonly most: number,
  ) {}

  /** Read for this request so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Puts the bytes of uploads in the place of `{"ID": "…"}` (specification, "Value formats on input"), or what is wrong with
   * them.
   * @returns a new body where one is needed; its bytes are read now, so this is called shortly before they are stored
   * @throws RequestError 413 when the request would store too many bytes
   */
  applied(body: Body): Body {
    let applied: Record<string, unknown> | undefined;
    for (const { name, type } of this.attributes) {
      const json = Object.hasOwn(body, name) ? body[name] : undefined;
      if (typeof json !== 'object' || json === null || !Object.hasOwn(json, 'ID')) continue;
      applied ??= { ...body };
      const bytes = uploadedBytes((json as { readonly ID: unknown }).ID, type, this.uploads);
      applied[name] = bytes;
      if (bytes instanceof Uint8Array) this.#count(bytes.length);
    }
    return applied ?? body;
  }

  #count(length: number): void {
    this.#bytes += length;
    if (this.#bytes <= this.most) return;
    throw refuse('tooLarge', `One request stores at most ${this.most} bytes of uploads.`);
  }
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
    isImage ? 'pictureMissing' : 'blobMissing',
    'names an upload that does not exist, or has expired',
  );
}
