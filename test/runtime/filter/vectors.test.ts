import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random } from '../../support/random-model/random.js';
import { create, modelOf, serverOf } from '../../support/server.js';

const model = modelOf(`
drs: 1
name: vectors
dataclasses:
  Shelf:
    attributes:
      ID: { type: integer, key: true }
      point: { type: vector, dimensions: 2 }
      books: { to: Book, many: true, inverse: shelf }
  Book:
    attributes:
      ID: { type: integer, key: true }
      title: string
      shelf: { to: Shelf }
      shelfPoint: { alias: shelf.point }
      v: { type: vector, dimensions: 3 }
  Wide:
    attributes:
      ID: { type: integer, key: true }
      v: { type: vector, dimensions: 40 }
  Huge:
    attributes:
      ID: { type: integer, key: true }
      v: { type: vector, dimensions: 2 }
`);

let app: FastifyInstance;

const shelves = [
  { ID: 1, point: [1, 0] },
  { ID: 2, point: [0, 1] },
  { ID: 3, point: null },
];
const books: readonly Stored[] = [
  { ID: 1, title: 'a', shelf: 1, v: [1, 2, 3] },
  { ID: 2, title: 'a', shelf: 1, v: [2, 4, 6.0001] },
  { ID: 3, title: 'b', shelf: 2, v: [-1, -2, -3] },
  { ID: 4, title: 'b', shelf: 2, v: [0, 0, 0] },
  { ID: 5, title: 'c', shelf: 3, v: null },
  { ID: 6, title: 'c', v: [3, -6, 3] },
  { ID: 7, title: 'c', v: [0.1, 0.2, 0.3] },
];

interface Stored {
  readonly ID: number;
  readonly v: readonly number[] | null;
  readonly [name: string]: unknown;
}

const random = new Random(7);

/** A random vector: the lengths differ much, and many point nearly the same way. */
function randomVector(dimensions: number, scale: number): number[] {
  const spread = random.pick([1, 1e-3, 1e-6, 1e-9]);
  return Array.from(
    { length: dimensions },
    (_, index) => scale * (((index % 5) - 1.5) / 3 + spread * (random.next() / 2 ** 32 - 0.5)),
  );
}

const wide: readonly Stored[] = Array.from({ length: 150 }, (_, index) => ({
  ID: index + 1,
  v: index % 17 === 0 ? null : randomVector(40, random.pick([1, 1, -1, 1e-5, 300])),
}));
const huge: readonly Stored[] = [
  { ID: 1, v: [1e300, 1e300] },
  { ID: 2, v: [1.7e308, -1.7e308] },
  { ID: 3, v: [1e-320, 0] },
  { ID: 4, v: [0, 1e-200] },
  { ID: 5, v: [1e-30, 1e30] },
];

beforeAll(async () => {
  app = await serverOf(model);
  await create(app, 'Shelf', shelves);
  await create(app, 'Book', books);
  await create(app, 'Wide', wide);
  await create(app, 'Huge', huge);
});
afterAll(() => app.close());

interface Answer {
  readonly __COUNT?: number;
  readonly __ENTITIES?: readonly { readonly __KEY: string }[];
  readonly __ERROR?: readonly { readonly errCode: number; readonly message: string }[];
}

async function answer(
  dataclass: string,
  filter: string,
  params: readonly unknown[],
  order = '',
): Promise<Answer> {
  const query = new URLSearchParams({
    $filter: `"${filter}"`,
    $params: JSON.stringify(params),
    ...(order === '' ? {} : { $orderby: order }),
    $top: '1000',
  });
  const response = await app.inject(`/rest/${dataclass}?${query.toString()}`);
  return response.json();
}

async function keys(
  dataclass: string,
  filter: string,
  params: readonly unknown[],
  order = '',
): Promise<number[]> {
  const found = await answer(dataclass, filter, params, order);
  if (found.__ENTITIES === undefined) throw new Error(JSON.stringify(found.__ERROR));
  expect(found.__COUNT).toBe(found.__ENTITIES.length);
  return found.__ENTITIES.map((each) => Number(each.__KEY));
}

const q = [1, 2, 3];

describe('A vector is compared', () => {
  it.each<[string, object, number[]]>([
    ['v >= :1', { vector: q }, [1, 2, 7]],
    ['v >= :1', { vector: q, threshold: 1 }, [1, 7]],
    ['v > :1', { vector: q, threshold: 1 }, []],
    ['v >= :1', { vector: [-0.5, -1, -1.5], threshold: 1 }, [3]],
    ['v <= :1', { vector: q, threshold: -1 }, [3]],
    ['v < :1', { vector: q, threshold: -1 }, []],
    ['v >= :1', { vector: q, threshold: -1 }, [1, 2, 3, 6, 7]],
    ['v >= :1', { vector: q, threshold: 0 }, [1, 2, 6, 7]],
    ['v > :1', { vector: q, threshold: 0 }, [1, 2, 7]],
    ['v <= :1', { vector: q, threshold: 0, metric: 'cosine' }, [3, 6]],
    ['v >= :1', { vector: q, threshold: 1.1 }, []],
    ['v < :1', { vector: q, threshold: 1.1 }, [1, 2, 3, 6, 7]],
    ['v >= :1', { vector: [0, 0, 0] }, []],
    ['v < :1', { vector: [0, 0, 0] }, []],
    ['v >= :1', { vector: q, metric: 'dot', threshold: 14 }, [1, 2]],
    ['v > :1', { vector: q, metric: 'DOT', threshold: 14 }, [2]],
    ['v = null OR v > :1', { vector: q, metric: 'Dot', threshold: 14 }, [2, 5]],
    ['v >= :1', { vector: q, metric: 'dot', threshold: 0 }, [1, 2, 4, 6, 7]],
    ['v > :1', { vector: q, metric: 'dot', threshold: 0 }, [1, 2, 7]],
    ['v <= :1', { vector: q, metric: 'dot', threshold: -14 }, [3]],
    ['v >= :1', { vector: [0, 0, 0], metric: 'dot', threshold: 0 }, [1, 2, 3, 4, 6, 7]],
    ['v > :1', { vector: [0, 0, 0], metric: 'dot', threshold: -1 }, [1, 2, 3, 4, 6, 7]],
    ['v >= :1', { vector: [0, 0, 0], metric: 'dot', threshold: 1 }, []],
    ['v <= :1', { vector: q, metric: 'euclidean', threshold: 0 }, [1]],
    ['v < :1', { vector: q, metric: 'euclidean', threshold: 0 }, []],
    ['v > :1', { vector: q, metric: 'euclidean', threshold: 0 }, [2, 3, 4, 6, 7]],
    ['v >= :1', { vector: q, metric: 'euclidean', threshold: -1 }, [1, 2, 3, 4, 6, 7]],
    ['v <= :1', { vector: q, metric: 'euclidean', threshold: -1 }, []],
    ['v <= :1', { vector: [2, 4, 6], metric: 'euclidean', threshold: 0.0002 }, [2]],
    ['v < :1', { vector: [2, 4, 6], metric: 'euclidean', threshold: 0.00005 }, []],
    ['v <= :1', { vector: [0, 0, 0], metric: 'euclidean', threshold: 0 }, [4]],
    ['v <= :1', { vector: [0, 0, 0], metric: 'euclidean', threshold: 1 }, [4, 7]],
    ['v > :1', { vector: [0, 0, 0], metric: 'euclidean', threshold: 7 }, [2, 6]],
    ['v <= :1', { vector: [0.1, 0.2, 0], metric: 'euclidean', threshold: 0.3 }, [4, 7]],
    ["v >= :1 AND title = 'a'", { vector: q }, [1, 2]],
    ["v >= :1 OR title = 'b'", { vector: q }, [1, 2, 3, 4, 7]],
    ['NOT (v >= :1)', { vector: q }, [3, 4, 5, 6]],
    ['ID > 0 EXCEPT v >= :1', { vector: q }, [3, 4, 5, 6]],
  ])('%s with %j', async (filter, comparison, expected) => {
    expect(await keys('Book', filter, [comparison])).toEqual(expected);
  });

  it('over relations', async () => {
    const east = { vector: [1, 0], threshold: 0.9 };
    expect(await keys('Book', 'shelf.point >= :1', [east])).toEqual([1, 2]);
    expect(await keys('Book', 'shelfPoint >= :1', [east])).toEqual([1, 2]);
    expect(await keys('Book', 'NOT (shelf.point >= :1)', [east])).toEqual([3, 4, 5, 6, 7]);
    const along = { vector: q, threshold: 0.9 };
    expect(await keys('Shelf', 'books.v >= :1', [along])).toEqual([1]);
    expect(await keys('Shelf', 'books.v < :1', [along])).toEqual([2]);
    const twice = "books.v >= :1 AND books.title = 'a'";
    expect(await keys('Shelf', twice, [along])).toEqual([1]);
  });

  it('with several comparisons of several metrics', async () => {
    const params = [
      { vector: q, threshold: 0.9 },
      { vector: q, metric: 'euclidean', threshold: 3.75 },
    ];
    expect(await keys('Book', 'v >= :1 AND v <= :2', params)).toEqual([1, 2, 7]);
    expect(await keys('Book', 'v >= :1 EXCEPT v <= :2', params)).toEqual([]);
    expect(await keys('Book', 'v <= :2 OR v >= :1', params)).toEqual([1, 2, 4, 7]);
  });

  it('with numbers at the limits of a double', async () => {
    const east = (metric: string, threshold: number) => [{ vector: [1, 0], metric, threshold }];
    expect(await keys('Huge', 'v >= :1', east('cosine', 1))).toEqual([3]);
    expect(await keys('Huge', 'v >= :1', east('cosine', 0.7))).toEqual([1, 2, 3]);
    expect(await keys('Huge', 'v <= :1', east('cosine', 0.1))).toEqual([4, 5]);
    expect(await keys('Huge', 'v > :1', east('dot', 1e200))).toEqual([1, 2]);
    expect(await keys('Huge', 'v <= :1', east('dot', 0))).toEqual([4, 5]);
    expect(await keys('Huge', 'v <= :1', east('euclidean', 1))).toEqual([3, 4]);
    expect(await keys('Huge', 'v > :1', east('euclidean', 1e100))).toEqual([1, 2]);
    const tiny = [{ vector: [1e-200, 0], metric: 'euclidean', threshold: 2e-200 }];
    expect(await keys('Huge', 'v <= :1', tiny)).toEqual([3, 4]);
    const large = [{ vector: [1e300, 1e300], metric: 'euclidean', threshold: 1e299 }];
    expect(await keys('Huge', 'v <= :1', large)).toEqual([1]);
  });
});

type Metric = 'cosine' | 'dot' | 'euclidean';

/** Computed with another algorithm than in the server. */
function score(metric: Metric, a: readonly number[], b: readonly number[]): number {
  const dot = a.reduce((sum, each, index) => sum + each * (b[index] as number), 0);
  if (metric === 'dot') return dot;
  if (metric === 'cosine') return dot / Math.hypot(...a) / Math.hypot(...b);
  return Math.hypot(...a.map((each, index) => each - (b[index] as number)));
}

describe('A comparison uses doubles:', () => {
  const comparators = {
    '<': (a: number, b: number) => a < b,
    '<=': (a: number, b: number) => a <= b,
    '>': (a: number, b: number) => a > b,
    '>=': (a: number, b: number) => a >= b,
  } as const;

  it.each<Metric>(['cosine', 'dot', 'euclidean'])('%s', async (metric) => {
    const stored = wide.flatMap(({ ID, v }) => (v === null ? [] : [{ ID, v }]));
    for (let round = 0; round < 60; round += 1) {
      const vector = random.chance(50)
        ? random.pick(stored).v
        : randomVector(40, random.pick([1, -1, 250]));
      const scores = stored.map(({ ID, v }) => ({ ID, is: score(metric, v, vector) }));
      const near = random.pick(scores).is;
      const part = random.pick([0, 1e-8, 1e-6, 1e-3, 0.2]);
      const scale = metric === 'cosine' ? 1 : Math.abs(near) + 1e-3;
      const threshold = near + (random.chance(50) ? 1 : -1) * part * scale;
      const comparator = random.pick(['<', '<=', '>', '>='] as const);
      const found = await keys('Wide', `v ${comparator} :1`, [{ vector, metric, threshold }]);
      for (const { ID, is } of scores) {
        const v = stored.find((each) => each.ID === ID)?.v ?? [];
        // The rounding error of both computations.
        const size =
          metric === 'cosine'
            ? 1
            : metric === 'dot'
              ? Math.hypot(...v) * Math.hypot(...vector)
              : Math.hypot(...v) + Math.hypot(...vector);
        const isEqual = Math.abs(is - threshold) <= 1e-13 * size;
        if (!isEqual && Math.abs(is - threshold) <= 1e-11 * size) continue;
        const wanted = isEqual ? comparator.endsWith('=') : comparators[comparator](is, threshold);
        const shown = JSON.stringify({ metric, comparator, threshold, is, ID });
        expect(found.includes(ID), shown).toBe(wanted);
      }
      for (const { ID, v } of wide) if (v === null) expect(found).not.toContain(ID);
    }
  });
});

describe('An order by a vector', () => {
  const all = (metric: Metric) => [
    { vector: q, metric, threshold: metric === 'euclidean' ? 1e6 : -1e6 },
  ];

  it.each<[Metric, number[]]>([
    ['cosine', [1, 7, 2, 6, 3]],
    ['dot', [2, 1, 7, 4, 6, 3]],
    ['euclidean', [1, 7, 4, 2, 3, 6]],
  ])('is by %s, the most similar first', async (metric, expected) => {
    const filter = metric === 'euclidean' ? 'v <= :1' : 'v >= :1';
    expect(await keys('Book', filter, all(metric), 'v')).toEqual(expected);
    expect(await keys('Book', filter, all(metric), 'v asc')).toEqual(expected);
    const ties = metric === 'cosine' ? [3, 6, 2, 1, 7] : [...expected].reverse();
    const down = await keys('Book', filter, all(metric), 'v desc');
    expect(metric === 'dot' ? down.filter((key) => key !== 4 && key !== 6) : down).toEqual(
      metric === 'dot' ? [3, 7, 1, 2] : ties,
    );
  });

  it('puts what has no similarity at the end', async () => {
    const params = [{ vector: q, threshold: 0.5 }];
    const filter = 'v >= :1 OR ID > 0';
    expect(await keys('Book', filter, params, 'v')).toEqual([1, 7, 2, 6, 3, 4, 5]);
    expect(await keys('Book', filter, params, 'v desc')).toEqual([4, 5, 3, 6, 2, 1, 7]);
    const none = [{ vector: [0, 0, 0], threshold: 0.5 }];
    expect(await keys('Book', filter, none, 'v')).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it('is by the first mention in the filter', async () => {
    const params = [
      { vector: [3, -6, 3.5], threshold: 0.9 },
      { vector: q, threshold: -1 },
    ];
    const byFirst = await keys('Book', '(v >= :1 OR ID = 1) OR v >= :2', params, 'v');
    expect([byFirst[0], byFirst.at(-1)]).toEqual([6, 3]);
    const bySecond = await keys('Book', 'ID > 0 AND (v >= :2 OR v >= :1)', params, 'v');
    expect(bySecond).toEqual([1, 7, 2, 6, 3]);
    // Conditions are not written in the order of the text.
    const negated = await keys('Book', 'v >= :1 AND NOT (v < :2)', params, 'v desc');
    expect(negated).toEqual([6]);
    const turned = await keys('Book', 'NOT (v >= :2) OR v >= :1 OR ID > 0', params, 'v');
    expect(turned.slice(0, 5)).toEqual([1, 7, 2, 6, 3]);
    const inverse = await keys('Book', '(v >= :1 OR ID > 0) AND v >= :2', params, 'v');
    expect([inverse[0], inverse.at(-1)]).toEqual([6, 3]);
  });

  it('goes over to-one relations and aliases, and with other orders', async () => {
    const params = [{ vector: [0, 1], threshold: -1 }];
    const filter = 'shelf.point >= :1';
    expect(await keys('Book', filter, params, 'shelf.point')).toEqual([3, 4, 1, 2]);
    expect(await keys('Book', filter, params, 'shelfPoint, ID desc')).toEqual([4, 3, 2, 1]);
    expect(await keys('Book', filter, params, 'title desc, shelf.point')).toEqual([3, 4, 1, 2]);
    const inFilter = 'shelf.point >= :1 order by shelf.point desc';
    expect(await keys('Book', inFilter, params)).toEqual([1, 2, 3, 4]);
  });

  it('agrees with the scores', async () => {
    const vector = randomVector(40, 1);
    for (const metric of ['cosine', 'dot', 'euclidean'] as const) {
      const comparator = metric === 'euclidean' ? '<=' : '>=';
      const threshold = metric === 'euclidean' ? 1e9 : -1e9;
      const found = await keys('Wide', `v ${comparator} :1`, [{ vector, metric, threshold }], 'v');
      const scores = found.map((key) => score(metric, wide[key - 1]?.v ?? [], vector));
      const least = metric === 'cosine' ? 1e-6 : 1e-4;
      expect(found).toHaveLength(wide.filter(({ v }) => v !== null).length);
      for (let i = 1; i < scores.length; i += 1) {
        const falls = (scores[i - 1] as number) - (scores[i] as number);
        expect(metric === 'euclidean' ? -falls : falls).toBeGreaterThan(-least);
      }
    }
  });
});

describe('A filter with a vector', () => {
  const filter = '$filter="v >= :1"';
  const params = `$params=${JSON.stringify([{ vector: q, threshold: -1 }])}`;

  it('creates an entity set in the order of similarity', async () => {
    const query = `${filter}&${params}&$orderby=v desc&$method=entityset`;
    const made = (await app.inject(`/rest/Book?${query}`)).json<Answer & { __ENTITYSET: string }>();
    const inSet = (await app.inject(made.__ENTITYSET)).json<Answer>();
    expect(inSet.__ENTITIES?.map((each) => Number(each.__KEY))).toEqual([3, 6, 2, 1, 7]);
    const near = `$params=${JSON.stringify([{ vector: q, threshold: 0.9 }])}`;
    const part = await app.inject(`${made.__ENTITYSET}?${filter}&${near}&$orderby=v`);
    expect(part.json<Answer>().__ENTITIES?.map((each) => Number(each.__KEY))).toEqual([1, 7, 2]);
  });

  it('is answered in every form', async () => {
    const forms = [
      ['Book', '$queryplan=true&$querypath=true'],
      ['Book', '$asArray=true&$orderby=v'],
      ['Book/title', '$distinct=true'],
      ['Book/ID', '$compute=$all'],
      ['Shelf(1)/books', '$expand=books&$orderby=v'],
    ];
    for (const [path, query] of forms) {
      const response = await app.inject(`/rest/${path}?${filter}&${params}&${query}`);
      expect(response.statusCode, response.body).toBe(200);
    }
  });
});

describe('A vector comparison that is refused', () => {
  const sound = { vector: q };

  it.each<[says: string, filter: string, params: unknown[], code: number, message: RegExp]>([
    ['=', 'v = :1', [sound], 1112, /= does not apply .* v: expected <, <=, > or >=/],
    ['!=', 'v != :1', [sound], 1112, /!= does not apply/],
    ['begin', 'v begin :1', [sound], 1112, /begin/],
    ['in', 'v in :1', [[sound]], 1280, /./],
    ['a written list', 'v in [1, 2]', [], 1112, /in does not apply/],
    ['null in order', 'v >= null', [], 1112, /null/],
    ['null given', 'v >= :1', [null], 1112, /null/],
    ['a number', 'v >= 0.5', [], 1280, /Character 6 .*placeholder.*\{"vector"/],
    ['a text', "v >= 'near'", [], 1280, /Character 6 .*placeholder/],
    ['a given number', 'v >= :1', [0.5], 1280, /Character 6 .*:1 in \$params must be an object/],
    ['a given list', 'v >= :1', [q], 1280, /must be an object .* 3 numbers/],
    ['nothing given', 'v >= :2', [sound], 1279, /:2/],
    ['no vector', 'v >= :1', [{ threshold: 1 }], 1280, /a list of 3 numbers/],
    ['a short vector', 'v >= :1', [{ vector: [1, 2] }], 1280, /2 numbers, expected 3/],
    ['a vector of texts', 'v >= :1', [{ vector: ['1', 2, 3] }], 1280, /a list of 3 numbers/],
    ['another metric', 'v >= :1', [{ ...sound, metric: 'L1' }], 1280, /cosine, dot or euclidean/],
    ['no metric', 'v >= :1', [{ ...sound, metric: null }], 1280, /cosine, dot or euclidean/],
    ['a text', 'v >= :1', [{ ...sound, threshold: '1' }], 1280, /threshold "1", expected a number/],
    ['another member', 'v >= :1', [{ ...sound, Threshold: 1 }], 1280, /"Threshold"/],
  ])('has %s: %s', async (_says, filter, params, code, message) => {
    const { __ERROR: errors } = await answer('Book', filter, params);
    expect(errors?.map((each) => each.errCode)).toEqual([code]);
    expect(errors?.[0]?.message).toMatch(message);
  });

  it('has a number that a double cannot hold', async () => {
    const params = encodeURIComponent('[{"vector":[1e999,0,0],"threshold":1e999}]');
    const response = await app.inject(`/rest/Book?$filter="v>=:1"&$params=${params}`);
    expect(response.json<Answer>().__ERROR?.[0]?.errCode).toBe(1280);
  });

  it.each(['', 'ID > 0', 'v != null', 'books.v >= :1'])(
    'has an order without a vector: %j',
    async (filter) => {
      const dataclass = filter.startsWith('books') ? 'Shelf' : 'Book';
      const order = dataclass === 'Shelf' ? 'point' : 'v';
      const params = new URLSearchParams({ $orderby: order });
      if (filter !== '') params.set('$filter', filter);
      if (filter.includes(':1')) params.set('$params', JSON.stringify([sound]));
      const response = await app.inject(`/rest/${dataclass}?${params.toString()}`);
      const [error] = response.json<Answer>().__ERROR ?? [];
      expect(error?.errCode).toBe(1810);
      expect(error?.message).toMatch(/add a comparison such as (?:v|point) >= :1 to \$filter/);
    },
  );
});
