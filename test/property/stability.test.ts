import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../support/server.js';
import { sampled } from '../support/long.js';

const yaml = `
drs: 1
name: stability
dataclasses:
  Company:
    attributes:
      code: { type: string, key: true }
      city: { type: string, indexed: true }
      staff: { to: Employee, many: true, inverse: employer }
  Employee:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      city: { type: string, indexed: true }
      salary: number
      born: { type: date, dateOnly: true }
      employer: { to: Company, foreignKey: employerCode }
      employerCode: { type: string, exposed: false, indexed: true }
      boss: { to: Employee }
      employerCity: { alias: employer.city }
`;

const runs = Number(process.env['PROPERTY_PAGES'] ?? sampled(60));
const employees = 120;

interface Page {
  readonly __COUNT: number;
  readonly __SENT: number;
  readonly __FIRST: number;
  readonly __ENTITIES: readonly { readonly __KEY: string }[];
}

let app: FastifyInstance;
beforeAll(async () => {
  app = await serverOf(yaml);
  const codes = ['b', 'A', 'é', 'Z', '', 'ß', '😀', '\uff5e'];
  const companies = codes.map((code, index) => ({ code, city: ['Oslo', null, 'oslo'][index % 3] }));
  await create(app, 'Company', companies);
  // Few values each: nearly every order has ties.
  const people = Array.from({ length: employees }, (_, index) => ({
    name: ['Ann', 'ann', null, 'ÉVA', 'éva'][index % 5],
    city: ['Rome', 'rome', 'ROME', null][index % 4],
    salary: [null, 1, 0.5, -1][index % 4],
    born: ['2000-01-01', null][index % 2],
    employer: [...codes, null][index % 9],
    boss: index % 7 === 0 ? null : Math.floor(index / 7) + 1,
  }));
  await create(app, 'Employee', people);
});
afterAll(async () => {
  await app.close();
});

const paths = ['name', 'city', 'salary', 'born', 'employerCity', 'employer.city', 'boss.name'];
const order = fc
  .array(fc.tuple(fc.constantFrom(...paths, 'boss.employer.code'), fc.constantFrom('', ' desc')), {
    maxLength: 3,
  })
  .map((items) => items.map((item) => item.join('')).join(','));
const filter = fc.constantFrom(
  ...['', "city = 'rome'", 'salary > 0', "name begin 'é'", "boss.name != 'ann'", 'ID > 30'],
);
const base = fc.constantFrom('/rest/Employee?', '/rest/Company(A)/staff?$expand=staff&');

/** The address of a query, without its page. */
const addresses = fc.record({ base, order, filter }).map((each) => {
  const orderby = each.order === '' ? '' : `&$orderby=${encodeURIComponent(each.order)}`;
  const filtered = each.filter === '' ? '' : `&$filter=${encodeURIComponent(each.filter)}`;
  return `${each.base}$attributes=name${orderby}${filtered}`;
});

async function page(url: string): Promise<{ readonly body: string; readonly page: Page }> {
  const { body } = await app.inject({ url });
  return { body, page: JSON.parse(body) as Page };
}

function keysOf({ __ENTITIES: entities }: Page): string[] {
  return entities.map((each) => each.__KEY);
}

describe('The pages of a query', () => {
  it('contain every entity exactly once, in one order, whatever the page size', async () => {
    await fc.assert(
      fc.asyncProperty(addresses, fc.integer({ min: 1, max: 50 }), async (address, size) => {
        const { page: whole } = await page(`${address}&$top=1000`);
        const keys = keysOf(whole);
        expect(new Set(keys).size).toBe(whole.__COUNT);
        const paged: string[] = [];
        for (let skip = 0; skip < whole.__COUNT + size; skip += size) {
          const { page: part } = await page(`${address}&$skip=${skip}&$top=${size}`);
          expect(part).toMatchObject({ __COUNT: whole.__COUNT, __FIRST: skip });
          expect(part.__SENT).toBe(part.__ENTITIES.length);
          paged.push(...keysOf(part));
        }
        expect(paged).toStrictEqual(keys);
      }),
      { numRuns: runs },
    );
  });

  it('are byte-identical when they are read again', async () => {
    const pages = fc.tuple(addresses, fc.nat(40), fc.nat(40));
    await fc.assert(
      fc.asyncProperty(pages, async ([address, skip, top]) => {
        const url = `${address}&$skip=${skip}&$top=${top}`;
        const first = await page(url);
        expect((await page(url)).body).toBe(first.body);
      }),
      { numRuns: runs },
    );
  });

  it('contain with a filter the matching entities of those without it', async () => {
    await fc.assert(
      fc.asyncProperty(base, filter, async (address, condition) => {
        fc.pre(condition !== '');
        const read = async (text: string): Promise<string[]> =>
          keysOf((await page(`${address}$top=1000&$filter=${encodeURIComponent(text)}`)).page);
        const all = keysOf((await page(`${address}$top=1000`)).page);
        const kept = new Set(await read(condition));
        const others = new Set(await read(`NOT (${condition})`));
        expect(all.filter((key) => kept.has(key) === others.has(key))).toStrictEqual([]);
      }),
    );
  });
});

describe('A reversed order', () => {
  it('keeps ties in the order of their keys', async () => {
    const { page: up } = await page('/rest/Employee?$orderby=city&$top=1000&$attributes=city');
    const { page: down } = await page(
      '/rest/Employee?$orderby=city desc&$top=1000&$attributes=city'.replaceAll(' ', '%20'),
    );
    const nulls = (keys: readonly string[]): readonly string[] =>
      keys.filter((key) => Number(key) % 4 === 0);
    expect(keysOf(up).slice(0, employees / 4)).toStrictEqual(nulls(keysOf(up)));
    expect(keysOf(down).slice(-employees / 4)).toStrictEqual(nulls(keysOf(up)));
  });
});
