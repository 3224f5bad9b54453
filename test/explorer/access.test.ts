import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, startChromium } from '../support/chromium.js';
import { serverOf } from '../support/server.js';

const environment = { EXPLORER: 'on' };

const item = `
drs: 1
name: access
dataclasses:
  Item: { attributes: { ID: { type: integer, key: true }, name: string } }
`;

let browser: Browser;
let app: FastifyInstance | undefined;

beforeAll(async () => {
  if (chromiumPath !== undefined) browser = await startChromium();
});

afterAll(async () => {
  if (chromiumPath !== undefined) await browser.close();
});

afterEach(() => app?.close());

/** Opens the explorer of a server in a browser without cookies. */
async function opened(server: FastifyInstance, address = '/explorer'): Promise<Page> {
  await server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = server.server.address() as AddressInfo;
  const page = await (await browser.newContext()).newPage();
  await page.goto(`http://127.0.0.1:${port}${address}`);
  return page;
}

describe('The explorer of a model without roles', () => {
  it.skipIf(chromiumPath === undefined)('offers no login, since nobody can log in', async () => {
    app = await serverOf(item, { environment });
    const page = await opened(app);
    await page.getByRole('navigation').getByRole('link', { name: 'Item' }).waitFor();
    expect(await page.getByRole('button', { name: 'Log in' }).count()).toBe(0);
    await page.context().close();
  });
});
