import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../support/chromium.js';
import { describeDatabases } from '../support/databases.js';
import { isLong, itOnOne } from '../support/long.js';
import { type Granted, loggedIn, rolesServerOf } from '../support/roles-server.js';
import { modelOf } from '../support/server.js';

const model = modelOf(`
drs: 1
name: trial
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      note: string
      people: { to: Person, many: true, inverse: company }
      plans: { to: Plan, many: true, inverse: company }
  Person:
    restrict: true
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      pay: string
      hidden: boolean
      company: { to: Company, inverse: people }
    functions:
      dataclass: { everybody: { exposed: true, returns: Person.selection } }
      entity: { told: { exposed: true, returns: string } }
  Plan:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      company: { to: Company, inverse: plans }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }, { privilege: manage, includes: [view] }]
  permissions:
    allowed:
      - { applyTo: ds, type: datastore, create: [manage], update: [manage], drop: [manage] }
      - { applyTo: Company.note, type: attribute, read: [manage] }
      - { applyTo: Person, type: dataclass, read: [view], execute: [view] }
      - { applyTo: Person.pay, type: attribute, read: [manage] }
      - { applyTo: Plan, type: dataclass, read: [manage] }
`);

const classes = {
  'src/classes/Person.ts': `
import { PersonBase } from '../generated/api.js';
import type { PersonSelection, Restriction, Session } from '../generated/api.js';
export class Person extends PersonBase {
  restrict(session: Session): Restriction {
    return session.hasPrivilege('manage') ? null : 'hidden = false';
  }
  everybody(): PersonSelection {
    return this.all();
  }
}
`,
  'src/classes/PersonEntity.ts': `
import { PersonEntityBase } from '../generated/api.js';
export class PersonEntity extends PersonEntityBase {
  told(): string | null {
    return this.name;
  }
}
`,
};

const secrets = {
  note: 'zqNoteOfCompany',
  pay: 'zqPayOfPerson',
  hidden: 'zqNameOfHiddenPerson',
  plan: 'zqTextOfPlan',
  person: 'zqNameOfPerson',
};

/** Each kind of session, and what it may see of the secrets. */
const sessions: readonly (readonly [string, Granted | undefined, readonly string[]])[] = [
  ['a guest', undefined, []],
  ['a session with view', { privileges: ['view'] }, [secrets.person]],
  ['a session with manage', { privileges: ['manage'] }, Object.values(secrets)],
];

/** Names of buttons that change data, or the session. */
const changing = '^(?:delete|save.*|import|export|log in|log out|copy.*)$';

/** Attributes as filters and orders, and entities by their keys, that some sessions may not see. */
const addresses = Object.entries({
  Company: ['note', 'people.pay', 'people.name', 'plans.text'],
  Person: ['pay', 'name', 'company.note', 'company.plans.text'],
  Plan: ['text', 'company.note'],
}).flatMap(([dataclass, paths]) =>
  [
    ...paths.map((path) => ({ filter: `${path} != null`, order: path })),
    ...['people', 'plans'].map((relation) => ({ of: 'Company', key: '1', relation })),
    { entity: '1' },
    { entity: '2' },
    { new: '' },
  ].map((place) => `#/${dataclass}?${String(new URLSearchParams(place))}`),
);

let browser: Browser;

beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
});

afterAll(async () => {
  if (hasChromium) await browser.close();
});

/** Walks through the explorer of one session, and keeps all that it was shown. */
class Walk {
  /** Answers of the server, and what the page showed. */
  readonly texts: string[] = [];
  readonly failures: string[] = [];
  readonly #answers: Promise<void>[] = [];
  #open = 0;

  constructor(private readonly page: Page) {
    page.on('request', () => (this.#open += 1));
    page.on('requestfinished', () => (this.#open -= 1));
    page.on('requestfailed', () => (this.#open -= 1));
    page.on('pageerror', (error) => this.failures.push(error.message));
    page.on('response', (response) => {
      if (response.status() >= 500) this.failures.push(`${response.status()} ${response.url()}`);
      // Bodies of answers to requests that were aborted never arrive.
      const body = response.text().catch(() => '');
      this.#answers.push(body.then((text) => void this.texts.push(text)));
    });
  }

  /** Opens all that the page leads to: few places of each kind, since their entities are alike. */
  async everything(): Promise<void> {
    const waiting = ['#/'];
    const visits = new Map<string, number>();
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const kind = next.replace(/=[^&]*/g, '');
      const times = visits.get(kind) ?? 0;
      if (times === (isLong ? 2 : 1)) continue;
      visits.set(kind, times + 1);
      await this.visit(next);
      await this.#press();
      const links = this.page.locator('a[href^="#"]');
      const found = await links.evaluateAll((all) => all.map((each) => each.getAttribute('href')));
      waiting.push(...found.flatMap((each) => each ?? []));
      const row = this.page
        .getByRole('grid')
        .getByRole('row')
        .nth(times + 1);
      if ((await row.count()) === 0) continue;
      await row.dispatchEvent('click');
      waiting.push(new URL(this.page.url()).hash);
    }
  }

  async visit(address: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(address)}`);
    await this.#settle();
  }

  async all(): Promise<readonly string[]> {
    await Promise.all(this.#answers);
    return this.texts;
  }

  /** Presses everything that changes nothing, also what appears then. */
  async #press(): Promise<void> {
    const pressed: string[] = [];
    for (let isNew = true; isNew;) {
      const found = await this.page
        .locator('summary, button:enabled, [role=tab], [role=menuitem]')
        .evaluateAll(
          (all, [left, done]) =>
            all.flatMap((each) => {
              const name = each.getAttribute('aria-label') ?? each.textContent?.trim() ?? '';
              if (new RegExp(left, 'i').test(name) || done.includes(name)) return [];
              (each as unknown as { click: () => void }).click();
              return [name];
            }),
          [changing, pressed] as const,
        );
      pressed.push(...found);
      isNew = found.length > 0;
      await this.#settle();
    }
  }

  /** Waits until the page has drawn, and waits for no answer. */
  async #settle(): Promise<void> {
    for (let quiet = 0; quiet < 2; quiet = this.#open === 0 ? quiet + 1 : 0) {
      await this.page.evaluate(
        'new Promise((done) => requestAnimationFrame(() => setTimeout(done)))',
      );
    }
    this.texts.push(await this.page.content());
  }
}

describeDatabases('The explorer', ({ create, driver }) => {
  let app: FastifyInstance;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const database = await create();
    ({ drop } = database);
    const options = { databaseUrl: database.url, environment: { EXPLORER: 'on' } };
    app = await rolesServerOf({ ...model, databases: [driver] }, options, classes);
    await app.listen({ port: 0, host: '127.0.0.1' });
    const client = await loggedIn(app, { privileges: ['manage'] });
    const { statusCode, body } = await client.post('/rest/Company?$method=update', {
      name: 'Acme',
      note: secrets.note,
      people: [
        { name: secrets.person, pay: secrets.pay, hidden: false },
        { name: secrets.hidden, hidden: true },
      ],
      plans: [{ text: secrets.plan }],
    });
    if (statusCode !== 200) throw new Error(body);
  });

  afterAll(async () => {
    await app.close();
    await drop();
  });

  const onOne = hasChromium ? itOnOne({ driver }) : it.skip;

  // That the walk reaches all secrets is tried at length.
  onOne.each(isLong ? sessions : sessions.slice(0, 2))(
    'shows %s what it may see, and nothing else',
    async (_who, granted, visible) => {
      const { port } = app.server.address() as AddressInfo;
      const url = `http://127.0.0.1:${port}`;
      const context = await browser.newContext();
      if (granted !== undefined) {
        const data = ['mia', JSON.stringify(granted)];
        await context.request.post(`${url}/rest/$directory/login`, { data });
      }
      const page = await context.newPage();
      const walk = new Walk(page);
      await page.goto(`${url}/explorer`);
      await page.getByRole('link', { name: 'Company' }).first().waitFor();
      await walk.everything();
      if (visible.length < Object.keys(secrets).length) {
        for (const each of addresses) await walk.visit(each);
      }
      const texts = await walk.all();
      await context.close();
      expect(walk.failures).toEqual([]);
      const shown = Object.values(secrets).filter((each) =>
        texts.some((text) => text.includes(each)),
      );
      expect(shown).toEqual(Object.values(secrets).filter((each) => visible.includes(each)));
    },
  );
});
