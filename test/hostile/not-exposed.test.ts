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
  const headers = Object.entries(response.headers).filter(([name]) => name !== 'date');
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
