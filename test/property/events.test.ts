import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EventedClient, type Json } from '../support/evented-requests.js';
import { type EventedServer, eventedServer, type Row } from '../support/evented-server.js';
import { sampled } from '../support/long.js';

/**
 * The behaviour of an event: it logs its run, creates a person whose own events may fail, refuses,
 * or throws.
 */
type Action = 'nothing' | 'log' | 'person' | 'caught person' | 'refuse' | 'throw';
type Kind = 'validateSave' | 'saving' | 'afterSave' | 'validateDrop' | 'dropping' | 'afterDrop';
type Behaviour = Readonly<Partial<Record<Kind, Action>>>;

const kinds: readonly Kind[] = [
  'validateSave',
  'saving',
  'afterSave',
  'validateDrop',
  'dropping',
  'afterDrop',
];
/** Behaviours of companies and people by the number in their names. */
interface World {
  readonly companies: readonly Behaviour[];
  readonly people: readonly Behaviour[];
}

interface Step {
  readonly method: 'update' | 'atomic' | 'validate' | 'delete';
  /** Numbers of companies: saved again, or deleted. */
  readonly numbers: readonly number[];
}

/** What is stored: texts only, so that two states are compared by sorting. */
interface State {
  readonly companies: readonly string[];
  readonly people: readonly string[];
  readonly logs: readonly string[];
}

const behaviour = (actions: readonly Action[]): fc.Arbitrary<Behaviour> =>
  fc.record(
    Object.fromEntries(kinds.map((kind) => [kind, fc.constantFrom(...actions)])) as Record<
      Kind,
      fc.Arbitrary<Action>
    >,
    { requiredKeys: [] },
  );

const size = 4;
const worlds: fc.Arbitrary<World> = fc.record({
  companies: fc.array(
    behaviour(['nothing', 'log', 'log', 'person', 'caught person', 'refuse', 'throw']),
    { minLength: size, maxLength: size },
  ),
  people: fc.array(behaviour(['nothing', 'log', 'log', 'log', 'refuse', 'throw']), {
    minLength: size,
    maxLength: size,
  }),
});
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    method: fc.constantFrom('update', 'update', 'atomic', 'validate', 'delete'),
    numbers: fc.array(fc.nat(size - 1), { minLength: 1, maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 8 },
);

class Failed extends Error {}

/** Saves and deletions in memory: a state is immutable, so a rollback discards the new one. */
class Model {
  state: State = { companies: [], people: [], logs: [] };

  constructor(private readonly world: World) {}

  /** @returns which of the entities are refused */
  save(numbers: readonly number[], mode: Step['method']): readonly boolean[] {
    const before = this.state;
    const refused = numbers.map((number) => {
      return !this.#attempt(() => {
        this.#company(number, mode === 'validate');
      });
    });
    if (mode === 'validate' || (mode === 'atomic' && refused.includes(true))) this.state = before;
    return refused;
  }

  delete(numbers: readonly number[]): boolean {
    return this.#attempt(() => {
      const names = new Set(numbers.map((number) => `c${number}`));
      const companies = (): string[] => this.state.companies.filter((each) => names.has(each));
      const people = (): string[] =>
        this.state.people.filter((each) => names.has(each.slice(each.indexOf('@') + 1)));
      for (const kind of ['validateDrop', 'dropping', 'afterDrop'] as const) {
        const lists = { companies: companies(), people: people() };
        if (kind === 'afterDrop') this.#remove(lists);
        for (const each of lists.companies) this.#run(this.world.companies, each, kind);
        for (const each of lists.people) this.#run(this.world.people, each, kind);
      }
    });
  }

  #remove({ companies, people }: Pick<State, 'companies' | 'people'>): void {
    this.state = {
      ...this.state,
      companies: this.state.companies.filter((each) => !companies.includes(each)),
      people: this.state.people.filter((each) => !people.includes(each)),
    };
  }

  #attempt(work: () => void): boolean {
    const before = this.state;
    try {
      work();
      return true;
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      this.state = before;
      return false;
    }
  }

  #company(number: number, isValidation: boolean): void {
    const name = `c${number}`;
    this.#run(this.world.companies, name, 'validateSave');
    if (!isValidation) this.#run(this.world.companies, name, 'saving');
    this.state = { ...this.state, companies: [...this.state.companies, name] };
    if (!isValidation) this.#run(this.world.companies, name, 'afterSave');
  }

  /** @param employer whose deletion takes the person with it */
  #person(number: number, employer: string): void {
    const name = `p${number}${employer}`;
    this.#run(this.world.people, name, 'validateSave');
    this.#run(this.world.people, name, 'saving');
    this.state = { ...this.state, people: [...this.state.people, name] };
    this.#run(this.world.people, name, 'afterSave');
  }

  #run(behaviours: readonly Behaviour[], name: string, kind: Kind): void {
    const number = numberOf(name);
    const action = behaviours[number]?.[kind] ?? 'nothing';
    const isAfter = kind === 'afterSave' || kind === 'afterDrop';
    if (action === 'throw' || (action === 'refuse' && !isAfter)) throw new Failed();
    if (action === 'log') {
      this.state = { ...this.state, logs: [...this.state.logs, `${kind} ${name}`] };
    } else if (action === 'person') {
      this.#person(number, kind === 'afterSave' ? `@${name}` : '');
    } else if (action === 'caught person') {
      this.#attempt(() => {
        this.#person(number, kind === 'afterSave' ? `@${name}` : '');
      });
    }
  }
}

function numberOf(name: string): number {
  return Number(/\d+/.exec(name)?.[0]);
}

let server: EventedServer;
let client: EventedClient;
beforeAll(async () => {
  server = await eventedServer('memory');
  client = new EventedClient(server);
});
afterAll(() => server.close());

let people = 0;

async function act(entity: Row, kind: Kind, behaviours: readonly Behaviour[]): Promise<unknown> {
  const name = String(entity['name']);
  const number = numberOf(name);
  const action = behaviours[number]?.[kind] ?? 'nothing';
  if (action === 'throw') throw new Error('thrown');
  if (action === 'refuse') return { errCode: 1, message: 'refused' };
  if (action === 'log') await entity.ds.Log.new({ text: `${kind} ${name}` }).save();
  if (action !== 'person' && action !== 'caught person') return undefined;
  people += 1;
  const isStored = kind === 'afterSave';
  const values = isStored
    ? { name: `p${number}@${name}`, employer: entity }
    : { name: `p${number}` };
  const saved = entity.ds.Person.new({ ID: `${people}`, ...values }).save();
  await (action === 'person' ? saved : saved.catch(() => undefined));
  return undefined;
}

async function stored(dataclass: string, attribute: string): Promise<readonly string[]> {
  return (await client.stored(dataclass)).map((each) => String(each[attribute])).sort();
}

it('Random events leave the data that a model in memory predicts', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, steps, async (world, requests) => {
      await client.empty();
      for (const kind of kinds) {
        server.handlers.Company[kind] = (entity) => act(entity, kind, world.companies);
        server.handlers.Person[kind] = (entity) => act(entity, kind, world.people);
      }
      const model = new Model(world);
      for (const { method, numbers } of requests) {
        if (method === 'delete') {
          const names = numbers.map((each) => `name = 'c${each}'`).join(' or ');
          const { status } = await client.remove('Company', names);
          expect(status === 200).toBe(model.delete(numbers));
        } else {
          const bodies = numbers.map((each) => ({ name: `c${each}` }));
          const query = method === 'atomic' ? 'update&$atomic=true' : method;
          const { json } = await client.post(`Company?$method=${query}`, bodies);
          const entities = (json['__ENTITIES'] ?? []) as readonly Json[];
          const refused = model.save(numbers, method);
          const told = entities.filter((each) => '__ERROR' in each).length;
          expect(told).toBe(refused.filter(Boolean).length);
        }
        expect({
          companies: await stored('Company', 'name'),
          people: await stored('Person', 'name'),
          logs: await stored('Log', 'text'),
        }).toEqual({
          companies: [...model.state.companies].sort(),
          people: [...model.state.people].sort(),
          logs: [...model.state.logs].sort(),
        });
      }
    }),
    { numRuns: Number(process.env['PROPERTY_RUNS'] ?? sampled(60)) },
  );
});
