import { rmSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import { classNames } from '../../generator/emit/classes/class-names.js';
import type { Model } from '../../generator/model/model.js';
import { askedAgain } from '../support/asked-again.js';
import { describeDatabases, type TestDatabases } from '../support/databases.js';
import { serverOf, writeServer } from '../support/server.js';
import { canHold } from './memory/can-hold.js';
import { load, opened } from './memory/load.js';
import { isUnreadable } from './memory/matches.js';
import { Store } from './memory/store.js';
import { isPortable } from '../support/random-model/portable.js';
import { Random } from '../support/random-model/random.js';
import { randomModel } from '../support/random-model/random-model.js';
import { aggregateAddress, expectedAggregate, isAggregate } from './requests/aggregate-request.js';
import { areGroups, expectedGroups, groups, groupsAddress } from './requests/group-request.js';
import { comparableAnswer } from './requests/comparable-answer.js';
import { filterText } from './requests/filter-text.js';
import { aggregates } from './requests/random-aggregate.js';
import { filters } from './requests/random-filter.js';
import { requests } from './requests/random-request.js';
import { addressOf, expectedAnswer, isRefused, type ReadRequest } from './requests/request.js';
import { type Restrictions, SeenStore } from './restricted/seen-store.js';
import { sampled } from '../support/long.js';

/** `PROPERTY_MODELS=200` looks further than the ordinary run; `PROPERTY_SEED=<counterexample>` runs one model again. */
const models = Number(process.env['PROPERTY_MODELS'] ?? sampled(3));
const requestsPerSession = Number(process.env['PROPERTY_REQUESTS'] ?? sampled(40));
const sessionsPerModel = 5;
const onlySeed = process.env['PROPERTY_SEED'];

/** The restrictions that the emitted classes return, by the name of their dataclass. */
const returned: Record<string, unknown> = {};
let hidden = 0;
Object.assign(globalThis, { restrictionsOfTests: returned });

/** By database system: databases of PostgreSQL are more expensive to create. */
const share = { sqlite: 1, postgres: 1 / 3 } as const;

describeDatabases(
  'A server with restrict, compared with one that has only the visible entities,',
  (databases) => {
    it('answers every read in the same way', { timeout: 3_600_000 }, async () => {
      const seeds = onlySeed === undefined ? fc.integer() : fc.constant(Number(onlySeed));
      hidden = 0;
      const compare = (seed: number): Promise<void> => compareOneModel(databases, seed);
      await fc.assert(fc.asyncProperty(fc.noShrink(seeds), compare), {
        numRuns: onlySeed === undefined ? Math.ceil(models * share[databases.driver]) : 1,
      });
      expect(hidden).toBeGreaterThan(0);
    });
  },
);

async function compareOneModel({ driver, create }: TestDatabases, seed: number): Promise<void> {
  const random = new Random(seed);
  const { model: drawnModel, computes } = randomModel(random);
  // Under a name of its own: another test may draw the same model, and remove its server.
  const named = { ...drawnModel, name: 'restricted', databases: [driver] };
  const store = new Store({ model: named, computes });
  fc.pre(driver === 'sqlite' || isPortable(store.model));
  const { url: databaseUrl, drop } = await create();
  try {
    await serving(opened(store.model), {}, databaseUrl, (app) => load(app, store, random));
    const model = restricting(store.model);
    await serving(model, classesOf(model), databaseUrl, async (app) => {
      for (let session = 0; session < sessionsPerModel; session += 1) {
        await compareSession(app, store, random, seed + session);
      }
    });
  } finally {
    await drop();
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

/** Requests of one session with new random restrictions. */
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
  const reads = requests(store)
    .filter((each) => !isRefused(store, each))
    .map((each) => readOf(seen, each));
  const ofAggregates = store.model.dataclasses
    .filter((each) => each.exposed)
    .flatMap((each) => aggregates(store, each))
    .map((each) =>
      each
        .filter((request) => !isRefused(store, request))
        .map((request) => ({
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
  const ofGroups = store.model.dataclasses
    .filter((each) => each.exposed)
    .map((each) =>
      groups(store, each)
        .filter((request) => !isRefused(store, request))
        .map((request) => ({
          url: groupsAddress(seen, request),
          isThere: true,
          compare: (body: string) =>
            areGroups(seen, request, JSON.parse(body), expectedGroups(seen, request)),
        })),
    );
  const asked: fc.Arbitrary<Asked> = fc.oneof(reads, reads, reads, ...ofAggregates, ...ofGroups);
  const held = asked.filter(({ url }) => canHold(store.model, decodeURIComponent(url)));
  for (const each of fc.sample(held, { seed, numRuns: requestsPerSession })) {
    await compare(app, each);
  }
}

function drawn(store: Store, random: Random, seed: number): Restrictions {
  const restrictions = new Map();
  for (const dataclass of store.model.dataclasses) {
    if (!dataclass.exposed || random.chance(30)) continue;
    const held = filters(store, dataclass).filter((filter) => {
      const { text, params } = filterText(filter, 'list');
      // Unlike in a request, `@` in a value of `restrict` is no wildcard.
      const isSame = !store.model.protocol.wildcard || !/[@*]/.test(JSON.stringify(params));
      const isReadable = !isUnreadable(store, dataclass, filter);
      return isSame && isReadable && canHold(store.model, JSON.stringify({ text, params }));
    });
    const [filter] = fc.sample(held, { seed, numRuns: 1 });
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
  const { statusCode, body } = await askedAgain(app, url);
  const what = `${decodeURIComponent(url)}\n${JSON.stringify(returned)}\n${body}`;
  expect(statusCode, what).toBe(isThere ? 200 : 404);
  if (isThere) expect(fits(body), what).toBe(true);
}
