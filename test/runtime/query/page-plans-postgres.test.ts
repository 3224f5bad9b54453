import type { FastifyInstance } from 'fastify';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { describePostgres, postgresDatabase, type TestDatabase } from '../../support/postgres.js';
import { modelOf, serverOf } from '../../support/server.js';

const model = `drs: 1
name: plans
dataclasses:
  Plot:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      size: integer
      trees: { to: Tree, many: true, inverse: plot }
  Tree:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      plot: { to: Plot, foreignKey: plotID }
      plotID: { type: integer, indexed: true }
      leaves: { to: Leaf, many: true, inverse: tree }
  Leaf:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      size: integer
      tree: { to: Tree, inverse: leaves }
`;

/** A node of a plan after it has run. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Actual Loops': number;
  readonly 'Parent Relationship'?: string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

const plots = 60;
const treesOfPlot = 3;
/** More than a page reads to find its rows without an index of keys. */
const leaves = 3_000;

describePostgres('the statement of a page on PostgreSQL', () => {
  let database: TestDatabase;
  let app: FastifyInstance;
  let client: Client;

  beforeAll(async () => {
    database = await postgresDatabase();
    app = await serverOf(
      { ...modelOf(model), databases: ['postgres'] },
      { databaseUrl: database.url, environment: { PAGE_SIZE: '4' } },
    );
    client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(
      `insert into "Plot" ("name", "size", "__TIMESTAMP") select 'plot ' || n, n % 7, '2020-01-01T00:00:00.000Z' from generate_series(1, ${plots}) n`,
    );
    await client.query(
      `insert into "Tree" ("plotID", "__TIMESTAMP") select 1 + n % ${plots}, '2020-01-01T00:00:00.000Z' from generate_series(1, ${plots * treesOfPlot}) n`,
    );
    await client.query(
      `insert into "Leaf" ("size", "tree_id", "__TIMESTAMP") select n % 9, 1 + n % ${plots}, '2020-01-01T00:00:00.000Z' from generate_series(1, ${leaves}) n`,
    );
  });
  afterAll(async () => {
    await client.end();
    await app.close();
    await database.drop();
  });

  interface SentStatement {
    readonly text: string;
    readonly values: unknown[];
  }

  /** The statement of a request. */
  async function statementOf(path: string): Promise<SentStatement> {
    const query = vi.spyOn(Client.prototype, 'query');
    try {
      const response = await app.inject(`/rest/${path}`);
      expect(response.statusCode).toBe(200);
      return query.mock.calls.at(-1)?.[0] as unknown as SentStatement;
    } finally {
      query.mockRestore();
    }
  }

  /** How often the parts of the request's statement that read trees for one plot run. */
  async function readsOfTrees(path: string): Promise<number> {
    const sent = await statementOf(path);
    const { rows } = await client.query<[[{ readonly Plan: PlanNode }]]>({
      text: `explain (analyze, format json) ${sent.text}`,
      values: sent.values,
      rowMode: 'array',
    });
    return loops((rows[0] as [[{ readonly Plan: PlanNode }]])[0][0].Plan);
  }

  it('writes no expansion of an entity that it skips', async () => {
    // One count of trees for each plot would be a second loop.
    expect(await readsOfTrees('Plot?$expand=trees&$top=2')).toBe(2);
    expect(await readsOfTrees('Plot?$expand=trees&$skip=50&$top=2')).toBe(2);
    const filtered = encodeURIComponent('"size > 2"');
    expect(await readsOfTrees(`Plot?$expand=trees&$skip=20&$top=2&$filter=${filtered}`)).toBe(2);
    const ordered = encodeURIComponent('"size desc"');
    expect(await readsOfTrees(`Plot?$expand=trees&$skip=50&$top=2&$orderby=${ordered}`)).toBe(2);
    expect(await readsOfTrees('Plot?$expand=trees&$skip=50&$top=2&$asArray=true')).toBe(2);
  });

  it.each(['', '&$expand=tree', '&$asArray=true', '&$filter=size<8'])(
    'has the rows of a page wherever it is: %s',
    async (parameters) => {
      const filtered = parameters.includes('$filter');
      const all = Array.from({ length: leaves }, (_, index) => index + 1).filter(
        (n) => !filtered || n % 9 < 8,
      );
      for (const skip of [0, 1, 120, 127, 1_020, 1_024, 2_000, all.length - 3, all.length]) {
        const body = (
          await app.inject(`/rest/Leaf?$skip=${skip}&$top=7${parameters}`)
        ).json<unknown>();
        const list = (
          Array.isArray(body) ? body : (body as { __ENTITIES: unknown[] }).__ENTITIES
        ) as {
          readonly ID: number;
        }[];
        expect(list.map(({ ID }) => ID)).toEqual(all.slice(skip, skip + 7));
      }
    },
  );

  it.each(['Leaf?$skip=20&$top=7', 'Leaf?$skip=2000&$top=7', 'Leaf?$skip=20&$top=7&$expand=tree'])(
    'is not planned for each run: %s',
    async (path) => {
      const { text, values } = await statementOf(path);
      for (let run = 0; run < 10; run += 1) await client.query({ name: path, text, values });
      const { rows } = await client.query(
        'select generic_plans::int, custom_plans::int from pg_prepared_statements where name = $1',
        [path],
      );
      expect(rows).toEqual([{ generic_plans: 5, custom_plans: 5 }]);
    },
  );

  it('counts related entities only if they fill a page', async () => {
    await client.query(
      `insert into "Tree" ("plotID", "__TIMESTAMP") select 7, '2020-01-01T00:00:00.000Z' from generate_series(1, 3)`,
    );
    // Plot 7 has six trees, of which a page shows four.
    expect(await readsOfTrees('Plot?$expand=trees&$skip=5&$top=3')).toBe(4);
    const page = (await app.inject('/rest/Plot?$expand=trees&$skip=5&$top=3')).json<{
      readonly __ENTITIES: readonly { readonly trees: object }[];
    }>();
    expect(page.__ENTITIES.map(({ trees }) => trees)).toMatchObject([
      { __COUNT: 3, __SENT: 3 },
      { __COUNT: 6, __SENT: 4 },
      { __COUNT: 3, __SENT: 3 },
    ]);
  });
});

function loops(node: PlanNode): number {
  const own = node['Relation Name'] === 'Tree' ? node['Actual Loops'] : 0;
  return (node.Plans ?? []).reduce((sum, each) => sum + loops(each), own);
}
