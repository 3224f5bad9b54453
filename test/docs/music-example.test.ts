import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { typedRuntime } from '../support/built-runtime.js';
import { itLong } from '../support/long.js';
import {
  musicCode,
  musicFolder,
  musicModel,
  musicServer,
  musicUsers,
  runMusic,
  seedMusic,
  writeMusic,
} from '../support/music-example.js';
import type { EndedCommand } from '../support/processes/run-here.js';
import { writeServer } from '../support/server.js';
import { commandOf, Tour } from '../support/tour.js';
import { typeErrors } from '../support/type-errors.js';

/** The keys of the employees who are agents and users. */
const agents = { ines: 3, jonas: 4 };

let folder: string;
let tour: Tour;

function seed(database: string): Promise<EndedCommand> {
  return seedMusic(join(folder, database), join(folder, 'data'));
}

/** The rows of a data file without quotes. */
function rowsOf(dataclass: string): readonly Readonly<Record<string, string>>[] {
  const [head = '', ...lines] = readFileSync(join(folder, 'data', `${dataclass}.csv`), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.map((line) => {
    const cells = line.split(',');
    return Object.fromEntries(head.split(',').map((name, at) => [name, cells[at] ?? '']));
  });
}

/** Sums in cents, by the value of one column. */
function centsBy(
  name: string,
  rows: readonly Readonly<Record<string, string>>[],
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const row of rows) {
    const cents = Math.round(Number(row['unitPrice']) * 100) * Number(row['quantity']);
    sums.set(row[name] ?? '', (sums.get(row[name] ?? '') ?? 0) + cents);
  }
  return sums;
}

/** The lines of the data files, each with the customer and the agent. */
function soldLines(): readonly Readonly<Record<string, string>>[] {
  const customers = new Map(rowsOf('Invoice').map(({ ID, customer = '' }) => [ID, customer]));
  const agentOf = new Map(rowsOf('Customer').map(({ ID, agent = '' }) => [ID, agent]));
  return rowsOf('InvoiceLine').map((line) => {
    const customer = customers.get(line['invoice']) ?? '';
    return { ...line, customer, agent: agentOf.get(customer) ?? '' };
  });
}

interface Answered {
  readonly status: number;
  readonly json: {
    readonly __COUNT?: number;
    readonly __ENTITIES?: readonly Readonly<Record<string, unknown>>[];
    readonly __ERROR?: readonly { readonly errCode: number }[];
  };
}

async function ask(jar: string, url: string, body?: object): Promise<Answered> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const text = await tour.ask({
    url: `/rest/${url}`,
    jar,
    savesJar: false,
    showsStatus: true,
    ...sent,
  });
  return {
    status: Number(text.slice(-3)),
    json: JSON.parse(text.slice(0, -3)) as Answered['json'],
  };
}

async function centsOf(jar: string, dataclass: string, name: string): Promise<Map<string, number>> {
  const { json } = await ask(jar, `${dataclass}?$attributes=${name}&$top=10000`);
  const entities = json.__ENTITIES ?? [];
  return new Map(
    entities.map((each) => [String(each['__KEY']), Math.round(Number(each[name]) * 100)]),
  );
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'drs-music-'));
  writeMusic(join(folder, 'data'));
  expect(await seed('first.sqlite')).toMatchObject({ code: 0, err: '' });
  copyFileSync(join(folder, 'first.sqlite'), join(folder, 'data.sqlite'));
  const app = await musicServer(join(folder, 'data.sqlite'));
  tour = new Tour(app);
  for (const user of Object.keys(musicUsers)) {
    const body = JSON.stringify([user, 'example']);
    await tour.ask({ url: '/rest/$directory/login', body, jar: user, savesJar: true });
  }
});

afterAll(async () => {
  await tour.close();
  rmSync(folder, { recursive: true });
});

describe('The example music', () => {
  it('writes the same data in every run', () => {
    writeMusic(join(folder, 'again'));
    const files = readdirSync(join(folder, 'data'), { recursive: true, encoding: 'utf8' });
    expect(files.length).toBeGreaterThan(300);
    for (const file of files.filter((name) => name.includes('.'))) {
      const [one, other] = ['data', 'again'].map((name) => readFileSync(join(folder, name, file)));
      expect(one?.equals(other ?? Buffer.of()), file).toBe(true);
    }
  });

  it('shows totals that are exact, and to an agent those of the own customers', async () => {
    const lines = soldLines();
    expect(await centsOf('zoe', 'Invoice', 'total')).toEqual(centsBy('invoice', lines));
    const spent = centsBy('customer', lines);
    for (const { ID = '' } of rowsOf('Customer')) spent.set(ID, spent.get(ID) ?? 0);
    expect(await centsOf('zoe', 'Customer', 'spent')).toEqual(spent);
    for (const [agent, key] of Object.entries(agents)) {
      const own = lines.filter((line) => line['agent'] === String(key));
      expect(own.length).toBeGreaterThan(1000);
      expect(await centsOf(agent, 'Invoice', 'total')).toEqual(centsBy('invoice', own));
      expect((await ask(agent, 'InvoiceLine?$top=0')).json.__COUNT).toBe(own.length);
    }
  });

  it('lets an agent store nothing of the customers of others', async () => {
    const other = rowsOf('Customer').find(({ agent }) => agent === String(agents.jonas));
    const customer = Number(other?.['ID']);
    const person = { firstName: 'Ada', lastName: 'Lovelace', email: 'ada@example.com' };
    const refused = async (url: string, body: object): Promise<readonly unknown[]> => {
      const { status, json } = await ask('ines', url, body);
      return [status, json.__ERROR?.[0]?.errCode];
    };
    expect(await refused(`Customer(${customer})`, { __STAMP: 1, city: 'Wien' })).toEqual([
      404, 1542,
    ]);
    expect(await refused(`Customer(${customer})?$method=delete`, {})).toEqual([404, 1543]);
    const create = '?$method=update';
    expect(await refused(`Customer${create}`, person)).toEqual([403, 1849]);
    expect(await refused(`Customer${create}`, { ...person, agent: agents.jonas })).toEqual([
      403, 1849,
    ]);
    expect(await refused(`Customer${create}`, { ...person, ID: customer })).toEqual([409, 1569]);
    const invoice = { customer, date: '2026-01-02' };
    expect(await refused(`Invoice${create}`, invoice)).toEqual([422, 1542]);
    const stored = await ask('ines', `Customer${create}`, { ...person, agent: agents.ines });
    expect(stored.status).toBe(200);
  });

  // They change entities, so they come last.
  const sections = readFileSync(join(musicFolder, 'try.txt'), 'utf8').trimEnd().split('\n\n');
  it.each(sections.map((section) => section.split('\n')))(
    'answers as try.txt says: %s',
    async (heading, ...lines) => {
      const status = /: (\d{3})$/.exec(heading)?.[1] ?? '200';
      for (const line of lines) {
        const command = commandOf(line.replace('{base}', '/rest').replace('{password}', 'example'));
        expect(await tour.ask({ ...command, showsStatus: true }), line).toMatch(
          new RegExp(`${status}$`),
        );
      }
    },
  );

  itLong('compiles', async () => {
    const runtime = await typedRuntime();
    expect(typeErrors(writeServer(musicModel, musicCode, runtime))).toEqual([]);
  });

  itLong('holds the same rows whenever it is seeded', async () => {
    expect(await seed('second.sqlite')).toMatchObject({ code: 0, err: '' });
    const [one, other] = ['first.sqlite', 'second.sqlite'].map((name) => {
      const database = new Database(join(folder, name));
      const rows = musicModel.dataclasses.map(({ table }) =>
        database
          .prepare(`select * from "${table}"`)
          .all()
          .map((row) => ({ ...(row as object), __TIMESTAMP: '' })),
      );
      database.close();
      return rows;
    });
    expect(one).toEqual(other);
  });

  itLong('copies the invoices until there are a million lines', async () => {
    copyFileSync(join(folder, 'first.sqlite'), join(folder, 'many.sqlite'));
    expect(
      await runMusic(join(folder, 'many.sqlite'), 'scripts/multiply.js', '1000000'),
    ).toMatchObject({ code: 0 });
    const database = new Database(join(folder, 'many.sqlite'));
    const value = (sql: string): unknown => database.prepare(sql).pluck().get();
    expect(value('select count(*) from InvoiceLine')).toBe(1_000_000);
    expect(
      value(
        'select count(*) from InvoiceLine l join Track t on t.ID = track_id where amount != price * quantity',
      ),
    ).toBe(0);
    expect(
      value(
        'select count(*) from Invoice i where not exists (select 1 from InvoiceLine where invoice_id = i.ID)',
      ),
    ).toBe(0);
    expect(
      value(
        'select count(*) from Invoice join Customer c on c.ID = customer_id where since > date',
      ),
    ).toBe(0);
    expect(database.pragma('foreign_key_check')).toEqual([]);
    database.close();
  });
});
