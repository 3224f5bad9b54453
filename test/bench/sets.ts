/**
 * Measures entity sets of the generated server over HTTP, one request at a time.
 *
 *   npm run bench:sets -- [--scale 1m] [--rounds 9]
 *
 * How to read the table: the median of the rounds in milliseconds, for a dataclass of so many entities. The first and the last
 * page of a set should cost the same; `$skip` in the dataclass shows what a page there costs without a set.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOptions } from './options.js';
import { work } from './places.js';
import { startGenerated } from './generated-server.js';
import { median } from './report.js';
import { aligned } from './table.js';

const options = readOptions(process.argv.slice(2));
const { rows = 1_000_000, rounds } = options;
console.error('> generate and compile the server, fill the database');
const server = await startGenerated({ rows });

interface Answer {
  readonly __ENTITYSET?: string;
  readonly __COUNT: number;
}

async function ask(path: string): Promise<Answer> {
  const response = await fetch(`${server.origin}${path}`);
  if (response.status !== 200) throw new Error(`${path}: ${await response.text()}`);
  return (await response.json()) as Answer;
}

/** Makes a set and answers its address. */
async function made(query: string): Promise<string> {
  const { __ENTITYSET: uri } = await ask(`/rest/Employee?$method=entityset&$top=40${query}`);
  return String(uri);
}

const lines: { readonly what: string; readonly milliseconds: number }[] = [];

async function measure(what: string, path: string): Promise<void> {
  const times: number[] = [];
  await ask(path);
  for (let i = 0; i < rounds; i += 1) {
    const start = performance.now();
    await ask(path);
    times.push(performance.now() - start);
  }
  lines.push({ what, milliseconds: median(times) });
}

const half = Math.floor(rows / 2);
const create = '/rest/Employee?$method=entityset&$top=40';
await measure('creation, all entities', create);
await measure('creation, half of them', `${create}&$filter=ID<=${half}`);
await measure('creation, ordered by an indexed text', `${create}&$orderby=lastName`);
const all = await made('');
const ordered = await made('&$orderby=lastName');
const lower = await made(`&$filter=ID<=${half}`);
const middle = await made(
  `&$filter=ID>${Math.floor(rows / 4)} AND ID<=${Math.floor((rows * 3) / 4)}`,
);
for (const operator of ['AND', 'OR', 'EXCEPT', 'INTERSECT']) {
  for (const [what, one, other] of [
    ['all with all, in another order', all, ordered],
    ['half with half', lower, middle],
  ] as const) {
    const query = `$logicOperator=${operator}&$otherCollection=${other.slice(-32)}&$top=40`;
    await measure(`${operator}, ${what}`, `${one}?${query}`);
  }
}
await measure('first page of 100', `${all}?$top=100`);
await measure('last page of 100', `${all}?$top=100&$skip=${rows - 100}`);
await measure('last page of 100, ordered set', `${ordered}?$top=100&$skip=${rows - 100}`);
await measure(
  'last page of 100 by $skip, without a set',
  `/rest/Employee?$top=100&$skip=${rows - 100}`,
);
await measure('page of a filter over the set', `${all}?$top=100&$filter=salary>100000`);
await server.stop();
console.log(
  aligned([
    ['request', 'ms'],
    ...lines.map(({ what, milliseconds }) => [what, milliseconds.toFixed(2)]),
  ]),
);
const result = { node: options.node ?? process.version, rows, rounds, results: lines };
writeFileSync(join(work, 'sets.json'), `${JSON.stringify(result, undefined, 2)}\n`);
