import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyOf, targetOf } from '../../generator/model/lookup.js';
import type { Attribute, Dataclass, StorageAttribute } from '../../generator/model/model.js';
import { servedModel } from '../../generator/model/served.js';
import { writtenName } from '../../runtime/protocol/names.js';
import { writeClient } from '../support/built-client.js';
import { modelFile } from '../support/model-file.js';
import { create, modelOf, serverOf } from '../support/server.js';

const written = modelFile('names');
/** With the names that clients see. */
const model = servedModel(written);
type Json = Record<string, unknown>;

/** A value that the attribute accepts, and that is not a default. */
function sample(attribute: StorageAttribute): unknown {
  if (attribute.enum !== undefined) return attribute.enum.at(-1);
  switch (attribute.type) {
    case 'string':
      return attribute.pattern === undefined ? 'va/l' : undefined;
    case 'uuid':
      return 'ABCDEF0123456789ABCDEF0123456789';
    case 'integer':
    case 'duration':
      return 17;
    case 'decimal':
      return '2.50';
    case 'number':
      return 2.5;
    case 'boolean':
      return true;
    case 'date':
      return attribute.dateOnly ? '2024-02-29' : '2024-02-29T01:02:03.004Z';
    case 'object':
      return { a: 1 };
    case 'vector':
      return [1, 2];
    case 'image':
    case 'blob':
      return undefined;
  }
}

function storages(dataclass: Dataclass): StorageAttribute[] {
  return dataclass.attributes.filter(
    (each): each is StorageAttribute =>
      each.kind === 'storage' && each.exposed && sample(each) !== undefined,
  );
}

function path(dataclass: Dataclass, rest = ''): string {
  return `/rest/${encodeURIComponent(dataclass.name)}${rest}`;
}

/** The text of a value in a filter. */
function quoted(value: unknown): string {
  const text = String(value).replaceAll('\\', '\\\\').replaceAll("'", "\\'");
  return encodeURIComponent(`'${text}'`);
}

let app: FastifyInstance;

async function get(url: string): Promise<Json> {
  const response = await app.inject(url);
  expect(response.statusCode, `${url} ${response.body}`).toBe(200);
  return response.json();
}

/** The one entity of a collection. */
async function only(url: string): Promise<Json> {
  const { __COUNT: count, __ENTITIES: entities } = await get(url);
  expect(count, url).toBe(1);
  return (entities as Json[])[0] as Json;
}

beforeAll(async () => {
  app = await serverOf(written);
  for (const dataclass of model.dataclasses) {
    const entity = Object.fromEntries(storages(dataclass).map((each) => [each.name, sample(each)]));
    await create(app, dataclass.name, [entity]);
  }
});
afterAll(() => app.close());

describe('Attributes called key, session and stamp', () => {
  interface Login {
    key: string;
    key_: string;
    stamp: number;
    stamp_: number;
    session_: string;
    toObject(): object;
    fromObject(values: object): void;
    save(): Promise<void>;
  }
  interface Logins {
    readonly Login: { get(key: string): Promise<Login> };
  }
  const logins = modelOf(`
drs: 1
name: members
dataclasses:
  Login:
    attributes:
      key: { type: string, key: true }
      session: { type: string, indexed: true }
      stamp: integer
`);

  it.each(['class code', 'a client'])(
    'are properties with _ behind them in %s, and have their names elsewhere',
    async (where) => {
      const server = await serverOf(logins);
      try {
        await create(server, 'Login', [{ key: 'k', session: 's', stamp: 7 }]);
        const ds = where === 'class code' ? (server.datastore as Logins) : await clientOf(server);
        const login = await ds.Login.get('k');
        const own = [login.key, login.stamp];
        expect([...own, login.key_, login.stamp_, login.session_]).toEqual(['k', 1, 'k', 7, 's']);
        login.stamp_ = 8;
        login.fromObject({ session: 't' });
        await login.save();
        expect(login.toObject()).toEqual({ key: 'k', session: 't', stamp: 8 });
        const filter = encodeURIComponent('"session = t and stamp = 8 and key = K"');
        const found = await server.inject(`/rest/Login?$filter=${filter}`);
        expect(found.json()).toMatchObject({
          __ENTITIES: [{ __KEY: 'k', __STAMP: 2, key: 'k', session: 't', stamp: 8 }],
        });
      } finally {
        await server.close();
      }
    },
  );

  async function clientOf(server: FastifyInstance): Promise<Logins> {
    const folder = await writeClient(logins);
    const types = readFileSync(join(folder, 'client.d.ts'), 'utf8');
    expect(types).toMatch(
      / {2}readonly key_: string;\n {2}session_: string \| null;\n {2}stamp_: number/,
    );
    const url = await server.listen({ port: 0, host: '127.0.0.1' });
    const { connect } = (await import(pathToFileURL(join(folder, 'client.js')).href)) as {
      connect: (url: string) => Logins;
    };
    return connect(url);
  }
});

describe.each(model.dataclasses)('The dataclass $name', (dataclass) => {
  const key = keyOf(dataclass);
  const keyPath = path(dataclass, `(${encodeURIComponent(String(sample(key)))})`);

  it('returns what was stored', async () => {
    const entity = await get(keyPath);
    expect(entity['__entityModel']).toBe(dataclass.name);
    for (const each of storages(dataclass)) expect(entity[each.name]).toEqual(sample(each));
  });

  it('is listed in the catalog with every attribute', async () => {
    const catalog = await get(`/rest/$catalog/${encodeURIComponent(dataclass.name)}`);
    expect(catalog['dataURI']).toBe(path(dataclass));
    expect((catalog['attributes'] as Json[]).map((each) => each['name'])).toEqual(
      dataclass.attributes.filter((each) => each.exposed).map((each) => each.name),
    );
  });

  it.each(dataclass.attributes.filter((each) => each.exposed))(
    'has an attribute $name that can be listed, as parameter and in the path',
    async ({ name }: Attribute) => {
      const listed = encodeURIComponent(name);
      const entity = await only(path(dataclass, `?$attributes=${listed}`));
      expect(Object.keys(entity)).toEqual(['__KEY', '__TIMESTAMP', '__STAMP', name]);
      expect(Object.keys(await only(path(dataclass, `/${listed}`)))).toContain(name);
      expect(Object.keys(await get(`${keyPath}/${listed}`))).toContain(name);
    },
  );

  it.each(storages(dataclass).filter((each) => !['object', 'vector'].includes(each.type)))(
    'has an attribute $name to filter, order and look up by',
    async (attribute) => {
      const name = encodeURIComponent(attribute.name);
      const value = sample(attribute);
      const inFilter = encodeURIComponent(writtenName(attribute.name));
      const filter = `${inFilter}%20=%20${quoted(value)}`;
      expect(await only(path(dataclass, `?$filter=${filter}`))).toHaveProperty([attribute.name]);
      expect(
        await get(path(dataclass, `?$filter=${inFilter}%20in%20:1&$params=[[]]`)),
      ).toMatchObject({ __COUNT: 0 });
      await only(path(dataclass, `?$orderby=${name}%20desc,__KEY`));
      const lookup = encodeURIComponent(JSON.stringify(value).replace(/^"|"$/g, ''));
      if (typeof value === 'string' && /["\\']/.test(value)) return;
      expect(await get(path(dataclass, `:${name}(${lookup})`))).toHaveProperty([attribute.name]);
    },
  );
});

const relations = model.dataclasses.flatMap((dataclass) =>
  dataclass.attributes
    .filter((each) => each.kind === 'relatedEntity' || each.kind === 'relatedEntities')
    .map((relation) => ({ dataclass, relation, name: `${dataclass.name}.${relation.name}` })),
);

it('Every value of an enum can be stored', async () => {
  for (const dataclass of model.dataclasses) {
    for (const { name, enum: values = [] } of storages(dataclass)) {
      const bodies = values.map((value, i) => ({
        [name]: value,
        ...(keyOf(dataclass).generated ? {} : { [dataclass.key]: 500 + i }),
      }));
      const made = await create(app, dataclass.name, bodies);
      expect(made.map((each) => each[name])).toEqual(values);
    }
  }
});

describe('A relation', () => {
  beforeAll(async () => {
    for (const [index, { dataclass, relation }] of relations.entries()) {
      if (relation.kind !== 'relatedEntity') continue;
      const target = targetOf(model, relation);
      const key = keyOf(dataclass);
      const value = { string: `k ${relation.name}`, integer: 100 + index, uuid: 'F'.repeat(32) };
      const related = sample(keyOf(target));
      const body = { [key.name]: value[key.type as 'string'], [relation.name]: related };
      await create(app, dataclass.name, [body]);
    }
  });

  it.each(relations)('named $name can be followed', async ({ dataclass, relation }) => {
    const target = targetOf(model, relation);
    const name = encodeURIComponent(relation.name);
    const collection = await get(path(dataclass, `?$expand=${name}`));
    const values = (collection['__ENTITIES'] as Json[])
      .map((each) => each[relation.name])
      .filter((each): each is Json => each !== null);
    const found = values.find((each) => each['__COUNT'] !== 0);
    expect(found).toBeDefined();
    expect(found).toHaveProperty(relation.kind === 'relatedEntity' ? '__KEY' : '__ENTITIES');
    const through = `${name}.${encodeURIComponent(target.key)}`;
    const key = quoted(
      relation.kind === 'relatedEntity'
        ? found?.['__KEY']
        : (found?.['__ENTITIES'] as Json[] | undefined)?.[0]?.['__KEY'],
    );
    const inFilter = [relation.name, target.key].map(writtenName).map(encodeURIComponent).join('.');
    const filtered = await get(
      path(dataclass, `?$filter=${inFilter}=${key}&$attributes=${through}`),
    );
    expect(filtered['__COUNT']).toBeGreaterThan(0);
    if (relation.kind === 'relatedEntity') await get(path(dataclass, `?$orderby=${through}`));
    const deferred = await get(path(dataclass, `?$attributes=${name}`));
    for (const each of deferred['__ENTITIES'] as Json[]) {
      const uri = (each[relation.name] as { __deferred: { uri: string } } | null)?.__deferred.uri;
      if (uri !== undefined) await get(uri);
    }
  });
});
