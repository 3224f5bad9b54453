import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeDatabases } from '../../support/databases.js';
import { serverOf } from '../../support/server.js';

const model = (...attributes: readonly string[]): string => `
drs: 1
name: music
database: [sqlite, postgres]
dataclasses:
  Track:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      ${attributes.join('\n      ')}
`;

const former = model('title: { type: string }', 'length: { type: integer }');

let databaseUrl: string;

async function serving(
  yaml: string,
  use: (app: FastifyInstance) => Promise<void>,
  logged: string[] = [],
): Promise<void> {
  const stream = { write: (line: string) => void logged.push(line) };
  const app = await serverOf(yaml, { databaseUrl, logger: { level: 'info', stream } });
  try {
    await use(app);
  } finally {
    await app.close();
  }
}

async function save(app: FastifyInstance, body: object): Promise<unknown> {
  const response = await app.inject({ method: 'POST', url: '/rest/Track?$method=update', body });
  return response.json();
}

async function found(app: FastifyInstance, query: string): Promise<unknown> {
  const { __ENTITIES } = (await app.inject(`/rest/Track?${query}`)).json<{
    __ENTITIES: Record<string, unknown>[];
  }>();
  return __ENTITIES.map(({ title, rating }) => ({ title, rating }));
}

describeDatabases('A server of a larger model', ({ create }) => {
  let drop: () => Promise<void>;

  beforeEach(async () => {
    ({ url: databaseUrl, drop } = await create());
    await serving(former, async (app) => {
      for (const title of ['Ébène', 'Zug']) await save(app, { title, length: 60 });
    });
  });
  afterEach(() => drop());

  const larger = `${model(
    'title: { type: string, indexed: true }',
    'length: { type: integer, indexed: true }',
    'rating: { type: integer, min: 0, max: 5, default: 0 }',
    'minutes: { computed: integer, expression: "length / 60" }',
    'reviews: { to: Review, many: true, inverse: track }',
  )}
  Review:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      track: { to: Track }
`;

  it('finds the data of the former model, and adds the defaults of new attributes', async () => {
    const logged: string[] = [];
    await serving(
      larger,
      async (app) => {
        expect(await save(app, { title: 'new' })).toMatchObject({ rating: 0 });
        const filter = encodeURIComponent('"title = éBÈNE"');
        expect(await found(app, `$filter=${filter}`)).toEqual([{ title: 'Ébène', rating: 0 }]);
        expect(await found(app, '$orderby="title"')).toHaveLength(3);
        expect(await save(app, { __KEY: '1', __STAMP: 1, rating: 6 })).toHaveProperty('__ERROR');
        expect(await save(app, { __KEY: '1', __STAMP: 1, rating: 5 })).toMatchObject({ rating: 5 });
      },
      logged,
    );
    const lines = logged.join('');
    expect(lines).toContain('In the database, table \\"Review\\" is added.');
    expect(lines).toContain('In the database, table \\"Track\\": column \\"rating\\" is added');
    const later: string[] = [];
    await serving(larger, () => Promise.resolve(), later);
    expect(later.join('')).not.toContain('In the database');
  });

  it('keeps the data of removed parts, and the former server finds it again', async () => {
    const logged: string[] = [];
    await serving(model('name: { type: string }'), () => Promise.resolve(), logged);
    expect(logged.join('')).toContain('column \\"length\\" is kept with 2 values');
    await serving(former, async (app) => {
      expect(await found(app, '')).toEqual([
        { title: 'Ébène', rating: undefined },
        { title: 'Zug', rating: undefined },
      ]);
    });
  });
});
