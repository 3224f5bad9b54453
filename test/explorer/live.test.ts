import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../support/chromium.js';
import { describeDatabases } from '../support/databases.js';
import { violationsOf } from '../support/explorer-page.js';
import { isLong, itOnOne } from '../support/long.js';
import type { TestDatabase } from '../support/postgres.js';
import { create as createEntities, modelOf, serverOf } from '../support/server.js';

const model = modelOf(`
drs: 1
name: shop
dataclasses:
  Task:
    live: true
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      title: { type: string, mandatory: true }
      rank: integer
`);

let browser: Browser;

beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
});
afterAll(async () => {
  if (hasChromium) await browser.close();
});

describeDatabases('The grid of a live dataclass', ({ create, driver }) => {
  const onOne = hasChromium ? itOnOne({ driver }) : it.skip;
  const atLength = isLong ? onOne : it.skip;
  let database: TestDatabase;
  let app: FastifyInstance;
  let url: string;

  beforeAll(async () => {
    database = await create();
    const environment = { EXPLORER: 'on', LIVE_MEMBERS: '300' };
    app = await serverOf(
      { ...model, databases: [driver] },
      { databaseUrl: database.url, environment },
    );
    await app.listen({ port: 0, host: '127.0.0.1' });
    url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    const tasks = Array.from({ length: 200 }, (_, rank) => ({ title: `task ${rank}`, rank }));
    await createEntities(app, 'Task', tasks);
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  const open = async (): Promise<Page> => {
    const page = await browser.newPage();
    await page.goto(`${url}/explorer#/Task?order=rank`);
    await page.getByText('200 entities, live').waitFor();
    return page;
  };

  onOne(
    'shows in two windows what a third one changes, after the network was cut too',
    async () => {
      const windows = [await open(), await open()];
      const faults = windows.map(violationsOf);
      const [first, second] = windows as [Page, Page];
      const moved = first.getByRole('row', { name: 'task 150' });
      await createEntities(app, 'Task', [{ title: 'a new one', rank: -1 }]);
      for (const each of windows) {
        await each.getByText('201 entities, live').waitFor();
        await each.getByRole('row', { name: 'a new one' }).waitFor();
      }
      expect(await moved.count()).toBe(0);
      await second.context().setOffline(true);
      const found = await app.inject('/rest/Task?$filter="rank=150"');
      const [task] = found.json<{ __ENTITIES: readonly { __KEY: string }[] }>().__ENTITIES;
      await createEntities(app, 'Task', [{ __KEY: task?.__KEY, __STAMP: 1, rank: -2 }]);
      await moved.waitFor();
      await second.context().setOffline(false);
      await second.getByRole('row', { name: 'task 150' }).waitFor({ timeout: 180_000 });
      await app.inject({ method: 'POST', url: `/rest/Task(${task?.__KEY ?? ''})?$method=delete` });
      for (const each of windows) {
        await each.getByText('200 entities, live').waitFor();
        await each.close();
      }
      expect(faults).toEqual([[], []]);
    },
  );

  atLength('does not follow more entities than the server allows', async () => {
    const page = await open();
    const tasks = Array.from({ length: 200 }, (_, rank) => ({ title: 'more', rank }));
    await createEntities(app, 'Task', tasks);
    await page
      .getByText('entities', { exact: false })
      .filter({ hasNotText: 'live' })
      .first()
      .waitFor();
    await page.reload();
    await page.getByText(/^4\d\d entities$/).waitFor();
    await page.close();
  });
});
