import type { FastifyInstance } from 'fastify';
import { expect } from 'vitest';
import { expectDescribed } from './described-answers.js';
import type { Expectation, Request } from './row.js';

interface Entity {
  readonly __KEY?: string;
}

interface Body extends Entity {
  readonly __ENTITIES?: readonly Entity[];
  readonly __ERROR?: readonly { readonly errCode: number; readonly message: string }[];
}

/**
 * Sends a request. Characters that a URL cannot contain are percent-encoded; percent signs stay.
 */
export async function send(
  app: FastifyInstance,
  request: Request,
): Promise<Awaited<ReturnType<FastifyInstance['inject']>>> {
  const { method, body, text, headers } = request;
  const url = request.url.replace(/[^\x21-\x7e]+|["<>\\^`{|}]/g, (each) =>
    encodeURIComponent(each),
  );
  const payload = text ?? (body === undefined ? undefined : JSON.stringify(body));
  return app.inject({
    method,
    url,
    ...(payload === undefined ? {} : { payload }),
    ...(headers === undefined ? {} : { headers }),
  });
}

/**
 * Sends the request, and compares the answer with the expectation and with what the server's
 * OpenAPI document says.
 */
export async function ask(
  app: FastifyInstance,
  request: Request,
  expected: Expectation,
): Promise<void> {
  const response = await send(app, request);
  await expectDescribed(app, request, response);
  const { body: text, headers, statusCode } = response;
  expect(statusCode, text).toBe(expected.status ?? 200);
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    expect(headers[name], name).toBe(value);
  }
  if (request.method === 'HEAD') {
    expect(text).toBe('');
    return;
  }
  if (expected.bytes !== undefined) {
    expect(response.rawPayload.toString('hex')).toBe(expected.bytes);
    return;
  }
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  const body: Body = response.json();
  if (expected.is !== undefined) expect(text).toBe(JSON.stringify(expected.is));
  if (expected.has !== undefined) expect(body).toMatchObject(expected.has);
  if (expected.keys !== undefined) {
    expect(body.__ENTITIES?.map((each) => each.__KEY)).toEqual(expected.keys);
  }
  if (expected.members !== undefined) {
    expect(Object.keys(body.__ENTITIES?.[0] ?? body)).toEqual(expected.members);
  }
  if (expected.codes !== undefined) {
    expect(
      body.__ERROR?.map((each) => each.errCode),
      text,
    ).toEqual(expected.codes);
    for (const each of body.__ERROR ?? []) {
      expect(each).toMatchObject({ componentSignature: 'dbmg' });
      expect(each.message).not.toBe('');
    }
  }
  if (expected.message !== undefined) expect(body.__ERROR?.[0]?.message).toMatch(expected.message);
}
