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
