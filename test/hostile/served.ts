import type { FastifyInstance } from 'fastify';
import { expect } from 'vitest';

export type Response = Awaited<ReturnType<FastifyInstance['inject']>>;

interface Body {
  readonly __ERROR?: readonly { readonly message: string; readonly errCode: number }[];
}

/** No bug, no crash: an answer, or an error of the client's that is reported in JSON. */
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
  // Nothing of the server's inside.
  expect(body, what).not.toMatch(/sqlite|node_modules|\.[jt]s:\d+|__datastore|SELECT \"|near \"/i);
}

/** Codes of an answer's errors. */
export function codesOf(response: Response): number[] {
  const json: Body = response.json();
  return (json.__ERROR ?? []).map((each) => each.errCode);
}
