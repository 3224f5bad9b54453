import Database from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { create, serverOf } from '../../support/server.js';
import { itLong } from '../../support/long.js';

const model = `drs: 1
name: sets
dataclasses:
  Plot:
    attributes:
      code: { type: string, key: true }
      trees: { to: Tree, many: true, inverse: plot }
  Tree:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      species: { type: string, indexed: true }
      height: number
      plot: { to: Plot }
`;

interface Collection {
  readonly __ENTITYSET?: string;
  readonly __COUNT: number;
  readonly __SENT: number;
  readonly __FIRST: number;
  readonly __entityModel: string;
  readonly __DATACLASS?: string;
  readonly __ENTITIES: readonly { readonly __KEY?: string; readonly __STAMP: number }[];
}

let folder: string;
let app: FastifyInstance;

async function start(environment: Record<string, string> = {}): Promise<void> {
  const databaseUrl = `sqlite:${join(folder, 'data.sqlite')}`;
  app = await serverOf(model, { databaseUrl, environment });
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'drs-sets-'));
  await start();
  await create(app, 'Plot', [{ code: 'Ä' }, { code: 'b' }]);
  await create(app, 'Tree', [
    { species: 'Oak', height: 9, plot: 'Ä' },
    { species: 'Elm', height: 3, plot: 'Ä' },
    { species: 'oak', height: 5, plot: 'b' },
    { species: 'Fir', height: 7 },
  ]);
});

afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true });
});

async function get(url: string): Promise<Collection> {
  const response = await app.inject(url);
  expect(response.statusCode, response.body).toBe(200);
  return response.json();
}

async function codesOf(url: string): Promise<readonly [number, ...number[]]> {
  const response = await app.inject(url);
  const { __ERROR: errors } = response.json<{
    readonly __ERROR: readonly { readonly errCode: number }[];
  }>();
  return [response.statusCode, ...errors.map((each) => each.errCode)];
}

function keysOf({ __ENTITIES: entities }: Collection): readonly (string | undefined)[] {
  return entities.map((each) => each.__KEY);
}

/** Creates a set and returns its address. */
async function made(query: string): Promise<string> {
  const { __ENTITYSET: uri } = await get(`/rest/Tree?$method=entityset&${query}`);
  return String(uri);
}

async function post(url: string, payload?: unknown): Promise<unknown> {
  const response = await app.inject({
    method: 'POST',
    url,
    ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
  });
  return response.json();
}

describe('The creation of an entity set', () => {
  it('answers the URI first, then the requested page; the set is complete', async () => {
    const response = await app.inject(
      '/rest/Tree?$method=entityset&$skip=1&$top=2&$attributes=species',
    );
    expect(response.body).toMatch(
      /^\{"__ENTITYSET":"\/rest\/Tree\/\$entityset\/[0-9A-F]{32}","__DATACLASS":"Tree","__entityModel":"Tree","__GlobalStamp":\d+,"__COUNT":4,"__SENT":2,"__FIRST":1,/,
    );
    const created: Collection = response.json();
    expect(keysOf(created)).toEqual(['2', '3']);
    expect(keysOf(await get(String(created.__ENTITYSET)))).toEqual(['1', '2', '3', '4']);
  });

  it('creates a new set each time', async () => {
    expect(await made('')).not.toBe(await made(''));
  });

  it('uses the order of keys without $orderby, even if an index serves the filter', async () => {
    const uri = await made("$filter=species>'a'");
    expect(keysOf(await get(uri))).toEqual(['1', '2', '3', '4']);
  });

  it('keeps the order', async () => {
    const uri = await made('$orderby=height desc&$filter=height>3');
    expect(keysOf(await get(uri))).toEqual(['1', '4', '3']);
    expect(keysOf(await get(`${uri}?$skip=1&$top=1`))).toEqual(['4']);
  });

  it('accepts the entities of a relation, with an order, and text keys in another case', async () => {
    for (const key of ['Ä', 'ä']) {
      const created = await get(
        `/rest/Plot(${encodeURIComponent(key)})/trees?$expand=trees&$method=subentityset&$subOrderby=species DESC`,
      );
      expect(created).toMatchObject({ __entityModel: 'Tree', __COUNT: 2 });
      expect(created.__ENTITYSET).toMatch(/^\/rest\/Tree\/\$entityset\//);
      expect(keysOf(created)).toEqual(['1', '2']);
      expect(keysOf(await get(String(created.__ENTITYSET)))).toEqual(['1', '2']);
    }
    expect(await codesOf('/rest/Plot(nobody)/trees?$method=subentityset')).toEqual([404, 1543]);
    expect(await codesOf('/rest/Tree(1)/plot?$method=subentityset')).toEqual([400, 1815]);
    expect(await codesOf('/rest/Tree?$method=subentityset')).toEqual([400, 1815]);
    expect(await codesOf('/rest/Tree(1)?$method=entityset')).toEqual([400, 1813]);
  });

  it('stores text keys as the entities have them', async () => {
    const { __ENTITYSET: uri } = await get('/rest/Plot?$method=entityset&$orderby=code desc');
    expect(keysOf(await get(String(uri)))).toEqual(['Ä', 'b']);
  });

  it('works with POST, too', async () => {
    expect(await post('/rest/Tree?$method=entityset')).toMatchObject({ __COUNT: 4 });
    expect(await post('/rest/Plot(b)/trees?$method=subentityset')).toMatchObject({ __COUNT: 1 });
    const uri = await made('');
    expect(await post(`${uri}?$method=entityset&$filter=height<4`)).toMatchObject({ __COUNT: 1 });
  });

  it('is refused for a wrong parameter before a set exists', async () => {
    expect(await codesOf('/rest/Tree?$method=entityset&$filter=none=1')).toEqual([400, 1500, 1162]);
    const wanted = '$method=entityset&$savedfilter=true';
    expect(await codesOf(`/rest/Tree?${wanted}&$attributes=none`)).toEqual([400, 1500, 1804]);
    expect(await codesOf(`/rest/Tree?${wanted}&$expand=none`)).toEqual([400, 1500, 1805]);
    expect(await codesOf(`/rest/Tree/none?${wanted}`)).toEqual([404, 1500, 1804]);
    const tooMany = '$expand=plot.trees.plot.trees&$top=9999';
    expect(await codesOf(`/rest/Tree?${wanted}&${tooMany}`)).toEqual([400, 1805]);
    expect(await codesOf(`/rest/Tree?${wanted}&$top=10001`)).toEqual([400, 1806]);
    const database = new Database(join(folder, 'data.sqlite'), { readonly: true });
    try {
      expect(database.prepare('select count(*) from "__entityset"').pluck().get()).toBe(0);
    } finally {
      database.close();
    }
  });
});

describe('A read of an entity set', () => {
  it('filters and orders the answer, not the set', async () => {
    const uri = await made('$orderby=height');
    expect(keysOf(await get(uri))).toEqual(['2', '3', '4', '1']);
    expect(keysOf(await get(`${uri}?$filter=species=oak`))).toEqual(['3', '1']);
    expect(keysOf(await get(`${uri}?$orderby=ID desc&$top=2`))).toEqual(['4', '3']);
    expect(keysOf(await get(`${uri}?$filter=height>3&$orderby=ID desc`))).toEqual(['4', '3', '1']);
    expect(keysOf(await get(uri))).toEqual(['2', '3', '4', '1']);
  });

  it('supports attribute lists and expansion', async () => {
    const uri = await made('$filter=ID=1');
    const id = uri.slice(uri.lastIndexOf('/'));
    expect((await get(`/rest/Tree/species/$entityset${id}`)).__ENTITIES).toEqual([
      { __KEY: '1', __STAMP: 1, species: 'Oak' },
    ]);
    expect((await get(`${uri}?$attributes=plot.code`)).__ENTITIES[0]).toMatchObject({
      plot: { __KEY: 'Ä', code: 'Ä' },
    });
    expect(await codesOf(`/rest/Tree/none/$entityset${id}`)).toEqual([404, 1500, 1804]);
  });

  it('shows deleted members as undefined, counts them, and removes them with $clean', async () => {
    const uri = await made('$orderby=height');
    expect(await post('/rest/Tree(3)?$method=delete')).toEqual({ ok: true });
    const read = await get(`${uri}?$expand=plot&$attributes=species`);
    expect(read).toMatchObject({ __COUNT: 4, __SENT: 4 });
    expect(read.__ENTITIES[1]).toEqual({ __STAMP: 0 });
    expect(keysOf(await get(`${uri}?$orderby=ID desc`))).toEqual(['4', '2', '1', undefined]);
    expect(keysOf(await get(`${uri}?$filter=ID>0`))).toEqual(['2', '4', '1']);
    expect(await get(`${uri}?$clean=true`)).toMatchObject({ __COUNT: 3 });
    const clean = await get(`${uri}?$clean=true&$method=entityset`);
    expect(clean.__ENTITYSET).not.toBe(uri);
    expect(keysOf(await get(String(clean.__ENTITYSET)))).toEqual(['2', '4', '1']);
    expect(await get(uri)).toMatchObject({ __COUNT: 4 });
  });

  it('returns aggregates, lists of values, bare lists and reports of its members', async () => {
    const uri = await made('$filter=ID<4&$orderby=height');
    const id = uri.slice(uri.lastIndexOf('/'));
    const body = async (url: string): Promise<unknown> => (await app.inject(url)).json();
    expect(await body(`/rest/Tree/height/$entityset${id}?$compute=sum`)).toBe(17);
    expect(await body(`/rest/Tree/height/$entityset${id}?$compute=max&$filter=species=elm`)).toBe(
      3,
    );
    expect(await body(`/rest/Tree/species/$entityset${id}?$distinct=true`)).toEqual(['Elm', 'Oak']);
    expect(await body(`/rest/Tree/height/$entityset${id}?$asArray=true&$skip=1`)).toEqual([
      { __KEY: { ID: 3, __STAMP: 1 }, height: 5 },
      { __KEY: { ID: 1, __STAMP: 1 }, height: 9 },
    ]);
    expect(await body(`/rest/Tree/height/$entityset${id}?$format=looker&$top=2`)).toMatchObject({
      __COUNT: 3,
      __FIRST: 0,
      rows: [{ values: [3] }, { values: [5] }],
      filtersApplied: false,
    });
    expect(await body(`${uri}?$format=looker&$filter=height>4&$attributes=ID`)).toMatchObject({
      __COUNT: 2,
      rows: [{ values: [3] }, { values: [1] }],
      filtersApplied: true,
    });
    expect(await codesOf(`${uri}?$method=entityset&$format=looker`)).toEqual([400, 1806]);
    expect(await codesOf('/rest/Tree?$method=entityset&$asArray=true')).toEqual([400, 1806]);
    expect(await codesOf(`${uri}?$compute=sum`)).toEqual([400, 1816]);
  });

  it('can create a set from a part of a set', async () => {
    const uri = await made('$orderby=height');
    const part = await get(`${uri}?$filter=height>3&$method=entityset`);
    expect(keysOf(await get(String(part.__ENTITYSET)))).toEqual(['3', '4', '1']);
    expect(await codesOf(`${uri}?$method=entityset&$savedfilter=true`)).toEqual([400, 1806]);
  });

  it('ignores the method that old clients send with each page', async () => {
    const uri = await made('');
    const read = await get(`${uri}?$method=subentityset&$subOrderby=ID desc&$top=1`);
    expect(read.__ENTITYSET).toBeUndefined();
    expect(keysOf(read)).toEqual(['1']);
  });

  it('answers 404 for sets of other dataclasses and for unknown ones', async () => {
    const uri = await made('');
    const id = uri.slice(uri.lastIndexOf('/') + 1);
    const unknown = '0'.repeat(32);
    for (const address of [
      `Plot/$entityset/${id}`,
      `Tree/$entityset/${unknown}`,
      'Tree/$entityset/x',
    ]) {
      expect(await codesOf(`/rest/${address}`)).toEqual([404, 1802]);
      expect(await codesOf(`/rest/${address}?$method=release`)).toEqual([404, 1802]);
      expect(await codesOf(`/rest/${address}?$clean=true&$method=entityset`)).toEqual([404, 1802]);
    }
    expect(await get(uri.toLowerCase().replace('/rest/tree', '/rest/Tree'))).toMatchObject({
      __COUNT: 4,
    });
    expect((await app.inject(`/rest/Tree/$entityset/${unknown}`)).json()).toMatchObject({
      __ERROR: [{ message: `EntitySet "${unknown}" cannot be found` }],
    });
    const combination = `${uri}?$logicOperator=AND&$otherCollection=${unknown}`;
    expect((await app.inject(combination)).json()).toMatchObject({
      __ERROR: [{ message: `$otherCollection: EntitySet "${unknown}" cannot be found` }],
    });
  });

  it('refuses parameters that need a set if there is none', async () => {
    for (const parameter of [
      '$clean=true',
      '$logicOperator=AND',
      '$otherCollection=x',
      '$subOrderby=ID',
    ]) {
      expect(await codesOf(`/rest/Tree?${parameter}`)).toEqual([400, 1806]);
    }
  });
});

describe('A combination of entity sets', () => {
  it('AND and EXCEPT keep the order of the first, OR appends the rest of the second', async () => {
    const first = await made('$filter=height>4&$orderby=height desc');
    const second = await made('$filter=species=oak OR species=elm&$orderby=ID desc');
    const other = second.slice(second.lastIndexOf('/') + 1);
    const combine = async (operator: string): Promise<readonly (string | undefined)[]> =>
      keysOf(await get(`${first}?$logicOperator=${operator}&$otherCollection=${other}`));
    expect(await combine('and')).toEqual(['1', '3']);
    expect(await combine('OR')).toEqual(['1', '4', '3', '2']);
    expect(await combine('Except')).toEqual(['4']);
    expect(
      (await app.inject(`${first}?$logicOperator=intersect&$otherCollection=${other}`)).body,
    ).toBe('true');
    const set = await get(
      `${first}?$logicOperator=AND&$otherCollection=${other}&$method=entityset&$top=1`,
    );
    expect(set).toMatchObject({ __COUNT: 2, __SENT: 1 });
    expect(keysOf(await get(String(set.__ENTITYSET)))).toEqual(['1', '3']);
    const none = await made('$filter=ID=4');
    expect(
      (await app.inject(`${none}?$logicOperator=INTERSECT&$otherCollection=${other}`)).body,
    ).toBe('false');
  });

  it('INTERSECT reports the common members that match the filter', async () => {
    const first = await made('$filter=height>4');
    const other = (await made('$filter=ID<4')).slice(-32);
    const intersect = async (parameters: string): Promise<unknown> =>
      (
        await app.inject(
          `${first}?$logicOperator=INTERSECT&$otherCollection=${other}&${parameters}`,
        )
      ).json();
    expect(await intersect('$filter=species=oak')).toBe(true);
    expect(await intersect('$filter=species=fir')).toBe(false);
    await post('/rest/Tree?$filter=species=oak&$method=delete');
    expect(await intersect('')).toBe(true);
    expect(await intersect('$clean=true')).toBe(false);
  });

  it.each([
    '$compute=count',
    '$distinct=true',
    '$asArray=true',
    '$format=looker',
    '$queryplan=true',
  ])('INTERSECT does not ignore %s', async (parameter) => {
    const uri = await made('');
    const url = `${uri}?$logicOperator=INTERSECT&$otherCollection=${uri.slice(-32)}&${parameter}`;
    const response = await app.inject(url);
    expect(response.statusCode, response.body).toBe(400);
    expect(response.body).toContain('"errCode":1806');
  });

  it('reports what is wrong', async () => {
    const uri = await made('');
    const { __ENTITYSET: plots } = await get('/rest/Plot?$method=entityset');
    const plotId = String(plots).slice(-32);
    expect(await codesOf(`${uri}?$logicOperator=XOR&$otherCollection=${plotId}`)).toEqual([
      400, 1818,
    ]);
    expect(await codesOf(`${uri}?$logicOperator=constructor&$otherCollection=${plotId}`)).toEqual([
      400, 1818,
    ]);
    expect(await codesOf(`${uri}?$logicOperator=AND`)).toEqual([400, 1819]);
    expect(await codesOf(`${uri}?$otherCollection=${uri.slice(-32)}`)).toEqual([400, 1818]);
    expect(await codesOf(`${uri}?$logicOperator=AND&$otherCollection=${plotId}`)).toEqual([
      404, 1820,
    ]);
  });
});

describe('Release and re-creation of entity sets', () => {
  it('work with both forms of the release', async () => {
    const [one, two, three] = [await made(''), await made(''), await made('')];
    expect((await app.inject(`${one}?$method=release`)).body).toBe('{"ok":true}');
    expect(await codesOf(one)).toEqual([404, 1802]);
    expect(await post(`${two}?$method=release`)).toEqual({ ok: true });
    const body = [three.slice(-32), 'unknown'];
    expect(await post('/rest/$entityset/$release', body)).toEqual({ ok: true });
    expect(await codesOf(three)).toEqual([404, 1802]);
    const get = await app.inject('/rest/$entityset/$release');
    expect([get.statusCode, get.headers.allow]).toEqual([405, 'POST']);
    expect(await post('/rest/$entityset/$release', { a: 1 })).toMatchObject({
      __ERROR: [{ errCode: 1833 }],
    });
    expect(await post('/rest/$entityset/$release', [7])).toMatchObject({
      __ERROR: [{ errCode: 1833 }],
    });
  });

  it('recreate a set from its stored definition, after its release and after a restart', async () => {
    const uri = await made(
      '$filter=height>:1&$params=[4]&$orderby=height desc&$savedfilter=true&$savedorderby=true',
    );
    const onlyOrder = await made('$filter=height>4&$orderby=height desc&$savedorderby=true');
    const onlyFilter = await made('$filter=height>4&$orderby=height desc&$savedfilter=true');
    expect(keysOf(await get(uri))).toEqual(['1', '4', '3']);
    await create(app, 'Tree', [{ species: 'Ash', height: 8 }]);
    expect(keysOf(await get(uri))).toEqual(['1', '4', '3']);
    await get(`${uri}?$method=release`);
    expect(keysOf(await get(uri))).toEqual(['1', '5', '4', '3']);
    await app.close();
    await start();
    expect(keysOf(await get(uri))).toEqual(['1', '5', '4', '3']);
    expect(keysOf(await get(onlyOrder))).toEqual(['1', '5', '4', '3']);
    expect(keysOf(await get(onlyFilter))).toEqual(['1', '3', '4', '5']);
    expect(await codesOf(uri.replace('Tree', 'Plot'))).toEqual([404, 1802]);
  });

  it('delete no more entities than the set of a stored definition had', async () => {
    const uri = await made('$filter=height>4&$orderby=height&$savedorderby=true');
    await get(`${uri}?$method=release`);
    expect(await post(`${uri}?$method=delete`)).toEqual({ ok: true });
    expect(keysOf(await get('/rest/Tree'))).toEqual(['2']);
  });

  it('recreate a set of a relation', async () => {
    const { __ENTITYSET: uri } = await get(
      '/rest/Plot(b)/trees?$method=subentityset&$filter=height>1&$savedfilter=true',
    );
    await create(app, 'Tree', [{ species: 'Ash', height: 8, plot: 'b' }]);
    await get(`${String(uri)}?$method=release`);
    expect(keysOf(await get(String(uri)))).toEqual(['3', '5']);
  });

  it('recreate a set from the definition that the client sends, under its ID', async () => {
    const uri = `/rest/Tree/$entityset/${'AB'.repeat(16)}`;
    const again = `${uri}?$savedfilter=height>4&$savedorderby=height desc`;
    expect(await codesOf(uri)).toEqual([404, 1802]);
    expect(keysOf(await get(again))).toEqual(['1', '4', '3']);
    expect(keysOf(await get(uri))).toEqual(['1', '4', '3']);
    expect(await codesOf(`/rest/Tree/$entityset/short?$savedfilter=height>4`)).toEqual([404, 1802]);
    expect(await codesOf(`/rest/Tree/$entityset/${'C'.repeat(32)}?$savedfilter=none=4`)).toEqual([
      400, 1500, 1162,
    ]);
    expect(await codesOf(uri.replace('Tree', 'Plot'))).toEqual([404, 1802]);
    await get(`${uri}?$method=release`);
    const part = await get(`${again}&$filter=ID>1&$method=entityset`);
    expect(part.__ENTITYSET).not.toBe(uri);
    expect(keysOf(part)).toEqual(['4', '3']);
    expect(keysOf(await get(uri))).toEqual(['1', '4', '3']);
  });

  it('evict sets when the memory is full, and refuse one that can never fit', async () => {
    await app.close();
    await start({ ENTITY_SET_MEMORY: '1200' });
    const first = await made('');
    let later = first;
    for (let i = 0; i < 5; i += 1) later = await made('');
    expect(await codesOf(first)).toEqual([404, 1802]);
    expect(await get(later)).toMatchObject({ __COUNT: 4 });
    await app.close();
    await start();
    const kept = await made('$savedfilter=true');
    await app.close();
    await start({ ENTITY_SET_MEMORY: '1' });
    expect(await codesOf('/rest/Tree?$method=entityset')).toEqual([507, 1839]);
    expect(await codesOf(kept)).toEqual([507, 1839]);
  });

  it('refuse a definition that is too long to be stored, and create no set', async () => {
    const long = 'x'.repeat(9000);
    expect(
      await codesOf(`/rest/Tree?$method=entityset&$savedfilter=true&$filter=species=${long}`),
    ).toEqual([400, 1162]);
    const nested = '['.repeat(20_000) + ']'.repeat(20_000);
    expect(
      await codesOf(`/rest/Tree?$method=entityset&$savedfilter=true&$params=${nested}`),
    ).toEqual([400, 1280]);
  });
});

describe('The lifetime of a served set', () => {
  async function aMinuteLater(look: () => Promise<void>): Promise<void> {
    const real = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + 61_000);
    try {
      await look();
    } finally {
      clock.mockRestore();
    }
  }

  it('is that of the new set, not of the set that it is made from', async () => {
    const uri = await made('$timeout=60');
    const part = await get(`${uri}?$method=entityset&$filter=ID>1&$timeout=7200`);
    await aMinuteLater(async () => {
      expect(await codesOf(uri)).toEqual([404, 1802]);
      expect(await get(String(part.__ENTITYSET))).toMatchObject({ __COUNT: 3 });
    });
  });

  it('can be changed by a later read', async () => {
    const uri = await made('$timeout=60');
    await get(`${uri}?$timeout=7200`);
    await aMinuteLater(async () => {
      expect(await get(uri)).toMatchObject({ __COUNT: 4 });
    });
  });
});

itLong(
  'An order over a large set reads only its members if there are many other entities',
  async () => {
    await app.close();
    const file = join(folder, 'data.sqlite');
    const database = new Database(file);
    database.exec(`
    with recursive n(i) as (select 5 union all select i + 1 from n where i < 930100)
      insert into "Tree" ("ID", "__STAMP", "__TIMESTAMP", "height") select i, 1, '', -i from n;
  `);
    database.close();
    const statements: string[] = [];
    app = await serverOf(model, {
      databaseUrl: `sqlite:${file}`,
      onStatement: (sql) => statements.push(sql),
    });
    for (const [members, isPassed] of [
      [31_000, true],
      [32_000, false],
    ] as const) {
      const uri = await made(`$top=0&$filter=ID<=${members}`);
      statements.length = 0;
      expect(keysOf(await get(`${uri}?$orderby=height&$top=1`))).toEqual([String(members)]);
      const reads = statements.filter((sql) => sql.includes('group_concat("t1"."key")'));
      expect(reads.map((sql) => sql.includes('json_each'))).toEqual([isPassed]);
    }
  },
);
