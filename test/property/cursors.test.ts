import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeDatabases, type TestDatabases } from '../support/databases.js';
import { isLong } from '../support/long.js';
import { create, modelOf, serverOf } from '../support/server.js';

const model = `
drs: 1
name: cursors
dataclasses:
  Group:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      title: string
      items: { to: Item, many: true, inverse: group }
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      a: { type: integer, indexed: true }
      b: { type: string, indexed: true }
      c: number
      d: { type: decimal, scale: 2 }
      e: { type: date }
      f: boolean
      g: { type: integer, mandatory: true, indexed: true }
      sum: { computed: number, expression: "c * 3" }
      groupTitle: { alias: group.title }
      group: { to: Group, inverse: items }
roles: { restrictedByDefault: false }
`;

const integers = fc.constantFrom(0, 1, 2, -7, 9007199254740991);
const item = fc.record({
  a: fc.option(integers, { freq: 3 }),
  b: fc.option(fc.constantFrom('a', 'A', 'ä', 'Z', '', "'; --", '\u{1f600}', 'ab'), { freq: 4 }),
  c: fc.option(fc.constantFrom(0.1, 0.30000000000000004, 1 / 3, -1e300, 5, 1e-7), { freq: 3 }),
  d: fc.option(fc.constantFrom('0.10', '12.50', '-3.05', '90071992547409.93'), { freq: 3 }),
  e: fc.option(fc.constantFrom('2020-01-01T00:00:00.000Z', '1815-12-10T01:02:03.004Z')),
  f: fc.option(fc.boolean()),
  g: integers,
  group: fc.option(fc.constantFrom(1, 2, 3)),
});

const names = [
  'a',
  'b',
  'c',
  'd',
  'e',
  'f',
  'g',
  'sum',
  'groupTitle',
  'group',
  'group.title',
  'ID',
];
const order = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...names), fc.boolean()), {
    maxLength: 4,
    selector: ([name]) => name,
  })
  .map((items) => items.map(([name, isDown]) => `${name}${isDown ? ' desc' : ''}`).join());

/** What others do between two pages. */
const change = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), item }),
  fc.record({ kind: fc.constant('delete' as const), position: fc.nat() }),
);

const filters = fc.constantFrom(undefined, 'g > 0', 'a = null or a > :1', 'group.title != x');

interface Page {
  readonly __NEXT: string | null;
  readonly __SENT: number;
  readonly __COUNT: number;
  readonly __FIRST?: number;
  readonly __ENTITIES: readonly { readonly ID: number; readonly g: number }[];
}

describeDatabases('A cursor', ({ driver, create: createDatabase }: TestDatabases) => {
  let app: FastifyInstance;
  let other: FastifyInstance;
  let close: () => Promise<void>;

  beforeAll(async () => {
    const { url, drop } = await createDatabase();
    const served = { ...modelOf(model), databases: [driver] };
    app = await serverOf(served, { databaseUrl: url });
    other = await serverOf(served, { databaseUrl: url });
    await create(app, 'Group', [{ title: 'x' }, { title: 'Y' }, { title: null }]);
    close = async () => {
      await app.close();
      await other.close();
      await drop();
    };
  });
  afterAll(() => close());

  async function read<T>(url: string, query: Record<string, string>, from = app): Promise<T> {
    const response = await from.inject({ url: `/rest/${url}`, query });
    expect(response.statusCode, `${JSON.stringify(query)} ${response.body}`).toBe(200);
    return response.json();
  }

  async function clear(): Promise<void> {
    await app.inject({ method: 'POST', url: '/rest/Item?$method=delete&$filter=ID>0' });
  }

  it('shows what exists throughout once, in order, while others create and delete', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(item, { minLength: 1, maxLength: 18 }),
        order,
        fc.integer({ min: 1, max: 5 }),
        filters,
        fc.constantFrom('Item', 'Group(1)/items'),
        fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 12 }),
        async (items, orderby, top, filter, from, changes) => {
          await clear();
          await create(app, 'Item', items);
          const query = {
            ...(orderby === '' ? {} : { $orderby: orderby }),
            ...(filter === undefined ? {} : { $filter: filter, $params: '[0]' }),
            ...(from === 'Item' ? {} : { $expand: 'items' }),
          };
          const all = { ...query, $top: '1000' };
          const before = (await read<Page>(from, all)).__ENTITIES.map(({ ID }) => ID);
          const gone = new Set<number>();
          const shown: number[] = [];
          let next: string | null = null;
          for (let pages = 0; ; pages += 1) {
            expect(pages).toBeLessThan(200);
            const place: Record<string, string> =
              next === null ? { $cursor: 'true' } : { $after: next };
            const page: Page = await read<Page>(
              from,
              { ...query, ...place, $top: String(top) },
              pages % 2 === 0 ? app : other,
            );
            expect(page.__SENT).toBe(page.__ENTITIES.length);
            expect(page.__FIRST).toBe(next === null ? 0 : undefined);
            shown.push(...page.__ENTITIES.map(({ ID }) => ID));
            next = page.__NEXT;
            if (next === null) break;
            expect(page.__SENT).toBe(top);
            for (const each of changes[pages] ?? []) {
              if (each.kind === 'insert') await create(app, 'Item', [each.item]);
              else {
                const key = before[each.position % Math.max(1, before.length)];
                if (key === undefined || gone.has(key)) continue;
                gone.add(key);
                await app.inject({ method: 'POST', url: `/rest/Item(${key})?$method=delete` });
              }
            }
          }
          const about = JSON.stringify({ orderby, top, filter, from });
          expect(new Set(shown).size, about).toBe(shown.length);
          const stayed = before.filter((key) => !gone.has(key));
          expect(
            shown.filter((key) => stayed.includes(key)),
            about,
          ).toEqual(stayed);
          if (changes.flat().length === 0) expect(shown).toEqual(before);
        },
      ),
      { numRuns: isLong ? 1000 : 30 },
    );
  });

  it('takes a token for the same request only', async () => {
    await clear();
    const items = [1, 2, 3, 4].map((g) => ({ g, b: 'b', group: 1 }));
    await create(app, 'Item', items);
    const query = { $orderby: 'b,g desc', $filter: 'g > :1', $params: '[0]', $top: '2' };
    const first = await read<Page>('Item', { ...query, $cursor: 'true' });
    const $after = first.__NEXT ?? '';
    const others: readonly (readonly [string, Record<string, string>])[] = [
      ['Item', { ...query, $orderby: 'b,g' }],
      ['Item', { ...query, $orderby: 'b desc,g desc' }],
      ['Item', { ...query, $orderby: 'b' }],
      ['Item', { ...query, $params: '[1]' }],
      ['Item', { ...query, $filter: 'g >= :1' }],
      ['Item', { $orderby: 'b,g desc' }],
      ['Group', { $top: '1' }],
      ['Group(1)/items', { ...query, $expand: 'items' }],
    ];
    for (const [url, changed] of others) {
      const response = await app.inject({ url: `/rest/${url}`, query: { ...changed, $after } });
      expect([response.statusCode, response.body], JSON.stringify(changed)).toEqual([
        400,
        expect.stringContaining('no token of this request'),
      ]);
    }
    const same = { ...query, $filter: 'g>:1', $after, $top: '5', $attributes: 'g' };
    expect((await read<Page>('Item', same, other)).__ENTITIES.map(({ g }) => g)).toEqual([2, 1]);
  });

  it('has one secret, even if several servers need the first one at once', async () => {
    const { url, drop } = await createDatabase();
    const served = { ...modelOf(model), databases: [driver] };
    const servers: FastifyInstance[] = [];
    for (let count = 0; count < 3; count += 1) {
      servers.push(await serverOf(served, { databaseUrl: url }));
    }
    const [maker] = servers;
    if (maker === undefined) throw new Error('There is no server.');
    await create(maker, 'Group', [{ title: 'x' }, { title: 'y' }]);
    const query = { $top: '1' };
    const firsts = await Promise.all(
      servers.map((each) => read<Page>('Group', { ...query, $cursor: 'true' }, each)),
    );
    const tokens = new Set(firsts.map(({ __NEXT }) => __NEXT));
    expect(tokens.size).toBe(1);
    for (const each of servers) {
      const $after = firsts[0]?.__NEXT ?? '';
      expect((await read<Page>('Group', { ...query, $after }, each)).__NEXT).toBeNull();
      await each.close();
    }
    await drop();
  });

  it('refuses every token with a changed character', async () => {
    const token = (await read<Page>('Item', { $top: '1', $cursor: 'true' })).__NEXT ?? '';
    for (let at = 0; at < token.length; at += 1) {
      const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
      const response = await app.inject({
        url: '/rest/Item',
        query: { $top: '1', $after: changed },
      });
      // The last character of a signature has bits that mean nothing.
      if (at < token.length - 1) expect(response.statusCode, changed).toBe(400);
      else expect([200, 400]).toContain(response.statusCode);
    }
  });
});
