import { expect } from 'vitest';
import type { Answer, ErrorItem } from '../../support/processes/client.js';

/**
 * The answer of the protocol to a request that cannot be executed now: without paths and without
 * messages of SQLite.
 */
export function expectUnavailable(answer: Answer<unknown>, message: RegExp): void {
  const { __ERROR: [error] = [] } = answer.body as { readonly __ERROR?: readonly ErrorItem[] };
  expect(answer).toMatchObject({ status: 503 });
  expect(error?.errCode).toBe(1836);
  expect(error?.message).toMatch(message);
  expect(error?.message).not.toMatch(/[/\\]|SQLITE|sqlite/);
  expect(answer.headers.get('retry-after')).toBe('1');
}
