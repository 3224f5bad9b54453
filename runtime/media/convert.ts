import { refuse, refuseBusy } from '../protocol/errors.js';
import type { ImageType } from '../protocol/image-types.js';
import { shortened } from '../protocol/names.js';

/** The part of the package `sharp` that is used. */
interface Sharp {
  toFormat(format: string): { toBuffer(): Promise<Uint8Array> };
}

export type MakeSharp = (bytes: Uint8Array, options: object) => Sharp;

/** The name of the package, in a variable: so servers compile without it. */
const packageName = 'sharp';

/** Formats of pixels only: an SVG may refer to other files. */
const convertible: ReadonlySet<ImageType> = new Set([
  'png',
  'jpeg',
  'gif',
  'webp',
  'tiff',
  'avif',
] as const);

/** An image of few bytes may have more pixels than fit in memory. */
const mostPixels = 50_000_000;

/** Conversions that run at once; each may take hundreds of megabytes. */
const mostAtOnce = 2;
/** Conversions that wait, and the bytes of their images. */
const mostWaiting = 100;
const mostWaitingBytes = 128 * 1024 * 1024;
const waiting: (() => void)[] = [];
let waitingBytes = 0;
let running = 0;

/**
 * Runs when there is room, in the order of the calls.
 * @throws RequestError 503 if too many wait
 */
async function inTurn<T>(bytes: number, work: () => Promise<T>): Promise<T> {
  if (running >= mostAtOnce) {
    if (waiting.length >= mostWaiting || waitingBytes + bytes > mostWaitingBytes) {
      throw refuseBusy('More images have to be converted than the server can convert now.');
    }
    waitingBytes += bytes;
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
    });
    waitingBytes -= bytes;
  } else {
    running += 1;
  }
  try {
    return await work();
  } finally {
    // The slot is passed on.
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}

/**
 * Converts an image to another format.
 * @param load returns the package; for tests
 * @returns `undefined` if it cannot be converted: then the answer is empty (protocol P10.10)
 * @throws RequestError 501 if the package `sharp` is not installed, 503 if too many conversions wait
 */
export async function convertImage(
  bytes: Uint8Array,
  type: ImageType | undefined,
  format: TargetFormat,
  load: () => Promise<MakeSharp> = loadSharp,
): Promise<Uint8Array | undefined> {
  if (type === undefined || !convertible.has(type)) return undefined;
  const sharp = await load();
  const options = { limitInputPixels: mostPixels, failOn: 'error', animated: format === 'gif' };
  return inTurn(bytes.length, async () => {
    try {
      return await sharp(bytes, options).toFormat(format).toBuffer();
    } catch {
      return undefined;
    }
  });
}

async function loadSharp(): Promise<MakeSharp> {
  try {
    const { default: sharp } = (await import(packageName)) as { readonly default: MakeSharp };
    return sharp;
  } catch {
    throw refuse(
      'notBuilt',
      'The image is stored in another format, and the package sharp that converts images is not installed here; $imageformat=best returns it as it is stored.',
    );
  }
}

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
 * Reads `$imageformat` (protocol P10.1): `png`, `.png` or `image/png` in any case; `best` is the
 * format of the stored image, and the default.
 * @throws RequestError 400 with 1824 for another format
 */
export function readImageFormat(text: string | undefined): TargetFormat | 'best' {
  if (text === undefined) return 'best';
  const name = text.toLowerCase().replace(/^(?:\.|image\/)/, '');
  const format = Object.hasOwn(formats, name) ? formats[name] : undefined;
  if (format !== undefined) return format;
  throw refuse(
    'pictureType',
    `$imageformat=${shortened(text)} is not supported: use best, png, jpeg, gif or tiff.`,
  );
}
