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

/** The writers, and the entities that they see: Company 1 is in the north, Company 2 is not. */
const writers = [
  { name: 'poor', privileges: ['north'], sees: ({ salary }: Person) => (salary ?? 100) < 100 },
  { name: 'ann', privileges: ['north'], sees: ({ employer }: Person) => employer === 1 },
  { name: 'sue', privileges: ['south'], sees: ({ employer }: Person) => employer === 2 },
  { name: 'all', privileges: ['all'], sees: () => true },
] as const;

const salaries = fc.constantFrom(null, 1, 50, 99, 100, 150);
const people = fc.nat(12);

const acts = fc.oneof(
  fc.record({ kind: fc.constant('create'), salary: salaries, boss: fc.option(people) }),
  fc.record({
    kind: fc.constant('update'),
    who: people,
    isStale: fc.boolean(),
    salary: fc.option(salaries, { nil: undefined }),
    boss: fc.option(fc.option(people), { nil: undefined }),
  }),
  fc.record({ kind: fc.constant('overwrite'), who: people }),
  fc.record({ kind: fc.constant('delete'), who: people }),
  fc.record({ kind: fc.constant('deleteMatching'), from: fc.constantFrom(99, 100, 150) }),
);

type Act = typeof acts extends fc.Arbitrary<infer T> ? T : never;

const turns = fc.array(fc.tuple(fc.constantFrom(0, 1, 2, 3), acts), {
  minLength: 5,
  maxLength: 25,
});

/** Her employee has a boss who is hidden from ann, and must not be revealed. */
const hiddenBossRepeated: [number, Act][] = [
  [1, { kind: 'update', who: 4, isStale: false, salary: undefined, boss: 2 }],
];

describe.each([false, true])('Writes of restricted sessions, with events: %s', (hasEvents) => {
  it('change only what the sessions see', { timeout: 600_000 }, async () => {
    const property = fc.asyncProperty(turns, async (list) => {
      const app = await restrictedServer({}, hasEvents);
      try {
        const world = await World.of(app);
        for (const [writer, act] of list) await world.take(writer, act);
      } finally {
        await app.close();
      }
    });
    await fc.assert(property, { numRuns: runs, examples: [[hiddenBossRepeated]] });
  });
});

interface Rows {
  new: (values: object) => { save(): Promise<void>; readonly ID: number };
}

/** The server, and its expected data. */
class World {
  readonly #people = new Map<number, Person>();
  #last = 0;

  private constructor(private readonly clients: readonly Client[]) {}

  static async of(app: FastifyInstance): Promise<World> {
    const clients: Client[] = [];
    for (const { name, privileges } of writers) {
      clients.push(await restrictedClient(app, name, privileges));
    }
    const world = new World(clients);
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
    const what = `${writer.name} ${JSON.stringify(act)}`;
    const post = async (url: string, body?: object): Promise<number> => {
      const { statusCode, body: text } = await client.post(url, body);
      expect(statusCode, `${what}\n${text}`).toBeLessThan(500);
      return statusCode;
    };
    switch (act.kind) {
      case 'create': {
        const { salary, boss } = act;
        // It would be its own.
        if (boss === this.#last + 1) return;
        const status = await post('/rest/Employee?$method=update', { name: 'n', salary, boss });
        const isRight = boss === null || seen(boss) !== undefined;
        expect(status, what).toBe(isRight ? 200 : 422);
        if (isRight) {
          this.#last = await this.#newest();
          const made = { ID: this.#last, stamp: 1, salary, employer: null, boss };
          this.#people.set(this.#last, made);
        }
        break;
      }
      case 'update': {
        const { who, isStale, salary, boss } = act;
        const person = seen(who);
        const stamp = (this.#people.get(who)?.stamp ?? 1) + (isStale ? 1 : 0);
        const given = { __KEY: who, __STAMP: stamp, salary, boss };
        const status = await post('/rest/Employee?$method=update', given);
        const isKnown = boss === undefined || boss === null || seen(boss) !== undefined;
        if (person === undefined) expect(status, what).toBe(404);
        else if (isStale) expect(status, what).toBe(409);
        else if (!isKnown) expect(status, what).toBe(422);
        else {
          expect(status, what).toBe(200);
          // A relation that is null because its entity is hidden stays.
          const isKept = boss === null && seen(person.boss) === undefined;
          const next = {
            salary: salary === undefined ? person.salary : salary,
            boss: boss === undefined || isKept ? person.boss : boss,
          };
          if (next.salary !== person.salary || next.boss !== person.boss) person.stamp += 1;
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

  async #newest(): Promise<number> {
    const all = this.clients.at(-1) as Client;
    const response = await all.get('/rest/Employee?$orderby=ID desc&$top=1');
    return response.json<{ __ENTITIES: [{ ID: number }] }>().__ENTITIES[0].ID;
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
