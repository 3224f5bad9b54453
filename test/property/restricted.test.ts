import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import { classNames } from '../../generator/emit/classes/class-names.js';
import type { Model } from '../../generator/model/model.js';
import { serverOf, writeServer } from '../support/server.js';
import { load, opened } from './memory/load.js';
import { Store } from './memory/store.js';
import { Random } from './model/random.js';
import { randomModel } from './model/random-model.js';
import { aggregateAddress, expectedAggregate, isAggregate } from './requests/aggregate-request.js';
import { comparableAnswer } from './requests/comparable-answer.js';
import { filterText } from './requests/filter-text.js';
import { aggregates } from './requests/random-aggregate.js';
import { filters } from './requests/random-filter.js';
import { requests } from './requests/random-request.js';
import { addressOf, expectedAnswer, type ReadRequest } from './requests/request.js';
import { type Restrictions, SeenStore } from './restricted/seen-store.js';

/** `PROPERTY_MODELS=200` looks further than the ordinary run; `PROPERTY_SEED=<counterexample>` runs one model again. */
const models = Number(process.env['PROPERTY_MODELS'] ?? 6);
const requestsPerSession = Number(process.env['PROPERTY_REQUESTS'] ?? 40);
const sessionsPerModel = 5;
const onlySeed = process.env['PROPERTY_SEED'];

/** What the emitted classes return, by the name of their dataclass. */
const returned: Record<string, unknown> = {};
let hidden = 0;
Object.assign(globalThis, { restrictionsOfTests: returned });

describe('a server that restricts, compared with one that has nothing else', () => {
  it('answers every read alike', { timeout: 3_600_000 }, async () => {
    const seeds = onlySeed === undefined ? fc.integer() : fc.constant(Number(onlySeed));
    await fc.assert(fc.asyncProperty(fc.noShrink(seeds), compareOneModel), {
      numRuns: onlySeed === undefined ? models : 1,
    });
    expect(hidden).toBeGreaterThan(0);
  });
});

async function compareOneModel(seed: number): Promise<void> {
  const random = new Random(seed);
  const store = new Store(randomModel(random));
  const folder = mkdtempSync(join(tmpdir(), 'drs-restricted-'));
  const databaseUrl = `sqlite:${join(folder, 'data.sqlite')}`;
  try {
    await serving(opened(store.model), {}, databaseUrl, (app) => load(app, store, random));
    const model = restricting(store.model);
    await serving(model, classesOf(model), databaseUrl, async (app) => {
      for (let session = 0; session < sessionsPerModel; session += 1) {
        await compareSession(app, store, random, seed + session);
      }
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function serving(
  model: Model,
  written: Readonly<Record<string, string>>,
  databaseUrl: string,
  use: (app: FastifyInstance) => Promise<void>,
): Promise<void> {
  const app = await serverOf(model, { databaseUrl }, written);
  try {
    await use(app);
  } finally {
    await app.close();
    rmSync(writeServer(model, written), { recursive: true });
  }
}

function restricting(model: Model): Model {
  return {
    ...model,
    dataclasses: model.dataclasses.map((each) => ({ ...each, restrict: true })),
  };
}

function classesOf(model: Model): Record<string, string> {
  const names = classNames(model);
  return Object.fromEntries(
    model.dataclasses.map((dataclass) => {
      const { written, base } = names.of(dataclass);
      return [
        `src/classes/${written.dataclass}.ts`,
        `import { ${base.dataclass} } from '../generated/api.js';
export class ${written.dataclass} extends ${base.dataclass} {
  restrict() { return restrictionsOfTests[${JSON.stringify(dataclass.name)}]; }
}
`,
      ];
    }),
  );
}

/** Requests of one session, whose restrictions are drawn anew. */
async function compareSession(
  app: FastifyInstance,
  store: Store,
  random: Random,
  seed: number,
): Promise<void> {
  const restrictions: Restrictions = drawn(store, random, seed);
  for (const { name } of store.model.dataclasses) {
    const filter = restrictions.get(name);
    if (filter === undefined) {
      returned[name] = null;
      continue;
    }
    const { text, params } = filterText(filter, 'list');
    returned[name] = params === undefined ? text : { filter: text, values: params };
  }
  const seen = new SeenStore(store, restrictions);
  hidden += store.model.dataclasses.flatMap((each) => seen.hidden(each)).length;
  const reads = requests(store).map((each) => readOf(seen, each));
  const ofAggregates = store.model.dataclasses
    .filter((each) => each.exposed)
    .flatMap((each) => aggregates(store, each))
    .map((each) =>
      each.map((request) => ({
        url: aggregateAddress(request),
        isThere: true,
        compare: (body: string) =>
          isAggregate(
            request,
            comparableAnswer(seen, JSON.parse(body)),
            expectedAggregate(seen, request),
          ),
      })),
    );
  const asked: fc.Arbitrary<Asked> = fc.oneof(reads, reads, reads, ...ofAggregates);
  for (const each of fc.sample(asked, { seed, numRuns: requestsPerSession })) {
    await compare(app, each);
  }
}

function drawn(store: Store, random: Random, seed: number): Restrictions {
  const restrictions = new Map();
  for (const dataclass of store.model.dataclasses) {
    if (!dataclass.exposed || random.chance(30)) continue;
    const [filter] = fc.sample(filters(store, dataclass), { seed, numRuns: 1 });
    restrictions.set(dataclass.name, filter);
  }
  return restrictions;
}

interface Asked {
  readonly url: string;
  readonly isThere: boolean;
  readonly compare: (body: string) => boolean;
}

function readOf(seen: SeenStore, request: ReadRequest): Asked {
  const { entity } = request;
  return {
    url: addressOf(request),
    isThere: entity === undefined || seen.isSeen(entity),
    compare: (body) =>
      isDeepStrictEqual(
        comparableAnswer(seen, JSON.parse(body)),
        comparableAnswer(seen, expectedAnswer(seen, request)),
      ),
  };
}

async function compare(
  app: FastifyInstance,
  { url, isThere, compare: fits }: Asked,
): Promise<void> {
  const { statusCode, body } = await app.inject({ method: 'GET', url });
  const what = `${decodeURIComponent(url)}\n${JSON.stringify(returned)}\n${body}`;
  expect(statusCode, what).toBe(isThere ? 200 : 404);
  if (isThere) expect(fits(body), what).toBe(true);
}
