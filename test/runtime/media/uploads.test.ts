import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codesOf, expectServed } from '../../support/expect-served.js';
import { clientOf } from '../../support/cookies.js';
import { isOnPostgres, modelOf, serverOf, writeServer } from '../../support/server.js';
import { gif, html, png, svg } from '../../support/media-samples.js';
import { filesOnDisk, idOf, mediaServer, save, upload } from '../../support/served-media.js';

let app: FastifyInstance;
beforeAll(async () => {
  app = await mediaServer({ UPLOAD_SIZE: '100000', BODY_SIZE: '2000', UPLOAD_SPACE: '10000000' });
});
afterAll(() => app.close());

async function bytesOf(attribute: string, key: string): Promise<Buffer> {
  const url = `/rest/Company(${key})/${attribute}?$binary=true&$expand=${attribute}`;
  return (await app.inject({ url })).rawPayload;
}

let number = 0;
async function saved(values: object): Promise<string> {
  const response = await save(app, { name: `c${(number += 1)}`, ...values });
  expect(response.statusCode, response.body).toBe(200);
  return response.json<{ __KEY: string }>().__KEY;
}

function form(...parts: readonly string[]): readonly [string, Record<string, string>] {
  const body = parts.map((part) => `--b\r\n${part}\r\n`).join('');
  return [`${body}--b--\r\n`, { 'content-type': 'multipart/form-data; boundary=b' }];
}
const field = 'Content-Disposition: form-data; name="x"\r\n\r\nvalue';
const file = (content: string, name = 'a.txt'): string =>
  `Content-Disposition: form-data; name="f"; filename="${name}"\r\nContent-Type: text/html\r\n\r\n${content}`;

describe('An upload', () => {
  it.each(['', '?$binary=true', '?$rawPict=false', '?$timeout=500', '?$BINARY="true"&$version=3'])(
    'is accepted with the query "%s", whatever its content type',
    async (query) => {
      for (const type of ['application/json', 'text/plain', 'nonsense', 'multipart/mixed']) {
        const response = await upload(app, '{"not JSON', query, { 'content-type': type });
        expect(response.statusCode, response.body).toBe(200);
        expect(response.body).toMatch(/^\{"ID":"[0-9A-F]{32}"\}$/);
        const { ID: id } = response.json<{ ID: string }>();
        const key = await saved({ brochure: { ID: id } });
        expect((await bytesOf('brochure', key)).toString()).toBe('{"not JSON');
      }
    },
  );

  it('may be larger than other bodies, and is kept to the byte', async () => {
    const bytes = Buffer.alloc(100_000, 0).map((_, index) => (index * 7919) % 256);
    const key = await saved({ brochure: { ID: await idOf(app, Buffer.from(bytes)) } });
    expect((await bytesOf('brochure', key)).equals(bytes)).toBe(true);
  });

  it('may be empty, unless it is an image', async () => {
    const key = await saved({ brochure: { ID: await idOf(app, '') } });
    const filter = `/rest/Company?$filter=brochure!=null and ID=${key}&$top=0`;
    expect((await app.inject(filter)).json()).toMatchObject({ __COUNT: 1 });
    expect(codesOf(await upload(app, '', '?$rawPict=true'))).toEqual([1824]);
  });

  it.each(['true', 'image/png', 'image/svg%2Bxml', 'image/svg+xml', 'IMAGE/JPEG'])(
    'is an image with $rawPict=%s, whose format is recognized by its bytes',
    async (value) => {
      const id = await idOf(app, gif, `?$rawPict=${value}`);
      const response = await save(app, { name: `i${value}`, logo: { ID: id } });
      const { __KEY: key } = response.json<{ __KEY: string }>();
      const read = await app.inject(`/rest/Company(${key})/logo?$expand=logo`);
      expect(read.headers['content-type']).toBe('image/gif');
    },
  );

  it.each([
    ['?$rawPict=true', html],
    ['?$rawPict=image/png', html],
    ['?$rawPict=true', Buffer.from('%PDF-1.7')],
    ['?$rawPict=text/html', png],
    ['?$rawPict=', png],
    ['?$rawPict=image/exe', png],
  ])('with %s is refused when no image is meant or sent', async (query, bytes) => {
    const response = await upload(app, bytes, query);
    expect([response.statusCode, codesOf(response)]).toEqual([400, [1824]]);
  });

  it.each([
    ['?$rawPict=true&$binary=true', 400, 1806],
    ['?$binary=maybe', 400, 1806],
    ['?$timeout=-1', 400, 1806],
    ['?$method=update', 400, 1813],
    ['?$filter=x', 400, 1813],
    ['?binary=true', 400, 1811],
    ['?$upload=true', 400, 1811],
  ])('with %s is refused', async (query, status, code) => {
    const response = await upload(app, png, query);
    expect([response.statusCode, codesOf(response)]).toEqual([status, [code]]);
  });

  it('cannot be read back', async () => {
    const response = await app.inject('/rest/$upload');
    expect([response.statusCode, response.headers.allow]).toEqual([405, 'POST']);
  });

  it('from another site is refused', async () => {
    const response = await upload(app, png, '', { origin: 'https://evil.example' });
    expect(response.statusCode).toBe(403);
  });

  it('has no address if nothing in the model accepts uploads', async () => {
    const other = await serverOf(
      modelOf(
        '{drs: 1, name: x, dataclasses: {A: {attributes: {ID: {type: integer, key: true}}}}}',
      ),
    );
    expect((await upload(other, png)).statusCode).toBe(404);
    await other.close();
  });
});

describe('A form', () => {
  it.each([
    ['its file', form(file('content'))],
    ['fields before', form(field, field, file('content'))],
    ['more files', form(file('content'), file('second'), field)],
    [
      'a file without name',
      form(
        'Content-Disposition: form-data; name="f"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\ncontent',
      ),
    ],
    ['a path as name', form(file('content', '../../../etc/passwd'))],
  ])('is read for its first file: %s', async (_name, [body, headers]) => {
    const response = await upload(app, body, '', headers);
    expect(response.statusCode, response.body).toBe(200);
    const key = await saved({ brochure: { ID: response.json<{ ID: string }>().ID } });
    expect((await bytesOf('brochure', key)).toString()).toBe('content');
  });

  it('keeps a large file to the byte', async () => {
    const bytes = Buffer.alloc(99_000).map((_, index) => (index * 31) % 256);
    const [head = '', tail = ''] = form(file('|'))[0].split('|');
    const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from(tail)]);
    const response = await upload(app, body, '', form()[1]);
    const key = await saved({ brochure: { ID: response.json<{ ID: string }>().ID } });
    expect((await bytesOf('brochure', key)).equals(bytes)).toBe(true);
  });

  const [whole] = form(file('content'));
  const many = (count: number, part: string): string => form(...Array<string>(count).fill(part))[0];
  it.each([
    ['no file', form(field)[0]],
    ['nothing', form()[0]],
    ['an empty body', ''],
    ['text', 'text'],
    ['no end', whole.slice(0, -10)],
    ['no end of the headers', whole.slice(0, 40)],
    ['a thousand fields before', form(...Array<string>(1000).fill(field), file('x'))[0]],
    ['a part whose header has no end', `--b\r\nContent-Disposition: ${'x'.repeat(90_000)}`],
    ['a thousand headers', `--b\r\n${'A: b\r\n'.repeat(1000)}`],
    ['only delimiters', '--b\r\n'.repeat(10_000)],
    ['a hundred thousand empty parts', many(10_000, '\r\n')],
  ])('that is malformed is refused: %s', async (_name, body) => {
    const response = await upload(app, body, '', form()[1]);
    expectServed(response, _name);
    expect([response.statusCode, codesOf(response)]).toEqual([400, [1833]]);
  });

  it.each(['multipart/form-data', 'multipart/form-data; boundary=', 'Multipart/Form-Data;x'])(
    'without boundary is refused: %s',
    async (type) => {
      const response = await upload(app, whole, '', { 'content-type': type });
      expect([response.statusCode, codesOf(response)]).toEqual([400, [1833]]);
    },
  );

  it('is limited in the size of its file, and of its other parts', async () => {
    const [large, headers] = form(file('x'.repeat(100_001)));
    const response = await upload(app, large, '', headers);
    expect([response.statusCode, codesOf(response)]).toEqual([413, [1834]]);
    const [around] = form(
      `Content-Disposition: form-data; name="x"\r\n\r\n${'y'.repeat(2_000_000)}`,
    );
    expect((await upload(app, around, '', headers)).statusCode).toBe(413);
  });
});

describe('An upload that is used', () => {
  it('can be used repeatedly, with its ID in any case', async () => {
    const id = await idOf(app, png);
    const key = await saved({ logo: { ID: id }, brochure: { ID: id.toLowerCase() } });
    expect((await bytesOf('logo', key)).equals(png)).toBe(true);
    const response = await save(app, [
      { name: 'l1', logo: { ID: id } },
      { name: 'l2', brochure: { ID: id } },
    ]);
    expect(response.body).not.toContain('__ERROR');
  });

  it('cannot become an image if it is not one', async () => {
    for (const bytes of [html, Buffer.from('GIF'), Buffer.from('BMW is a car'), Buffer.alloc(0)]) {
      const response = await save(app, { name: 'no', logo: { ID: await idOf(app, bytes) } });
      expect([response.statusCode, codesOf(response)]).toEqual([400, [1824, 1570, 1534]]);
    }
  });

  const unknown = 'A'.repeat(32);
  it.each([
    unknown,
    '',
    '../../etc/passwd',
    '1',
    '%2e%2e%2f1',
    '__proto__',
    'constructor',
    `${unknown}\0`,
    'x'.repeat(1500),
    7,
    null,
    {},
    [unknown],
    { ID: unknown },
  ])('cannot be found by the ID %j', async (id) => {
    const image = await save(app, { name: 'bad', logo: { ID: id } });
    expect([image.statusCode, codesOf(image)]).toEqual([400, [1825, 1570, 1534]]);
    const blob = await save(app, { name: 'bad', brochure: { ID: id } });
    expect([blob.statusCode, codesOf(blob)]).toEqual([400, [1826, 1570, 1534]]);
  });

  it.each([
    'text',
    7,
    true,
    [],
    {},
    { id: unknown },
    [{ ID: unknown }],
    { type: 'Buffer', data: [1] },
  ])('cannot be named by %j', async (value) => {
    const response = await save(app, { name: 'bad', logo: value });
    expect([response.statusCode, codesOf(response)]).toEqual([422, [1569, 1570, 1534]]);
  });

  it('is missing only for one entity of a list, and both errors are reported', async () => {
    const response = await save(app, [
      { name: 'm1', logo: { ID: unknown }, brochure: { ID: unknown } },
      { name: 'm2', logo: { ID: await idOf(app, svg) } },
    ]);
    const { __ENTITIES: entities } = response.json<{
      __ENTITIES: readonly { __ERROR?: readonly { errCode: number }[] }[];
    }>();
    expect(entities[0]?.__ERROR?.map((each) => each.errCode)).toEqual([1825, 1826, 1570, 1534]);
    expect(entities[1]?.__ERROR).toBeUndefined();
  });

  it('is limited in many entities of one request, and nothing is stored beyond the limit', async () => {
    const small = await mediaServer({ UPLOAD_SIZE: '10000', UPLOAD_SPACE: '40000' });
    const id = await idOf(small, Buffer.alloc(10_000));
    const entities = (count: number): object[] =>
      Array.from({ length: count }, (_, index) => ({ name: `e${index}`, brochure: { ID: id } }));
    const response = await save(small, entities(5));
    expect([response.statusCode, codesOf(response)]).toEqual([413, [1834]]);
    expect((await small.inject('/rest/Company?$top=0')).json()).toMatchObject({ __COUNT: 0 });
    expect((await save(small, entities(4))).statusCode).toBe(200);
    await small.close();
  });

  it('changes an entity, null clears it, and the same bytes change nothing', async () => {
    const key = await saved({ logo: { ID: await idOf(app, png) } });
    const change = (stamp: number, logo: unknown): ReturnType<typeof save> =>
      save(app, { __KEY: key, __STAMP: stamp, logo });
    const same = await change(1, { ID: await idOf(app, png) });
    expect(same.json()).toMatchObject({ __STAMP: 1 });
    const other = await change(1, { ID: await idOf(app, gif) });
    expect(other.json()).toMatchObject({ __STAMP: 2 });
    expect((await bytesOf('logo', key)).equals(gif)).toBe(true);
    const entity = (await app.inject(`/rest/Company(${key})`)).json<object>();
    const back = await save(app, { ...entity, city: 'Rome' });
    expect(back.json(), back.body).toMatchObject({ __STAMP: 3, city: 'Rome' });
    expect((await bytesOf('logo', key)).equals(gif)).toBe(true);
    expect((await change(3, null)).json()).toMatchObject({ __STAMP: 4, logo: null });
  });

  // On PostgreSQL the database holds it.
  it.skipIf(isOnPostgres)('is on disk in a folder that only its user can read', async () => {
    await idOf(app, 'private');
    const { statSync } = await import('node:fs');
    const [kept] = filesOnDisk();
    expect(statSync(kept?.folder ?? '').mode & 0o777).toBe(0o700);
  });
});

describe('A server of a model without images and BLOBs', () => {
  const model = `
drs: 1
name: plain
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
`;

  it('has no address for uploads, and bodies without them', async () => {
    const plain = await serverOf(model);
    for (const method of ['GET', 'POST'] as const) {
      const response = await plain.inject({ method, url: '/rest/$upload?$rawPict=true' });
      expect([response.statusCode, codesOf(response)]).toEqual([404, [1800]]);
    }
    expect((await save(plain, { name: { ID: 'x' } }, 'Item')).statusCode).toBe(422);
    expect((await save(plain, [{ name: 'one' }, { name: 'two' }], 'Item')).statusCode).toBe(200);
    await plain.close();
  });

  it('accepts uploads as the arguments of its functions', async () => {
    const functions = `    functions:
      dataclass:
        tell: { exposed: true, params: { all: 'image[]', more: blob }, returns: 'any[]' }
`;
    const code = `
import { ItemBase, type Media } from '../generated/api.js';
export class Item extends ItemBase {
  async tell(all: readonly Media[], more: Media): Promise<readonly unknown[]> {
    return Promise.all([...all, more].map(async (each) => [each.size, await each.contentType]));
  }
}`;
    const called = await serverOf(`${model}${functions}`, {}, { 'src/classes/Item.ts': code });
    const tell = (...ids: readonly [string, string]): ReturnType<typeof save> =>
      clientOf(called).post('/rest/Item/tell', [[{ ID: ids[0] }], { ID: ids[1] }]);
    const [image, blob] = [await idOf(called, png), await idOf(called, 'bytes')];
    expect((await tell(image, blob)).json()).toEqual({
      result: [
        [png.length, 'image/png'],
        [5, 'application/octet-stream'],
      ],
    });
    expect((await tell(blob, blob)).statusCode).toBe(400);
    expect((await tell(image, '0'.repeat(32))).statusCode).toBe(400);
    await called.close();
  });
});

it('A server of a model with images does not start without the plugin media', async () => {
  const yaml = `
drs: 1
name: pictured
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      picture: image
`;
  const path = 'src/generated/app.ts';
  const emitted = readFileSync(join(writeServer(modelOf(yaml)), path), 'utf8');
  const line = 'app.register(media);';
  expect(emitted).toContain(line);
  const started = serverOf(yaml, {}, { [path]: emitted.replace(line, '') });
  await expect(started).rejects.toThrow('register the plugin media of #runtime/media');
});
