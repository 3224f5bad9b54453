import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../support/chromium.js';
import { openExplorer, seriousFaults, violationsOf } from '../support/explorer-page.js';
import { isLong } from '../support/long.js';
import { musicServer, runMusic, seedMusic, writeMusic } from '../support/music-example.js';
import { packageRoot } from '../support/server.js';

/** With `PICTURES=on` the pictures of the guide are made again. */
const pictures =
  process.env['PICTURES'] === 'on' ? join(packageRoot, 'runtime/docs/pictures') : undefined;

describe.skipIf(!isLong || !hasChromium)('The explorer of the music shop', () => {
  let folder: string;
  let browser: Browser;
  let app: FastifyInstance;
  let page: Page;
  let violations: string[];
  let url: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'drs-music-'));
    const database = join(folder, 'data.sqlite');
    writeMusic(join(folder, 'data'));
    expect(await seedMusic(database, join(folder, 'data'))).toMatchObject({ code: 0, err: '' });
    browser = await startChromium();
    app = await musicServer(database, { EXPLORER: 'on' });
    await app.listen({ port: 0, host: '127.0.0.1' });
    url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/explorer`;
  });

  afterAll(async () => {
    await browser.close();
    await app.close();
    rmSync(folder, { recursive: true });
  });

  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
    violations = violationsOf(page);
  });

  afterEach(async () => {
    expect(violations).toEqual([]);
    await page.close();
  });

  /** Nobody is kept from using what a picture shows. */
  async function seen(name: string): Promise<void> {
    await page.waitForLoadState('networkidle');
    expect(await seriousFaults(page)).toEqual([]);
    if (pictures === undefined) return;
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: join(pictures, `explorer-${name}.png`) });
  }

  async function goTo(hash: string): Promise<void> {
    await page.goto(`${url}#/${hash}`);
  }

  it('shows a manager the model, albums with their covers, and sales as bars', async () => {
    await openExplorer(page, url, 'zoe');
    await page.getByRole('link', { name: 'PlaylistEntry' }).first().waitFor();
    await seen('model');
    await goTo('Album?order=released+desc&entity=12');
    await page.getByText('377 entities').waitFor();
    await page.getByRole('complementary').getByRole('img', { name: 'cover' }).waitFor();
    expect(await page.getByRole('grid').locator('img').count()).toBeGreaterThan(10);
    await seen('table');
    await goTo('Invoice?groups=customer.country&terms=count,sum(total)&by=sum(total)+desc');
    await page.getByRole('link', { name: 'Czechia' }).waitFor();
    await seen('groups');
    await page.getByRole('link', { name: 'Czechia' }).click();
    await page.getByText('112 entities').waitFor();
    await goTo('Invoice?filter=total+>+10&entity=12');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('button', { name: 'Add to lines' }).click();
    await page.getByRole('combobox', { name: 'track' }).waitFor();
    await seen('form');
    await page.locator('footer summary').click();
    await page.getByText('Plan').waitFor();
    await seen('answered');
  });

  it('finds tracks that sound like another one, and shows them in the table', async () => {
    await openExplorer(page, `${url}#/Track?entity=1`);
    const similar = page.getByRole('form', { name: 'similar' });
    await similar.getByLabel('limit').fill('7');
    await similar.getByRole('button', { name: 'similar' }).click();
    await similar.getByRole('button', { name: 'Show' }).click();
    await page.locator('footer').getByText('7 entities').waitFor();
  });

  it('shows an agent the own customers only, and refuses to give them away', async () => {
    await openExplorer(page, `${url}#/Customer`, 'ines');
    const shown = page.locator('footer').getByText(/^\d+ entities$/);
    await shown.waitFor();
    expect(await shown.textContent()).not.toBe('400 entities');
    await page.getByRole('row').filter({ hasNotText: '…' }).nth(1).click();
    const panel = page.getByRole('complementary');
    await panel.getByRole('button', { name: 'Edit' }).click();
    const agent = panel.getByRole('combobox', { name: 'agent' });
    await agent.fill('Jonas');
    await page.getByRole('option', { name: /^Jonas/ }).click();
    await panel.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').waitFor();
    await panel.getByRole('button', { name: 'Discard' }).click();
    await panel.getByRole('link', { name: /^In[eê]s/ }).waitFor();
  });

  describe('with a million invoice lines', () => {
    let large: FastifyInstance;

    beforeAll(async () => {
      const many = join(folder, 'many.sqlite');
      expect(await seedMusic(many, join(folder, 'data'))).toMatchObject({ code: 0 });
      expect(await runMusic(many, 'scripts/multiply.js', '1000000')).toMatchObject({ code: 0 });
      large = await musicServer(many, { EXPLORER: 'on' });
      await large.listen({ port: 0, host: '127.0.0.1' });
      url = `http://127.0.0.1:${(large.server.address() as AddressInfo).port}/explorer`;
    });

    afterAll(() => large.close());

    /** Entities that the foot of the page names. */
    function count(text: string): Promise<void> {
      return page.locator('footer').getByText(`${text} entities`, { exact: true }).waitFor();
    }

    it('scrolls from one end to the other', async () => {
      await openExplorer(page, `${url}#/InvoiceLine`, 'zoe');
      await count('1,000,000');
      const grid = page.getByRole('grid');
      for (const part of [0.25, 0.5, 0.75, 1, 0]) {
        await grid.evaluate((element, at) => {
          element.scrollTop = (element.scrollHeight - element.clientHeight) * at;
        }, part);
        const first = Math.floor(part * 1_000_000) || 1;
        const near = new RegExp(`^${new Intl.NumberFormat('en').format(first).slice(0, 4)}`);
        await grid.getByRole('gridcell', { name: near }).first().waitFor();
      }
    });

    it('filters, groups, keeps and combines them, and changes one', async () => {
      await openExplorer(page, `${url}#/InvoiceLine?filter=quantity+%3D+1`, 'zoe');
      await page.getByText('Kept sets').click();
      const keep = page.getByRole('button', { name: 'Keep what is shown' });
      await keep.and(page.locator(':enabled')).click();
      await goTo('InvoiceLine?filter=unitPrice+%3C+1');
      const list = page.getByRole('list', { name: 'Kept sets' });
      await keep.and(page.locator(':enabled')).click();
      await list.getByRole('listitem').nth(1).waitFor();
      const combination = page.getByRole('form', { name: 'Combine two sets' });
      const counts: number[] = [];
      for (const operator of ['and', 'or', 'except']) {
        await combination.getByLabel('Combined by').selectOption(operator);
        await combination.getByRole('button').click();
        const item = list.getByRole('listitem').filter({ hasText: `) ${operator} (` });
        const text = (await item.locator('.quiet').textContent()) ?? '';
        counts.push(Number(text.replaceAll(',', '')));
      }
      const [both = 0, either = 0, first = 0] = counts;
      const single = await list.locator('.quiet').first().textContent();
      expect(both + first).toBe(Number((single ?? '').replaceAll(',', '')));
      expect(either).toBeGreaterThan(both);
      await goTo('InvoiceLine?groups=track.genre.name&terms=count,sum(amount)');
      await page.getByRole('row').nth(2).waitFor();
      await goTo('InvoiceLine?order=ID+desc&entity=1000000');
      await count('1,000,000');
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByRole('textbox', { name: /^quantity/ }).fill('3');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('button', { name: 'Edit' }).waitFor();
      const row = page.getByRole('row').filter({ hasText: '1,000,000' });
      await row.getByRole('gridcell', { name: '3', exact: true }).waitFor();
    });
  });
});
