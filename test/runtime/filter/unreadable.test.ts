import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';
import { found } from './found.js';

const model = `
drs: 1
name: unreadable
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      at: { type: date, indexed: true }
      day: { type: date, dateOnly: true }
      number: number
      price: { type: decimal, precision: 9, scale: 2 }
      flag: boolean
      code: uuid
      length: duration
      group: { to: Group }
      own: { computed: date, accessors: [get, query] }
    functions:
      dataclass:
        count: { exposed: true, params: { filter: string, value: any }, returns: any }
        drop: { exposed: true, params: { filter: string, value: any }, returns: any }
      selection:
        size: { exposed: true, returns: integer }
  Group:
    attributes:
      ID: { type: integer, key: true }
      items: { to: Item, many: true, inverse: group }
`;

const classes = {
  'src/classes/Item.ts': `
import { ItemBase, type ComputedQuery, type FilterWithValues } from '../generated/api.js';
const messageOf = (error: Error): string => error.message;
export class Item extends ItemBase {
  queryOwn({ operator, value }: ComputedQuery): FilterWithValues {
    return { filter: 'at ' + operator + ' :1', values: [value] };
  }
  count(filter: string, value: unknown): Promise<unknown> {
    return this.query(filter, value).count().catch(messageOf);
  }
  drop(filter: string, value: unknown): Promise<unknown> {
    return this.query(filter, value).drop().catch(messageOf);
  }
}
`,
  'src/classes/ItemEntity.ts': `
import { ItemEntityBase } from '../generated/api.js';
export class ItemEntity extends ItemEntityBase {
  get own(): Date | null {
    return this.at;
  }
}
`,
  'src/classes/ItemSelection.ts': `
import { ItemSelectionBase } from '../generated/api.js';
export class ItemSelection extends ItemSelectionBase {
  size(): Promise<number> {
    return this.count();
  }
}
`,
};

const items = [
  { at: '2024-05-31T22:00:00Z', day: '2024-06-01', number: 1, flag: true, group: 1 },
  { at: '2024-06-02T00:00:00Z', price: '12.50', length: 1000, group: 1 },
];

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model, {}, classes);
  await create(app, 'Group', [{ ID: 1 }]);
  await create(app, 'Item', items);
});
afterAll(() => app.close());

interface Errors {
  readonly __ERROR: readonly { readonly message: string; readonly errCode: number }[];
}

/** The status, the code and the message of an answer. */
async function refusal(url: string, payload?: unknown, server = app): Promise<string> {
  const answer = await server.inject(
    payload === undefined ? url : { method: 'POST', url, payload: JSON.stringify(payload) },
  );
  const { __ERROR: [error] = [] } = answer.json<Partial<Errors>>();
  return `${answer.statusCode} ${error?.errCode ?? ''}: ${error?.message ?? answer.body}`;
}

async function count(server = app): Promise<number> {
  const answer = await server.inject('/rest/Item?$top=0');
  return answer.json<{ __COUNT: number }>().__COUNT;
}

describe('A value that cannot be read', () => {
  it.each([
    ['at', '2024-06-01T25:00:00Z', /expected a date such as .*2024-06-01 12:30/],
    ['at', '1.6.2024', /expected a date such as /],
    ['day', '2024-02-30', /expected a date such as 2024-06-01, 1!6!2024/],
    ['number', '12,50', /expected a number such as -12\.5/],
    ['price', '12,50', /expected a number such as 12\.50/],
    ['ID', 'one', /expected a number such as 42/],
    ['flag', 'yes', /expected true or false/],
    ['code', 'xyz', /expected a UUID of 32 hexadecimal digits/],
    ['length', '1 s', /expected a number of milliseconds/],
    ['group', 'none', /expected a number such as 42/],
    ['own', 'garbage', /expected a date such as /],
  ])('of %s is refused with its character, the forms and %j', async (name, value, forms) => {
    const place = new RegExp(`^1162: Character ${name.length + 5} of \\$filter: `);
    const written = await found(app, 'Item', `${name} != '${value}'`);
    expect(written).toMatch(place);
    expect(written).toMatch(forms);
    expect(written).toContain(`found "${value}"`);
    const given = await found(app, 'Item', `ID > 0 and ${name} = :1`, [value]);
    expect(given).toMatch(new RegExp(`^1280: Character ${name.length + 15} of `));
    expect(given).toMatch(forms);
    expect(given).toContain(`as the value of :1 in $params, found "${value}"`);
    const listed = await found(app, 'Item', `${name} in ['${value}']`);
    expect(listed).toContain(`found "${value}"`);
    const inParams = await found(app, 'Item', `${name} in :1`, [[null, value]]);
    expect(inParams).toMatch(/^1280: .*:1 in \$params, found/);
  });

  it('is refused whatever else the filter says, and without entities', async () => {
    expect(await found(app, 'Item', "ID = 99 and at = 'x'")).toContain('found "x"');
    expect(await found(app, 'Item', "ID > 0 or not (at = 'x')")).toContain('found "x"');
    expect(await found(app, 'Group', "items.at != 'x' and ID = 7")).toContain('found "x"');
  });

  it('is one of another JSON type, too', async () => {
    expect(await found(app, 'Item', 'at = :1', [20_240_601])).toContain('found "20240601"');
    expect(await found(app, 'Item', 'number = :1', [true])).toContain('found "true"');
    expect(await found(app, 'Item', 'flag = :1', [7])).toContain('found "7"');
    expect(await found(app, 'Item', 'text = :1', ['\ud800'])).toContain('half of a surrogate pair');
  });

  const bad = encodeURIComponent("at != '2024-06-01 24:00'");
  it.each([
    ['a page', `/rest/Item?$filter="${bad}"`, /^400 1162: Character 7 of \$filter/],
    ['no entities', `/rest/Item?$filter="${bad}"&$top=0`, /^400 1162: Character 7 of \$filter/],
    ['a sum', `/rest/Item/number?$compute=sum&$filter="${bad}"`, /^400 1162: Character 7 of/],
    ['distinct values', `/rest/Item/text?$distinct=true&$filter="${bad}"`, /^400 1162: Char/],
    ['a set', `/rest/Item?$method=entityset&$filter="${bad}"`, /^400 1162: Character 7 of/],
    [
      'groups',
      `/rest/Item?$groupby=flag&$compute=max(at)&$having="max(at) != 'x'"`,
      /^400 1162: Character 12 of \$having: expected a date .* found "x"/,
    ],
    [
      'groups with $params',
      `/rest/Item?$groupby=flag&$compute=sum(price)&$having="sum(price) > :1"&$params=["12,50"]`,
      /^400 1280: Character 14 of \$having: expected a number .* found "12,50"/,
    ],
    [
      'an expansion',
      `/rest/Group?$expand=items($filter="${bad}")`,
      /^400 1162: \$expand, options of items: Character 7 of \$filter: expected a date/,
    ],
    ['a relation', `/rest/Group(1)/items?$expand=items&$filter="${bad}"`, /^400 1162: Character 7/],
  ])('refuses the request for %s', async (_what, url, message) => {
    expect(await refusal(url)).toMatch(message);
  });

  it('changes and deletes nothing', async () => {
    expect(await refusal(`/rest/Item?$method=delete&$filter="${bad}"`, {})).toMatch(/^400 1162: /);
    const params = encodeURIComponent('["2024-06-01 24:00"]');
    const given = `/rest/Item?$method=delete&$filter="at != :1"&$params=${params}`;
    expect(await refusal(given, {})).toMatch(/^400 1280: Character 7 of .*"2024-06-01 24:00"/);
    const update = `/rest/Item?$method=update&$filter="${bad}"`;
    expect(await refusal(update, { text: 'x' })).toMatch(/^400 1162: /);
    expect(await found(app, 'Item', "text = 'x'")).toBe('');
    expect(await count()).toBe(items.length);
  });

  it('deletes no members of a set', async () => {
    const made = (await app.inject('/rest/Item?$method=entityset')).json<{ __ENTITYSET: string }>();
    const url = `${made.__ENTITYSET}?$method=delete&$filter="${bad}"`;
    expect(await refusal(url, {})).toMatch(/^400 1162: Character 7 of/);
    expect(await count()).toBe(items.length);
  });

  it('is refused in a selection on which a function is called', async () => {
    expect(await refusal(`/rest/Item/size?$filter="${bad}"`, [])).toMatch(/^400 1162: Character 7/);
  });

  it.each([
    ['at != :1', 'garbage'],
    ['price > :1', '12,50'],
    ['ID in :1', ['1', 'x']],
    ['own != :1', 'garbage'],
  ])('is an error for class code that queries %s with %j', async (filter, value) => {
    const message = /Character \d+ of \$filter: expected .* found .*(garbage|12,50|x)/;
    expect(await refusal('/rest/Item/count', [filter, value])).toMatch(message);
    expect(await refusal('/rest/Item/drop', [filter, value])).toMatch(message);
    expect(await count()).toBe(items.length);
  });
});

describe('A date', () => {
  it.each([
    ["at = '2024-06-01T00:00:00 02:00'", '1'],
    ["at = '2024-06-01 00:00:00+02:00'", '1'],
    ["at = '2024-06-01 00:00 0200'", '1'],
    ["at > '2024-06-01 00:00:00'", '2'],
    ['at > 2024-06-01 00:00', '2'],
    ["day = '2024-06-01 13:00:00.5'", '1'],
    ["own > '2024-06-01 00:00:00'", '2'],
  ])('may have a space for T, and for the + of its zone: %s', async (filter, keys) => {
    expect(await found(app, 'Item', filter)).toBe(keys);
    const [, value] = /'(.*)'/.exec(filter) ?? [];
    const given = filter.replace(/'.*'/, ':1');
    if (value !== undefined) expect(await found(app, 'Item', given, [value])).toBe(keys);
  });

  it('has such a space after a + that was not encoded', async () => {
    const url = `/rest/Item?$filter="at='2024-06-01T00:00:00+02:00'"&$attributes=ID`;
    expect((await app.inject(url)).json()).toMatchObject({ __COUNT: 1 });
  });
});

describe('A server for clients of Wakanda', () => {
  const wakanda = model.replace(
    'name: unreadable',
    'name: w\nprotocol: { compatibility: wakanda }',
  );
  const bad = "at != 'garbage'";
  let server: FastifyInstance;
  beforeAll(async () => {
    server = await serverOf(wakanda, {}, classes);
    await create(server, 'Group', [{ ID: 1 }]);
    await create(server, 'Item', items);
  });
  afterAll(() => server.close());

  it('reads with values that cannot be read: they equal nothing', async () => {
    expect(await found(server, 'Item', bad)).toBe('1,2');
    expect(await found(server, 'Item', 'at = :1', ['garbage'])).toBe('');
    expect(await found(server, 'Item', 'ID in :1', [[1, 'x']])).toBe('1');
    expect(await found(server, 'Item', "ID in [1, 'x']")).toBe('1');
    expect(await found(server, 'Item', "own != 'garbage'")).toBe('1,2');
    expect(await found(server, 'Group', "items.at != 'garbage'")).toBe('1');
  });

  it.each([
    `/rest/Item?$method=delete&$filter="${bad}"`,
    `/rest/Item?$method=update&$filter="${bad}"`,
    `/rest/Item/size?$filter="${bad}"`,
    `/rest/Group(1)/items?$expand=items&$method=subentityset&$emMethod=size&$filter="${bad}"`,
  ])('refuses %s, which may change what it selects', async (url) => {
    const answer = await refusal(url, url.includes('size') ? [] : {}, server);
    expect(answer).toMatch(/^400 1162: Character 7 of .* found "garbage"/);
    expect(await count(server)).toBe(items.length);
  });

  it('refuses them for members of a set that it deletes, and in class code', async () => {
    const set = (await server.inject(`/rest/Item?$method=entityset&$filter="${bad}"`)).json<{
      __ENTITYSET: string;
    }>().__ENTITYSET;
    const url = `${set}?$method=delete&$filter="${bad}"`;
    expect(await refusal(url, {}, server)).toMatch(/^400 1162: /);
    const dropped = await refusal('/rest/Item/drop', ['at != :1', 'garbage'], server);
    expect(dropped).toMatch(/Character 7 of .* found .*garbage/);
    expect(await count(server)).toBe(items.length);
  });
});
