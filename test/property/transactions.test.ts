import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, it, expect } from 'vitest';
import { SaveError } from '../../runtime/class/objects/failure.js';
import type { DataStore } from '../support/staff-classes.js';
import { places, staffServer } from '../support/staff-server.js';
import { sampled } from '../support/long.js';

/** Entities by key: the city of each. */
type World = ReadonlyMap<number, string>;

type Step =
  | { readonly kind: 'create' | 'change'; readonly key: number; readonly city: string }
  | { readonly kind: 'drop'; readonly key: number }
  | { readonly kind: 'read' | 'rest' }
  | { readonly kind: 'part'; readonly steps: readonly Step[]; readonly fails: boolean }
  | { readonly kind: 'parts'; readonly parts: readonly Part[] };

interface Part {
  readonly steps: readonly Step[];
  readonly fails: boolean;
}

/** The actions of one request: transactions, and reads outside of them. */
type Script = readonly (Part | 'read')[];

const key = fc.integer({ min: 1, max: 4 });
const city = fc.constantFrom('Rome', 'Paris', 'Oslo');

const { part } = fc.letrec<{ step: Step; part: Part }>((tie) => ({
  step: fc.oneof(
    { depthSize: 'small' },
    fc.record({ kind: fc.constantFrom('create' as const, 'change' as const), key, city }),
    fc.record({ kind: fc.constant('drop' as const), key }),
    fc.record({ kind: fc.constantFrom('read' as const, 'rest' as const) }),
    tie('part').map((each): Step => ({ kind: 'part', ...each })),
    fc
      .array(tie('part'), { minLength: 2, maxLength: 3 })
      .map((parts): Step => ({ kind: 'parts', parts })),
  ),
  part: fc.record({
    steps: fc.array(tie('step'), { maxLength: 5 }),
    fails: fc.nat({ max: 3 }).map((number) => number === 0),
  }),
}));

const script: fc.Arbitrary<Script> = fc.array(
  fc.oneof({ arbitrary: part, weight: 3 }, { arbitrary: fc.constant('read' as const), weight: 1 }),
  { maxLength: 4 },
);

class Undone extends Error {}

/** The data that a transaction, or a part of one, should see. */
class Expected {
  constructor(public world: World) {}
}

/**
 * Runs scripts at the same time, and compares everything that they see with transactions that run
 * one after the other.
 */
class Run {
  /** The stored data at each time. */
  readonly history: World[] = [new Map()];

  constructor(private readonly ds: DataStore) {}

  async script(steps: Script): Promise<void> {
    for (const step of steps) {
      if (step === 'read') await this.#readOutside();
      else await this.#transaction(step);
    }
  }

  async #transaction({ steps, fails }: Part): Promise<void> {
    const work = this.ds.transaction(async () => {
      // Transactions run one after the other: the stored data does not change before this one ends.
      const expected = new Expected(this.#stored());
      await this.#steps(steps, expected);
      if (fails) throw new Undone();
      this.history.push(expected.world);
    });
    await survive(work, fails);
  }

  async #steps(steps: readonly Step[], expected: Expected): Promise<void> {
    for (const step of steps) {
      await this.#step(step, expected);
      if (step.kind !== 'rest') expect(await this.#read()).toEqual(expected.world);
    }
  }

  async #step(step: Step, expected: Expected): Promise<void> {
    switch (step.kind) {
      case 'rest':
        return setImmediate();
      case 'read':
        return;
      case 'create':
        return this.#create(step.key, step.city, expected);
      case 'change':
      case 'drop':
        return this.#change(step.key, 'city' in step ? step.city : undefined, expected);
      case 'part':
        return this.#part(step, expected);
      case 'parts':
        await Promise.all(step.parts.map((each) => this.#part(each, expected)));
    }
  }

  async #part({ steps, fails }: Part, outer: Expected): Promise<void> {
    const work = this.ds.transaction(async () => {
      const expected = new Expected(outer.world);
      await this.#steps(steps, expected);
      if (fails) throw new Undone();
      outer.world = expected.world;
    });
    await survive(work, fails);
  }

  async #create(ID: number, inCity: string, expected: Expected): Promise<void> {
    const company = this.ds.Company.new({ ID, name: `company ${ID}`, city: inCity });
    const isTaken = expected.world.has(ID);
    const error = await company.save().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error instanceof SaveError, String(error)).toBe(isTaken);
    expect(company.isNew).toBe(isTaken);
    if (!isTaken) expected.world = new Map(expected.world).set(ID, inCity);
  }

  /** @param toCity nothing deletes the entity */
  async #change(ID: number, toCity: string | undefined, expected: Expected): Promise<void> {
    const company = await this.ds.Company.get(ID);
    expect(company?.city).toBe(expected.world.get(ID));
    if (company === null) return;
    const changed = new Map(expected.world);
    if (toCity === undefined) {
      await company.drop();
      changed.delete(ID);
    } else {
      company.city = toCity;
      await company.save();
      changed.set(ID, toCity);
    }
    expected.world = changed;
  }

  async #readOutside(): Promise<void> {
    // Data that is being stored when the read begins is in the history already.
    const from = Math.max(0, this.history.length - 2);
    const seen = await this.#read();
    expect(this.history.slice(from)).toContainEqual(seen);
  }

  async #read(): Promise<World> {
    const rows = await this.ds.kysely
      .selectFrom('Company')
      .select(['ID', 'city'])
      .orderBy('ID')
      .execute();
    return new Map(rows.map(({ ID, city: inCity }) => [ID, String(inCity)]));
  }

  #stored(): World {
    return this.history.at(-1) ?? new Map<number, string>();
  }

  async check(): Promise<void> {
    expect(await this.#read()).toEqual(this.#stored());
  }
}

async function survive(work: Promise<void>, fails: boolean): Promise<void> {
  try {
    await work;
    expect(fails).toBe(false);
  } catch (error) {
    if (!(error instanceof Undone)) throw error;
  }
}

describe.each(places)('Transactions at the same time, on a database in a %s,', (place) => {
  it('have the result of running one after the other', async () => {
    const server = await staffServer(place);
    const { ds } = server;
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(script, { minLength: 1, maxLength: 4 }), async (scripts) => {
          await ds.kysely.deleteFrom('Company').execute();
          const run = new Run(ds);
          await Promise.all(scripts.map((each) => run.script(each)));
          await run.check();
        }),
        { numRuns: Number(process.env['PROPERTY_RUNS'] ?? sampled(50)) },
      );
    } finally {
      await server.close();
    }
  });
});
