import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';

const model = `drs: 1
name: expansions
dataclasses:
  Plot:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      trees: { to: Tree, many: true, inverse: plot }
  Tree:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      species: string
      height: number
      plot: { to: Plot }
roles: { restrictedByDefault: false }
`;

interface Page<T> {
  readonly __ENTITIES?: readonly T[];
}

interface Owner {
  readonly trees?: Page<{ readonly ID: number }>;
}

describe('The statement of $expand with options', () => {
  const statements: string[] = [];
  let app: FastifyInstance;

  beforeAll(async () => {
    app = await serverOf(model, { onStatement: (sql) => statements.push(sql) });
    await create(app, 'Plot', [{}, {}]);
    const species = ['oak', "o'ak", 'elm', '1); drop table "Tree"; --'];
    await create(
      app,
      'Tree',
      species.map((each, index) => ({ species: each, height: index, plot: 1 })),
    );
  });
  afterAll(() => app.close());

  async function trees(
    expand: string,
    from = 'Plot(1)',
  ): Promise<{ readonly sql: string; readonly found: unknown }> {
    statements.length = 0;
    const response = await app.inject({ url: `/rest/${from}`, query: { $expand: expand } });
    expect(response.statusCode, response.body).toBe(200);
    const reads = statements.filter((each) => !each.startsWith('select count(*)'));
    expect(reads).toHaveLength(1);
    const { trees: own, __ENTITIES: all = [] } = response.json<Owner & Page<Owner>>();
    const shown = own ?? all[0]?.trees;
    return { sql: reads[0] ?? '', found: shown?.__ENTITIES?.map(({ ID }) => ID) };
  }

  it.each(['Plot', 'Plot(1)'])('is one for all values, which it binds, of %s', async (from) => {
    const oak = await trees('trees($filter="species = oak";$skip=0)', from);
    expect(oak.found).toEqual([1]);
    const hostile = await trees(
      `trees($filter='species = "1); drop table \\"Tree\\"; --"';$skip=0)`,
      from,
    );
    expect(hostile.found).toEqual([4]);
    const quoted = await trees(`trees($filter=species = "o'ak";$skip=1)`, from);
    expect(quoted.found).toEqual([]);
    expect(new Set([oak.sql, hostile.sql, quoted.sql]).size).toBe(1);
    expect(oak.sql).not.toMatch(/oak|drop/);
  });

  it.each([
    ['500 conditions, also with null', 'height = null', 300, /more than 500 conditions/],
    ['1000 followed relations', 'plot.trees.plot.trees.ID = 1', 200, /\$expand together follow/],
  ])('has filters of at most %s', async (_most, condition, times, message) => {
    const filter = Array.from({ length: times }, () => condition).join(' or ');
    const inside = `plot($expand=trees($filter="${filter}"))`;
    const ask = (expand: string): Promise<{ readonly statusCode: number; readonly body: string }> =>
      app.inject({ url: '/rest/Plot(1)', query: { $expand: expand, $attributes: 'ID' } });
    const alone = await ask(`trees($expand=${inside})`);
    expect(alone.statusCode, alone.body).toBe(200);
    const both = await ask(`trees($filter="${filter}";$expand=${inside})`);
    expect([both.statusCode, both.body]).toEqual([400, expect.stringMatching(message)]);
  });

  it('sorts keys only, and makes the JSON of the shown entities', async () => {
    const { sql, found } = await trees('trees($orderby=height desc;$top=2)');
    expect(found).toEqual([4, 3]);
    expect(sql).toMatch(/\(select "t\d+"."ID" as "key" .* order by .* limit 2\)/);
  });
});
