import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../support/chromium.js';
import { describeDatabases } from '../support/databases.js';
import {
  manyCompanies,
  openExplorer,
  script,
  seriousFaults,
  violationsOf,
} from '../support/explorer-page.js';
import type { TestDatabase } from '../support/postgres.js';
import { png } from '../support/media-samples.js';
import { isLong, itLong, itOnOne } from '../support/long.js';
import { type StaffClient, staffClient, staffServer } from '../support/staff-example.js';

const companies = 3;
const employees = 250;

let browser: Browser;
let client: StaffClient;

beforeAll(async () => {
  client = await staffClient();
  if (hasChromium) browser = await startChromium();
});

afterAll(async () => {
  if (hasChromium) await browser.close();
});

describeDatabases('The explorer', ({ create, driver, run }) => {
  let database: TestDatabase;
  let app: FastifyInstance;
  let url: string;

  beforeAll(async () => {
    database = await create();
    const environment = { EXPLORER: 'on' };
    ({ app, url } = await staffServer({ databaseUrl: database.url, environment }, { driver }));
    const ds = client.connect(url);
    await ds.session.login('mia', 'example');
    const named = Array.from({ length: companies }, (_, at) =>
      ds.Company.new({ name: `Company ${at}`, city: at === 0 ? script : 'Paris' }),
    );
    await ds.atomic(named);
    for (let from = 0; from < employees; from += 125) {
      const people = Array.from({ length: 125 }, (_, index) => {
        const at = from + index;
        const lastName = at === 0 ? script : `Person ${String(at).padStart(3, '0')}`;
        return ds.Employee.new({ lastName, salary: at, employer: named[at % companies] ?? null });
      });
      await ds.atomic(people);
    }
  });

  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  describe.skipIf(!hasChromium)('in a browser', () => {
    const onOne = itOnOne({ driver });
    let page: Page;
    let violations: string[];

    beforeEach(async () => {
      page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
      violations = violationsOf(page);
    });

    afterEach(async () => {
      expect(violations).toEqual([]);
      expect(await page.evaluate(() => 'broken' in globalThis)).toBe(false);
      await page.context().close();
    });

    async function open(address: string, user?: string): Promise<void> {
      await openExplorer(page, `${url}/explorer${address}`, user);
    }

    onOne(
      'shows a guest the dataclasses that a guest sees, and a user more after the login',
      async () => {
        await open('');
        const names = page.getByRole('navigation').getByRole('link');
        await names.getByText('Company').waitFor();
        expect(await names.allTextContents()).toEqual(['Model', 'Company']);
        await open('', 'mia');
        await names.getByText('Employee').waitFor();
        expect(await names.allTextContents()).toEqual(['Model', 'Company', 'Employee']);
      },
    );

    itLong('opens at its address with a slash at the end, too', async () => {
      await page.goto(`${url}/explorer/`);
      await page.getByRole('link', { name: 'Model' }).waitFor();
    });

    onOne('draws the model, whose boxes lead to the entities', async () => {
      await open('', 'mia');
      const picture = page.getByRole('group', { name: 'The dataclasses of staff' });
      await picture.getByText('employer', { exact: true }).first().waitFor();
      await picture.getByRole('link', { name: 'Employee' }).click();
      await page.getByText('250 entities').waitFor();
      expect(new URL(page.url()).hash).toBe('#/Employee');
    });

    onOne('scrolls through all entities, and reads only what is seen', async () => {
      await open('#/Employee?order=lastName', 'mia');
      const grid = page.getByRole('grid');
      await grid.getByText('Person 001').first().waitFor();
      expect(await grid.getByRole('row').count()).toBeLessThan(40);
      await grid.press('End');
      await grid.getByText('Person 249').first().waitFor();
      await grid.press('Home');
      await grid.getByText('Person 002').first().waitFor();
      expect(await grid.getAttribute('aria-rowcount')).toBe('251');
    });

    itLong('scrolls through a million entities', async () => {
      await run(database.url, manyCompanies(driver));
      await open('#/Company?filter=name+begin+Many');
      await page.getByText('1,000,000 entities').waitFor();
      const grid = page.getByRole('grid');
      await grid.press('End');
      await grid.getByText('Many 1000000').first().waitFor();
      await grid.press('PageUp');
      await grid
        .getByText(/Many 09999\d\d/)
        .first()
        .waitFor();
      await grid.evaluate((element) => {
        element.scrollTop = element.scrollHeight / 2;
      });
      await grid
        .getByText(/Many 0(?:49|50)\d{4}/)
        .first()
        .waitFor();
      expect(await grid.getByRole('row').count()).toBeLessThan(40);
      await grid.press('Home');
      await grid.getByText('Many 0000001').first().waitFor();
      await run(database.url, `delete from "Company" where "name" like 'Many %'`);
    });

    onOne('shows what a filter matches, and why a wrong one matches nothing', async () => {
      await open('#/Employee', 'mia');
      const filter = page.getByLabel('Filter');
      await filter.fill('salary > 240 and employer.name = "Company 1"');
      await filter.press('Enter');
      await page.getByText('3 entities').waitFor();
      await filter.fill('salry > 1');
      await filter.press('Enter');
      const alert = page.getByRole('alert');
      await alert.waitFor();
      expect(await alert.textContent()).toContain('salry');
      await filter.fill('salary >> 1');
      await filter.press('Enter');
      await page.getByRole('search').getByRole('alert').waitFor();
      const marked = await filter.evaluate((element) =>
        Number((element as unknown as { selectionStart: unknown }).selectionStart),
      );
      expect(marked).toBe(8);
    });

    itLong('proposes the attributes behind a path, and completes it', async () => {
      await open('#/Employee', 'mia');
      const filter = page.getByLabel('Filter');
      await filter.pressSequentially('employer.ci');
      await page.getByRole('option', { name: 'city' }).waitFor();
      await filter.press('ArrowDown');
      await filter.press('Enter');
      await filter.pressSequentially(' = "Paris"');
      expect(await filter.inputValue()).toBe('employer.city = "Paris"');
      await filter.press('Enter');
      await page.getByText('166 entities').waitFor();
    });

    itLong('orders by a column, first up, then down, then not at all', async () => {
      await open('#/Employee', 'mia');
      const header = page.getByRole('columnheader', { name: 'salary' });
      const first = page.getByRole('row').nth(1);
      await header.click();
      await first.getByText('<img').first().waitFor();
      await header.click();
      await first.getByText('Person 249').first().waitFor();
      expect(await header.getAttribute('aria-sort')).toBe('descending');
    });

    itLong('follows a link in the table by the keyboard', async () => {
      await open('#/Employee?filter=salary+%3D+4', 'mia');
      const link = page.getByRole('grid').getByRole('link', { name: 'Company 1' }).first();
      await link.press('Enter');
      await page.getByRole('complementary').getByRole('heading', { name: 'Company 1' }).waitFor();
      expect(new URL(page.url()).hash).toContain('#/Company?');
    });

    onOne('shows one entity, and leads along its relations', async () => {
      await open('#/Company?entity=2', 'mia');
      const panel = page.getByRole('complementary');
      await panel.getByRole('heading', { name: 'Company 1' }).waitFor();
      await panel.getByText('83').click();
      await page.getByText('83 entities').waitFor();
      await page.getByText('staff of Company 2').waitFor();
      await page.getByRole('row', { name: 'Person' }).first().click();
      await panel.getByRole('heading', { name: 'Person' }).waitFor();
      await panel.getByRole('link', { name: 'Company 1' }).click();
      await panel.getByRole('heading', { name: 'Company 1' }).waitFor();
      await panel.press('Escape');
      await panel.waitFor({ state: 'detached' });
    });

    onOne('creates, changes and deletes an entity, and names what the model refuses', async () => {
      await open('#/Company', 'mia');
      const panel = page.getByRole('complementary');
      await page.getByRole('link', { name: 'New' }).click();
      const made = panel.getByRole('form', { name: 'New Company' });
      await made.getByLabel('name *').fill('Brand new');
      await made.getByLabel('revenue').fill('much');
      await made.getByRole('button', { name: 'Save' }).click();
      await made.getByText('A number is expected').waitFor();
      await made.getByLabel('revenue').fill('-5');
      await made.getByRole('button', { name: 'Save' }).click();
      await made.getByLabel('revenue').and(page.locator('[aria-invalid=true]')).waitFor();
      await made.getByLabel('revenue').fill('1000.5');
      await made.getByLabel('founded').fill('2001-02-03');
      await made.getByLabel('extra').fill('{"size": [1, 2]}');
      await made.getByRole('button', { name: 'Save' }).click();
      await panel.getByRole('heading', { name: 'Brand new' }).waitFor();
      await panel.getByText('1,000.5').waitFor();
      await panel.getByText('Feb 3, 2001').waitFor();
      await page.getByRole('grid').getByText('Brand new').first().waitFor();

      await panel.getByRole('button', { name: 'Edit' }).click();
      const edited = panel.getByRole('form', { name: 'Edit' });
      await edited.getByLabel('city').press('Escape');
      await edited.getByLabel('name *').fill('Company 1');
      await edited.getByRole('button', { name: 'Save' }).click();
      await edited.getByLabel('name *').and(page.locator('[aria-invalid=true]')).waitFor();
      await edited.getByLabel('name *').fill('Renamed');
      await edited.getByLabel('active').selectOption('no');
      await edited.getByRole('button', { name: 'Save' }).click();
      await panel.getByRole('heading', { name: 'Renamed' }).waitFor();
      await page.getByRole('grid').getByText('Renamed').first().waitFor();

      await panel.getByRole('button', { name: 'Delete…' }).click();
      await panel.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('3 entities').waitFor();
      await panel.waitFor({ state: 'detached' });
    });

    onOne('shows mine and theirs if somebody else has changed the entity', async () => {
      await open('#/Company?entity=3', 'mia');
      const panel = page.getByRole('complementary');
      const edit = panel.getByRole('form', { name: 'Edit' });
      const ds = client.connect(url);
      await ds.session.login('mia', 'example');
      for (const [mine, theirs, choice, stored] of [
        ['Nice', 'Lyon', 'Save mine', 'Nice'],
        ['Metz', 'Caen', 'Keep theirs', 'Caen'],
      ] as const) {
        await panel.getByRole('button', { name: 'Edit' }).click();
        await edit.getByLabel('city').fill(mine);
        const company = await ds.Company.get(3);
        company?.fromObject({ city: theirs });
        await company?.save();
        await edit.getByRole('button', { name: 'Save' }).click();
        const conflict = panel.getByRole('alertdialog', { name: 'Conflict' });
        await conflict.getByRole('cell', { name: mine }).waitFor();
        await conflict.getByRole('cell', { name: theirs }).waitFor();
        await conflict.getByRole('button', { name: choice }).click();
        if (choice === 'Keep theirs') await edit.getByRole('button', { name: 'Discard' }).click();
        await panel.getByText(stored, { exact: true }).waitFor();
        expect((await ds.Company.get(3))?.city).toBe(stored);
      }
      const company = await ds.Company.get(3);
      company?.fromObject({ city: 'Paris' });
      await company?.save();
    });

    onOne('uploads an image and a BLOB, shows them, and removes them', async () => {
      await open('#/Employee?filter=salary+%3D+9', 'mia');
      await page.getByRole('row', { name: 'Person 009' }).click();
      const panel = page.getByRole('complementary');
      await panel.getByRole('button', { name: 'Edit' }).click();
      const photo = { name: 'me.png', mimeType: 'image/png', buffer: png };
      await panel.getByLabel('photo').setInputFiles(photo);
      const cv = { name: `${script}.txt`, mimeType: 'text/plain', buffer: Buffer.from('A life.') };
      await panel.getByLabel('cv').setInputFiles(cv);
      await panel.getByRole('button', { name: 'Save' }).click();
      const image = panel.getByRole('img', { name: 'photo' });
      await image.waitFor();
      const isShown = (): Promise<unknown> =>
        image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth);
      await expect.poll(isShown).toBeGreaterThan(0);
      const download = page.waitForEvent('download');
      await panel.getByRole('link', { name: 'download' }).click();
      const stream = await (await download).createReadStream();
      expect(await text(stream)).toBe('A life.');
      await panel.getByRole('button', { name: 'Edit' }).click();
      await panel.getByLabel('remove').nth(1).check();
      await panel.getByLabel('remove').nth(1).uncheck();
      await panel.getByLabel('remove').first().check();
      await panel.getByRole('button', { name: 'Save' }).click();
      await panel.getByRole('button', { name: 'Edit' }).waitFor();
      expect(await image.count()).toBe(0);
      await panel.getByRole('link', { name: 'download' }).waitFor();
    });

    onOne('calls functions of each kind, and shows what they return', async () => {
      await open('', 'mia');
      await page.getByText('Functions', { exact: true }).click();
      const clock = page.getByRole('region', { name: 'Clock' });
      await clock.getByRole('button', { name: 'now' }).click();
      await clock.getByRole('status').getByText(/\d{4}/).waitFor();
      await open('#/Company?filter=city+%3D+%22Paris%22');
      await page.getByText('Functions', { exact: true }).click();
      const found = page.getByRole('form', { name: 'fromCity' });
      await found.getByLabel('city').fill('Paris');
      await found.getByRole('button').click();
      await found.getByRole('status').getByText('2 entities').waitFor();
      await found.getByRole('button', { name: 'Show' }).click();
      await page.getByText('a kept set').waitFor();
      await page.locator('footer').getByText('2 entities').waitFor();
      const total = page.getByRole('form', { name: 'totalRevenue' });
      await total.getByRole('button').click();
      await total.getByRole('status').getByText('0').waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
      await page.getByRole('grid').getByText('Company 2').first().click();
      const hire = page.getByRole('form', { name: 'hire' });
      const chosen = hire.getByRole('combobox', { name: 'person' });
      await chosen.fill('nobody');
      await hire.getByRole('button', { name: 'hire' }).click();
      await hire.getByText('Choose one of the entities').waitFor();
      const ds = client.connect(url);
      await ds.session.login('mia', 'example');
      const person = await ds.Employee.query('salary = 1').first();
      await chosen.fill('person 001');
      await hire.getByRole('option', { name: 'Person 001' }).click();
      await hire.getByRole('button', { name: 'hire' }).click();
      await hire.getByRole('status').getByRole('link', { name: 'Person 001' }).waitFor();
      await person?.reload();
      expect(person?.employer.key).toBe(3);
      person?.employer.set(2);
      await person?.save();
    });

    itLong('keeps what a session may not change', async () => {
      await open('#/Employee?filter=lastName+%3D+%22Person+007%22', 'tom');
      await page.getByRole('row', { name: 'Person 007' }).click();
      const panel = page.getByRole('complementary');
      await panel.getByRole('button', { name: 'Edit' }).click();
      expect(await panel.getByLabel('salary').count()).toBe(0);
      await panel.getByLabel('lastName *').fill('Mine');
      await panel.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('alert').getByText('No permission').waitFor();
      const ds = client.connect(url);
      await ds.session.login('mia', 'example');
      expect(await ds.Employee.query('lastName = "Person 007"').count()).toBe(1);
    });

    onOne('shows texts that are scripts as texts, in the grid and in the panel', async () => {
      await open('#/Employee?order=salary', 'mia');
      await page.getByRole('grid').getByText('<img src=x').first().click();
      const panel = page.getByRole('complementary');
      await panel.getByRole('heading').getByText('<script>').waitFor();
      await open('#/Company?entity=1');
      await panel.getByText('<img src=x').first().waitFor();
    });

    itLong('shows the columns that are chosen, in their order and width', async () => {
      await open('#/Company?entity=2', 'mia');
      const heads = page.getByRole('columnheader');
      const names = async (): Promise<readonly string[]> =>
        (await heads.locator('.order').allTextContents()).slice(0, 3);
      const menu = page.getByRole('group', { name: 'Column name' });
      await page.getByRole('button', { name: 'Column name' }).click();
      await menu.getByRole('link', { name: 'Move right' }).click();
      await expect.poll(names).toEqual(['ID', 'city', 'name']);
      await page.getByRole('button', { name: 'Column name' }).press('Escape');
      await page.getByRole('button', { name: 'Column city' }).click();
      await page.getByRole('link', { name: 'Hide' }).click();
      await expect.poll(names).toEqual(['ID', 'name', 'founded']);
      await page.getByLabel('Add a column').selectOption('city');
      await expect.poll(() => heads.locator('.order').allTextContents()).toContain('city');
      const edge = page.getByRole('separator', { name: 'Width of name' });
      const width = (): Promise<number | undefined> =>
        page
          .getByRole('gridcell', { name: 'Company 1' })
          .first()
          .boundingBox()
          .then((box) => box?.width);
      const before = (await width()) ?? 0;
      await edge.press('ArrowRight');
      await expect.poll(width).toBe(before + 10);
      await edge.hover();
      await page.mouse.down();
      const box = await edge.boundingBox();
      await page.mouse.move((box?.x ?? 0) + 53.5, box?.y ?? 0);
      await page.mouse.up();
      await expect.poll(width).toBe(before + 60);
      await page.reload();
      await expect.poll(width).toBe(before + 60);
      await page.getByRole('complementary').getByRole('heading').waitFor();
    });

    onOne('filters by a column, with values whose characters mean something', async () => {
      await open('#/Company', 'mia');
      const form = page.getByRole('form', { name: 'Filter by city' });
      const filterBy = async (comparison: string, value: string): Promise<void> => {
        await page.getByRole('button', { name: 'Column city' }).click();
        await form.getByLabel('Comparison').selectOption(comparison);
        await form.getByLabel('Value').fill(value);
        await form.getByLabel('Value').press('Enter');
      };
      await filterBy('is', script);
      await page.getByText('1 entity').waitFor();
      await open('#/Company?filter=ID+%3D+1+or+ID+%3D+2');
      await filterBy('begins with', 'Par');
      await page.getByText('1 entity').waitFor();
      expect(await page.getByLabel('Filter', { exact: true }).inputValue()).toBe(
        '(ID = 1 or ID = 2) and city begin "Par"',
      );
      await filterBy('contains', String.raw`\" or "" = "`);
      await page.getByText('0 entities').waitFor();
    });

    itLong('shows images in the table', async () => {
      const ds = client.connect(url);
      await ds.session.login('mia', 'example');
      const person = await ds.Employee.query('salary = 11').first();
      person?.photo.set(new Blob([png], { type: 'image/png' }));
      await person?.save();
      await open('#/Employee?filter=salary+<+12+AND+salary+>+9&columns=photo,lastName', 'mia');
      const image = page.getByRole('grid').locator('img');
      await image.waitFor();
      const width = (): Promise<unknown> =>
        image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth);
      await expect.poll(width).toBeGreaterThan(0);
    });

    onOne('keeps entity sets, combines and releases them', async () => {
      await open('#/Employee?filter=salary+<+100', 'mia');
      await page.getByText('100 entities').waitFor();
      await page.getByText('Kept sets').click();
      const keep = page.getByRole('button', { name: 'Keep what is shown' });
      await keep.click();
      const list = page.getByRole('list', { name: 'Kept sets' });
      await list.getByRole('link', { name: 'salary < 100' }).waitFor();
      const filter = page.getByLabel('Filter', { exact: true });
      await filter.fill('salary >= 90');
      await filter.press('Enter');
      await page.getByText('160 entities').waitFor();
      await keep.click();
      const combination = page.getByRole('form', { name: 'Combine two sets' });
      for (const [operator, count] of [
        ['and', 10],
        ['or', 250],
        ['except', 90],
      ] as const) {
        await combination.getByLabel('Combined by').selectOption(operator);
        await combination.getByRole('button').click();
        await page.getByText(`${count} entities`).waitFor();
        const name = `(salary < 100) ${operator} (salary >= 90)`;
        const item = list.getByRole('listitem').filter({ hasText: name });
        expect(await item.textContent()).toContain(String(count));
        await filter.fill('salary = 95');
        await filter.press('Enter');
        await page.getByText(operator === 'except' ? '0 entities' : '1 entity').waitFor();
        await item.getByRole('button', { name: 'Release' }).click();
      }
      await page.getByText('a kept set').waitFor();
      await page.getByRole('link', { name: 'Show all of Employee' }).click();
      await page.getByText('1 entity').waitFor();
      expect(await list.getByRole('listitem').count()).toBe(2);
    });

    itLong('says how what it shows is answered, and tells no password', async () => {
      await open('#/Company?filter=city+begin+P', 'mia');
      await page.getByText('2 entities').waitFor();
      await page.locator('footer summary').click();
      const sheet = page.getByRole('group', { name: 'How it is answered' });
      await sheet.getByText('[index : Company.city ] begin P').waitFor();
      await sheet.getByText(`ds.Company.all().query('city begin P').select(`).waitFor();
      await sheet
        .getByRole('button', { name: /Company\?\$filter/ })
        .first()
        .click();
      const command = (await sheet.getByText(/^curl -X POST/).textContent()) ?? '';
      expect(command).toContain(`-b cookies '${url}/rest/Company?$filter=`);
      expect(await sheet.textContent()).not.toContain('example');
    });

    itLong('shows the same at the same address', async () => {
      await open('#/Employee?filter=salary+%3C+20&order=lastName+desc', 'mia');
      await page.getByText('20 entities').waitFor();
      await page.reload();
      await page.getByText('20 entities').waitFor();
      expect(await page.getByLabel('Filter').inputValue()).toBe('salary < 20');
    });

    onOne.each(isLong ? (['light', 'dark'] as const) : (['light'] as const))(
      'can be used by everybody, %s',
      async (colorScheme) => {
        await page.emulateMedia({ colorScheme });
        for (const address of ['', '#/Employee', '#/Employee?filter=salry', '#/Company?entity=2']) {
          await open(address, address === '' ? 'mia' : undefined);
          await page.getByRole('link', { name: 'Model' }).waitFor();
          await page.waitForLoadState('networkidle');
          expect(await seriousFaults(page)).toEqual([]);
        }
      },
    );

    onOne('releases its entity sets when another view is shown', async () => {
      await open('#/Employee', 'mia');
      await page.getByText('250 entities').waitFor();
      const sets = (): Promise<number> =>
        page.evaluate(async () => {
          const response = await fetch('/rest/$info');
          return ((await response.json()) as { entitySetCount: number }).entitySetCount;
        });
      // What it shows, and what it follows.
      expect(await sets()).toBeGreaterThan(0);
      await page.getByRole('link', { name: 'Model' }).click();
      await expect.poll(sets).toBe(0);
    });
  });

  it('runs no script but its own, and stands in no frame', async () => {
    for (const address of ['/explorer', '/explorer/', '/explorer/explorer.js']) {
      const { status, headers } = await fetch(`${url}${address}`);
      expect(status).toBe(200);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'; script-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
    }
  });
});

describe.skipIf(!hasChromium)('The explorer of a server with small pages', () => {
  it('shows and exports all entities', async () => {
    const environment = { EXPLORER: 'on', MAX_PAGE_SIZE: '20', PAGE_SIZE: '20' };
    const { app, url } = await staffServer({ environment });
    const ds = client.connect(url);
    await ds.session.login('mia', 'example');
    const all = Array.from({ length: 50 }, (_, at) => ds.Company.new({ name: `Small ${at}` }));
    await ds.atomic(all);
    const page = await browser.newPage();
    await page.addInitScript('globalThis.showSaveFilePicker = undefined');
    await openExplorer(page, `${url}/explorer#/Company`);
    await page.getByText('50 entities').waitFor();
    await page.getByRole('grid').press('End');
    await page.getByText('Small 49').first().waitFor();
    await page.locator('summary', { hasText: 'Export' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('form', { name: 'Export' }).getByRole('button').click();
    const lines = (await text(await (await download).createReadStream())).trimEnd().split('\r\n');
    expect(lines.length).toBe(51);
    await page.close();
    await app.close();
  });
});

describe('A server', () => {
  it.each([{}, { EXPLORER: 'off' }])('serves no explorer with %j', async (environment) => {
    const { app } = await staffServer({ environment });
    try {
      expect((await app.inject('/explorer')).statusCode).toBe(404);
    } finally {
      await app.close();
    }
  });

  it('serves the explorer under npm run dev', async () => {
    const { app } = await staffServer({ environment: { npm_lifecycle_event: 'dev' } });
    try {
      const { statusCode, headers } = await app.inject('/explorer');
      expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    } finally {
      await app.close();
    }
  });

  it('is told apart from one that is neither on nor off', async () => {
    await expect(staffServer({ environment: { EXPLORER: 'yes' } })).rejects.toThrow(
      'EXPLORER is "yes"; it must be on or off.',
    );
  });
});
