import type { Dataclass } from '../dataclass/dataclasses.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { UnusableUpload } from '../protocol/media-value.js';
import type { UploadStore } from './upload-store.js';

type Body = Readonly<Record<string, unknown>>;

/** Finds uploads by their IDs. */
export type Uploads = Pick<UploadStore, 'find'>;

/** The images and BLOBs that clients can name. */
export function mediaAttributes(dataclass: Dataclass): readonly StorageDefinition[] {
  return [...dataclass.exposedAttributes.values()].filter(
    (each): each is StorageDefinition =>
      each.kind === 'storage' && (each.type === 'image' || each.type === 'blob'),
  );
}

/**
 * Puts the bytes of uploads in the place of `{"ID": "…"}` (specification, "Value formats on input"), or what is wrong with
 * them.
 * @param attributes of the entity's dataclass, as {@link mediaAttributes} gives them
 * @returns a new body where one is needed; its bytes are read now, so this is called shortly before they are stored
 */
export function withUploads(
  attributes: readonly StorageDefinition[],
  body: Body,
  uploads: Uploads,
): Body {
  let applied: Record<string, unknown> | undefined;
  for (const { name, type } of attributes) {
    const json = Object.hasOwn(body, name) ? body[name] : undefined;
    if (typeof json !== 'object' || json === null || !Object.hasOwn(json, 'ID')) continue;
    applied ??= { ...body };
    applied[name] = uploadedBytes((json as { readonly ID: unknown }).ID, type, uploads);
  }
  return applied ?? body;
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
