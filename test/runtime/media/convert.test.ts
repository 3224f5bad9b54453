import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FastifyInstance } from 'fastify';
import { convertImage, type MakeSharp } from '../../../runtime/media/convert.js';
import { codesOf } from '../../support/expect-served.js';
import { html, png, svg } from '../../support/media-samples.js';
import { idOf, mediaServer, save } from '../../support/served-media.js';

interface Call {
  readonly bytes: Uint8Array;
  readonly options: object;
  readonly format: string;
}

/** Replaces the package sharp, and records its calls. */
function fakeSharp(calls: Call[], answer: () => Promise<Uint8Array>): () => Promise<MakeSharp> {
  return () =>
    Promise.resolve((bytes, options) => ({
      toFormat: (format) => {
        calls.push({ bytes, options, format });
        return { toBuffer: answer };
      },
    }));
}

describe('convertImage', () => {
  it('gives sharp a bitmap image, with a limit on its pixels', async () => {
    const calls: Call[] = [];
    const load = fakeSharp(calls, () => Promise.resolve(Buffer.from('converted')));
    const converted = await convertImage(png, 'png', 'jpeg', load);
    expect(Buffer.from(converted ?? []).toString()).toBe('converted');
    expect(calls).toEqual([
      {
        bytes: png,
        options: { limitInputPixels: 50_000_000, failOn: 'error', animated: false },
        format: 'jpeg',
      },
    ]);
  });

  it('runs two at once, and the others after them, whether they succeed or not', async () => {
    let running = 0;
    let most = 0;
    let ended = 0;
    const load = fakeSharp([], async () => {
      running += 1;
      most = Math.max(most, running);
      await sleep(1);
      running -= 1;
      ended += 1;
      if (ended % 3 === 0) throw new Error('damaged');
      return png;
    });
    for (let round = 0; round < 2; round += 1) {
      await Promise.all(Array.from({ length: 9 }, () => convertImage(png, 'png', 'gif', load)));
    }
    expect([most, running, ended]).toEqual([2, 0, 18]);
  });

  it('lets a hundred images wait, 128 MiB of them, and refuses others with 503', async () => {
    for (const [size, waiting] of [
      [1, 100],
      [64 * 1024 * 1024, 2],
    ] as const) {
      const bytes = Buffer.alloc(size);
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => (release = resolve));
      const load = fakeSharp([], () => released.then(() => png));
      const convert = (): Promise<unknown> => convertImage(bytes, 'png', 'gif', load);
      const accepted = Array.from({ length: 2 + waiting }, convert);
      await expect(convert()).rejects.toMatchObject({
        status: 503,
        headers: { 'retry-after': '1' },
      });
      release();
      expect(await Promise.all(accepted)).toEqual(accepted.map(() => png));
    }
  });

  it('returns nothing for a damaged image', async () => {
    const load = fakeSharp([], () => Promise.reject(new Error('damaged')));
    expect(await convertImage(png, 'png', 'jpeg', load)).toBeUndefined();
  });

  it.each([
    [svg, 'svg' as const],
    [html, undefined],
  ])('never gives sharp a format that is more than pixels', async (bytes, type) => {
    const calls: Call[] = [];
    const load = fakeSharp(calls, () => Promise.resolve(Buffer.from('x')));
    expect(await convertImage(bytes, type, 'png', load)).toBeUndefined();
    expect(calls).toEqual([]);
  });
});

describe('A server without sharp', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await mediaServer();
    await save(app, { name: 'a', logo: { ID: await idOf(app, png) } });
  });
  afterAll(() => app.close());

  it('names the package when an image would be converted', async () => {
    const response = await app.inject('/rest/Company(1)/logo?$expand=logo&$imageformat=jpeg');
    expect([response.statusCode, codesOf(response)]).toEqual([501, [1838]]);
    expect(response.body).toContain('sharp');
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
  });
});
