import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openApi } from '../../generator/emit/openapi/document.js';
import { typedRuntime } from '../support/built-runtime.js';
import { writeClient } from '../support/built-client.js';
import { Client } from '../support/cookies.js';
import { describeDatabases } from '../support/databases.js';
import { itLong } from '../support/long.js';
import { loggedIn, rolesServerOf } from '../support/roles-server.js';
import { modelOf, writeServer } from '../support/server.js';
import { typeErrors } from '../support/type-errors.js';

const yaml = `
drs: 1
name: warehouse
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, restName: Item No }
      Item_58: { type: string, column: Item 58, restName: Item 58, unique: true, maxLength: 20 }
      price: { type: number, restName: Unit-Price € }
      extra: { type: object, restName: Extra data }
      photo: { type: image, restName: Photo 1 }
      main_group: { to: Group, foreignKey: group_key, inverse: items, restName: Main group }
      group_key: { type: integer, restName: Group key }
      group_name: { alias: main_group.title, restName: Group name }
      group_again: { alias: main_group, exposed: false, restName: Group again }
      loud: { computed: string, accessors: [get, set, query, orderBy], restName: Loud name }
    events: [saving, afterSave]
    functions:
      dataclass:
        told: { exposed: true }
        raised: { exposed: true, params: { item: Item, by: number }, returns: Item }
        priced: { exposed: true, returns: Item.selection }
        refused: { exposed: true }
      selection:
        total: { exposed: true, returns: number }
  Group:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      title: { type: string, mandatory: true, restName: The title }
      items: { to: Item, many: true, inverse: main_group, restName: Line Items }
    restrict: true
roles:
  restrictedByDefault: false
  privileges: [{ privilege: prices }]
  permissions:
    allowed:
      - { applyTo: Item.price, type: attribute, read: [prices] }
      - { applyTo: Item.priced, type: method, execute: [prices] }
`;

const files = {
  'src/classes/Item.ts': `
import { type ComputedOrder, type ComputedQuery, type FilterWithValues, ItemBase } from '../generated/api.js';
import type { ItemEntity, ItemSelection } from '../generated/api.js';
import { told } from './ItemEntity.js';

export class Item extends ItemBase {
  queryLoud({ operator, value }: ComputedQuery): FilterWithValues {
    return { filter: \`Item_58 \${operator} :1\`, values: [String(value).toLowerCase()] };
  }

  orderByLoud({ direction }: ComputedOrder): string {
    return \`main_group.title \${direction}, Item_58 \${direction}\`;
  }

  async told() {
    const found = this.query('Item_58 begin :1 and main_group.title = :2', 'b', 'Tools');
    const [first] = await found.orderBy('Item_58 desc').toArray();
    return {
      told,
      keys: first === undefined ? [] : Object.keys(first.toObject()),
      titles: await found.main_group.distinct('title'),
      groupItems: (await this.ds.Group.all().items.toArray()).length,
      byWire: await this.query('[Item 58] = bolt').count(),
    };
  }

  raised(item: ItemEntity, by: number): ItemEntity {
    item.fromObject({ price: 10 + by });
    item.loud = 'RAISED';
    return item;
  }

  async refused() {
    const messageOf = async (run: () => unknown): Promise<string> => {
      try {
        await run();
        return 'done';
      } catch (error) {
        return (error as Error).message;
      }
    };
    const save = await this.new({ ID: 9, Item_58: 'x'.repeat(21) }).save().catch((error) => error);
    return {
      twice: await messageOf(() => this.new({ 'Item 58': 'a', Item_58: 'b' } as object)),
      also: await messageOf(() => this.new({ Item_58: 'b', 'Item 58': 'a' } as object)),
      once: await messageOf(() => this.new({ 'Item 58': 'a' } as object)),
      price: await messageOf(() => this.all().max('price')),
      saved: save.errors[0].attribute,
    };
  }

  priced(): ItemSelection {
    return this.query('price > 0');
  }
}
`,
  'src/classes/ItemEntity.ts': `
import { type AfterSaveEvent, type EventError, ItemEntityBase, type ItemTypes, type SaveEvent } from '../generated/api.js';

export const told: object[] = [];

export class ItemEntity extends ItemEntityBase {
  get loud(): string | null {
    return this.Item_58?.toUpperCase() ?? null;
  }

  set loud(value: string | null) {
    this.Item_58 = value?.toLowerCase() ?? null;
  }

  saving({ touched, old }: SaveEvent<ItemTypes>): EventError | undefined {
    told.push({ touched, old: old?.Item_58 ?? null });
    if (old !== null) told.push({ before: Object.keys(old) });
    if (this.Item_58 !== 'bad') return undefined;
    return { errCode: 77, message: 'not this one', attribute: 'Item_58' };
  }

  afterSave({ savedAttributes }: AfterSaveEvent<ItemTypes>): void {
    told.push({ savedAttributes });
  }
}
`,
  'src/classes/ItemSelection.ts': `
import { ItemSelectionBase } from '../generated/api.js';

export class ItemSelection extends ItemSelectionBase {
  async total(): Promise<number> {
    return (await this.sum('price')) ?? 0;
  }
}
`,
  'src/classes/Group.ts': `
import { GroupBase, type Restriction } from '../generated/api.js';

export class Group extends GroupBase {
  override restrict(): Restriction {
    return { filter: 'title != :1 and (items.Item_58 != :1 or ID > 0)', values: ['Secret'] };
  }
}
`,
};

type Json = Record<string, unknown>;

describeDatabases('Names for clients', ({ driver, create }) => {
  let app: FastifyInstance;
  let client: Client;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const { url: databaseUrl, drop: remove } = await create();
    drop = remove;
    app = await rolesServerOf({ ...modelOf(yaml), databases: [driver] }, { databaseUrl }, files);
    client = await loggedIn(app, { privileges: ['prices'] });
    await sent('/rest/Group?$method=update', [{ 'The title': 'Tools' }, { 'The title': 'Toys' }]);
    await sent('/rest/Item?$method=update', [
      { 'Item No': 1, 'Item 58': 'bolt', 'Unit-Price €': 2.5, 'Main group': 1 },
      {
        'Item No': 2,
        'Item 58': 'ball',
        'Unit-Price €': 4,
        'Group key': 2,
        'Extra data': { 'a b': 2 },
      },
      { 'Item No': 3, 'Loud name': 'BIT', 'Main group': { __KEY: 1 }, 'Extra data': { 'a b': 1 } },
    ]);
  });
  afterAll(async () => {
    await app.close();
    await drop();
  });

  async function sent(url: string, body: unknown): Promise<Json> {
    const response = await client.post(url, body);
    expect(response.statusCode, response.body).toBe(200);
    return response.json();
  }

  async function read(path: string, query: Readonly<Record<string, string>> = {}): Promise<Json> {
    const response = await client.get(`/rest/${path}?${new URLSearchParams(query).toString()}`);
    expect(response.statusCode, response.body).toBe(200);
    return response.json();
  }

  async function found(query: Readonly<Record<string, string>>): Promise<unknown> {
    const { __ENTITIES: entities } = await read('Item', { $attributes: 'Item 58', ...query });
    return (entities as Json[]).map((each) => each['Item 58']);
  }

  it('are those of answers, and addresses in answers can be followed', async () => {
    const item = await read('Item(1)');
    expect(item).toMatchObject({
      'Item No': 1,
      'Item 58': 'bolt',
      'Unit-Price €': 2.5,
      'Main group': { __deferred: { uri: '/rest/Group(1)', __KEY: '1' } },
      'Group key': 1,
      'Group name': 'Tools',
      'Loud name': 'BOLT',
    });
    expect(Object.keys(item)).not.toContain('Item_58');
    const group = await read('Group(1)');
    const { uri } = (group['Line Items'] as { __deferred: { uri: string } }).__deferred;
    expect(uri).toBe('/rest/Group(1)/Line%20Items?$expand=Line%20Items');
    expect((await client.get(uri)).json()).toMatchObject({ __COUNT: 2 });
    expect(await read('Item:Item 58(ball)/Item 58,Group name')).toMatchObject({
      'Item 58': 'ball',
      'Group name': 'Toys',
    });
  });

  it('are those of $filter, in brackets, along paths and in objects', async () => {
    for (const [filter, expected] of [
      ["[Item 58] = 'bolt'", ['bolt']],
      ['[Main group].[The title] = Tools', ['bolt', 'bit']],
      ['[Group name] = Toys or [Item No] = 1', ['bolt', 'ball']],
      ['not ([Unit-Price €] > 3) and [Loud name] begin B', ['bolt', 'bit']],
      ['[Extra data].[a b] = 1', ['bit']],
      ['[Main group].[Line Items].[Item 58] = bit', ['bolt', 'bit']],
      ['[Main group] = 2 order by [Item 58]', ['ball']],
      ['[Item 58] in [ball, bit] order by [Item 58] desc', ['bit', 'ball']],
    ] as const) {
      expect(await found({ $filter: `"${filter}"` }), filter).toEqual(expected);
    }
    const params = { $filter: ':1 = :2', $params: '["[Item 58]", "bolt"]' };
    expect(await found(params)).toEqual(['bolt']);
    expect(await found({ ...params, $params: '["Item 58", "bolt"]' })).toEqual(['bolt']);
  });

  it('are those of orders, as they are and in brackets', async () => {
    for (const [$orderby, expected] of [
      ['Item 58', ['ball', 'bit', 'bolt']],
      ['Item 58 desc', ['bolt', 'bit', 'ball']],
      ['Main group.The title DESC, [Item No] desc', ['ball', 'bit', 'bolt']],
      ['Loud name', ['bit', 'bolt', 'ball']],
      ['Unit-Price € desc', ['ball', 'bolt', 'bit']],
    ] as const) {
      expect(await found({ $orderby }), $orderby).toEqual(expected);
    }
  });

  it('are those of lists, of $compute and of $distinct', async () => {
    expect(await read('Item(1)', { $attributes: 'Item 58 ,Main group.The title' })).toMatchObject({
      'Item 58': 'bolt',
      'Main group': { 'The title': 'Tools' },
    });
    expect(await read('Group(1)', { $expand: 'Line Items,Line Items.Main group' })).toMatchObject({
      'Line Items': { __ENTITIES: [{ 'Item 58': 'bolt' }, { 'Item 58': 'bit' }] },
    });
    expect(await read('Item/Unit-Price €', { $compute: '$all' })).toMatchObject({
      'Unit-Price €': { sum: 6.5 },
    });
    expect(await read('Item/Group name', { $distinct: 'true' })).toEqual(['Tools', 'Toys']);
    const groups = {
      $groupby: 'Main group.The title,Group name',
      $compute: 'sum(Unit-Price €)',
      $having: 'sum([Unit-Price €]) > 0 and [Group name] = tools',
      $orderby: 'min(Item 58) desc',
    };
    expect(await read('Item', groups)).toMatchObject({
      __GROUPS: [{ 'Main group.The title': 'Tools', 'Group name': 'Tools' }],
    });
    expect(await read('Group(1)/Line Items.Item 58', { $distinct: 'true' })).toEqual([
      'bit',
      'bolt',
    ]);
  });

  it('are those of sets, reports, the catalog and query paths', async () => {
    const created = await read('Item', {
      $method: 'entityset',
      $filter: '[Item 58] begin b',
      $orderby: 'Item 58',
      $savedfilter: 'true',
      $savedorderby: 'true',
    });
    const set = String(created['__ENTITYSET']).replace('/rest/', '');
    expect(await read(set, { $filter: '[Unit-Price €] = 4' })).toMatchObject({ __COUNT: 1 });
    const report = await read('Item', {
      $format: 'looker',
      $attributes: 'Item 58,Main group.The title',
    });
    expect(report['schema']).toMatchObject([{ name: 'Item 58' }, { name: 'Main group.The title' }]);
    const catalog = await read('$catalog/Item');
    expect((catalog['attributes'] as Json[]).map((each) => each['name'])).toEqual([
      'Item No',
      'Item 58',
      'Unit-Price €',
      'Extra data',
      'Photo 1',
      'Main group',
      'Group key',
      'Group name',
      'Loud name',
    ]);
    expect(catalog['key']).toEqual([{ name: 'Item No' }]);
    expect(JSON.stringify(catalog)).not.toMatch(/Item_58|main_group|group_key/);
    expect(catalog['attributes']).toContainEqual(
      expect.objectContaining({
        name: 'Main group',
        foreignKey: 'Group key',
        inverseName: 'Line Items',
      }),
    );
    const planned = await read('Item', { $filter: '[Item 58] = bolt', $queryplan: 'true' });
    expect(JSON.stringify(planned['__queryPlan'])).toContain('Item.Item 58');
  });

  it('are the only names that clients can use, and hostile ones get errors', async () => {
    for (const name of [
      'Item_58',
      'item 58',
      'Item  58',
      'constructor',
      '__proto__',
      'Item 58" OR 1=1',
      'x',
    ]) {
      const listed = await client.get(`/rest/Item?$attributes=${encodeURIComponent(name)}`);
      expect([listed.statusCode, name]).toEqual([400, name]);
      const filter = encodeURIComponent(`[${name}] = 1`);
      const filtered = await client.get(`/rest/Item?$filter=${filter}`);
      expect([filtered.statusCode, name]).toEqual([400, name]);
      const order = encodeURIComponent(`[${name}]`);
      expect((await client.get(`/rest/Item?$orderby=${order}`)).statusCode, name).toBe(400);
      const saved = await client.post('/rest/Item?$method=update', {
        'Item No': 9,
        [name]: 'x',
      });
      // A body's members with __ belong to the protocol, and unknown ones are ignored.
      const status = name === '__proto__' ? 200 : 400;
      expect([saved.statusCode, name]).toEqual([status, name]);
    }
    for (const filter of [
      '[Item 58 = 1',
      'Item 58 = 1',
      '[] = 1',
      '[[Item 58]] = 1',
      '[Item 58]x = 1',
      '[a.b] = 1',
    ]) {
      const response = await client.get(`/rest/Item?$filter=${encodeURIComponent(filter)}`);
      expect([response.statusCode, filter]).toEqual([400, filter]);
      expect(response.json<{ __ERROR: Json[] }>().__ERROR[0]).toMatchObject({
        errCode: expect.any(Number) as number,
      });
    }
    await client.post('/rest/Item(9)?$method=delete', undefined);
  });

  it('are those of refusals of saves', async () => {
    for (const [body, message] of [
      [{ __KEY: 1, __STAMP: 1, 'Item 58': 'ball' }, 'Item 58 must be unique'],
      [{ 'Item No': 8, 'Item 58': 'x'.repeat(21) }, 'Item 58'],
      [{ 'Item No': 8, 'Unit-Price €': 'many' }, 'Unit-Price €'],
    ] as const) {
      const response = await client.post('/rest/Item?$method=update', body);
      expect(response.body).toContain(message);
      expect(response.body).not.toMatch(/Item_58|price/);
    }
    const refused = await client.post('/rest/Item?$method=update', {
      'Item No': 8,
      'Item 58': 'bad',
    });
    expect(refused.json()).toMatchObject({ __ERROR: [{ errCode: 77, attribute: 'Item 58' }] });
  });

  it('are not those of class code, whose results have them', async () => {
    const told = await sent('/rest/Item/told', []);
    expect(told).toMatchObject({
      result: {
        keys: [
          'ID',
          'Item_58',
          'price',
          'extra',
          'main_group',
          'group_key',
          'group_name',
          'group_again',
          'loud',
        ],
        titles: ['Tools'],
        groupItems: 3,
      },
    });
    const events = (told['result'] as { told: Json[] }).told;
    expect(events).toContainEqual({ touched: ['ID', 'Item_58', 'price', 'group_key'], old: null });
    expect(events).toContainEqual({
      savedAttributes: ['ID', 'Item_58', 'price', 'group_key', 'group_name'],
    });
    // As the types of events say, without relations and aliases of them.
    const before = ['ID', 'Item_58', 'price', 'extra', 'group_key', 'group_name'];
    expect(events).toContainEqual({ before });
    const raised = await sent('/rest/Item/raised', [
      { __DATACLASS: 'Item', __ENTITY: true, 'Item No': 7, 'Item 58': 'new' },
      2,
    ]);
    expect(raised).toMatchObject({
      'Item No': 7,
      'Item 58': 'raised',
      'Unit-Price €': 12,
      'Loud name': 'RAISED',
    });
    expect(await sent('/rest/Item/refused', [])).toMatchObject({
      result: {
        twice: 'Item.Item_58 is given twice, as Item 58 too.',
        also: 'Item.Item_58 is given twice, as Item 58 too.',
        once: 'done',
        // The errors of a refused save are for clients.
        saved: 'Item 58',
      },
    });
    expect(await sent('/rest/Item/priced', [])).toMatchObject({ __COUNT: 2 });
    expect(await sent('/rest/Item/total', [])).toEqual({ result: 6.5 });
  });

  it('are hidden from sessions that may not read the attribute, as any other', async () => {
    const guest = new Client(app);
    const item = await guest.get('/rest/Item(1)');
    expect(item.json()).toMatchObject({ 'Item 58': 'bolt' });
    expect(item.body).not.toContain('Unit-Price');
    for (const query of [
      '$filter=[Unit-Price €] > 1',
      '$orderby=Unit-Price €',
      '$attributes=Unit-Price €',
    ]) {
      const response = await guest.get(`/rest/Item?${encodeURI(query)}`);
      expect([response.statusCode, query]).toEqual([400, query]);
      const unknown = query.replace('Price', 'Prize');
      const other = await guest.get(`/rest/Item?${encodeURI(unknown)}`);
      expect(other.body.replaceAll('Prize', 'Price')).toBe(response.body);
    }
    const total = await guest.post('/rest/Item/total', []);
    expect(total.statusCode).toBe(401);
    const { result } = (await guest.post('/rest/Item/refused', [])).json<{ result: Json }>();
    expect(result['price']).toContain('read the "price" attribute of "Item"');
  });

  it('are those of typed clients', async () => {
    const folder = await writeClient(modelOf(yaml));
    const { connect } = (await import(pathToFileURL(join(folder, 'client.js')).href)) as {
      connect: (url: string) => { readonly Item: Items };
    };
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    const { Item } = connect(url);
    const item = await Item.get(1);
    expect([item?.['Item 58'], item?.['Main group'].key]).toEqual(['bolt', 1]);
    const chosen = await Item.query('[Item 58] begin :1', 'b')
      .orderBy('Item 58')
      .select('Item 58')
      .toArray();
    expect(chosen.map((each) => each['Item 58'])).toEqual(['ball', 'bit', 'bolt']);
    const types = readFileSync(join(folder, 'client.d.ts'), 'utf8');
    expect(types).toContain(`  'Item 58': string | null;`);
    expect(types).not.toMatch(/Item_58|main_group/);
  });
});

interface Items {
  get(key: number): Promise<(Json & { readonly 'Main group': { readonly key: number } }) | null>;
  query(filter: string, ...values: readonly unknown[]): Items;
  orderBy(order: string): Items;
  select(...paths: readonly string[]): Items;
  toArray(): Promise<readonly Json[]>;
}

it('Names for clients are those of the OpenAPI document', () => {
  const document = JSON.stringify(openApi(modelOf(yaml)));
  expect(document).toContain('"Item 58"');
  expect(document).not.toMatch(/Item_58|main_group/);
});

itLong('The code of a server with names for clients compiles', async () => {
  const server = writeServer(modelOf(yaml), { ...files }, await typedRuntime());
  expect(typeErrors(server)).toEqual([]);
});
