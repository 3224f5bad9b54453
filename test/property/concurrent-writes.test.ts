import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describePostgres, postgresDatabase, type TestDatabase } from '../support/postgres.js';
import { modelOf, serverOf } from '../support/server.js';
import { sampled } from '../support/long.js';

/** `PROPERTY_WRITES=500` runs more than usual; `PROPERTY_SEED=<seed>` runs the same requests again. */
const runs = Number(process.env['PROPERTY_WRITES'] ?? sampled(20));
const seed = process.env['PROPERTY_SEED'];

const text = `
drs: 1
name: concurrent
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true }
      name: { type: string, unique: true }
      value: integer
  Staff:
    attributes:
      ID: { type: integer, key: true }
      employer: { to: Company, onDelete: cascade }
      value: integer
  Note:
    attributes:
      ID: { type: integer, key: true }
      author: { to: Staff, onDelete: cascade }
      about: { to: Company, onDelete: cascade }
      seenBy: { to: Staff, onDelete: setNull }
      value: integer
  Contract:
    attributes:
      ID: { type: integer, key: true }
      company: { to: Company, onDelete: restrict }
      value: integer
`;

/** In an order in which all entities can be deleted. */
const dataclasses = ['Contract', 'Note', 'Staff', 'Company'] as const;
type Name = (typeof dataclasses)[number];

const relations: Readonly<Record<Name, Readonly<Record<string, Name>>>> = {
  Company: {},
  Staff: { employer: 'Company' },
  Note: { author: 'Staff', about: 'Company', seenBy: 'Staff' },
  Contract: { company: 'Company' },
};

interface Request {
  readonly path: string;
  readonly body?: unknown;
  /** Instead of `path`, for the entities that an entity set had at the beginning. */
  readonly set?: Name;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

type World = Readonly<Record<Name, readonly object[]>>;

const key = fc.integer({ min: 1, max: 3 });
const value = fc.integer({ min: 0, max: 2 });
const name = fc.constantFrom('one', 'two', 'three', 'four');
const related = fc.option(key, { nil: null });

/** Attributes of an entity. */
function attributes(dataclass: Name): fc.Arbitrary<object> {
  const relation = Object.keys(relations[dataclass]).map((each) => [each, related] as const);
  const unique = dataclass === 'Company' ? { name } : {};
  return fc.record({ value, ...unique, ...Object.fromEntries(relation) }, { requiredKeys: [] });
}

const dataclass = fc.constantFrom<Name>(...dataclasses, 'Company', 'Staff');

/** An entity that is created, or changed with the stamp that it had at the beginning, or with an older one. */
function saved(of: Name): fc.Arbitrary<object> {
  return fc
    .record({
      ID: key,
      isNew: fc.nat({ max: 3 }).map((number) => number === 0),
      rest: attributes(of),
    })
    .map(({ ID, isNew, rest }) => (isNew ? { ID, ...rest } : { __KEY: ID, __STAMP: 1, ...rest }));
}

const request: fc.Arbitrary<Request> = dataclass.chain((of) =>
  fc.oneof(
    { weight: 4, arbitrary: saved(of).map((body) => ({ path: `${of}?$method=update`, body })) },
    {
      weight: 2,
      arbitrary: fc
        .array(saved(of), { minLength: 2, maxLength: 4 })
        .map((body) => ({ path: `${of}?$method=update&$atomic=true`, body })),
    },
    { weight: 3, arbitrary: key.map((each) => ({ path: `${of}(${each})?$method=delete` })) },
    {
      weight: 2,
      arbitrary: value.map((each) => ({ path: `${of}?$filter="value=${each}"&$method=delete` })),
    },
    { weight: 1, arbitrary: fc.constant({ path: '', set: of }) },
  ),
);

/** The entities at the beginning: each relation that is set leads to an entity that exists. */
const beginning: fc.Arbitrary<World> = fc
  .record({
    Company: fc.uniqueArray(fc.record({ ID: key, value }), {
      selector: ({ ID }) => ID,
      minLength: 1,
    }),
    Staff: entities('Staff'),
    Note: entities('Note'),
    Contract: entities('Contract'),
  })
  .map((world) => {
    const has = (of: Name, ID: unknown): boolean =>
      (world[of] as readonly { readonly ID: unknown }[]).some((each) => each.ID === ID);
    const whole = (of: Name): readonly object[] =>
      world[of].map((entity) =>
        Object.fromEntries(
          Object.entries(entity).filter(([attribute, to]) => {
            const target = relations[of][attribute];
            return target === undefined || has(target, to);
          }),
        ),
      );
    const named = whole('Company').map((each, index) => ({ ...each, name: `company ${index}` }));
    return {
      Company: named,
      Staff: whole('Staff'),
      Note: whole('Note'),
      Contract: whole('Contract'),
    };
  });

function entities(of: Name): fc.Arbitrary<readonly { readonly ID: number }[]> {
  return fc.uniqueArray(
    fc.tuple(key, attributes(of)).map(([ID, rest]) => ({ ...rest, ID })),
    { selector: ({ ID }) => ID },
  );
}

/** A server whose entities a run sets. */
class Served {
  constructor(readonly app: FastifyInstance) {}

  async ask(path: string, body?: unknown): Promise<Answer> {
    const answer = await this.app.inject({
      method: body === undefined && !path.includes('$method=delete') ? 'GET' : 'POST',
      url: `/rest/${path}`,
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, body: JSON.parse(answer.body) as unknown };
  }

  /** @returns the requests, with the addresses of their sets */
  async begin(world: World, requests: readonly Request[]): Promise<readonly Request[]> {
    for (const each of dataclasses) {
      const emptied = await this.ask(`${each}?$filter="ID>0"&$method=delete`);
      expect(emptied).toEqual({ status: 200, body: { ok: true } });
    }
    for (const each of [...dataclasses].reverse()) {
      const made = await this.ask(`${each}?$method=update&$atomic=true`, world[each]);
      expect(made.status, JSON.stringify(made.body)).toBe(200);
    }
    const sent: Request[] = [];
    for (const { set, ...each } of requests) {
      sent.push(set === undefined ? each : { path: await this.#deletionOfSet(set) });
    }
    return sent;
  }

  async #deletionOfSet(of: Name): Promise<string> {
    const { body } = await this.ask(`${of}?$filter="value>=1"&$method=entityset`);
    const { __ENTITYSET } = body as { readonly __ENTITYSET: string };
    return `${__ENTITYSET.replace('/rest/', '')}?$method=delete`;
  }

  /**
   * A refused list is compared by its status alone: each of its errors tells what was stored when
   * that entity was checked.
   */
  async send({ path, body }: Request): Promise<Answer> {
    const answer = await this.ask(path, body);
    const isRefusedList = Array.isArray(body) && [409, 422].includes(answer.status);
    return isRefusedList && !isUndone(answer)
      ? { status: 422, body: 'refused' }
      : { status: answer.status, body: comparable(answer.body) };
  }

  async world(): Promise<unknown> {
    const all: Record<string, unknown> = {};
    for (const each of dataclasses) all[each] = comparable((await this.ask(each)).body);
    return all;
  }
}

/**
 * Without times and counters, which differ from one run to the next. A refused entity is answered as
 * it is stored when the answer is written, which may be later than the refusal.
 */
function comparable(body: unknown): unknown {
  return JSON.parse(
    JSON.stringify(body, (member, content: unknown) => {
      if (member === '__TIMESTAMP' || member === '__GlobalStamp') return undefined;
      return isRefused(content)
        ? { __KEY: content.__KEY, __STATUS: content.__STATUS, __ERROR: content.__ERROR }
        : content;
    }),
  );
}

interface Refused {
  readonly __KEY?: unknown;
  readonly __STATUS: { readonly success: false };
  readonly __ERROR: unknown;
}

function isRefused(content: unknown): content is Refused {
  return (content as Partial<Refused> | null)?.__STATUS?.success === false;
}

/** Whether it says that PostgreSQL undid the request, which met others (1848). */
function isUndone({ status, body }: Answer): boolean {
  return status === 409 && JSON.stringify(body).includes('"errCode":1848');
}

function* permutations<T>(items: readonly T[]): Generator<readonly T[]> {
  if (items.length <= 1) yield items;
  for (const [index, first] of items.entries()) {
    for (const rest of permutations(items.toSpliced(index, 1))) yield [first, ...rest];
  }
}

describePostgres('requests that write at the same time on PostgreSQL', () => {
  let database: TestDatabase;
  let concurrent: Served;
  let serial: Served;
  /** Another client, whose locks make the requests meet. */
  let other: Client;

  beforeAll(async () => {
    database = await postgresDatabase();
    const model = modelOf(text);
    const environment = { DATABASE_POOL: '8' };
    const settings = { databaseUrl: database.url, environment };
    concurrent = new Served(await serverOf({ ...model, databases: ['postgres'] }, settings));
    serial = new Served(await serverOf(model, { databaseUrl: 'sqlite::memory:' }));
    other = new Client({ connectionString: database.url });
    await other.connect();
  });
  afterAll(async () => {
    await other.end();
    await concurrent.app.close();
    await serial.app.close();
    await database.drop();
  });

  /** Sends requests at once, while somebody else has locked rows of a dataclass. */
  async function atOnce(requests: readonly Request[], locked: Name): Promise<readonly Answer[]> {
    await other.query('begin');
    await other.query(`select 1 from "${locked}" for update`);
    const answers = Promise.all(requests.map((each) => concurrent.send(each)));
    await setTimeout(5);
    await other.query('rollback');
    return answers;
  }

  /** Whether requests, one after the other on a server of SQLite, have these outcomes. */
  async function isOutcomeOf(
    world: World,
    requests: readonly Request[],
    order: readonly number[],
    outcome: { readonly answers: readonly Answer[]; readonly world: unknown },
  ): Promise<boolean> {
    const sent = await serial.begin(world, requests);
    for (const index of order) {
      const answer = await serial.send(sent[index] as Request);
      if (JSON.stringify(answer) !== JSON.stringify(outcome.answers[index])) return false;
    }
    return JSON.stringify(await serial.world()) === JSON.stringify(outcome.world);
  }

  it('Their answers, and what they leave, are those of the same requests in some order', async () => {
    await fc.assert(
      fc.asyncProperty(
        beginning,
        fc.array(request, { minLength: 2, maxLength: 4 }),
        fc.constantFrom(...dataclasses),
        async (world, requests, locked) => {
          const sent = await concurrent.begin(world, requests);
          const answers = await atOnce(sent, locked);
          const outcome = { answers, world: await concurrent.world() };
          // A request that PostgreSQL undid twice had no effect; the others have gone on.
          const done = answers.flatMap((answer, index) => (isUndone(answer) ? [] : [index]));
          expect(done.length).toBeGreaterThan(0);
          for (const order of permutations(done)) {
            if (await isOutcomeOf(world, requests, order, outcome)) return;
          }
          throw new Error(`No order of the requests has this outcome: ${JSON.stringify(outcome)}`);
        },
      ),
      {
        numRuns: runs,
        endOnFailure: true,
        ...(seed === undefined ? {} : { seed: Number(seed) }),
      },
    );
  });
});
