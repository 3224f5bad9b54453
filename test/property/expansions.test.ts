import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isLong } from '../support/long.js';
import { describeDatabases } from '../support/databases.js';
import { create, modelOf, serverOf } from '../support/server.js';

const model = `
drs: 1
name: trees
dataclasses:
  Node:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      a: integer
      b: string
      parent: { to: Node, inverse: children }
      children: { to: Node, many: true, inverse: parent }
limits: { pageSize: 20 }
roles: { restrictedByDefault: false }
`;

interface Node {
  readonly a: number | null;
  readonly b: string | null;
  /** A node that was created before. */
  readonly parent: number | null;
}

const nodes = fc.array(
  fc.record({
    a: fc.option(fc.integer({ min: 0, max: 3 })),
    b: fc.option(fc.constantFrom('x', 'y', "q'", '"', ';)')),
    parent: fc.option(fc.nat(), { freq: 8 }),
  }),
  { minLength: 1, maxLength: 14 },
);

interface Condition {
  readonly text: string;
  readonly holds: (node: Node) => boolean;
}

interface Options {
  readonly condition: Condition | undefined;
  readonly quote: '' | '"' | "'";
  readonly order:
    { readonly path: 'a' | 'b' | 'parent.a'; readonly descending: boolean } | undefined;
  readonly top: number | undefined;
  readonly skip: number | undefined;
  readonly inner: Options | undefined;
}

const conditions = fc.oneof(
  fc.integer({ min: 0, max: 3 }).map((n): Condition => {
    return { text: `a = ${n}`, holds: ({ a }) => a === n };
  }),
  fc.integer({ min: 0, max: 3 }).map((n): Condition => {
    return { text: `(a >= ${n} or b = null)`, holds: ({ a, b }) => (a ?? -1) >= n || b === null };
  }),
  fc.constant<Condition>({ text: 'NOT (b = :1)', holds: ({ b }) => b !== ';)' }),
  fc.constant<Condition>({
    text: 'b = null and a < 9',
    holds: ({ a, b }) => b === null && a !== null,
  }),
);

const number = fc.option(fc.nat({ max: 4 }), { nil: undefined });

const { options } = fc.letrec<{ options: Options }>((tie) => ({
  options: fc.record({
    condition: fc.option(conditions, { nil: undefined }),
    quote: fc.constantFrom('', '"', "'"),
    order: fc.option(
      fc.record({
        path: fc.constantFrom('a', 'b', 'parent.a'),
        descending: fc.boolean(),
      }),
      { nil: undefined },
    ),
    top: number,
    skip: number,
    inner: fc.option(tie('options'), { nil: undefined, maxDepth: 2 }),
  }),
}));

function textOf({ condition, quote, order, top, skip, inner }: Options): string {
  const parts = [
    ...(condition === undefined ? [] : [`$filter=${quote}${condition.text}${quote}`]),
    ...(order === undefined ? [] : [`$orderby=${order.path}${order.descending ? ' desc' : ''}`]),
    ...(top === undefined ? [] : [`$top=${top}`]),
    ...(skip === undefined ? [] : [`$skip=${skip}`]),
    ...(inner === undefined ? [] : [`$expand=${textOf(inner)}`]),
  ];
  return parts.length === 0 ? 'children' : `children(${parts.join(';')})`;
}

type Shown = readonly [key: number, children: ShownPage | undefined];

interface ShownPage {
  readonly count: number;
  readonly first: number;
  readonly entities: readonly Shown[];
}

/** The children that an expansion shows, found in memory. */
function expected(all: readonly Node[], parent: number, wanted: Options): ShownPage {
  const { condition, order, top = 20, skip = 0, inner } = wanted;
  const matching = [...all.keys()].filter((index) => {
    const node = all[index] as Node;
    return node.parent === parent && (condition?.holds(node) ?? true);
  });
  const valueOf = (index: number): number | string | null => {
    const node = all[index] as Node;
    if (order?.path !== 'parent.a') return node[order?.path ?? 'a'];
    return node.parent === null ? null : (all[node.parent]?.a ?? null);
  };
  const ordered = [...matching].sort((one, other) => {
    if (order === undefined) return one - other;
    const compared = compare(valueOf(one), valueOf(other));
    return (order.descending ? -compared : compared) || one - other;
  });
  const entities = ordered
    .slice(skip, skip + top)
    .map((index): Shown => [index + 1, inner && expected(all, index, inner)]);
  return { count: matching.length, first: skip, entities };
}

function compare(one: number | string | null, other: number | string | null): number {
  if (one === other) return 0;
  if (one === null || (other !== null && one < other)) return -1;
  return 1;
}

interface Page {
  readonly __COUNT: number;
  readonly __FIRST: number;
  readonly __SENT: number;
  readonly __ENTITIES: readonly { readonly ID: number; readonly children: Page }[];
}

function shown(page: Page, { inner }: Options): ShownPage {
  expect(page.__SENT).toBe(page.__ENTITIES.length);
  return {
    count: page.__COUNT,
    first: page.__FIRST,
    entities: page.__ENTITIES.map((each): Shown => [each.ID, inner && shown(each.children, inner)]),
  };
}

describeDatabases('$expand with options', ({ driver, create: createDatabase }) => {
  let app: FastifyInstance;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const { url, drop } = await createDatabase();
    app = await serverOf({ ...modelOf(model), databases: [driver] }, { databaseUrl: url });
    close = () => app.close().then(drop);
  });
  afterAll(() => close());

  it('shows the related entities that match, in order, with their number', async () => {
    await fc.assert(
      fc.asyncProperty(
        nodes,
        fc.array(options, { minLength: 6, maxLength: 6 }),
        async (raw, all) => {
          const tree = raw.map((each, index): Node => {
            const parent = index === 0 || each.parent === null ? null : each.parent % index;
            return { ...each, parent };
          });
          await app.inject({ method: 'POST', url: '/rest/Node?$method=delete&$filter=ID>0' });
          const keys = await create(
            app,
            'Node',
            tree.map(({ a, b }) => ({ a, b })),
          );
          const offset = Number(keys[0]?.['__KEY']) - 1;
          for (const [index, { parent }] of tree.entries()) {
            if (parent === null) continue;
            const body = { __STAMP: 1, parent: parent + 1 + offset };
            const url = `/rest/Node(${index + 1 + offset})?$method=update`;
            expect((await app.inject({ method: 'POST', url, payload: body })).statusCode).toBe(200);
          }
          for (const wanted of all) {
            const query = { $expand: textOf(wanted), $params: '[";)"]' };
            const found = await app.inject({ url: '/rest/Node', query });
            expect(found.statusCode, `${textOf(wanted)} ${found.body}`).toBe(200);
            const { __ENTITIES } = found.json<Page>();
            for (const [index, each] of __ENTITIES.entries()) {
              const want = expected(tree, index, wanted);
              expect(withOffset(shown(each.children, wanted), -offset), textOf(wanted)).toEqual(
                want,
              );
            }
            const one = await app.inject({ url: `/rest/Node(${1 + offset})`, query });
            expect(one.json()).toMatchObject({ children: __ENTITIES[0]?.children });
          }
        },
      ),
      { numRuns: isLong ? 300 : 25 },
    );
  });
});

function withOffset(page: ShownPage, offset: number): ShownPage {
  const entities = page.entities.map(([key, children]): Shown => [
    key + offset,
    children && withOffset(children, offset),
  ]);
  return { ...page, entities };
}
