import { get, type Expectation, post, refused, type Row } from '../../support/row.js';

const near = { vector: [1, 0, 0], threshold: 0.4 };

/** Companies 6 and 7 beside company 1, whose embedding is `[1,0,0]`; the others have none. */
const created = post('/rest/Company?$method=update', [
  { name: 'M', embedding: [3, 4, 0] },
  { name: 'N', embedding: [-1, 0, 0.5] },
]);

type Case = readonly [
  says: string,
  filter: string,
  param: unknown,
  keys: readonly number[],
  order?: string,
];

/** Filters F25, F27; protocol P3.16. */
const cases: readonly Case[] = [
  ['>=', 'embedding >= :1', near, [1, 6]],
  ['>', 'embedding > :1', { ...near, threshold: 0.6 }, [1]],
  ['<', 'embedding < :1', near, [7]],
  ['<=', 'embedding <= :1', { ...near, threshold: 0.6 }, [6, 7]],
  ['the threshold is 0.5', 'embedding >= :1', { vector: [1, 0, 0] }, [1, 6]],
  ['equal vectors have the cosine 1', 'embedding >= :1', { ...near, threshold: 1 }, [1]],
  ['dot', 'embedding >= :1', { ...near, metric: 'dot', threshold: 3 }, [6]],
  ['euclidean', 'embedding <= :1', { ...near, metric: 'euclidean', threshold: 2 }, [1]],
  ['OR', 'embedding >= :1 OR ID = 2', near, [1, 2, 6]],
  ['null never matches', 'NOT (embedding >= :1)', near, [2, 3, 4, 5, 7]],
  ['null', 'embedding = null', near, [2, 3, 4, 5]],
  ['most similar first', 'embedding >= :1', { ...near, threshold: -1 }, [1, 6, 7], 'embedding'],
  ['desc', 'embedding >= :1', { ...near, threshold: -1 }, [7, 6, 1], 'embedding desc'],
  [
    'nearest first',
    'embedding <= :1',
    { ...near, metric: 'euclidean', threshold: 9 },
    [1, 7, 6],
    'embedding',
  ],
];

type Refusal = readonly [says: string, filter: string, param: unknown, expect: Expectation];

const refusals: readonly Refusal[] = [
  ['=', 'embedding = :1', near, refused(400, 1112)],
  ['begin', 'embedding begin :1', near, refused(400, 1112)],
  ['another dimension', 'embedding >= :1', { vector: [1, 0] }, refused(400, 1280)],
  ['another metric', 'embedding >= :1', { ...near, metric: 'l1' }, refused(400, 1280)],
  ['a threshold of text', 'embedding >= :1', { ...near, threshold: '1' }, refused(400, 1280)],
  ['another member', 'embedding >= :1', { ...near, limit: 1 }, refused(400, 1280)],
  ['a list', 'embedding >= :1', [1, 0, 0], refused(400, 1280)],
  ['a number', 'embedding >= 0.5', near, refused(400, 1280)],
];

function url(filter: string, param: unknown, order = ''): string {
  const orderBy = order === '' ? '' : `&$orderby=${order}`;
  return `/rest/Company?$filter="${filter}"&$params=${JSON.stringify([param])}${orderBy}`;
}

export const vectorRows: readonly Row[] = [
  ...cases.map(([says, filter, param, keys, order]) => ({
    id: `vector ${filter} ${JSON.stringify(param)} ${order ?? ''}`,
    says,
    request: created,
    expect: { keys: ['6', '7'] },
    then: [
      [get(url(filter, param, order)), { keys: keys.map(String), has: { __COUNT: keys.length } }],
    ] as const,
  })),
  ...refusals.map(([says, filter, param, expect]) => ({
    id: `vector refused: ${says}`,
    says: `${says} is refused`,
    request: get(url(filter, param)),
    expect,
  })),
  {
    id: 'P3.16',
    says: 'a vector cannot give an order without a comparison in the filter',
    request: get('/rest/Company?$orderby=embedding'),
    expect: { ...refused(400, 1810), message: /add a comparison/ },
  },
];
