import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import { restrictedClient, restrictedServer } from '../support/restricted-server.js';
import type { Client } from '../support/cookies.js';
import { sampled } from '../support/long.js';

/** `PROPERTY_RUNS=200` looks further than the ordinary run. */
const runs = Number(process.env['PROPERTY_RUNS'] ?? sampled(5));

interface Person {
  readonly ID: number;
  stamp: number;
  salary: number | null;
  employer: number | null;
  boss: number | null;
}

type Values = Pick<Person, 'salary' | 'employer' | 'boss'>;

/** The writers, and the entities that they see: Company 1 is in the north, Company 2 is not. */
const writers = [
  {
    name: 'poor',
    privileges: ['north'],
    companies: [1],
    sees: ({ salary }: Values) => (salary ?? 100) < 100,
  },
  {
    name: 'ann',
    privileges: ['north'],
    companies: [1],
    sees: ({ employer }: Values) => employer === 1,
  },
  {
    name: 'sue',
    privileges: ['south'],
    companies: [2],
    sees: ({ employer }: Values) => employer === 2,
  },
  { name: 'all', privileges: ['all'], companies: [1, 2], sees: () => true },
] as const;

const salaries = fc.constantFrom(null, 1, 50, 99, 100, 150);
const people = fc.nat(12);

/** The third company does not exist. */
const employers = fc.constantFrom(null, 1, 2, 3);
const created = fc.record({ salary: salaries, employer: employers, boss: fc.option(people) });

const acts = fc.oneof(
  fc.record({ kind: fc.constant('create'), entity: created }),
  fc.record({
    kind: fc.constant('createList'),
    entities: fc.array(created, { minLength: 2, maxLength: 4 }),
    isAtomic: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('update'),
    who: people,
    isStale: fc.boolean(),
    salary: fc.option(salaries, { nil: undefined }),
    employer: fc.option(employers, { nil: undefined }),
    boss: fc.option(fc.option(people), { nil: undefined }),
  }),
  fc.record({ kind: fc.constant('overwrite'), who: people }),
  fc.record({ kind: fc.constant('delete'), who: people }),
  fc.record({ kind: fc.constant('deleteMatching'), from: fc.constantFrom(99, 100, 150) }),
);

type Act = typeof acts extends fc.Arbitrary<infer T> ? T : never;
type Created = typeof created extends fc.Arbitrary<infer T> ? T : never;

const turns = fc.array(fc.tuple(fc.constantFrom(0, 1, 2, 3), acts), {
  minLength: 5,
  maxLength: 25,
});

/** Her employee has a boss who is hidden from ann, and must not be revealed. */
const hiddenBossRepeated: [number, Act][] = [
  [1, { kind: 'update', who: 4, isStale: false, salary: undefined, employer: undefined, boss: 2 }],
];

const stranger = { salary: 150, employer: null, boss: null } as const;

/** What the writers would not see. */
const storedForOthers: [number, Act][] = [
  [1, { kind: 'create', entity: stranger }],
  [0, { kind: 'createList', entities: [{ ...stranger, salary: 1 }, stranger], isAtomic: false }],
  [2, { kind: 'update', who: 2, isStale: false, salary: 1, employer: null, boss: undefined }],
];

describe.each([
  [false, false],
  [true, false],
  [false, true],
  [true, true],
])('Writes of restricted sessions, with events: %s, writes: %s', (hasEvents, ofWrites) => {
  it(
    'change only what the sessions see, and store nothing else if writes are restricted',
    { timeout: 600_000 },
    async () => {
      const property = fc.asyncProperty(turns, async (list) => {
        const app = await restrictedServer({}, hasEvents, ofWrites);
        try {
          const world = await World.of(app, ofWrites);
          for (const [writer, act] of list) await world.take(writer, act);
        } finally {
          await app.close();
        }
      });
      const examples: [[number, Act][]][] = [[hiddenBossRepeated], [storedForOthers]];
      await fc.assert(property, { numRuns: runs + examples.length, examples });
    },
  );
});

interface Rows {
  new: (values: object) => { save(): Promise<void>; readonly ID: number };
}

/** The server, and its expected data. */
class World {
  readonly #people = new Map<number, Person>();
  #last = 0;

  private constructor(
    private readonly clients: readonly Client[],
    private readonly ofWrites: boolean,
  ) {}

  static async of(app: FastifyInstance, ofWrites: boolean): Promise<World> {
    const clients: Client[] = [];
    for (const { name, privileges } of writers) {
      clients.push(await restrictedClient(app, name, privileges));
    }
    const world = new World(clients, ofWrites);
    const { Company, Employee } = (
      app as unknown as { datastore: Readonly<Record<'Company' | 'Employee', Rows>> }
    ).datastore;
    for (const area of ['north', 'so\'uth"']) await Company.new({ name: area, area }).save();
    for (let index = 0; index < 8; index += 1) {
      const salary = [1, 99, 100, 150][index % 4] ?? 1;
      const employer = [1, 2, null][index % 3] ?? null;
      const boss = index < 2 ? null : index - 1;
      const made = Employee.new({ name: `e${index}`, salary, employer, boss });
      await made.save();
      world.#people.set(made.ID, { ID: made.ID, stamp: 1, salary, employer, boss });
      world.#last = made.ID;
    }
    return world;
  }

  async take(index: number, act: Act): Promise<void> {
    const writer = writers[index] as (typeof writers)[number];
    const client = this.clients[index] as Client;
    const seen = (key: number | null): Person | undefined => {
      const found = key === null ? undefined : this.#people.get(key);
      return found !== undefined && writer.sees(found) ? found : undefined;
    };
    const knows = ({ boss, employer }: Pick<Values, 'boss' | 'employer'>): boolean =>
      (boss === null || seen(boss) !== undefined) &&
      (employer === null || writer.companies.some((each) => each === employer));
    const mayStore = (values: Values): boolean => !this.ofWrites || writer.sees(values);
    const statusOf = (entity: Created): number =>
      !knows(entity) ? 422 : mayStore(entity) ? 200 : 403;
    const what = `${writer.name} ${JSON.stringify(act)}`;
    const post = async (url: string, body?: object): Promise<number> => {
      const { statusCode, body: text } = await client.post(url, body);
      expect(statusCode, `${what}\n${text}`).toBeLessThan(500);
      return statusCode;
    };
    switch (act.kind) {
      case 'create': {
        const { entity } = act;
        // It would be its own.
        if (entity.boss === this.#last + 1) return;
        const status = await post('/rest/Employee?$method=update', { name: 'n', ...entity });
        expect(status, what).toBe(statusOf(entity));
        if (status === 200) await this.#created([entity]);
        break;
      }
      case 'createList': {
        const { entities, isAtomic } = act;
        if (entities.some(({ boss }) => (boss ?? 0) > this.#last)) return;
        const atomic = isAtomic ? '&$atomic=true' : '';
        const status = await post(
          `/rest/Employee?$method=update${atomic}`,
          entities.map((each) => ({ name: 'n', ...each })),
        );
        const right = entities.filter((each) => statusOf(each) === 200);
        const isStored = !isAtomic || right.length === entities.length;
        const refusals = new Set(entities.map(statusOf));
        expect(status, what).toBe(isStored ? 200 : refusals.has(403) ? 403 : 422);
        if (isStored) await this.#created(right);
        break;
      }
      case 'update': {
        const { who, isStale, salary, employer, boss } = act;
        const person = seen(who);
        const stamp = (this.#people.get(who)?.stamp ?? 1) + (isStale ? 1 : 0);
        const given = { __KEY: who, __STAMP: stamp, salary, employer, boss };
        const status = await post('/rest/Employee?$method=update', given);
        if (person === undefined) {
          expect(status, what).toBe(404);
          break;
        }
        // A relation that is null because its entity is hidden stays.
        const isKept = {
          boss: boss === null && seen(person.boss) === undefined,
          employer: employer === null && !knows({ boss: null, employer: person.employer }),
        };
        const next = {
          salary: salary === undefined ? person.salary : salary,
          employer: employer === undefined || isKept.employer ? person.employer : employer,
          boss: boss === undefined || isKept.boss ? person.boss : boss,
        };
        // The foreign key of an employer is exposed, so what is stored may be sent again.
        const isRepeated = employer === person.employer;
        const isChange = (['salary', 'employer', 'boss'] as const).some(
          (name) => next[name] !== person[name],
        );
        if (isStale) expect(status, what).toBe(409);
        else if (!knows({ boss: boss ?? null, employer: isRepeated ? null : (employer ?? null) })) {
          expect(status, what).toBe(422);
        } else if (isChange && !mayStore(next)) expect(status, what).toBe(403);
        else {
          expect(status, what).toBe(200);
          if (isChange) person.stamp += 1;
          Object.assign(person, next);
        }
        break;
      }
      case 'overwrite': {
        const { who } = act;
        if (!this.#people.has(who)) return;
        const status = await post('/rest/Employee?$method=update', { __KEY: who, name: 'mine' });
        expect(status, what).toBe(409);
        break;
      }
      case 'delete': {
        const status = await post(`/rest/Employee(${act.who})?$method=delete`);
        expect(status, what).toBe(seen(act.who) === undefined ? 404 : 200);
        if (status === 200) this.#remove([act.who]);
        break;
      }
      case 'deleteMatching': {
        const filter = encodeURIComponent(`salary >= ${act.from}`);
        expect(await post(`/rest/Employee?$method=delete&$filter=${filter}`), what).toBe(200);
        const matching = [...this.#people.values()].filter(
          (each) => writer.sees(each) && (each.salary ?? 0) >= act.from,
        );
        this.#remove(matching.map(({ ID }) => ID));
        break;
      }
    }
    await this.#compare(what);
  }

  #remove(keys: readonly number[]): void {
    for (const key of keys) this.#people.delete(key);
    for (const each of this.#people.values()) {
      if (each.boss === null || !keys.includes(each.boss)) continue;
      each.boss = null;
      each.stamp += 1;
    }
  }

  /** Adds entities that were created in this order. */
  async #created(entities: readonly Values[]): Promise<void> {
    const all = this.clients.at(-1) as Client;
    const newest = `/rest/Employee?$orderby=ID desc&$top=${entities.length + 1}`;
    const { __ENTITIES } = (await all.get(newest)).json<{ __ENTITIES: { ID: number }[] }>();
    const keys = __ENTITIES.map(({ ID }) => ID).filter((key) => key > this.#last);
    expect(keys).toHaveLength(entities.length);
    for (const [index, { salary, employer, boss }] of entities.entries()) {
      const ID = keys[keys.length - 1 - index] as number;
      this.#people.set(ID, { ID, stamp: 1, salary, employer, boss });
      this.#last = ID;
    }
  }

  /** All data is as expected, and each session sees its part. */
  async #compare(what: string): Promise<void> {
    const all = this.clients.at(-1) as Client;
    const held = await all.get('/rest/Employee?$top=1000');
    interface Read {
      readonly ID: number;
      readonly __STAMP: number;
      readonly salary: number | null;
      readonly employerID: number | null;
      readonly boss: { readonly __deferred: { readonly __KEY: string } } | null;
    }
    const read = held.json<{ __ENTITIES: Read[] }>().__ENTITIES.map((each) => ({
      ID: each.ID,
      stamp: each.__STAMP,
      salary: each.salary,
      employer: each.employerID,
      boss: each.boss === null ? null : Number(each.boss.__deferred.__KEY),
    }));
    expect(read, what).toEqual([...this.#people.values()].sort((a, b) => a.ID - b.ID));
    for (const [index, { name, sees }] of writers.entries()) {
      const { body } = await (this.clients[index] as Client).get(
        '/rest/Employee/ID?$distinct=true',
      );
      const keys = read.filter(sees).map(({ ID }) => ID);
      expect(JSON.parse(body), `${what}: ${name} sees`).toEqual(keys);
    }
  }
}
