import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'vitest';
import { hasChromium, startChromium } from '../support/chromium.js';
import { describeDatabases } from '../support/databases.js';
import {
  manyCompanies,
  openExplorer,
  script,
  seriousFaults,
  violationsOf,
} from '../support/explorer-page.js';
import { isLong, itLong, itOnOne } from '../support/long.js';
import type { TestDatabase } from '../support/postgres.js';
import { type StaffClient, staffClient, staffServer } from '../support/staff-example.js';

/** Cities that a filter has to quote, and texts that a spreadsheet would run. */
const cities = [
  'Paris',
  `"quoted" 'twice' \\`,
  'a and b = c order by d',
  'tab\tline\nend',
  '50 %, (@home) *',
  script,
  '=1+1',
  '',
  null,
];

let browser: Browser;
let client: StaffClient;

beforeAll(async () => {
  client = await staffClient();
  if (hasChromium) browser = await startChromium();
});

afterAll(async () => {
  if (hasChromium) await browser.close();
});

describeDatabases('Groups and files of the explorer', ({ create, driver, run }) => {
  const onOne = itOnOne({ driver });
  let database: TestDatabase;
  let app: FastifyInstance;
  let url: string;
  let ds: ReturnType<StaffClient['connect']>;
  let page: Page;
  let violations: string[];

  beforeAll(async () => {
    database = await create();
    const environment = { EXPLORER: 'on' };
    ({ app, url } = await staffServer({ databaseUrl: database.url, environment }, { driver }));
    ds = client.connect(url);
    await ds.session.login('mia', 'example');
    const named = cities.map((city, at) =>
      ds.Company.new({
        ...{ name: `Company ${at}`, city, revenue: at === 0 ? null : at * 1000.5 },
        ...{ founded: `20${10 + at}-02-28`, active: at % 2 === 0, extra: { at } },
      }),
    );
    await ds.atomic(named);
    const people = Array.from({ length: 250 }, (_, at) =>
      ds.Employee.new({
        ...{ lastName: `Person ${at}`, salary: at % 5 === 0 ? -at : at },
        ...{ hiredAt: at === 0 ? null : new Date(Date.UTC(2024, at % 14, 28, 23, 59, 59, 999)) },
        employer: named[at % 3] ?? null,
      }),
    );
    await ds.atomic(people);
  });

  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  async function open(address: string, user?: string): Promise<void> {
    await openExplorer(page, `${url}/explorer${address}`, user);
  }

  /** The text of a file that the page hands to the browser. */
  async function downloaded(act: () => Promise<void>): Promise<string> {
    const download = page.waitForEvent('download');
    await act();
    return readFile(await (await download).path(), 'utf8');
  }

  describe.skipIf(!hasChromium)('in a browser', () => {
    beforeEach(async () => {
      page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
      // Browsers without a window ask for no file.
      await page.addInitScript('delete globalThis.showSaveFilePicker');
      violations = violationsOf(page);
    });

    afterEach(async () => {
      expect(violations).toEqual([]);
      expect(await page.evaluate(() => 'broken' in globalThis)).toBe(false);
      await page.context().close();
    });

    onOne('groups entities by a key, and orders the bars by key and by value', async () => {
      await open('#/Employee', 'mia');
      await page.getByRole('link', { name: 'Groups' }).click();
      await page.getByLabel('Groups by').selectOption('employer.name');
      const rows = page.getByRole('row');
      await rows.getByText('Company 0').waitFor();
      expect(await rows.allTextContents()).toEqual([
        'employer.namecount',
        'Company 084',
        'Company 183',
        'Company 283',
      ]);
      await page.getByLabel('add').selectOption('sum(salary)');
      await page
        .getByRole('columnheader', { name: 'sum(salary)' })
        .getByRole('link')
        .first()
        .click();
      await page.getByRole('columnheader', { name: 'sum(salary) ↓' }).waitFor();
      expect(new URL(page.url()).hash).toBe(
        '#/Employee?groups=employer.name&terms=count%2Csum%28salary%29&by=sum%28salary%29+desc',
      );
      await page.getByLabel('and').selectOption('hiredAt:quarter');
      await page.getByRole('cell', { name: '2024-Q4' }).first().waitFor();
      await page.reload();
      await page.getByRole('cell', { name: '2024-Q4' }).first().waitFor();
    });

    itLong('draws negative values to the other side of zero', async () => {
      await open(
        '#/Employee?filter=salary+in+[-5%2C1%2C4]&groups=lastName&terms=max(salary)',
        'mia',
      );
      const fills = page.locator('.fill');
      await fills.first().waitFor();
      const places = await fills.evaluateAll((all) =>
        all.map((each) => {
          const { left, width } = (each as unknown as { style: Record<string, string> }).style;
          return [left, width];
        }),
      );
      const rounded = places.map((each) => each.map((text) => Math.round(parseFloat(text ?? ''))));
      expect(rounded.toSorted()).toEqual([
        [0, 56],
        [56, 11],
        [56, 44],
      ]);
    });

    const tried = cities.map((city, at) => [city, at] as const);
    onOne.each(isLong ? tried : tried.slice(0, 1))(
      'leads from the bar of %j to its entities',
      async (_city, at) => {
        const filter = encodeURIComponent(`revenue != 5 or name = x order by name`);
        await open(`#/Company?filter=${filter}&groups=city,name`, 'mia');
        const row = page.getByRole('row').filter({ hasText: `Company ${at}` });
        await row.getByRole('link').press('Enter');
        await page.getByText('1 entity').waitFor();
        await page.getByRole('grid').getByText(`Company ${at}`).first().waitFor();
      },
    );

    onOne.each(isLong ? ['year', 'quarter', 'month', 'day'] : ['month'])(
      'leads from each bar of a date by %s to its entities',
      async (part) => {
        const address = `#/Employee?groups=hiredAt:${part}`;
        await open(address, 'mia');
        const links = page.getByRole('cell').getByRole('link');
        await links.first().waitFor();
        const counts = await page.locator('td.value').allTextContents();
        for (const at of new Set([0, 1, counts.length - 1])) {
          await open(address);
          await links.nth(at).click();
          const count = counts[at] ?? '';
          await page.getByText(`${count} ${count === '1' ? 'entity' : 'entities'}`).waitFor();
        }
      },
    );

    itLong('groups a relation, and says if there are more groups than bars', async () => {
      await open('#/Employee?groups=lastName', 'mia');
      await page.getByText('The first 200 of 250 groups.').waitFor();
      await open('#/Employee?of=Company&key=1&relation=staff&groups=employer,employer.name');
      await page.getByRole('cell', { name: 'Company 0' }).waitFor();
      expect(await page.getByRole('row').nth(1).textContent()).toBe('1Company 084');
      await page.getByRole('cell').getByRole('link').click();
      await page.getByText('84 entities').waitFor();
    });

    itLong('says what is wrong with the terms of an address', async () => {
      await open('#/Employee?groups=nothing', 'mia');
      await page.getByRole('alert').getByText('nothing').waitFor();
      await open('#/Employee?groups=salary&terms=sum(salary');
      await page.getByRole('alert').getByText('closing parenthesis').waitFor();
    });

    onOne('writes what the table shows as CSV, and as JSON', async () => {
      const filter = encodeURIComponent('city = null or city begin "="');
      await open(`#/Company?filter=${filter}&order=name+desc`, 'mia');
      await page.locator('summary', { hasText: 'Export' }).click();
      const form = page.getByRole('form', { name: 'Export' });
      const save = (): Promise<void> => form.getByRole('button', { name: 'Export' }).click();
      const csv = await downloaded(save);
      const [head, ...lines] = csv.trimEnd().split('\r\n');
      expect(head).toBe(
        '\uFEFFID,name,city,founded,revenue,active,extra,embedding,manager.lastName,label',
      );
      expect(lines).toEqual([
        '9,Company 8,,2018-02-28,8004,true,"{""at"":8}",,,',
        `7,Company 6,"'=1+1",2016-02-28,6003,true,"{""at"":6}",,,"Company 6, =1+1"`,
      ]);
      await form.getByText('2 rows written').waitFor();
      await form.getByLabel('Format').selectOption('JSON');
      const json = JSON.parse(await downloaded(save)) as unknown;
      expect(json).toMatchObject([
        { name: 'Company 8', city: null, active: true, extra: { at: 8 }, 'manager.lastName': null },
        { name: 'Company 6', city: '=1+1', revenue: 6003 },
      ]);
    });

    onOne('imports what it has exported', async () => {
      await open('#/Company', 'mia');
      await page.locator('summary', { hasText: 'Export' }).click();
      const form = page.getByRole('form', { name: 'Export' });
      await form.getByLabel('Columns').selectOption('all that can be imported');
      const csv = await downloaded(() => form.getByRole('button', { name: 'Export' }).click());
      const stored = (await ds.Company.all().toArray()).map((each) => each.toObject());
      const changed = await ds.Company.query('name begin Company').toArray();
      for (const each of changed) each.fromObject({ city: 'Lost', revenue: 1, active: null });
      await ds.atomic(changed);
      await choose('companies.csv', csv);
      await page.getByRole('form', { name: 'Import' }).getByRole('button').click();
      await page.getByText(`${cities.length} stored, 0 refused`).waitFor();
      const again = (await ds.Company.all().toArray()).map((each) => each.toObject());
      // An empty text is written as nothing, so it is null, and so is what is computed from it.
      const isEmpty = stored.map(({ city }) => city === '');
      expect(again).toEqual(
        stored.map((each, at) => (isEmpty[at] ? { ...each, city: null, label: null } : each)),
      );
    });

    /** Chooses a file to import. */
    async function choose(name: string, text: string): Promise<void> {
      if (!(await page.getByLabel('CSV file').isVisible())) {
        await page.locator('summary', { hasText: 'Import' }).click();
      }
      const file = { name, mimeType: 'text/csv', buffer: Buffer.from(text) };
      await page.getByLabel('CSV file').setInputFiles(file);
    }

    onOne('stores good rows, and hands the refused ones back with reasons', async () => {
      await open('#/Employee', 'mia');
      const rows = Array.from({ length: 150 }, (_, at) => `New ${at};n${at}@example.com;${at};2`);
      rows[3] = `New 3;no mail;3;2`;
      rows[5] = `;n5@example.com;5;2`;
      rows[120] = `"New ""120"";\n";n120@example.com;much;2`;
      rows[121] = `"${script.replaceAll('"', '""')}";n121@example.com;1;nobody`;
      rows[122] = 'too;few';
      const csv = `lastName;email;salary;employer\n${rows.join('\n')}\n`;
      await choose('new people.csv', csv);
      const preview = page.getByRole('table', { name: 'First rows of the file' });
      expect(await preview.getByRole('row').count()).toBe(6);
      const button = page.getByRole('form', { name: 'Import' }).getByRole('button');
      await button.click();
      await page.getByText('145 stored, 5 refused').waitFor();
      const refused = page.getByRole('table', { name: 'Refused rows' });
      const numbers = await refused.locator('tbody td:first-child').allTextContents();
      expect(numbers).toEqual(['5', '7', '122', '123', '124']);
      await refused.getByText('salary: A number is expected').waitFor();
      expect(await ds.Employee.query('lastName begin New').count()).toBe(145);

      const file = await downloaded(() =>
        page.getByRole('button', { name: 'Download the refused rows' }).click(),
      );
      expect(file).toContain('lastName,email,salary,employer,(reason)\r\n');
      const mended = file
        .replace('no mail', 'n3@example.com')
        .replace('\r\n,n5', '\r\nNew 5,n5')
        .replace('much', '120')
        .replace('nobody', '1')
        .replace('too,few,,', 'New 122,n122@example.com,,');
      await choose('mended.csv', mended);
      await button.click();
      await page.getByText(/[45] stored/).waitFor();
      expect(await ds.Employee.query('lastName begin New').count()).toBe(149);
      const people = await ds.Employee.query('email begin n and email contains example').toArray();
      expect(people.map(({ lastName }) => lastName)).toContain('New "120";\n');
      await ds.Employee.query('email contains example').drop();
    });

    itLong('changes entities by a unique attribute, and creates the others', async () => {
      await open('#/Company', 'mia');
      await choose('c.csv', 'name,city,active\nCompany 1,Oslo,TRUE\nFresh,Lima,false\n');
      const form = page.getByRole('form', { name: 'Import' });
      await form.getByLabel('Each row').selectOption('name');
      await form.getByRole('button').click();
      await page.getByText('2 stored, 0 refused').waitFor();
      expect((await ds.Company.query('name = "Company 1"').first())?.city).toBe('Oslo');
      const fresh = await ds.Company.query('name = Fresh').first();
      expect([fresh?.city, fresh?.active]).toEqual(['Lima', false]);
      await fresh?.drop();
      const one = await ds.Company.query('name = "Company 1"').first();
      one?.fromObject({ city: cities[1] ?? null });
      await one?.save();
    });

    itLong('names columns that it cannot import, and files that it cannot read', async () => {
      await open('#/Company', 'mia');
      await choose('c.csv', `name,active,<b>x</b>,logo,label,name\nOdd,false,1,2,3,4\n`);
      const preview = page.getByRole('table', { name: 'First rows of the file' });
      for (const [head, problem] of [
        ['<b>x</b>', 'Company has no such attribute'],
        ['logo', 'is not written in a file'],
        ['label', 'cannot be set'],
        ['name', 'stands here twice'],
      ] as const) {
        await preview.getByRole('columnheader', { name: `${head} ${problem}` }).waitFor();
      }
      const form = page.getByRole('form', { name: 'Import' });
      expect(await form.getByRole('button').isDisabled()).toBe(true);
      await form.getByLabel('leave out').check();
      await form.getByRole('button').click();
      await page.getByText('1 stored, 0 refused').waitFor();
      await ds.Company.query('name = Odd').drop();
      const bytes = {
        name: 'x.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from([0x6e, 0xff, 0x0a]),
      };
      await page.getByLabel('CSV file').setInputFiles(bytes);
      await page.getByRole('alert').getByText('UTF-8').waitFor();
      await choose('x.csv', 'name\nA"B\n');
      await page.getByRole('alert').getByText('Row 2: a quote').waitFor();
      await choose('x.csv', '');
      await page.getByRole('alert').getByText('The file is empty').waitFor();
    });

    onOne('goes on with an import where it was stopped, and stores each row once', async () => {
      await open('#/Company', 'mia');
      const names = Array.from({ length: 350 }, (_, at) => `Goes on ${at};false`);
      await choose('c.csv', `name ;active\n${names.join('\n')}\n`);
      let batches = 0;
      await page.route(/\/rest\/Company\?/, (route) => {
        batches += route.request().method() === 'POST' ? 1 : 0;
        return batches === 3 ? route.abort() : route.continue();
      });
      const form = page.getByRole('form', { name: 'Import' });
      await form.getByRole('button', { name: 'Import' }).click();
      await page.getByText('200 stored, 0 refused, stopped before row 202').waitFor();
      await page.unroute(/\/rest\/Company\?/);
      await form.getByRole('button', { name: 'Go on at row 202' }).click();
      await page.getByText('350 stored, 0 refused').waitFor();
      const ds = client.connect(url);
      await ds.session.login('mia', 'example');
      const stored = ds.Company.query('name begin "Goes on"');
      expect(await stored.count()).toBe(350);
      await stored.drop();
    });

    itLong('refuses an import that the session may not do, and says why', async () => {
      await open('#/Employee', 'tom');
      await choose('p.csv', 'lastName\nA\nB\n');
      await page.getByRole('form', { name: 'Import' }).getByRole('button').click();
      await page.getByText('0 stored, 2 refused').waitFor();
      await page.getByRole('cell', { name: 'No permission' }).first().waitFor();
    });

    onOne.each(isLong ? (['light', 'dark'] as const) : (['dark'] as const))(
      'can be used by everybody, %s',
      async (colorScheme) => {
        await page.emulateMedia({ colorScheme });
        await open('#/Company?groups=city&terms=count,sum(revenue)', 'mia');
        await page.locator('summary', { hasText: 'Import' }).click();
        await choose('c.csv', 'name,wrong\nCompany 1,x\n');
        await page.locator('summary', { hasText: 'Export' }).click();
        const form = page.getByRole('form', { name: 'Import' });
        await form.getByLabel('leave out').check();
        await form.getByRole('button').click();
        await page.getByText('0 stored, 1 refused').waitFor();
        expect(await seriousFaults(page)).toEqual([]);
      },
    );

    itLong('writes a million rows into a file, and none if it is stopped', async () => {
      await run(database.url, manyCompanies(driver));
      try {
        // A file of the page's own stands for one that somebody chooses.
        await page.addInitScript(`globalThis.showSaveFilePicker = async () => {
          const folder = await navigator.storage.getDirectory();
          return folder.getFileHandle('many.csv', { create: true });
        }`);
        const end = (): Promise<unknown> =>
          page.evaluate(`(async () => {
            const folder = await navigator.storage.getDirectory();
            const file = await (await folder.getFileHandle('many.csv')).getFile();
            return file.slice(Math.max(0, file.size - 100)).text();
          })()`);
        await open('#/Company', 'mia');
        await page.locator('summary', { hasText: 'Export' }).click();
        const form = page.getByRole('form', { name: 'Export' });
        const start = form.getByRole('button', { name: 'Export' });
        await start.click();
        await form.getByText(/[1-9][\d,]* rows…/).waitFor();
        await form.getByRole('button', { name: 'Stop' }).click();
        await start.waitFor();
        expect(await end()).toBe('');
        await start.click();
        await form.getByText(/1,000,0\d\d rows written/).waitFor({ timeout: 300_000 });
        expect(await end()).toContain('Many 1000000');
      } finally {
        await run(database.url, `delete from "Company" where "name" like 'Many %'`);
      }
    });
  });
});
