import { refuse } from '../protocol/errors.js';
import { shortened } from '../protocol/found.js';

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
