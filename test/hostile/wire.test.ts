import { connect, type AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelFile } from '../support/model-file.js';
import { create, serverOf } from '../support/server.js';

/** Requests that no well-behaved client sends, written to the socket as bytes. */
let app: FastifyInstance;
let port: number;

beforeAll(async () => {
  // Some exchanges end when the server closes the connection.
  app = await serverOf(modelFile('staff'), { environment: { KEEP_ALIVE_TIMEOUT: '1' } });
  await create(app, 'Company', [{ name: 'first' }]);
  await app.listen({ port: 0, host: '127.0.0.1' });
  ({ port } = app.server.address() as AddressInfo);
});
afterAll(() => app.close());

interface Answer {
  readonly status: number;
  readonly headers: string;
  readonly body: string;
}

/** Sends the bytes and reads until the server closes. */
function exchange(bytes: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes);
    });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    // The server may close before everything is written.
    socket.on('error', reject);
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString();
      const [headers = '', ...rest] = text.split('\r\n\r\n');
      resolve({ status: Number(headers.split(' ')[1]), headers, body: rest.join('\r\n\r\n') });
    });
  });
}

function raw(method: string, target: string | Buffer, headers = '', body?: Buffer): Buffer {
  const fixed = `HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n`;
  const head = `${method} `;
  const rest = ` ${fixed}${headers}\r\n`;
  return Buffer.concat([
    Buffer.from(head),
    Buffer.from(target),
    Buffer.from(rest),
    body ?? Buffer.of(),
  ]);
}

function update(body: Buffer, headers = ''): Buffer {
  const length = `Content-Length: ${body.length}\r\n`;
  return raw('POST', '/rest/Company?$method=update', length + headers, body);
}

function expectRefusal(answer: Answer, ...statuses: number[]): void {
  expect(statuses, answer.body).toContain(answer.status);
  expect(answer.headers.toLowerCase()).toContain('content-type: application/json');
  expect(JSON.parse(answer.body)).toHaveProperty('__ERROR');
}

describe('Bodies:', () => {
  it.each([
    ['invalid UTF-8', Buffer.from([...Buffer.from('{"name":"'), 0xff, 0xfe, ...Buffer.from('"}')])],
    [
      'overlong UTF-8',
      Buffer.from([...Buffer.from('{"name":"'), 0xc0, 0xaf, ...Buffer.from('"}')]),
    ],
    ['a surrogate in UTF-8', Buffer.from('{"name":"\x00"}').fill(0xed, 9, 10)],
    ['UTF-16', Buffer.from('{"name":"M"}', 'utf16le')],
    ['UTF-16 with its mark', Buffer.from('\ufeff{"name":"M"}', 'utf16le')],
    ['latin1', Buffer.from('{"name":"é"}', 'latin1')],
    ['gzip', Buffer.from([0x1f, 0x8b, 8, 0, 0])],
    ['NUL', Buffer.from('{"name":"a\0b"}')],
    ['nothing but blanks', Buffer.from(' \r\n\t ')],
    ['a mark alone', Buffer.from('\ufeff')],
  ])('%s is refused', async (_, body) => {
    expectRefusal(await exchange(update(body)), 400);
  });

  it.each([
    ['UTF-8 with its mark', Buffer.from('\ufeff{"name":"marked"}')],
    ['an escaped NUL', Buffer.from('{"name":"a\\u0000b"}')],
    ['blanks around', Buffer.from(' \r\n\t{"name":"blank"}\n ')],
    ['a pair of escaped surrogates', Buffer.from('{"name":"\\ud83d\\ude00"}')],
  ])('%s is stored', async (_, body) => {
    expect((await exchange(update(body))).status).toBe(200);
  });

  it('chunks are read', async () => {
    const chunks = '5\r\n{"nam\r\n9\r\ne":"chu"}\r\n0\r\n\r\n'.replace('\r\n9', '\r\na');
    const body = Buffer.from(chunks.replace('e":"chu"}', 'e":"chun"}'));
    const headers = 'Transfer-Encoding: chunked\r\n';
    const answer = await exchange(raw('POST', '/rest/Company?$method=update', headers, body));
    expect(answer.status, answer.body).toBe(200);
  });

  it('a body without content type or length is ignored', async () => {
    expectRefusal(await exchange(raw('POST', '/rest/Company?$method=update')), 400);
  });

  it('a compressed body is refused or not understood', async () => {
    const answer = await exchange(update(Buffer.from('x'), 'Content-Encoding: gzip\r\n'));
    expectRefusal(answer, 400, 415);
  });

  it('a length beyond the limit is refused before the body arrives', async () => {
    const headers = 'Content-Length: 999999999\r\nContent-Type: application/json\r\n';
    expectRefusal(await exchange(raw('POST', '/rest/Company?$method=update', headers)), 413);
  });
});

describe('An address', () => {
  it.each([
    ['bytes that are no UTF-8', Buffer.from([...Buffer.from('/rest/Company('), 0xff, 0xfe, 0x29])],
    ['UTF-8 that is not encoded', Buffer.from('/rest/Company(é😀)')],
    ['a bad encoding in the path', '/rest/Company(%)'],
    ['half an encoding', '/rest/Company(%4)'],
    ['an overlong encoding', '/rest/Company(%C0%AF)'],
    ['an encoded NUL', '/rest/Company(%00)'],
    ['dots', '/rest/../../etc/passwd'],
    ['encoded dots', '/rest/%2e%2e/%2e%2e/etc/passwd'],
    ['a whole address', 'http://example.org/rest/Nowhere'],
    ['a fragment', '/rest/Company(9)#x'],
    ['a matrix parameter', '/rest/Company;x=1'],
    ['no slash', 'rest'],
  ])('with %s is refused', async (_, target) => {
    const answer = await exchange(raw('GET', target));
    expectRefusal(answer, 400, 404);
  });

  it.each([
    ['backslashes', '/rest\\..\\..\\etc'],
    ['two slashes', '//rest/Company'],
    ['an asterisk', '*'],
  ])('with %s leads out of the base path, where Fastify answers', async (_, target) => {
    const answer = await exchange(raw('GET', target));
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.body)).toMatchObject({ statusCode: 404, error: 'Not Found' });
  });

  it.each([
    ['an encoded dollar sign', '/rest/%24catalog'],
    ['encoded letters', '/rest/%43ompany(1)'],
    ['encoded parentheses', '/rest/Company%281%29/name'],
    ['an encoded parameter', '/rest/Company?%24%74%6f%70=1'],
    ['an encoded comma', '/rest/Company/name%2Ccity'],
    ['nothing behind the question mark', '/rest/Company?'],
    ['ampersands alone', '/rest/Company?&&&'],
    ['a parameter without value', '/rest/Company?x'],
  ])('with %s is served', async (_, target) => {
    const answer = await exchange(raw('GET', target));
    expect(answer.status, answer.body).toBe(200);
  });
});

describe('Malformed HTTP is answered in JSON:', () => {
  it.each([
    ['no HTTP', Buffer.from('\x16\x03\x01\x02\x00\x01\x00\x01'), [400]],
    [
      'two lengths',
      Buffer.from('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'),
      [400],
    ],
    [
      'a length and chunks',
      Buffer.from(
        'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      ),
      [400],
    ],
    [
      'headers beyond the limit',
      Buffer.from(`GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(200_000)}\r\n\r\n`),
      [431],
    ],
    ['a blank in a header', Buffer.from('GET / HTTP/1.1\r\nHo st: x\r\n\r\n'), [400]],
  ])('%s', async (_, bytes, statuses) => {
    expectRefusal(await exchange(bytes), ...statuses);
  });

  it('and the server continues to work', async () => {
    expect((await exchange(raw('GET', '/health'))).body).toBe('{"ok":true}');
  });
});

describe('Methods:', () => {
  it.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'LINK', 'SEARCH'])(
    '%s is refused with Allow below /rest, and not found elsewhere',
    async (method) => {
      for (const target of ['/rest/Company', '/rest/Company(1)', '/rest/Nowhere', '/rest']) {
        const answer = await exchange(raw(method, target));
        expectRefusal(answer, 405);
        expect(answer.headers.toLowerCase()).toContain('allow: get, head, post');
      }
      for (const target of ['/health', '/']) {
        expect((await exchange(raw(method, target))).status).toBe(404);
      }
    },
  );

  it('a verb that HTTP does not know is refused', async () => {
    expectRefusal(await exchange(raw('FROB', '/rest/Company')), 400, 405);
  });

  it('HEAD answers the headers of GET and no body', async () => {
    for (const target of [
      '/rest/Company',
      '/rest/Company(1)',
      '/rest/Company(9)',
      '/rest/$catalog',
      '/rest/Company?$top=x',
    ]) {
      const head = await exchange(raw('HEAD', target));
      const get = await exchange(raw('GET', target));
      expect(head.body).toBe('');
      const sent = (answer: Answer): string => answer.headers.replace(/\r\nDate: [^\r]*/, '');
      expect(sent(head), target).toBe(sent(get));
    }
  });

  it.each(['GET', 'HEAD'])('%s changes nothing', async (method) => {
    for (const target of [
      '/rest/Company(1)?$method=delete',
      '/rest/Company?$method=delete',
      '/rest/Company?$method=update',
    ]) {
      expect((await exchange(raw(method, target))).status).toBe(405);
    }
    expect((await exchange(raw('GET', '/rest/Company(1)'))).status).toBe(200);
  });

  it('a method override has no effect', async () => {
    const headers = 'X-HTTP-Method-Override: DELETE\r\nX-HTTP-Method: DELETE\r\n';
    expect((await exchange(raw('GET', '/rest/Company(1)', headers))).status).toBe(200);
    expect((await exchange(raw('GET', '/rest/Company(1)'))).status).toBe(200);
  });
});
