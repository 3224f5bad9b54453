import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../support/chromium.js';
import { describeDatabases } from '../support/databases.js';
import { script, seriousFaults, violationsOf } from '../support/explorer-page.js';
import type { TestDatabase } from '../support/postgres.js';
import { isLong, itOnOne } from '../support/long.js';
import { modelOf, serverOf } from '../support/server.js';

const model = modelOf(`
drs: 1
name: shop
dataclasses:
  Customer:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, indexed: true, mandatory: true }
      visits: { type: integer, default: 0 }
      shelf: { to: Shelf }
      orders: { to: Order, many: true, inverse: customer }
    functions:
      entity:
        visit: { exposed: true, returns: Customer }
  Order:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      title: { type: string, mandatory: true, maxLength: 200 }
      customer: { to: Customer, inverse: orders, mandatory: true, onDelete: cascade }
      payer: { to: Customer }
      lines: { to: Line, many: true, inverse: order }
  Line:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: { type: string, mandatory: true }
      amount: { type: integer, min: 1 }
      order: { to: Order, inverse: lines, mandatory: true, onDelete: restrict }
  Shelf:
    attributes:
      ID: { type: integer, key: true }
      height: { type: number, max: 10 }
      photo: image
  Mark:
    attributes:
      ID: { type: integer, key: true }
      key: string
      stamp: integer
    functions:
      selection:
        release: { exposed: true }
  atomic: { attributes: { ID: { type: integer, key: true }, mark: { to: Mark } } }
`);

const classes = {
  'src/classes/CustomerEntity.ts': `
import { CustomerEntityBase } from '../generated/api.js';

export class CustomerEntity extends CustomerEntityBase {
  async visit(): Promise<this> {
    this.visits = (this.visits ?? 0) + 1;
    await this.save();
    return this;
  }
}
`,
  'src/classes/MarkSelection.ts': `
import { MarkSelectionBase } from '../generated/api.js';

export class MarkSelection extends MarkSelectionBase {
  async release(): Promise<void> {
    await this.ds.Mark.new({ ID: 100 + (await this.ds.Mark.all().count()) }).save();
  }
}
`,
};

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

let browser: Browser;

beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
});

afterAll(async () => {
  if (hasChromium) await browser.close();
});

describeDatabases('A form of the explorer', ({ create, driver }) => {
  const onOne = hasChromium ? itOnOne({ driver }) : it.skip;
  const atLength = isLong ? onOne : it.skip;
  let database: TestDatabase;
  let app: FastifyInstance;
  let url: string;
  let page: Page;
  let panel: Locator;
  let faults: string[];

  beforeAll(async () => {
    database = await create();
    const options = { databaseUrl: database.url, environment: { EXPLORER: 'on' } };
    app = await serverOf({ ...model, databases: [driver] }, options, classes);
    await app.listen({ port: 0, host: '127.0.0.1' });
    url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    const names = [
      'Ada Ltd',
      'Great Ada',
      script,
      ...Array.from({ length: 12 }, (_, n) => `Mill ${n}`),
    ];
    await saved(
      'Customer',
      names.map((name) => ({ name })),
    );
    await saved('Shelf', [{ ID: 7, height: 2.5 }]);
  });

  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  beforeEach(async () => {
    page = await (await browser.newContext()).newPage();
    panel = page.getByRole('complementary');
    faults = violationsOf(page);
  });

  afterEach(async () => {
    expect(faults).toEqual([]);
    expect(await page.evaluate(() => 'broken' in globalThis)).toBe(false);
    await page.context().close();
  });

  interface Answer {
    readonly __KEY?: string;
    readonly __COUNT?: number;
    readonly __ENTITIES?: readonly Answer[];
    readonly result?: boolean;
    readonly [name: string]: unknown;
  }

  let cookie = '';

  /** Sends a request of another session. */
  async function asked(path: string, body?: unknown): Promise<Answer> {
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${url}/rest/${path}`, { ...sent, headers: { cookie } });
    cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? cookie;
    return (await response.json()) as Answer;
  }

  async function saved(dataclass: string, entities: readonly object[]): Promise<readonly string[]> {
    const { __ENTITIES: made = [] } = await asked(`${dataclass}?$method=update`, entities);
    return made.map(({ __KEY: key = '' }) => key);
  }

  async function open(address: string): Promise<void> {
    await page.goto(`${url}/explorer${address}`);
    await panel.waitFor();
  }

  /** Opens the form for an entity that exists. */
  async function edit(dataclass: string, key: string): Promise<void> {
    await open(`#/${dataclass}?entity=${key}`);
    await panel.getByRole('button', { name: 'Edit' }).click();
  }

  function chooser(name: string): Locator {
    return panel.getByRole('combobox', { name });
  }

  onOne(
    'proposes entities whose name begins with what is typed, then those that contain it',
    async () => {
      await open('#/Order?new=');
      await chooser('customer').pressSequentially('ada');
      const options = panel.getByRole('option').and(panel.locator('li'));
      await expect.poll(() => options.allTextContents()).toEqual(['Ada Ltd', 'Great Ada']);
      await chooser('customer').fill('mill');
      await expect.poll(() => options.count()).toBe(10);
    },
  );

  onOne('chooses an entity by the keyboard alone, and saves it by Ctrl+Enter', async () => {
    await open('#/Order?new=');
    await expect.poll(() => focused(page)).toBe('title');
    await page.keyboard.type('By keys');
    await page.keyboard.press('Tab');
    await page.keyboard.type('great');
    await panel.getByRole('option', { name: 'Great Ada' }).waitFor();
    expect(await chooser('customer').getAttribute('aria-expanded')).toBe('true');
    await page.keyboard.press('Escape');
    await panel.getByRole('option', { name: 'Great Ada' }).waitFor({ state: 'hidden' });
    await page.keyboard.press('ArrowDown');
    await panel.getByRole('option', { name: 'Great Ada' }).waitFor();
    await page.keyboard.press('Enter');
    expect(await chooser('customer').inputValue()).toBe('Great Ada');
    await page.keyboard.press('Control+Enter');
    await panel.getByText('Saved.').waitFor();
    await panel.getByRole('link', { name: 'Great Ada' }).waitFor();
  });

  onOne(
    'shows the name of the present entity, clears it, and refuses a name that nobody has',
    async () => {
      const [order = ''] = await saved('Order', [{ title: 'Paid', customer: 1, payer: 3 }]);
      await edit('Order', order);
      await expect.poll(() => chooser('payer').inputValue()).toBe(script);
      await chooser('payer').fill('nobody');
      await panel.getByRole('button', { name: 'Save' }).click();
      await panel.getByText('Choose one of the entities').waitFor();
      await panel.getByRole('button', { name: 'Clear payer' }).click();
      await panel.getByRole('button', { name: 'Save' }).click();
      await panel.getByText('Saved.').waitFor();
      expect(await asked(`Order(${order})`)).toMatchObject({ payer: null, title: 'Paid' });
    },
  );

  onOne('takes the key of an entity that has no name', async () => {
    await edit('Customer', '4');
    await chooser('shelf').fill('8');
    await panel.getByRole('button', { name: 'Save' }).click();
    await chooser('shelf').and(page.locator('[aria-invalid=true]')).waitFor();
    await chooser('shelf').fill('7');
    await panel.getByRole('button', { name: 'Save' }).click();
    await panel.getByText('Saved.').waitFor();
    await panel.getByRole('link', { name: 'Shelf 7' }).waitFor();
  });

  atLength('keeps an image whose removal was taken back after a refused save', async () => {
    await edit('Shelf', '7');
    const photo = { name: 'a.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') };
    await panel.getByLabel('photo').setInputFiles(photo);
    await panel.getByRole('button', { name: 'Save' }).click();
    await panel.getByRole('img', { name: 'photo' }).waitFor();
    await panel.getByRole('button', { name: 'Edit' }).click();
    await panel.getByLabel('remove').check();
    await panel.getByLabel('height').fill('11');
    await panel.getByRole('button', { name: 'Save' }).click();
    await panel.getByText('height must not be above 10').waitFor();
    await panel.getByLabel('remove').uncheck();
    await panel.getByLabel('height').fill('3');
    await panel.getByRole('button', { name: 'Save' }).click();
    await panel.getByText('Saved.').waitFor();
    await panel.getByRole('img', { name: 'photo' }).waitFor();
  });

  atLength('opens an entity by its key, although attributes are called key and stamp', async () => {
    await saved('Mark', [{ ID: 5, key: 'red', stamp: 77 }]);
    await page.goto(`${url}/explorer#/Mark?filter=key+%3D+red`);
    await page.getByRole('row', { name: '77' }).click();
    await panel.getByRole('heading', { name: 'red' }).waitFor();
    expect(await page.evaluate('location.hash')).toContain('entity=5');
    expect(await page.getByRole('row', { name: '77' }).textContent()).toBe('5red77');
  });

  onOne('asks before what is typed in a form is lost', async () => {
    const [one = '', other = ''] = await saved('Customer', [{ name: 'One' }, { name: 'Other' }]);
    const asks: string[] = [];
    let leaves = false;
    page.on('dialog', (dialog) => {
      asks.push(dialog.type());
      void (leaves ? dialog.accept() : dialog.dismiss());
    });
    await edit('Customer', other);
    await page.evaluate(`location.hash = '#/Customer?entity=${one}'`);
    await panel.getByRole('heading', { name: 'One' }).waitFor();
    expect(asks).toEqual([]);
    await panel.getByRole('button', { name: 'Edit' }).click();
    await panel.getByLabel('name *').fill('Mine');
    await page.goBack();
    await expect.poll(() => page.evaluate('location.hash')).toBe(`#/Customer?entity=${one}`);
    await page.getByRole('link', { name: 'Close the entity' }).click();
    await expect.poll(() => asks).toEqual(['confirm', 'confirm']);
    expect(await panel.getByLabel('name *').inputValue()).toBe('Mine');
    leaves = true;
    await page.getByRole('link', { name: 'Close the entity' }).click();
    await panel.waitFor({ state: 'detached' });
    expect(asks.length).toBe(3);
  });

  atLength(
    'lets nobody type while it is saved, and stays where somebody went meanwhile',
    async () => {
      const release = await held('**/rest/Shelf?$method=update*');
      page.on('dialog', (dialog) => void dialog.accept());
      await open('#/Shelf?new=');
      await panel.getByLabel('ID').fill('70');
      await panel.getByRole('button', { name: 'Save' }).click();
      await expect.poll(() => panel.getByLabel('ID').isDisabled()).toBe(true);
      await page.getByRole('navigation').getByRole('link', { name: 'Order' }).click();
      await panel.waitFor({ state: 'detached' });
      release();
      await expect.poll(async () => (await asked('Shelf(70)')).__KEY).toBe('70');
      await page.getByRole('navigation').getByRole('link', { name: 'Shelf' }).click();
      await page.getByText('70', { exact: true }).waitFor();
      expect(await panel.count()).toBe(0);
    },
  );

  atLength('leaves out what has the name of a member that every client has', async () => {
    await page.goto(`${url}/explorer#/Mark`);
    const links = page.getByRole('navigation').getByRole('link');
    expect(await links.allTextContents()).not.toContain('atomic');
    const before = await count('Mark');
    await page.getByText(before === 1 ? '1 entity' : `${before} entities`).waitFor();
    expect(await page.getByText('Functions').count()).toBe(0);
    await links.getByText('Shelf').click();
    await page.getByText('7', { exact: true }).waitFor();
    expect(await count('Mark')).toBe(before);
  });

  onOne('creates an entity with its lists and theirs, or nothing', async () => {
    const orders = await count('Order');
    await open('#/Customer?new=');
    await panel.getByLabel('name *').fill('Nested');
    await panel.getByRole('button', { name: 'Add to orders' }).click();
    const first = panel.getByRole('group', { name: 'orders 1', exact: true });
    await first.getByLabel('title *').fill('First');
    expect(await first.getByRole('combobox', { name: 'customer' }).count()).toBe(0);
    await first.getByRole('button', { name: 'Add to lines' }).click();
    await first.getByLabel('text *').fill('Bolts');
    await first.getByLabel('amount').fill('0');
    await panel.getByRole('button', { name: 'Add to orders' }).click();
    const second = panel.getByRole('group', { name: 'orders 2', exact: true });
    await panel.getByRole('button', { name: 'Save' }).click();
    await second.getByText('title must not be null').waitFor();
    await first.getByText('amount must not be below 1').waitFor();
    await expect.poll(() => focused(page)).toBe('amount');
    expect(await count('Order')).toBe(orders);
    await second.getByRole('button', { name: 'Remove orders 2' }).click();
    await first.getByLabel('amount').fill('3');
    await panel.getByRole('button', { name: 'Save' }).click();
    await panel.getByText('Saved.').waitFor();
    expect(await count('Order')).toBe(orders + 1);
    const found = await asked('Line?$filter="order.customer.name=Nested"');
    expect(found.__ENTITIES).toMatchObject([{ text: 'Bolts', amount: 3 }]);
  });

  atLength('adds to the lists of an entity that exists', async () => {
    const [customer = ''] = await saved('Customer', [{ name: 'Growing' }]);
    await edit('Customer', customer);
    for (const title of ['One', script]) {
      await panel.getByRole('button', { name: 'Add to orders' }).click();
      await panel.getByLabel('title *').last().fill(title);
    }
    await panel.getByRole('button', { name: 'Save' }).click();
    await panel.getByRole('link', { name: '2', exact: true }).waitFor();
  });

  onOne('locks an entity until it is left, and says so if another session holds it', async () => {
    const setLock = async (isLocked: boolean): Promise<unknown> =>
      (await asked(`Customer(1)?$lock=${isLocked}`, {})).result;
    const lock = async (): Promise<void> => {
      await open('#/Customer?entity=1');
      await panel.getByRole('button', { name: 'Lock' }).click();
    };
    expect(await setLock(true)).toBe(true);
    await lock();
    await panel.getByText('Another session has locked it').waitFor();
    const ways = [
      () => panel.getByRole('button', { name: 'Unlock' }).click(),
      () => panel.press('Escape'),
      () => page.goto('about:blank'),
    ];
    for (const leave of ways) {
      expect(await setLock(false)).toBe(true);
      await page.goto('about:blank');
      await lock();
      await panel.getByText('Nobody else can change it').waitFor();
      expect(await setLock(true)).toBe(false);
      await leave();
      await expect.poll(() => setLock(true)).toBe(true);
    }
    await setLock(false);
  });

  atLength('releases a lock that it gets after the entity is left', async () => {
    const answers = await held('**/rest/Customer*lock=true');
    await open('#/Customer?entity=5');
    await panel.getByRole('button', { name: 'Lock' }).click();
    await panel.press('Escape');
    await panel.waitFor({ state: 'detached' });
    const unlocked = page.waitForResponse(/lock=false/);
    answers();
    await unlocked;
    expect((await asked('Customer(5)?$lock=true', {})).result).toBe(true);
  });

  atLength('calls a function once by two clicks', async () => {
    const answers = await held('**/rest/Customer(6)/visit*');
    await open('#/Customer?entity=6');
    await panel.getByRole('button', { name: 'visit' }).dblclick();
    answers();
    await panel.getByRole('status').getByRole('link').waitFor();
    expect(await asked('Customer(6)')).toMatchObject({ visits: 1 });
  });

  onOne('says before a deletion what happens to the entities that refer to it', async () => {
    const [lone = '', owner = ''] = await saved('Customer', [{ name: 'Lone' }, { name: 'Owner' }]);
    const [order = ''] = await saved('Order', [
      { title: 'Own', customer: Number(owner) },
      { title: 'Own, too', customer: Number(owner) },
      { title: 'Paid', customer: Number(lone), payer: Number(owner) },
    ]);
    await saved('Line', [{ text: 'Bolts', order }]);
    const dialog = panel.getByRole('alertdialog', { name: 'Delete' });
    const ask = async (address: string): Promise<void> => {
      await open(address);
      await panel.getByRole('button', { name: 'Delete…' }).click();
    };
    await ask(`#/Customer?entity=${owner}`);
    await dialog.getByText('2 entities of Order (customer) are deleted, too').waitFor();
    await dialog.getByText('1 entity of Order (payer) stays, and refers to nothing then').waitFor();
    await expect.poll(() => focused(page)).toBe('Keep');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await ask(`#/Order?entity=${order}`);
    await dialog.getByText('1 entity of Line (order) forbids the deletion').waitFor();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('alert').getByText('Nothing was deleted').waitFor();
    await dialog.getByRole('button', { name: 'Keep' }).click();
    await panel.getByRole('button', { name: 'Edit' }).click();
    await panel.getByRole('button', { name: 'Save' }).click();
    await panel.getByText('Saved.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await ask('#/Shelf?entity=7');
    await dialog.getByText('1 entity of Customer (shelf)').waitFor();
    await ask(`#/Customer?entity=15`);
    await dialog.getByText('No entity that you may see refers to it').waitFor();
  });

  atLength('shows what a function has changed, and its result', async () => {
    await open('#/Customer?entity=2');
    const visits = panel.getByRole('definition').nth(2);
    await expect.poll(() => visits.textContent()).toBe('0');
    await panel.getByRole('button', { name: 'visit' }).click();
    await panel.getByRole('status').getByRole('link', { name: 'Great Ada' }).waitFor();
    await expect.poll(() => visits.textContent()).toBe('1');
  });

  onOne.each([...(isLong ? [['a desktop', 1280] as const] : []), ['a phone', 390] as const])(
    'can be used by everybody on %s',
    async (_, width) => {
      await page.setViewportSize({ width, height: 780 });
      await open('#/Customer?new=');
      await panel.getByRole('button', { name: 'Add to orders' }).click();
      await panel.getByRole('button', { name: 'Save' }).click();
      await panel.locator('[aria-invalid=true]').first().waitFor();
      await chooser('payer').fill('ada');
      await panel.getByRole('option', { name: 'Great Ada' }).waitFor();
      expect(await seriousFaults(page)).toEqual([]);
      const root = 'document.documentElement';
      const overflow = await page.evaluate(`${root}.scrollWidth - ${root}.clientWidth`);
      expect(overflow).toBe(0);
    },
  );

  /** Holds requests back until the function that it returns is called. */
  async function held(address: string): Promise<() => void> {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(address, async (route) => {
      await released;
      await route.continue();
    });
    return release;
  }

  async function count(dataclass: string): Promise<number> {
    const { __COUNT: found = 0 } = await asked(`${dataclass}?$top=0`);
    return found;
  }
});

/** What has the focus: the label of an input, or the text of a button. */
function focused(page: Page): Promise<string> {
  const element = `document.activeElement`;
  return page.evaluate(
    `(${element}.labels?.[0] ?? ${element}).textContent.replace(' *', '')`,
  ) as Promise<string>;
}
