import Database from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';

const model = `drs: 1
name: counts
dataclasses:
  Plot:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      trees: { to: Tree, many: true, inverse: plot }
  Tree:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      species: { type: string, indexed: true }
      plot: { to: Plot }
`;

interface Page {
  readonly __COUNT?: number;
  readonly __SENT: number;
  readonly __ENTITYSET?: string;
}

/** Each set has an address of its own, and each page of related entities its own count. */
function withoutSets(page: Page): unknown {
  const text = JSON.stringify({ ...page, __ENTITYSET: undefined });
  return JSON.parse(text.replaceAll(/"__COUNT":\d+,/g, ''));
}

/** What the database was asked. */
const statements: string[] = [];

/** The counts that the database computed since the last call. */
const counted: string[] = [];

describe.each(['file', 'memory'])('The count of a selection, in a %s,', (place) => {
  let folder: string;
  let file: string;
  let app: FastifyInstance;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'drs-counts-'));
    file = join(folder, 'data.sqlite');
    const onStatement = (sql: string): void => {
      statements.push(sql);
      if (sql.startsWith('select count(*)')) counted.push(sql);
    };
    const databaseUrl = place === 'file' ? `sqlite:${file}` : 'sqlite::memory:';
    app = await serverOf(model, { databaseUrl, onStatement });
    await create(app, 'Plot', [{ name: 'a' }, { name: 'b' }]);
    await create(app, 'Tree', [{ species: 'Oak', plot: 1 }, { species: 'Elm' }]);
    counted.length = 0;
  });
  afterEach(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  async function count(path: string): Promise<number> {
    const response = await app.inject(`/rest/${path}`);
    return response.json<{ readonly __COUNT: number }>().__COUNT;
  }

  it('is not that of a filter with the same values, of which no integer equals another one', async () => {
    await create(app, 'Plot', [{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
    await create(app, 'Tree', [
      { plot: { __KEY: 1 } },
      { plot: { __KEY: 1 } },
      { plot: { __KEY: 2 } },
    ]);
    const countOf = async (filter: string): Promise<number | undefined> => {
      const url = `/rest/Tree?$filter=${encodeURIComponent(filter)}`;
      return (await app.inject(url)).json<Page>().__COUNT;
    };
    expect(await countOf('"ID = 1 or plot.ID = 1.5"')).toBe(1);
    expect(await countOf('"ID = 1.5 or plot.ID = 1"')).toBe(3);
  });

  it('is neither computed nor sent with $count=false', async () => {
    const pages = [
      ['Tree', 2],
      ['Tree?$filter=species=oak', 1],
      ['Tree?$orderby=species desc&$top=1', 1],
      ['Plot?$expand=trees', 2],
      ['Plot(1)/trees?$expand=trees', 1],
      ['Plot(2)/trees?$expand=trees', 0],
      ['Tree?$method=entityset', 2],
      ['Plot?$expand=trees&$method=entityset', 2],
    ] as const;
    for (const [path, sent] of pages) {
      const url = `/rest/${path}${path.includes('?') ? '&' : '?'}$count=false`;
      const { __COUNT, ...counted } = (await app.inject(url.replace('false', 'true'))).json<Page>();
      statements.length = 0;
      const { statusCode, body } = await app.inject(url);
      expect([statusCode, __COUNT], url).toEqual([200, expect.any(Number)]);
      expect(body, url).not.toContain('__COUNT');
      expect(statements.filter((each) => /count\(\*\) from|^select count/.test(each))).toEqual([]);
      const uncounted = JSON.parse(body) as Page;
      expect(uncounted.__SENT, url).toBe(sent);
      expect(withoutSets(uncounted), url).toEqual(withoutSets(counted));
    }
    const made = await app.inject('/rest/Tree?$method=entityset&$count=false');
    const { __ENTITYSET: set = '' } = made.json<Page>();
    expect((await app.inject(`${set}?$count=false`)).body).not.toContain('__COUNT');
    expect((await app.inject(set)).json<Page>().__COUNT).toBe(2);
  });

  it('is left out of one entity and of a bare list with $count=false, and belongs to a report', async () => {
    const one = await app.inject('/rest/Plot(1)?$expand=trees&$count=false');
    expect(one.json()).toMatchObject({ trees: { __SENT: 1 } });
    expect(one.body).not.toContain('__COUNT');
    expect((await app.inject('/rest/Plot(1)?$expand=trees')).body).toContain('"__COUNT":1');
    const list = await app.inject('/rest/Plot?$asArray=true&$count=false');
    expect(list.json()).toMatchObject([{ trees: {} }, { trees: {} }]);
    expect(list.body).not.toContain('__COUNT');
    const refused = await app.inject('/rest/Plot?$format=looker&$count=false');
    expect([refused.statusCode, refused.body]).toEqual([400, expect.stringContaining('1806')]);
    const wrong = await app.inject('/rest/Plot?$count=0');
    expect([wrong.statusCode, wrong.body]).toEqual([400, expect.stringContaining('1806')]);
    // The count tells otherwise that the entity does not exist.
    const missing = await app.inject('/rest/Plot(9)/trees?$expand=trees&$count=false');
    expect(missing.statusCode).toBe(404);
  });

  it('is counted separately for numbers out of range', async () => {
    expect(await count('Tree?$filter=ID<1e999')).toBe(2);
    expect(await count('Tree?$filter=ID<-1e999')).toBe(0);
    expect(await count('Tree?$filter=ID<1e999')).toBe(2);
    expect(counted).toHaveLength(2);
  });

  it('is counted once for all pages, and separately for each value', async () => {
    expect(await count('Tree?$filter=species=oak&$top=1')).toBe(1);
    expect(await count('Tree?$filter=species=oak&$top=1&$skip=1')).toBe(1);
    expect(await count("Tree?$filter=species='OAK'&$orderby=ID desc")).toBe(1);
    expect(counted).toHaveLength(1);
    expect(await count('Tree?$filter=species=elm&$top=1')).toBe(1);
    expect(await count('Tree?$filter=species=fir&$top=1')).toBe(0);
    expect(await count('Tree?$filter=species=fir OR species=elm')).toBe(1);
    expect(await count('Tree?$filter=species!=elm')).toBe(1);
    expect(await count('Tree')).toBe(2);
    expect(counted).toHaveLength(6);
  });

  it('is another one for the relation of each entity', async () => {
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await count('Plot(1)/trees?$expand=trees')).toBe(1);
      expect(await count('Plot(2)/trees?$expand=trees')).toBe(0);
      expect((await app.inject('/rest/Plot(3)/trees?$expand=trees')).statusCode).toBe(404);
    }
  });

  it('follows changes of this server', async () => {
    for (let trees = 1; trees < 5; trees += 1) {
      expect(await count('Tree?$filter=species=oak')).toBe(trees);
      expect(await count('Plot(1)/trees?$expand=trees')).toBe(trees);
      await create(app, 'Tree', [{ species: 'oak', plot: 1 }]);
    }
  });

  it('is correct while a batch is being stored', async () => {
    const batch = Array.from({ length: 500 }, () => ({ species: 'ash' }));
    const stored = create(app, 'Tree', batch);
    const numbers = new Set<number>();
    for (let i = 0; i < 20; i += 1) numbers.add(await count('Tree?$filter=species=ash'));
    await stored;
    expect(await count('Tree?$filter=species=ash')).toBe(500);
    expect([...numbers].filter((each) => each !== 0 && each !== 500)).toEqual([]);
  });

  it.runIf(place === 'file')('follows changes of other processes', async () => {
    expect(await count('Tree?$filter=species=elm')).toBe(1);
    const other = new Database(file);
    other
      .prepare(
        `insert into "Tree" ("species", "__folded_species", "__TIMESTAMP") values ('Elm', 'elm', '2020-01-01T00:00:00.000Z')`,
      )
      .run();
    other.close();
    expect(await count('Tree?$filter=species=elm')).toBe(2);
  });
});
