import { refuse } from '../protocol/errors.js';
import { shortened } from '../protocol/found.js';
import { contentTypes, type ImageType } from './image-types.js';

/** Formats that images are converted to. */
export type TargetFormat = 'png' | 'jpeg' | 'gif' | 'tiff';

const formats: Readonly<Record<string, TargetFormat | 'best'>> = {
  best: 'best',
  png: 'png',
  jpeg: 'jpeg',
  jpg: 'jpeg',
  gif: 'gif',
  tiff: 'tiff',
  tif: 'tiff',
};

/**
 * Reads `$imageformat` (protocol section 14.2): `png`, `.png` or `image/png` in any case; `best` is the format in which the
 * image is stored, and the default.
 * @throws RequestError 400 with 1824 for another format
 */
export function readImageFormat(text: string | undefined): TargetFormat | 'best' {
  if (text === undefined) return 'best';
  const name = text.toLowerCase().replace(/^(?:\.|image\/)/, '');
  const format = Object.hasOwn(formats, name) ? formats[name] : undefined;
  if (format !== undefined) return format;
  throw refuse(
    'pictureType',
    `$imageformat=${shortened(text)} is not served: it is best, png, jpeg, gif or tiff.`,
  );
}

const knownTypes: ReadonlySet<string> = new Set(Object.values(contentTypes));

/**
 * Reads `$rawPict` (protocol section 14.5): `true`, `false`, or the content type of an image, which is compared with nothing,
 * since the bytes tell what they are.
 * @returns whether an image is sent
 * @throws RequestError 400 with 1824 for a content type that is not one of an image
 */
export function readRawPict(text: string | undefined): boolean {
  const value = text?.toLowerCase();
  if (value === undefined || value === 'false') return false;
  // `+` stands for a space in a query.
  if (value === 'true' || knownTypes.has(value.replace('svg xml', 'svg+xml'))) return true;
  if (otherNames.has(value)) return true;
  throw refuse(
    'pictureType',
    `$rawPict must be true or the content type of an image, such as image/png.`,
  );
}

const otherNames: ReadonlySet<string> = new Set(['image/jpg', 'image/vnd.microsoft.icon']);

/** What an image of which kind is sent as, where it is told. */
export function contentTypeOf(type: ImageType | undefined): string {
  return type === undefined ? 'application/octet-stream' : contentTypes[type];
}
