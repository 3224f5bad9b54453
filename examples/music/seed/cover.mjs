import { deflateSync } from 'node:zlib';

const size = 128;
const shades = 12;

/** Patterns: from -1 to 1 at each place, which is given from the middle. */
const patterns = [
  (x, y, n) => Math.cos(Math.hypot(x, y) * n),
  (x, y, n) => Math.cos((x + Math.sin(y * n) / 3) * n * 2),
  (x, y, n) => Math.sin(x * n) * Math.sin(y * n),
  (x, y, n) => Math.cos(Math.atan2(y, x) * Math.round(n)),
  (x, y, n) => y + Math.cos(x * n) / 3,
  (x, y, n) => Math.cos((Math.abs(x) + Math.abs(y)) * n),
  (x, y, n) => x * Math.cos(n) + y * Math.sin(n),
];

/**
 * Draws a cover.
 * @param random returns numbers from 0 to 1
 * @returns a PNG with a palette
 */
export function cover(random) {
  const pattern = patterns[Math.floor(random() * patterns.length)];
  const n = 3 + random() * 6;
  const hues = [random(), random() * 0.4 + 0.2].map((part) => part * 360);
  const palette = Buffer.concat(
    Array.from({ length: shades }, (_, index) => {
      const part = index / (shades - 1);
      return colour(hues[0] + hues[1] * part, 0.45 + 0.35 * part, 0.22 + 0.55 * part);
    }),
  );
  // Each row begins with its filter: none.
  const pixels = Buffer.alloc((size + 1) * size);
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      const value = pattern((column * 2) / size - 1, (row * 2) / size - 1, n);
      const shade = Math.floor(((Math.max(-1, Math.min(1, value)) + 1) / 2) * shades);
      pixels[row * (size + 1) + column + 1] = Math.min(shade, shades - 1);
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 3], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('PLTE', palette),
    chunk('IDAT', deflateSync(pixels, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** @returns red, green and blue of a colour in HSL */
function colour(hue, saturation, lightness) {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  return Buffer.from(
    [0, 8, 4].map((shift) => {
      const at = (shift + hue / 30) % 12;
      return Math.round(255 * (lightness - reach * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
    }),
  );
}

function chunk(type, data) {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, sum]);
}

/** `crc32` of zlib is not in Node 20.12. */
function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
