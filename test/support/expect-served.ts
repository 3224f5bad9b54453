import type { FastifyInstance } from 'fastify';
import { expect } from 'vitest';

export type Response = Awaited<ReturnType<FastifyInstance['inject']>>;

interface Body {
  readonly __ERROR?: readonly { readonly message: string; readonly errCode: number }[];
}

/** No bug and no crash: an answer, or an error for the client as JSON. */
export function expectServed(response: Response, what: string): void {
  const { statusCode, body, headers } = response;
  expect(statusCode < 500 || statusCode === 501, `${what}\n${body}`).toBe(true);
  expect(headers['content-type'], what).toBe('application/json; charset=utf-8');
  const json: Body = response.json();
  if (statusCode < 400) return;
  expect(json.__ERROR?.length, `${what}\n${body}`).toBeGreaterThan(0);
  for (const each of json.__ERROR ?? []) {
    expect(each.message, what).not.toBe('');
    expect(each.errCode, what).toBeTypeOf('number');
  }
  // No internals of the server.
  expect(body, what).not.toMatch(/sqlite|node_modules|\.[jt]s:\d+|__datastore|SELECT \"|near \"/i);
}

/** Codes of an answer's errors. */
export function codesOf(response: Response): number[] {
  const json: Body = response.json();
  return (json.__ERROR ?? []).map((each) => each.errCode);
}
