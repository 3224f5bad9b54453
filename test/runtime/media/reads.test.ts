import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codesOf } from '../../support/expect-served.js';
import { gif, html, jpeg, png, svg } from '../../support/media-samples.js';
import { modelFile } from '../../support/model-file.js';
import { serverOf } from '../../support/server.js';
import { idOf, mediaServer, type Response, save } from '../../support/served-media.js';

let app: FastifyInstance;
const logo = (key: number, more = ''): string =>
  `/rest/Company(${key})/logo?$imageformat=best&$expand=logo${more}`;
const brochure = (key: number): string =>
  `/rest/Company(${key})/brochure?$binary=true&$expand=brochure`;

async function get(url: string, headers: Record<string, string> = {}): Promise<Response> {
  return app.inject({ url, headers });
}

beforeAll(async () => {
  app = await mediaServer();
  const entities = [];
  for (const bytes of [png, gif, jpeg, svg]) {
    entities.push({
      name: `image ${entities.length + 1}`,
      logo: { ID: await idOf(app, bytes, '?$rawPict=true') },
      brochure: { ID: await idOf(app, bytes) },
    });
  }
  entities.push({ name: 'html', brochure: { ID: await idOf(app, html) } });
  const response = await save(app, [...entities, { name: 'none' }]);
  expect(response.body).not.toContain('__ERROR');
});
afterAll(() => app.close());

const safe = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
};

describe('An image', () => {
  it.each([
    [1, png, 'image/png'],
    [2, gif, 'image/gif'],
    [3, jpeg, 'image/jpeg'],
    [4, svg, 'image/svg+xml'],
  ])('%i is sent with the type that its bytes have', async (key, bytes, type) => {
    const response = await get(logo(key));
    expect(response.statusCode, response.body).toBe(200);
    expect(response.rawPayload.equals(bytes)).toBe(true);
    expect(response.headers).toMatchObject({
      ...safe,
      'content-type': type,
      'content-length': String(bytes.length),
      'cache-control': 'no-cache',
    });
    expect(response.headers['content-disposition']).toBe(key === 4 ? 'attachment' : undefined);
  });

  it('is deferred in its entity, and its address leads to it for a year', async () => {
    const entity: { logo: { __deferred: { uri: string } } } = (
      await get('/rest/Company(1)/logo')
    ).json();
    const response = await get(entity.logo.__deferred.uri);
    expect(response.rawPayload.equals(png)).toBe(true);
    expect(response.headers['cache-control']).toBe('private, max-age=31536000');
    const other = await get(logo(1, '&$version=7'));
    expect(other.headers['cache-control']).toBe('no-cache');
  });

  it('is the entity as JSON without $expand, and in a list', async () => {
    for (const url of [
      '/rest/Company(1)/logo?$imageformat=best',
      '/rest/Company(1)/name,logo?$expand=logo',
    ]) {
      const response = await get(url);
      expect(response.statusCode, response.body).toBe(200);
      expect(response.json()).toMatchObject({ logo: { __deferred: { image: true } } });
    }
  });

  it('that is null has no bytes and no type', async () => {
    const response = await get(logo(6));
    expect([response.statusCode, response.body]).toEqual([200, '']);
    expect(response.headers['content-type']).toBeUndefined();
  });

  it.each(['Company(99)', 'Company(x)'])(
    'of an unknown entity is answered with 404: %s',
    async (entity) => {
      const response = await get(`/rest/${entity}/logo?$expand=logo`);
      expect([response.statusCode, codesOf(response)]).toEqual([404, [1543]]);
      expect(response.headers.etag).toBeUndefined();
    },
  );

  it.each(['png', 'PNG', '.png', 'image/png', '"best"', 'Best'])(
    'in the format it is stored in needs no conversion: %s',
    async (format) => {
      const url = `/rest/Company(1)/logo?$expand=logo&$imageformat=${encodeURIComponent(format)}`;
      const response = await get(url);
      expect(response.rawPayload.equals(png), response.body).toBe(true);
    },
  );

  it.each(['', 'exe', 'svg', 'image/', '__proto__', 'constructor', '../png'])(
    'has no format "%s"',
    async (format) => {
      const response = await get(`/rest/Company(1)/logo?$expand=logo&$imageformat=${format}`);
      expect([response.statusCode, codesOf(response)]).toEqual([400, [1824]]);
    },
  );

  it('that is a vector drawing is not converted: the answer is empty', async () => {
    const response = await get('/rest/Company(4)/logo?$expand=logo&$imageformat=png');
    expect([response.statusCode, response.body]).toEqual([200, '']);
  });
});

describe('A BLOB', () => {
  it.each([
    [1, png],
    [4, svg],
    [5, html],
  ])('%i is sent as plain bytes', async (key, bytes) => {
    const response = await get(brochure(key));
    expect(response.rawPayload.equals(bytes)).toBe(true);
    expect(response.headers).toMatchObject({
      ...safe,
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
    });
  });

  it('is the entity as JSON without $binary=true', async () => {
    for (const query of ['$expand=brochure', '$binary=true', '$binary=false&$expand=brochure']) {
      const response = await get(`/rest/Company(1)/brochure?${query}`);
      expect(response.json(), query).toMatchObject({ brochure: { __deferred: {} } });
    }
  });

  it('that is null has no bytes', async () => {
    const response = await get(brochure(6));
    expect([response.statusCode, response.body]).toEqual([200, '']);
  });
});

describe('HTTP', () => {
  it('HEAD answers the length', async () => {
    const response = await app.inject({
      method: 'HEAD',
      url: logo(1),
      headers: { range: 'bytes=0-1' },
    });
    expect(response.statusCode).toBe(200);
    expect(response.body).toBe('');
    expect(response.headers).toMatchObject({
      'content-length': String(png.length),
      'content-type': 'image/png',
    });
  });

  it('a matching If-None-Match saves the bytes', async () => {
    const { headers } = await get(logo(1));
    const tag = String(headers.etag);
    for (const known of [tag, `W/${tag}`, `"x", ${tag}`, '*']) {
      const response = await get(logo(1), { 'if-none-match': known });
      expect([response.statusCode, response.body], known).toEqual([304, '']);
      expect(response.headers.etag).toBe(tag);
    }
    expect((await get(logo(1), { 'if-none-match': '"x"' })).statusCode).toBe(200);
    expect((await get(logo(2), { 'if-none-match': tag })).statusCode).toBe(200);
  });

  it('the ETag differs when another entity has got the key', async () => {
    await save(app, { __KEY: 50, name: 'first', brochure: { ID: await idOf(app, 'abc') } });
    const before = await get(brochure(50));
    await app.inject({ method: 'POST', url: '/rest/Company(50)?$method=delete' });
    await save(app, { __KEY: 50, name: 'first', brochure: { ID: await idOf(app, 'xyz') } });
    const after = await get(brochure(50), { 'if-none-match': String(before.headers.etag) });
    expect([after.statusCode, after.body]).toEqual([200, 'xyz']);
  });

  it.each([
    ['bytes=0-3', 0, 4],
    ['bytes=4-', 4, png.length],
    ['bytes=-5', png.length - 5, png.length],
    ['bytes=1-99999', 1, png.length],
    ['bytes=-99999', 0, png.length],
    ['bytes=0-0', 0, 1],
  ])('the range %s is sent', async (range, start, end) => {
    const response = await get(logo(1), { range });
    expect(response.statusCode).toBe(206);
    expect(response.rawPayload.equals(png.subarray(start, end))).toBe(true);
    expect(response.headers).toMatchObject({
      ...safe,
      'content-range': `bytes ${start}-${end - 1}/${png.length}`,
      'content-length': String(end - start),
      'content-type': 'image/png',
    });
  });

  it.each(['bytes=99999-', 'bytes=-0', `bytes=${png.length}-${png.length}`])(
    'the range %s is not satisfiable',
    async (range) => {
      const response = await get(logo(1), { range });
      expect([response.statusCode, codesOf(response)]).toEqual([416, [1842]]);
      expect(response.headers['content-range']).toBe(`bytes */${png.length}`);
    },
  );

  it.each(['bytes=', 'bytes=-', 'bytes=5-2', 'items=0-1', 'bytes=0-1,3-4', 'bytes=a-b', 'x'])(
    'the range "%s" is ignored',
    async (range) => {
      const response = await get(logo(1), { range });
      expect([response.statusCode, response.rawPayload.length]).toEqual([200, png.length]);
    },
  );

  it('a range of a former version is not sent', async () => {
    const { headers } = await get(logo(1));
    const old = await get(logo(1), { range: 'bytes=0-1', 'if-range': '"old"' });
    expect(old.statusCode).toBe(200);
    const same = await get(logo(1), { range: 'bytes=0-1', 'if-range': String(headers.etag) });
    expect(same.statusCode).toBe(206);
  });
});

it('An image or a BLOB larger than TRANSFER_MEMORY is refused', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'drs-large-'));
  const databaseUrl = `sqlite:${join(folder, 'data.sqlite')}`;
  const large = Buffer.concat([png, Buffer.alloc(40_001)]);
  const first = await serverOf(modelFile('staff'), { databaseUrl });
  const logos = { ID: await idOf(first, large, '?$rawPict=true') };
  const brochures = { ID: await idOf(first, large) };
  await save(first, { name: 'large', logo: logos, brochure: brochures });
  expect((await first.inject(brochure(1))).rawPayload.equals(large)).toBe(true);
  await first.close();
  const sizes = { BODY_SIZE: '40000', UPLOAD_SIZE: '40000', TRANSFER_MEMORY: '40000' };
  const second = await serverOf(modelFile('staff'), { databaseUrl, environment: sizes });
  for (const url of [logo(1), brochure(1)]) {
    const answer = await second.inject(url);
    expect([answer.statusCode, ...codesOf(answer)]).toEqual([413, 1834]);
  }
  await second.close();
  rmSync(folder, { recursive: true });
});
