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
  });
  afterAll(async () => {
    await client.end();
    await app.close();
    await database.drop();
  });

  /** How often the parts of the request's statement that read trees for one plot run. */
  async function readsOfTrees(path: string): Promise<number> {
    const query = vi.spyOn(Client.prototype, 'query');
    let sent: { readonly text: string; readonly values: unknown[] };
    try {
      const response = await app.inject(`/rest/${path}`);
      expect(response.statusCode).toBe(200);
      sent = query.mock.calls.at(-1)?.[0] as unknown as typeof sent;
    } finally {
      query.mockRestore();
    }
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
