import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRange } from '../../../runtime/media/media-reader.js';
import { imageType, readRawPict } from '../../../runtime/protocol/image-types.js';
import { html, png, svg } from '../../support/media-samples.js';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('imageType', () => {
  it.each([
    ['png', png],
    ['svg', svg],
    ['jpeg', bytes('\xff\xd8\xff\xdb')],
    ['gif', bytes('GIF87a')],
    // A polyglot file has the type of its first bytes, and never runs: it is sent as an image.
    ['gif', bytes('GIF89a/*<script>*/=1;alert(1)')],
    ['webp', bytes('RIFF\x10\0\0\0WEBPVP8 ')],
    ['tiff', bytes('II*\0')],
    ['tiff', bytes('MM\0*')],
    ['bmp', bytes('BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0')],
    ['avif', bytes('\0\0\0\x20ftypavif')],
    ['heic', bytes('\0\0\0\x20ftypheic')],
    ['ico', bytes('\0\0\x01\0\x01\0\x10\x10\0\0\x01\0')],
    ['svg', bytes('<svg/>')],
    ['svg', bytes('\xef\xbb\xbf \n<svg xmlns="x">')],
    ['svg', bytes('<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x.dtd"><svg>')],
    ['svg', bytes('<!DOCTYPE svg [<!ENTITY a "b>">]><!--a--><?x?><svg\n>')],
  ])('recognizes %s', (type, image) => {
    expect(imageType(image)).toBe(type);
  });

  it.each([
    html,
    Buffer.alloc(0),
    Buffer.alloc(5000),
    png.subarray(0, 7),
    bytes('BMW is a car, and this is a sentence'),
    bytes('RIFF\x10\0\0\0WAVE'),
    bytes('<svgx>'),
    bytes('<html><svg>'),
    bytes('text <svg>'),
    bytes('<!DOCTYPE html><svg>'),
    bytes('<!-- no end <svg>'),
    bytes('<?xml'),
    bytes('<?xml?'.repeat(1000)),
    bytes('<!---->'.repeat(10_000)),
    bytes(`${' '.repeat(5000)}<svg>`),
    bytes('%PDF-1.7'),
    bytes(' GIF89a'),
  ])('recognizes no other bytes (%#)', (other) => {
    expect(imageType(other)).toBeUndefined();
  });

  it('reads a view of a larger buffer from its beginning', () => {
    const memory = Buffer.concat([html, png, html]);
    expect(imageType(memory.subarray(html.length))).toBe('png');
    expect(imageType(new Uint8Array(memory.buffer, memory.byteOffset, 3))).toBeUndefined();
  });

  it('accepts any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5000 }), (any) => {
        imageType(any);
      }),
    );
    // Quadratic time would take hours.
    for (const part of ['<!--', '<?a?>']) imageType(bytes(part.repeat(1_000_000)));
  });
});

describe('readRange', () => {
  it('returns a part of the whole, which is never empty', () => {
    const header = fc.oneof(
      fc.tuple(fc.nat(20), fc.nat(20)).map(([from, to]) => `bytes=${from}-${to}`),
      fc.nat(20).map((from) => `bytes=${from}-`),
      fc.nat(20).map((count) => `bytes=-${count}`),
      fc.string(),
      fc.string().map((text) => `bytes=${text}`),
    );
    fc.assert(
      fc.property(header, fc.integer({ min: 1, max: 10 }), (text, length) => {
        const range = readRange(text, length);
        if (range === undefined || range === 'unsatisfiable') return;
        expect(range.start).toBeGreaterThanOrEqual(0);
        expect(range.end).toBeGreaterThan(range.start);
        expect(range.end).toBeLessThanOrEqual(length);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([`bytes=${'9'.repeat(400)}-`, 'bytes=0x1-0x2', 'bytes=1e1-', 'bytes=--1', 'bytes=+1-'])(
    'ignores %s',
    (text) => {
      expect(readRange(text, 10)).toBeUndefined();
    },
  );
});

it('readRawPict accepts only types of images', () => {
  expect([undefined, 'false', 'FALSE'].map(readRawPict)).toEqual([false, false, false]);
  expect(['true', 'image/png', 'image/svg xml', 'image/jpg'].every(readRawPict)).toBe(true);
  for (const other of ['1', 'image', 'image/', 'image/exe', 'text/html', '__proto__']) {
    expect(() => readRawPict(other), other).toThrow('$rawPict');
  }
});
