import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, isOnPostgres, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: plans
dataclasses:
  Tree:
    table: secret_table
    attributes:
      ID: { type: integer, key: true, generated: sequence, column: secret_key }
      species: { type: string, indexed: true, column: secret_species }
      height: { type: number, indexed: true, column: secret_height }
      note: { type: string, column: secret_note }
      planted: { type: date, dateOnly: true, indexed: true }
      extra: { type: object, column: secret_extra }
      hidden: { type: string, exposed: false, indexed: true }
      plot: { to: Plot, foreignKey: secretPlot, inverse: trees }
      secretPlot: { type: integer, exposed: false, column: secret_plot }
      plotName: { alias: plot.name }
      woods: { alias: plot.woods }
      owner: { alias: plot.secretOwner.name }
  Plot:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true }
      trees: { to: Tree, many: true, inverse: plot }
      secretOwner: { to: SecretPerson, exposed: false }
      forest: { to: Forest, inverse: plots }
      woods: { alias: forest.code }
  Forest:
    attributes:
      code: { type: string, key: true }
      plots: { to: Plot, many: true, inverse: forest }
  SecretPerson:
    exposed: false
    attributes:
      code: { type: string, key: true }
      name: { type: string, indexed: true }
`;

interface Step {
  readonly description?: string;
  readonly time?: number;
  readonly recordsfounds?: number;
  readonly steps?: readonly Step[];
}

interface Answer {
  readonly __COUNT: number;
  readonly __queryPlan: unknown;
  readonly __queryPath: { readonly steps: readonly Step[] };
}

let app: FastifyInstance;
let statements = 0;

beforeAll(async () => {
  app = await serverOf(model, {
    onStatement: () => {
      statements += 1;
    },
  });
  await create(app, 'Forest', [{ code: 'Wald' }]);
  await create(app, 'Plot', [{ name: 'north', forest: 'Wald' }, { name: 'south' }]);
  await create(app, 'Tree', [
    { species: 'Oak', height: 3, plot: 1, extra: { tags: [{ x: 1 }, { x: 2 }] } },
    { species: 'oak', height: 30, plot: 2, note: 'tall' },
    { species: 'Elm', height: 20, plot: 1, planted: '2020-01-02' },
    { species: 'Ash', height: 1 },
  ]);
});

afterAll(() => app.close());

async function ask(address: string): Promise<{ readonly text: string; readonly answer: Answer }> {
  const url = `/rest/${encodeURI(address)}&$queryplan=true&$querypath=true&$attributes=ID`;
  const response = await app.inject({ method: 'GET', url });
  expect(response.statusCode, response.body).toBe(200);
  return { text: response.body, answer: response.json() };
}

function found(steps: readonly Step[]): readonly unknown[] {
  return steps.map(({ description, recordsfounds, steps: parts }) => [
    ...(description === undefined ? [] : [description, recordsfounds]),
    ...(parts === undefined ? [] : [found(parts)]),
  ]);
}

describe('The query path', () => {
  it('is for the example of the protocol what the protocol shows', async () => {
    const { answer } = await ask('Tree?$filter="plot.name = north and species = Oak"');
    expect(answer.__queryPlan).toMatchObject({
      And: [
        {
          item: 'Join on Table : Plot : Tree.plot = Plot.ID',
          subquery: [{ item: '[index : Plot.name ] = north' }],
        },
        // The database chooses which of the two comes first.
        {},
      ],
    });
    expect(JSON.stringify(answer.__queryPlan)).toMatch(
      /"item":"(\[index : Tree\.species \]|Tree\.species) = Oak"/,
    );
    const [root] = answer.__queryPath.steps;
    expect(root).toMatchObject({ description: 'AND', recordsfounds: 1 });
    expect(root?.steps?.map((step) => step.recordsfounds)).toEqual([2, 2]);
    expect(found(root?.steps?.[0]?.steps ?? [])).toEqual([[[['[index : Plot.name ] = north', 1]]]]);
  });

  it('measures each step', async () => {
    const { answer } = await ask('Tree?$filter="height > 2 or not (species = elm)"');
    const steps = [...answer.__queryPath.steps];
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      expect(step.time).toBeGreaterThanOrEqual(0);
      expect(step.time).toBeLessThan(60_000);
      steps.push(...(step.steps ?? []));
    }
    expect(found(answer.__queryPath.steps)).toEqual([
      [
        'OR',
        4,
        [
          [expect.stringContaining('> 2'), 3],
          ['NOT', 3, [[expect.stringContaining('= elm'), 1]]],
        ],
      ],
    ]);
  });

  it('shows for a key, a range, a prefix, null and a list whether an index finds them', async () => {
    const items: readonly (readonly [string, string])[] = [
      ['ID = 2', '[index : Tree.ID ] = 2'],
      ['__KEY = 2', '[index : Tree.__KEY ] = 2'],
      ['__STAMP = 1', 'Tree.__STAMP = 1'],
      ['height >= 1.50', '[index : Tree.height ] >= 1.50'],
      ['species begin o', '[index : Tree.species ] begin o'],
      ['species contains o', 'Tree.species contains o'],
      ['species = null', '[index : Tree.species ] = null'],
      ['species != Oak', 'Tree.species != Oak'],
      // PostgreSQL reads all of such a small table.
      [
        "species in ['Oak', 'Elm']",
        `${isOnPostgres ? 'Tree.species' : '[index : Tree.species ]'} in ["Oak","Elm"]`,
      ],
      ['note = tall', 'Tree.note = tall'],
      ['planted = 2020-01-02', '[index : Tree.planted ] = 2020-01-02'],
      ['extra.tags[a].x = 1', 'Tree.extra.tags[a].x = 1'],
      ['plot = 1', '[index : Tree.plot ] = 1'],
      ['owner = x', 'Tree.owner = x'],
    ];
    for (const [filter, item] of items) {
      const { answer } = await ask(`Tree?$filter="${filter}"`);
      expect(answer.__queryPlan, filter).toEqual({ item });
    }
  });

  it('groups the comparisons of one related entity, and separates those of another one', async () => {
    const filter = 'trees.species = elm and trees.height > 9 and trees{2}.species = oak';
    const { answer } = await ask(`Plot?$filter="${filter}"`);
    expect(answer.__COUNT).toBe(1);
    const join = 'Join on Table : Tree : Plot.trees';
    expect(answer.__queryPlan).toMatchObject({
      And: [
        { item: `${join} = Tree.ID`, subquery: [{}, {}] },
        { item: `${join}{2} = Tree.ID`, subquery: [{}] },
      ],
    });
    const [root] = answer.__queryPath.steps;
    expect(root?.steps?.map((step) => step.recordsfounds)).toEqual([1, 2]);
  });

  it('never shows tables, columns or hidden attributes', async () => {
    for (const filter of [
      'plot.name = north and species = Oak and plotName = north',
      'species begin o or height > 3 or ID < 3 or note = x or extra.a = 1',
      'not (plot = 1) and owner != x',
      'plot = null and plotName = null',
    ]) {
      const { text } = await ask(`Tree?$filter="${filter}"`);
      expect(text).not.toMatch(/secret/i);
      expect(text).not.toMatch(/__folded|\bt\d\b|rowid|INDEX|select/);
    }
    const refused = await app.inject({ url: '/rest/Tree?$filter="hidden=a"&$queryplan=true' });
    expect(refused.statusCode).toBe(400);
  });

  it('shows an alias as it is written, without the index that its path has', async () => {
    for (const [name, count] of [
      ['plotName = north', 2],
      ['woods = wald', 2],
      ['plotName = null', 1],
    ] as const) {
      const { answer } = await ask(`Tree?$filter="${name}"`);
      expect(answer.__queryPlan).toEqual({ item: `Tree.${name}` });
      expect(found(answer.__queryPath.steps)).toEqual([[`Tree.${name}`, count]]);
    }
    const behind = await ask('Tree?$filter="plot.woods = wald"');
    expect(behind.answer.__queryPlan).toEqual({
      item: 'Join on Table : Plot : Tree.plot = Plot.ID',
      subquery: [{ item: 'Plot.woods = wald' }],
    });
  });

  it('shows != over a to-many relation as NOT', async () => {
    const { answer } = await ask('Plot?$filter="trees.plotName != north"');
    expect(answer.__queryPlan).toEqual({
      Not: [
        {
          item: 'Join on Table : Tree : Plot.trees = Tree.ID',
          subquery: [{ item: 'Tree.plotName = north' }],
        },
      ],
    });
    expect(answer.__queryPath.steps[0]).toMatchObject({ description: 'NOT', recordsfounds: 1 });
  });

  it('shows no index for an alias that passes through hidden attributes', async () => {
    const { text, answer } = await ask('Tree?$filter="owner = x"');
    expect(answer.__queryPlan).toEqual({ item: 'Tree.owner = x' });
    expect(text).not.toMatch(/secret/i);
  });

  it('shows values from $params, and truncates long ones without splitting a character', async () => {
    const long = `${'x'.repeat(99)}${'😀'.repeat(100)}`;
    const { answer } = await ask(`Tree?$filter="species = :1"&$params=["${long}"]`);
    expect(answer.__queryPlan).toEqual({ item: `[index : Tree.species ] = ${'x'.repeat(99)}...` });
    const hostile = await ask(`Tree?$filter="note = :1"&$params=["\\"}],\\u0000"]`);
    expect(hostile.answer.__queryPlan).toEqual({ item: 'Tree.note = "}],\u0000' });
  });

  it('shows the index that finds related entities by a text key', async () => {
    const { answer } = await ask(`Forest(Wald)/plots?$expand=plots`);
    expect(answer.__queryPlan).toEqual({ item: '[index : Forest.plots ] = wald' });
  });

  it('measures a filter with many steps as a whole', async () => {
    const filter = Array.from({ length: 60 }, (_, index) => `height = ${index}`).join(' or ');
    statements = 0;
    const { answer } = await ask(`Tree?$filter="${filter}"`);
    expect(statements).toBeLessThan(5);
    expect(found(answer.__queryPath.steps)).toEqual([['OR', 4]]);
  });

  it('costs nothing when it is not requested', async () => {
    await app.inject({ url: '/rest/Tree?$filter="height > 2"' });
    statements = 0;
    const { body } = await app.inject({ url: '/rest/Tree?$filter="height > 2"&$queryplan=false' });
    expect(statements).toBe(1);
    expect(body).not.toContain('__query');
  });

  it('counts at the root the same as the answer', async () => {
    for (const filter of [
      'species = oak except height = 3',
      'not (species = oak or height = 20) or plot.trees.height > 25',
      'plot.trees{2}.height != 3 and plot.trees.species = elm',
      'plot.trees.species != elm and (species = oak or (height > 1 and height < 30))',
      'extra.tags[].x = 2 or planted = null',
      'plot = 1.5 or plot != 1.5',
    ]) {
      const { answer } = await ask(`Tree?$filter="${filter}"`);
      expect(answer.__queryPath.steps[0]?.recordsfounds, filter).toBe(answer.__COUNT);
      const { answer: related } = await ask(`Plot(1)/trees?$expand=trees&$filter="${filter}"`);
      expect(related.__queryPath.steps[0]?.recordsfounds, filter).toBe(related.__COUNT);
    }
  });
});
