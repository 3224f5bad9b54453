import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import { create, serverOf } from '../support/server.js';
import { sampled } from '../support/long.js';

interface Tree {
  readonly ID: number;
  readonly species: string;
  readonly height: number;
}

interface Collection {
  readonly __ENTITYSET?: string;
  readonly __COUNT: number;
  readonly __SENT: number;
  readonly __ENTITIES: readonly { readonly __KEY?: string; readonly __STAMP: number }[];
}

const model = `drs: 1
name: sets
dataclasses:
  Tree:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      species: { type: string, indexed: true }
      height: integer
`;

const species = ['Oak', 'oak', 'Elm', 'Fir'];

/** A filter of a request, as text and as a function. */
interface Wish {
  readonly query: string;
  readonly matches: ((tree: Tree) => boolean) | undefined;
  readonly order: ((a: Tree, b: Tree) => number) | undefined;
}

const filters: readonly (readonly [string, Wish['matches']])[] = [
  ['', undefined],
  ['&$filter=height>4', ({ height }) => height > 4],
  ['&$filter=species=oak', (tree) => tree.species.toLowerCase() === 'oak'],
  ["&$filter=species!='elm' AND height<=7", (tree) => tree.species !== 'Elm' && tree.height <= 7],
  ['&$filter=ID<0', () => false],
];

const orders: readonly (readonly [string, Wish['order']])[] = [
  ['', undefined],
  ['&$orderby=ID desc', (a, b) => b.ID - a.ID],
  ['&$orderby=height desc', (a, b) => b.height - a.height || a.ID - b.ID],
  [
    '&$orderby=species,height',
    (a, b) =>
      Number(a.species.toLowerCase() > b.species.toLowerCase()) -
        Number(a.species.toLowerCase() < b.species.toLowerCase()) ||
      a.height - b.height ||
      a.ID - b.ID,
  ],
];

const wishes: fc.Arbitrary<Wish> = fc
  .tuple(fc.constantFrom(...filters), fc.constantFrom(...orders))
  .map(([[filter, matches], [order, compare]]) => ({
    query: filter + order,
    matches,
    order: compare,
  }));

/** The server and its expected data. */
class World {
  readonly trees = new Map<number, Tree>();
  readonly sets: { readonly uri: string; readonly keys: readonly number[] }[] = [];

  constructor(readonly app: FastifyInstance) {}

  async plant(count: number): Promise<void> {
    const wanted = Array.from({ length: count }, (_, i) => ({
      species: species[(i * 7 + this.trees.size) % species.length],
      height: (i * 5 + this.trees.size) % 11,
    }));
    const planted = await create(this.app, 'Tree', wanted);
    for (const tree of planted as unknown as readonly Tree[]) this.trees.set(tree.ID, tree);
  }

  async fell(index: number): Promise<void> {
    const keys = [...this.trees.keys()];
    const key = keys[index % keys.length];
    if (key === undefined) return;
    const url = `/rest/Tree(${key})?$method=delete`;
    expect((await this.app.inject({ method: 'POST', url })).json()).toEqual({ ok: true });
    this.trees.delete(key);
  }

  async get(url: string): Promise<Collection> {
    const response = await this.app.inject(url);
    expect(response.statusCode, `${url}: ${response.body}`).toBe(200);
    return response.json();
  }

  set(index: number): World['sets'][number] | undefined {
    return this.sets[index % this.sets.length];
  }

  remember({ __ENTITYSET: uri }: Collection, keys: readonly number[]): void {
    this.sets.push({ uri: String(uri), keys });
  }

  /** The keys of the entities that match a filter. */
  all({ matches = () => true, order = (a, b) => a.ID - b.ID }: Wish): number[] {
    return [...this.trees.values()]
      .filter(matches)
      .sort(order)
      .map(({ ID }) => ID);
  }

  /**
   * The keys of a set that match a filter: deleted entities match none, and come last in an order.
   */
  narrowed(keys: readonly number[], { matches, order }: Wish): readonly number[] {
    if (matches === undefined && order === undefined) return keys;
    const alive = keys.flatMap((key) => this.trees.get(key) ?? []);
    const matching = alive.filter(matches ?? (() => true));
    const sorted = (order === undefined ? matching : [...matching].sort(order)).map(({ ID }) => ID);
    const gone = keys.filter((key) => !this.trees.has(key));
    return matches === undefined ? [...sorted, ...gone] : sorted;
  }

  /** The expected entities of an answer: keys, and `undefined` for deleted ones. */
  shown(keys: readonly number[]): readonly (string | undefined)[] {
    return keys.map((key) => (this.trees.has(key) ? String(key) : undefined));
  }
}

function keysOf({ __ENTITIES: entities }: Collection): readonly (string | undefined)[] {
  return entities.map((each) => each.__KEY);
}

/** A step of a sequence; its text describes a failure. */
type NamedStep = readonly [text: string, step: (world: World) => Promise<void>];

function named(...step: NamedStep): NamedStep {
  return step;
}

const index = fc.nat({ max: 1000 });

const steps: fc.Arbitrary<NamedStep> = fc.oneof(
  fc.nat({ max: 3 }).map((count) => named(`plant ${count}`, (world) => world.plant(count))),
  index.map((at) => named(`fell ${at}`, (world) => world.fell(at))),
  wishes.map((wish) => named(`make ${wish.query}`, (world) => make(world, wish))),
  fc
    .tuple(index, wishes, fc.nat({ max: 12 }), fc.nat({ max: 12 }), fc.boolean())
    .map(([at, wish, skip, top, makes]) =>
      named(`read ${at} ${wish.query} ${skip} ${top} ${String(makes)}`, (world) =>
        read(world, at, wish, skip, top, makes),
      ),
    ),
  fc
    .tuple(fc.constantFrom('AND', 'OR', 'EXCEPT', 'INTERSECT'), index, index, fc.boolean())
    .map(([operator, one, other, makes]) =>
      named(`${operator} ${one} ${other} ${String(makes)}`, (world) =>
        combine(world, operator, one, other, makes),
      ),
    ),
  index.map((at) => named(`clean ${at}`, (world) => clean(world, at))),
  index.map((at) => named(`release ${at}`, (world) => release(world, at))),
);

async function make(world: World, wish: Wish): Promise<void> {
  const answer = await world.get(`/rest/Tree?$method=entityset${wish.query}`);
  const keys = world.all(wish);
  expect(keysOf(answer)).toEqual(world.shown(keys));
  world.remember(answer, keys);
}

async function read(
  world: World,
  at: number,
  wish: Wish,
  skip: number,
  top: number,
  makes: boolean,
): Promise<void> {
  const set = world.set(at);
  if (set === undefined) return;
  const method = makes ? '&$method=entityset' : '';
  const answer = await world.get(`${set.uri}?$skip=${skip}&$top=${top}${wish.query}${method}`);
  const keys = world.narrowed(set.keys, wish);
  expect(keysOf(answer)).toEqual(world.shown(keys.slice(skip, skip + top)));
  expect(answer.__COUNT).toBe(keys.length);
  if (makes) world.remember(answer, keys);
}

async function combine(
  world: World,
  operator: string,
  one: number,
  other: number,
  makes: boolean,
): Promise<void> {
  const [first, second] = [world.set(one), world.set(other)];
  if (first === undefined || second === undefined) return;
  const query = `$logicOperator=${operator}&$otherCollection=${second.uri.slice(-32)}`;
  const common = first.keys.filter((key) => second.keys.includes(key));
  if (operator === 'INTERSECT') {
    expect(await world.get(`${first.uri}?${query}`)).toBe(common.length > 0);
    return;
  }
  const keys =
    operator === 'AND'
      ? common
      : operator === 'OR'
        ? [...first.keys, ...second.keys.filter((key) => !first.keys.includes(key))]
        : first.keys.filter((key) => !second.keys.includes(key));
  const answer = await world.get(`${first.uri}?${query}${makes ? '&$method=entityset' : ''}`);
  expect(keysOf(answer)).toEqual(world.shown(keys));
  if (makes) world.remember(answer, keys);
}

async function clean(world: World, at: number): Promise<void> {
  const set = world.set(at);
  if (set === undefined) return;
  const answer = await world.get(`${set.uri}?$clean=true&$method=entityset`);
  const keys = set.keys.filter((key) => world.trees.has(key));
  expect(keysOf(answer)).toEqual(keys.map(String));
  expect(answer.__ENTITYSET).not.toBe(set.uri);
  world.remember(answer, keys);
}

async function release(world: World, at: number): Promise<void> {
  const set = world.set(at);
  if (set === undefined) return;
  expect(await world.get(`${set.uri}?$method=release`)).toEqual({ ok: true });
  expect((await world.app.inject(set.uri)).statusCode).toBe(404);
  world.sets.splice(world.sets.indexOf(set), 1);
}

describe('Entity sets, compared with lists in memory,', () => {
  it('have the same members, whatever happens', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 40 }), async (sequence) => {
        const app = await serverOf(model);
        try {
          const world = new World(app);
          await world.plant(12);
          for (const [, step] of sequence) await step(world);
        } finally {
          await app.close();
        }
      }),
      { numRuns: Number(process.env['PROPERTY_MODELS'] ?? sampled(20)) },
    );
  });

  it('are filtered over the whole dataclass when they are large', async () => {
    const app = await serverOf(model);
    try {
      const world = new World(app);
      await world.plant(5_600);
      const { __ENTITYSET: uri } = await world.get(
        '/rest/Tree?$method=entityset&$top=0&$orderby=height desc&$filter=ID>100',
      );
      const keys = world.all({
        query: '',
        matches: ({ ID }) => ID > 100,
        order: (a, b) => b.height - a.height || a.ID - b.ID,
      });
      for (const at of [0, 200, 3_000]) await world.fell(at);
      world.sets.push({ uri: String(uri), keys });
      for (const [filter, matches] of filters) {
        for (const [order, compare] of orders) {
          const wish = { query: filter + order, matches, order: compare };
          await read(world, 0, wish, 5_300, 200, false);
          await read(world, 0, wish, 1_000, 5, false);
        }
      }
      const cleaned = await world.get(`${String(uri)}?$clean=true&$top=0`);
      expect(cleaned.__COUNT).toBe(keys.length - 2);
    } finally {
      await app.close();
    }
  });
});
