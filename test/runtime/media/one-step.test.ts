import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codesOf } from '../../support/expect-served.js';
import { gif, html, png } from '../../support/media-samples.js';
import { mediaServer, type Response, save } from '../../support/served-media.js';

let app: FastifyInstance;
beforeAll(async () => {
  app = await mediaServer({ BODY_SIZE: '1000', UPLOAD_SIZE: '50000' });
  await save(app, { name: 'a' });
});
afterAll(() => app.close());

async function send(path: string, payload: Buffer | string): Promise<Response> {
  return app.inject({ method: 'POST', url: `/rest/${path}`, payload });
}
async function logo(): Promise<Buffer> {
  return (await app.inject('/rest/Company(1)/logo?$expand=logo')).rawPayload;
}

describe('An image that is uploaded in one step', () => {
  it.each([
    ['Company(1)/logo?$rawPict=true', gif],
    ['Company[1]/logo/?$rawPict=image/jpeg', png],
    ['Company(1)/logo?$rawPict=true', Buffer.concat([gif, Buffer.alloc(49_000)])],
  ])('is set: %s', async (path, bytes) => {
    const before = (await app.inject('/rest/Company(1)')).json<{ __STAMP: number }>();
    const response = await send(path, bytes);
    expect(response.statusCode, response.body).toBe(200);
    expect(response.json()).toMatchObject({ __KEY: '1', __STAMP: before.__STAMP + 1, name: 'a' });
    expect((await logo()).equals(bytes)).toBe(true);
    const again = await send(path, bytes);
    expect(again.json()).toMatchObject({ __STAMP: before.__STAMP + 1 });
  });

  it('is set by $binary=true, if it is a BLOB', async () => {
    const read = '/rest/Company(1)/brochure?$expand=brochure&$binary=true';
    for (const bytes of [html, Buffer.alloc(49_000, 7), '']) {
      const response = await send('Company(1)/brochure?$binary=true', bytes);
      expect(response.statusCode, response.body).toBe(200);
      expect((await app.inject(read)).rawPayload.equals(Buffer.from(bytes))).toBe(true);
    }
  });

  it('is set by all concurrent uploads, and one of them stays', async () => {
    const images = Array.from({ length: 10 }, (_, index) =>
      Buffer.concat([gif, Buffer.from([index])]),
    );
    const all = await Promise.all(
      images.map((each) => send('Company(1)/logo?$rawPict=true', each)),
    );
    expect(new Set(all.map((each) => each.statusCode))).toEqual(new Set([200]));
    const stored = await logo();
    expect(images.some((each) => each.equals(stored))).toBe(true);
  });

  it.each<[string, string, Buffer | string, number, number]>([
    ['no image', 'Company(1)/logo?$rawPict=true', html, 400, 1824],
    ['nothing', 'Company(1)/logo?$rawPict=true', '', 400, 1824],
    ['a type that is none', 'Company(1)/logo?$rawPict=text/html', png, 400, 1824],
    ['no such entity', 'Company(9)/logo?$rawPict=true', png, 404, 1543],
    ['no such key', 'Company(x)/logo?$rawPict=true', png, 404, 1543],
    ['no such attribute', 'Company(1)/nothing?$rawPict=true', png, 404, 1500],
    ['another attribute', 'Company(1)/brochure?$rawPict=true', png, 400, 1813],
    ['an image as a BLOB', 'Company(1)/logo?$binary=true', png, 400, 1813],
    ['a BLOB without a parameter', 'Company(1)/brochure', png, 404, 1500],
    ['two attributes', 'Company(1)/logo,name?$rawPict=true', png, 404, 1500],
    ['an unknown parameter', 'Company(1)/logo?$rawPict=true&x=1', png, 400, 1811],
    ['too much', 'Company(1)/logo?$rawPict=true', Buffer.alloc(50_001), 413, 1834],
    [
      'too much for another body',
      'Company(1)/logo?$method=entityset',
      Buffer.alloc(1001),
      413,
      1834,
    ],
    ['too much for JSON', 'Company(1)', Buffer.alloc(1001), 413, 1834],
  ])('is refused: %s', async (_name, path, bytes, status, code) => {
    const before = await logo();
    const response = await send(path, bytes);
    expect([response.statusCode, codesOf(response)[0]]).toEqual([status, code]);
    if (status === 413) {
      expect(response.body).toContain(`"The body has at most ${bytes.length - 1} bytes."`);
    }
    expect((await logo()).equals(before)).toBe(true);
  });

  it('is refused beyond uploadSize, although other bodies may be larger', async () => {
    const large = await mediaServer({ BODY_SIZE: '5000', UPLOAD_SIZE: '1000' });
    try {
      await save(large, { name: 'a' });
      const response = await large.inject({
        method: 'POST',
        url: '/rest/Company(1)/brochure?$binary=true',
        payload: Buffer.alloc(1001),
      });
      expect([response.statusCode, codesOf(response)[0]]).toEqual([413, 1834]);
    } finally {
      await large.close();
    }
  });

  it('is refused from another site', async () => {
    const response = await app.inject({
      method: 'POST',
      url: '/rest/Company(1)/logo?$rawPict=true',
      payload: png,
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect(response.statusCode).toBe(403);
  });
});
