import { deepStrictEqual } from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { it } from 'vitest';
import { askedAgain } from '../support/asked-again.js';
import { describeDatabases, type TestDatabases } from '../support/databases.js';
import { load, opened, serving } from './memory/load.js';
import { canHold } from './memory/can-hold.js';
import { Store } from './memory/store.js';
import { isPortable } from '../support/random-model/portable.js';
import { Random } from '../support/random-model/random.js';
import { randomModel } from '../support/random-model/random-model.js';
import {
  aggregateAddress,
  type AggregateRequest,
  expectedAggregate,
  isAggregate,
} from './requests/aggregate-request.js';
import { comparableAnswer } from './requests/comparable-answer.js';
import {
  areGroups,
  expectedGroups,
  type GroupRequest,
  groups,
  groupsAddress,
} from './requests/group-request.js';
import {
  addressOf,
  expectedAnswer,
  isRefused,
  type ReadRequest,
  type Selecting,
} from './requests/request.js';
import { aggregates } from './requests/random-aggregate.js';
import { requests } from './requests/random-request.js';
import { sampled } from '../support/long.js';

/** `PROPERTY_MODELS=1000` and `PROPERTY_REQUESTS=1000` look further than the ordinary run. */
const models = Number(process.env['PROPERTY_MODELS'] ?? sampled(6));
const requestsPerModel = Number(process.env['PROPERTY_REQUESTS'] ?? sampled(200));
/** `PROPERTY_SEED=<counterexample>` runs one model again. */
const onlySeed = process.env['PROPERTY_SEED'];

/** By database system: databases of PostgreSQL are more expensive to create. */
const share = { sqlite: 1, postgres: 1 / 3 } as const;

describeDatabases('A generated server, compared with an evaluation in memory,', (databases) => {
  it('answers every read in the same way', { timeout: 3_600_000 }, async () => {
    const seeds = onlySeed === undefined ? fc.integer() : fc.constant(Number(onlySeed));
    const compare = (seed: number): Promise<void> => compareOneModel(databases, seed);
    await fc.assert(fc.asyncProperty(fc.noShrink(seeds), compare), {
      numRuns: onlySeed === undefined ? Math.ceil(models * share[databases.driver]) : 1,
    });
  });
});

async function compareOneModel({ driver, create }: TestDatabases, seed: number): Promise<void> {
  const random = new Random(seed);
  const { model, computes } = randomModel(random);
  // Under a name of its own: another test may draw the same model, and remove its server.
  const named = { ...model, name: 'server', databases: [driver] };
  const store = new Store({ model: named, computes });
  // The generator refuses a model whose expressions the database cannot compute.
  fc.pre(driver === 'sqlite' || isPortable(store.model));
  const { url: databaseUrl, drop } = await create();
  const whole = opened(store.model);
  try {
    await serving(whole, databaseUrl, (app) => load(app, store, random));
    await serving(store.model, databaseUrl, async (app) => {
      const reads = asked(store)
        .filter(({ url }) => canHold(store.model, decodeURIComponent(url)))
        .map((request) => new Read(app, store, request));
      const property = fc.asyncProperty(reads, (read) => read.compare());
      await fc.assert(property, { seed, numRuns: requestsPerModel });
    });
  } finally {
    await drop();
  }
}

function asked(store: Store): fc.Arbitrary<Asked> {
  const ofAggregates = store.model.dataclasses
    .filter((each) => each.exposed)
    .flatMap((each) => aggregates(store, each))
    .map((arbitrary) => ({
      weight: 1,
      arbitrary: arbitrary.map((each) =>
        refusedOr(store, each, aggregateAddress(each), () => aggregateOf(store, each)),
      ),
    }));
  const ofGroups = store.model.dataclasses
    .filter((each) => each.exposed)
    .map((each) => ({
      weight: 3,
      arbitrary: groups(store, each).map((request) =>
        refusedOr(store, request, groupsAddress(store, request), () => groupsOf(store, request)),
      ),
    }));
  const reads = requests(store).map((each) =>
    refusedOr(store, each, addressOf(each), () => readOf(store, each)),
  );
  return fc.oneof(
    { weight: 4 * Math.max(1, ofAggregates.length), arbitrary: reads },
    ...ofAggregates,
    ...ofGroups,
  );
}

/** A request, and its expected answer. */
interface Asked {
  readonly url: string;
  readonly expected: () => unknown;
  readonly fits: (answer: unknown, expected: unknown) => boolean;
}

/** A request whose filter has a value that cannot be read is refused, whatever else it asks for. */
function refusedOr(store: Store, request: Selecting, url: string, otherwise: () => Asked): Asked {
  if (!isRefused(store, request)) return otherwise();
  return {
    url,
    expected: () => 'the refusal of a value',
    fits: (answer) => /: expected .* found /.test(JSON.stringify(answer)),
  };
}

function readOf(store: Store, request: ReadRequest): Asked {
  return {
    url: addressOf(request),
    expected: () => comparableAnswer(store, expectedAnswer(store, request)),
    fits: isDeepStrictEqual,
  };
}

function aggregateOf(store: Store, request: AggregateRequest): Asked {
  return {
    url: aggregateAddress(request),
    expected: () => expectedAggregate(store, request),
    fits: (answer, expected) => isAggregate(request, answer, expected),
  };
}

function groupsOf(store: Store, request: GroupRequest): Asked {
  const expected = expectedGroups(store, request);
  return {
    url: groupsAddress(store, request),
    expected: () => expected.map(({ shown }) => Object.fromEntries(shown)),
    fits: (answer) => areGroups(store, request, answer, expected),
  };
}

/** One request; its text is its address, which is enough to describe a failure. */
class Read {
  constructor(
    private readonly app: FastifyInstance,
    private readonly store: Store,
    private readonly asked: Asked,
  ) {}

  async compare(): Promise<void> {
    const { url, expected: expectedOf, fits } = this.asked;
    const { body } = await askedAgain(this.app, url);
    const answer = comparableAnswer(this.store, JSON.parse(body));
    const expected = expectedOf();
    if (fits(answer, expected)) return;
    const difference = messageOf(() => {
      deepStrictEqual(answer, expected);
    });
    throw new Error(`${this.toString()}\nanswered ${body}\n${difference}`);
  }

  toString(): string {
    return decodeURIComponent(this.asked.url);
  }
}

function messageOf(act: () => void): string {
  try {
    act();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}
