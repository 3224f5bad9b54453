import { refuse } from './errors.js';

/** Kinds of images, which their first bytes identify. */
export type ImageType =
  'png' | 'jpeg' | 'gif' | 'webp' | 'tiff' | 'bmp' | 'avif' | 'heic' | 'ico' | 'svg';

/** The content type that an image is sent with. */
export const contentTypes: Readonly<Record<ImageType, string>> = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  tiff: 'image/tiff',
  bmp: 'image/bmp',
  avif: 'image/avif',
  heic: 'image/heic',
  ico: 'image/x-icon',
  svg: 'image/svg+xml',
};

/** The number of bytes that {@link imageType} needs. */
export const headLength = 4096;

/** The bytes of each kind at their offsets; the first kind that matches wins. */
const signatures: readonly (readonly [type: ImageType, ...parts: [at: number, bytes: string][]])[] =
  [
    ['png', [0, '\x89PNG\r\n\x1a\n']],
    ['jpeg', [0, '\xff\xd8\xff']],
    ['gif', [0, 'GIF87a']],
    ['gif', [0, 'GIF89a']],
    ['webp', [0, 'RIFF'], [8, 'WEBP']],
    ['tiff', [0, 'II*\0']],
    ['tiff', [0, 'MM\0*']],
    ['tiff', [0, 'II+\0']],
    ['tiff', [0, 'MM\0+']],
    ['avif', [4, 'ftypavif']],
    ['avif', [4, 'ftypavis']],
    ['heic', [4, 'ftyphei']],
    ['heic', [4, 'ftyphev']],
    ['heic', [4, 'ftypmif1']],
    // The second byte of an icon's number of images is 0, and the first image's fourth byte is
    // reserved.
    ['ico', [0, '\0\0\x01\0'], [5, '\0'], [9, '\0']],
    // The four reserved bytes, then the length of a header: plain text may begin with "BM" as well.
    ['bmp', [0, 'BM'], [6, '\0\0\0\0'], [15, '\0\0\0']],
  ];

/**
 * Identifies an image by its bytes; what a client says about it does not count.
 * @param bytes the beginning, or all, of a value
 * @returns `undefined` for anything else
 */
export function imageType(bytes: Uint8Array): ImageType | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, headLength));
  const start = head.toString('latin1', 0, 32);
  for (const [type, ...parts] of signatures) {
    if (parts.every(([at, text]) => start.startsWith(text, at))) return type;
  }
  return isSvg(head.toString('utf8')) ? 'svg' : undefined;
}

/** Whether the root element is `svg`; skips the prolog of the XML. */
function isSvg(text: string): boolean {
  let at = text.startsWith('\ufeff') ? 1 : 0;
  for (;;) {
    while (' \t\r\n'.includes(text.charAt(at)) && at < text.length) at += 1;
    if (/^<svg[\s/>]/.test(text.slice(at, at + 5))) return true;
    const end = endOfProlog(text, at);
    if (end === undefined) return false;
    at = end;
  }
}

/**
 * The end of a comment, an instruction or a document type that begins here; `undefined` if there is
 * none.
 */
function endOfProlog(text: string, at: number): number | undefined {
  const close = text.startsWith('<!--', at)
    ? '-->'
    : text.startsWith('<?', at)
      ? '?>'
      : text.startsWith('<!DOCTYPE svg', at)
        ? '>'
        : undefined;
  if (close === undefined) return undefined;
  const found = text.indexOf(close, at);
  if (found === -1) return undefined;
  const end = found + close.length;
  const subset = close === '>' ? text.indexOf('[', at) : -1;
  if (subset === -1 || subset > found) return end;
  const subsetEnd = text.indexOf(']>', at);
  return subsetEnd === -1 ? undefined : subsetEnd + 2;
}

/** The content type of a kind of image, if the kind is known. */
export function contentTypeOf(type: ImageType | undefined): string {
  return type === undefined ? 'application/octet-stream' : contentTypes[type];
}

const knownTypes: ReadonlySet<string> = new Set(Object.values(contentTypes));

/**
 * Reads `$rawPict` (protocol P10.3): `true`, `false`, or the content type of an image, which is not
 * compared with anything, because the bytes decide.
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
