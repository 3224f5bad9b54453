import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, modelOf, serverOf } from '../support/server.js';

const hidden = `
      hidden: { type: string, exposed: false, indexed: true, unique: true, column: ccc }
      vault: { to: Vault, inverse: items }
      vaults: { to: Vault, many: true, inverse: item }
      secretary: { to: Item, exposed: false }
      item_id: { type: integer, exposed: false }
      owner: { to: Item, foreignKey: item_id }
      owned: { to: Item, exposed: false }
      calc: { computed: string, expression: "upper(name)", exposed: false }
      short: { alias: owner.name, exposed: false }`;

const vault = `
  Vault:
    exposed: false
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      item: { to: Item, inverse: vaults }
      items: { to: Item, many: true, inverse: vault }`;

function model(attributes: string, dataclass: string): string {
  return `
drs: 1
name: closed
dataclasses:${dataclass}
  Item:
    attributes:${attributes}
      ID: { type: integer, key: true, generated: sequence }
      name: string
      parent: { to: Item, inverse: children }
      children: { to: Item, many: true, inverse: parent }
`;
}

const open =
  '\n      item_id: { type: integer, exposed: false }\n      owner: { to: Item, foreignKey: item_id }';

let app: FastifyInstance;
let plain: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(modelOf(model(hidden, vault)));
  plain = await serverOf(modelOf(model(open, '')));
  for (const each of [app, plain]) {
    await create(each, 'Item', [{ name: 'one' }, { name: 'two', parent: 1, owner: 1 }]);
  }
});
afterAll(() => Promise.all([app.close(), plain.close()]));

interface Probe {
  readonly method?: 'GET' | 'POST' | 'HEAD' | 'PUT';
  readonly url: string;
  readonly body?: string;
}

/** The part of an answer that is the same for each request and each server. */
async function seen(
  server: FastifyInstance,
  { method = 'GET', url, body }: Probe,
): Promise<unknown> {
  const response = await server.inject({
    method,
    url,
    ...(body === undefined ? {} : { payload: body }),
  });
  // The tags of pages are those of one server.
  const headers = Object.entries(response.headers).filter(
    ([name]) => name !== 'date' && name !== 'etag',
  );
  const text = response.body
    .replaceAll(/"__TIMESTAMP":"[^"]*"/g, '')
    .replaceAll(/"__UNIQID":"[^"]*"/g, '');
  return { status: response.statusCode, headers, text };
}

/** Places where a client can write the name of an attribute. */
const places: readonly ((name: string) => Probe)[] = [
  (name) => ({ url: `/rest/Item/${name}` }),
  (name) => ({ url: `/rest/Item/name,${name}` }),
  (name) => ({ url: `/rest/Item(1)/${name}` }),
  (name) => ({ url: `/rest/Item(9)/${name}` }),
  (name) => ({ url: `/rest/Item(1)/${name}?$expand=${name}` }),
  (name) => ({ url: `/rest/Item:${name}(x)` }),
  (name) => ({ url: `/rest/Item:${name}` }),
  (name) => ({ method: 'POST', url: `/rest/Item/${name}`, body: '[]' }),
  (name) => ({ method: 'POST', url: `/rest/Item(1)/${name}`, body: '[]' }),
  (name) => ({ method: 'PUT', url: `/rest/Item/${name}`, body: '{}' }),
  (name) => ({ method: 'HEAD', url: `/rest/Item/${name}` }),
  ...['=1', '=null', " begin 'x'", ' < 1', '.name = 1', '.ID=1', ' ~ 1', '[0]=1', '{2}.name=1'].map(
    (rest) => (name: string) => ({ url: `/rest/Item?$filter=${encodeURI(`${name}${rest}`)}` }),
  ),
  (name) => ({ url: `/rest/Item?$filter=parent.${name}=1` }),
  (name) => ({ url: `/rest/Item?$filter=children.${name}=1` }),
  (name) => ({ url: `/rest/Item?$filter=${name}=:1&$params=[1]` }),
  ...['', ' desc', '.name', '.ID', ',name'].map((rest) => (name: string) => ({
    url: `/rest/Item?$orderby=${encodeURI(`${name}${rest}`)}`,
  })),
  (name) => ({ url: `/rest/Item?$orderby=parent.${name}` }),
  ...['$attributes', '$expand'].flatMap((list) =>
    ['', '.*', '.name', '.ID', '.item', ',name'].flatMap((rest) => [
      (name: string) => ({ url: `/rest/Item?${list}=${name}${rest}` }),
      (name: string) => ({ url: `/rest/Item(1)?${list}=${name}${rest}` }),
      (name: string) => ({ url: `/rest/Item?${list}=parent.${name}${rest}` }),
    ]),
  ),
  ...['1', 'null', '"x"', '{"__KEY":1}', '[]'].map((value) => (name: string) => ({
    method: 'POST' as const,
    url: '/rest/Item?$method=update',
    // Never stored, so that every probe meets the same data.
    body: `{"ID":"x","${name}":${value}}`,
  })),
];

const attributes = [
  'hidden',
  'vault',
  'vaults',
  'vault_id',
  'secretary',
  'secretary_id',
  'calc',
  'short',
  'item_id',
  'ccc',
  '__folded_ccc',
  '__folded_hidden',
];

describe('An attribute that is not exposed is answered like one that does not exist:', () => {
  it.each(attributes)('%s', async (name) => {
    const unknown = name.replaceAll(/[a-z]/g, 'q');
    for (const place of places) {
      const probe = place(name);
      const known = JSON.stringify(await seen(app, probe));
      const other = JSON.stringify(await seen(app, place(unknown)));
      expect(known, JSON.stringify(probe)).toBe(other.replaceAll(unknown, name));
      expect(known, JSON.stringify(probe)).toMatch(/^{"status":(?:4|501)/);
    }
  });
});

const dataclassPlaces: readonly ((name: string) => Probe)[] = [
  (name) => ({ url: `/rest/${name}` }),
  (name) => ({ url: `/rest/${name}/` }),
  (name) => ({ url: `/rest/${name}(1)` }),
  (name) => ({ url: `/rest/${name}[1]` }),
  (name) => ({ url: `/rest/${name}(1)/name` }),
  (name) => ({ url: `/rest/${name}(1)/item?$expand=item` }),
  (name) => ({ url: `/rest/${name}:name(x)` }),
  (name) => ({ url: `/rest/${name}/name` }),
  (name) => ({ url: `/rest/${name}?$method=delete` }),
  (name) => ({ url: `/rest/${name}/$entityset/0123456789ABCDEF0123456789ABCDEF` }),
  (name) => ({ url: `/rest/$catalog/${name}` }),
  (name) => ({ url: `/rest/$catalog/Item,${name}` }),
  (name) => ({ method: 'HEAD', url: `/rest/${name}` }),
  (name) => ({ method: 'PUT', url: `/rest/${name}` }),
  (name) => ({ method: 'POST', url: `/rest/${name}?$method=update`, body: '{"name":"x"}' }),
  (name) => ({ method: 'POST', url: `/rest/${name}(1)?$method=delete` }),
  (name) => ({ method: 'POST', url: `/rest/${name}/name`, body: '[]' }),
];

it('A dataclass that is not exposed is answered like one that does not exist', async () => {
  for (const place of dataclassPlaces) {
    const probe = place('Vault');
    const other = JSON.stringify(await seen(app, place('Uuuuu')));
    expect(JSON.stringify(await seen(app, probe)), probe.url).toBe(
      other.replaceAll('Uuuuu', 'Vault'),
    );
  }
});

it.each([
  '/rest/$catalog',
  '/rest/$catalog/$all',
  '/rest/$catalog/Item',
  '/rest/Item',
  '/rest/Item(2)',
  '/rest/Item?$expand=parent,children,owner',
  '/rest/Item?$attributes=*,parent.*',
])('%s is the same as for a model without the hidden parts', async (url) => {
  expect(await seen(app, { url })).toEqual(await seen(plain, { url }));
});

it('A created entity shows nothing that is not exposed', async () => {
  const probe: Probe = {
    method: 'POST',
    url: '/rest/Item?$method=update',
    body: '[{"name":"three"},{"ID":1},{"owner":77}]',
  };
  expect(await seen(app, probe)).toEqual(await seen(plain, probe));
});

describe('The name of a key that is not exposed', () => {
  /** A key as a text, and one as a number: both are written in other ways. */
  const keyed = `
drs: 1
name: keyed
dataclasses:
  Item:
    attributes:
      hiddenKey: { type: integer, key: true, generated: sequence, exposed: false }
      name: { type: string, unique: true }
      amount: number
      box: { to: Box, inverse: items }
      parent: { to: Item, inverse: children }
      children: { to: Item, many: true, inverse: parent }
  Box:
    attributes:
      hiddenCode: { type: string, key: true, exposed: false }
      label: { type: string, unique: true }
      items: { to: Item, many: true, inverse: box }
`;
  let server: FastifyInstance;
  beforeAll(async () => {
    server = await serverOf(modelOf(keyed));
    await create(server, 'Box', [{ __KEY: 'a"b', label: 'x' }]);
    await create(server, 'Item', [
      { name: 'one', amount: 1, box: { __KEY: 'a"b' } },
      { name: 'two', amount: 2, parent: { __KEY: 1 } },
    ]);
  });
  afterAll(() => server.close());

  const post = (url: string, body: unknown): Probe => {
    return { method: 'POST', url: `/rest/${url}`, body: JSON.stringify(body) };
  };
  const probes: readonly Probe[] = [
    ...[
      '$catalog/$all',
      '$openapi',
      'Item',
      'Item(1)',
      'Item(99)',
      'Item(x)',
      'Item:name(one)',
      'Item:hidden(1)',
      'Item?$asArray=true',
      'Item?$asArray=true&$expand=box,parent,children',
      'Item?$asArray=true&$attributes=name,parent.name,box.items.name',
      'Box?$asArray=true&$expand=items',
      'Box(a%22b)/items?$expand=items&$asArray=true',
      'Item?$format=looker',
      'Item?$format=looker&$attributes=name,box.label',
      'Item?$filter="box.label=x and parent is null"&$queryplan=true&$querypath=true',
      'Item?$filter="box.label=x"&$queryplan=true&$querypath=true',
      'Box?$filter="items.name=one"&$queryplan=true&$querypath=true',
      'Box(a%22b)/items?$expand=items&$filter="amount>0"&$queryplan=true&$querypath=true',
      'Item?$filter="box=1"',
      'Item?$filter="box=null"&$queryplan=true&$querypath=true',
      'Item?$filter="parent=1"',
      'Item?$orderby=parent,box',
      'Item?$orderby=hidden',
      'Item/parent?$compute=count',
      'Item?$groupby=hidden',
      'Item?$groupby=name&$compute=max(hidden)',
      'Item?$groupby=name&$having="max(hidden)=1"',
      'Item?$groupby=name&$having="hidden=1"',
      'Item?$groupby=parent,box',
      'Item?$filter="hidden=1"',
      'Item?$attributes=hidden',
    ].map((path): Probe => ({ url: `/rest/${encodeURI(path).replaceAll('%2522', '%22')}` })),
    post('Item(1)', { __KEY: '2', __STAMP: 1 }),
    post('Item?$method=update', [
      { name: 'one' },
      { __KEY: 'x' },
      { __KEY: 1.5 },
      { __KEY: 77, __STAMP: 1 },
      { __KEY: '2', __STAMP: 9 },
      { __KEY: '2' },
      { parent: 55 },
      { parent: { __KEY: {} } },
      { hidden: 1 },
    ]),
    post('Box?$method=update', [{ label: 'y' }, { __KEY: '', label: 'y' }, { __KEY: 'a"b' }]),
    post('Box?$method=validate', [{ label: 'y' }]),
    post('Item?$method=update&$refresh=true', [{ name: 'three' }]),
    { method: 'POST', url: '/rest/Box(a%22b)?$method=delete' },
  ];

  it.each(probes.map((probe) => [`${probe.url} ${probe.body ?? ''}`, probe] as const))(
    'is in no answer: %s',
    async (_, probe) => {
      const { method = 'GET', url, body } = probe;
      const answer = await server.inject({
        method,
        url,
        ...(body === undefined ? {} : { payload: body }),
      });
      expect(answer.statusCode).toBeLessThan(500);
      expect(answer.body).not.toMatch(/hiddenKey|hiddenCode/);
    },
  );

  it('is replaced by __KEY in a bare list, with the key as a text', async () => {
    await create(server, 'Box', [{ __KEY: 'c"d', label: 'z' }]);
    await create(server, 'Item', [{ name: 'last', parent: { __KEY: 2 }, box: { __KEY: 'c"d' } }]);
    const { body } = await server.inject(
      `/rest/Item?$asArray=true&$filter=name=last&$attributes=name,parent,box`,
    );
    const [{ __KEY: key, ...rest }] = JSON.parse(body) as [{ __KEY: Record<string, unknown> }];
    expect(Object.keys(key)).toEqual(['__KEY', '__STAMP']);
    expect(key['__KEY']).toMatch(/^\d+$/);
    expect(rest).toEqual({
      name: 'last',
      box: { __KEY: { __KEY: 'c"d' } },
      parent: { __KEY: { __KEY: '2' } },
    });
  });

  it('is replaced by __KEY in the steps of a filter', async () => {
    const { body } = await server.inject(
      '/rest/Item?$filter="box.label=x and name=one"&$querypath=true&$queryplan=true',
    );
    expect(body).toContain('= Box.__KEY');
  });
});
