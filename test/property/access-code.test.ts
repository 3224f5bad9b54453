import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import type { Model } from '../../generator/model/model.js';
import { actClass, actFunctions, type ActingDatastore, actNamed } from '../support/acts.js';
import { Client } from '../support/cookies.js';
import { loggedIn, rolesServerOf } from '../support/roles-server.js';
import { type DataAction, NaiveRoles, type RolesFile } from './access/naive-roles.js';
import { randomGrant, randomRoles } from './access/random-roles.js';
import { attributes, entities, servedModel, servedResources } from './access/served-model.js';
import { Random } from '../support/random-model/random.js';
import { sampled } from '../support/long.js';

/**
 * `PROPERTY_ROLES=200` tests more than the ordinary run; `PROPERTY_SEED=<counterexample>` runs one
 * file again.
 */
const files = Number(process.env['PROPERTY_ROLES'] ?? sampled(6));
const onlySeed = process.env['PROPERTY_SEED'];
const sessionsPerFile = 4;

type Entity = Record<string, unknown> & {
  save(): Promise<void>;
  drop(): Promise<void>;
  toObject(): object;
};
interface Selection {
  readonly [relation: string]: unknown;
  count(): Promise<number>;
  query(filter: string): Selection;
  orderBy(order: string): Selection;
  distinct(path: string): Promise<unknown>;
  min(path: string): Promise<unknown>;
  first(): Promise<Entity | null>;
}
interface Code {
  all(): Selection;
  get(key: unknown): Promise<Entity>;
  readonly new: (values: object) => Entity;
}

describe('Class code of a server with roles, compared with a simple evaluation of the roles,', () => {
  it(
    'can do what its caller may do, and with promotions what they add',
    { timeout: 3_600_000 },
    async () => {
      const seeds = onlySeed === undefined ? fc.integer() : fc.constant(Number(onlySeed));
      await fc.assert(fc.asyncProperty(fc.noShrink(seeds), tryOneFile), {
        numRuns: onlySeed === undefined ? files : 1,
      });
    },
  );
});

async function tryOneFile(seed: number): Promise<void> {
  const random = new Random(seed);
  const chosen = randomRoles(random, servedResources);
  // Everybody may call the function that does the work.
  const allowed = [
    ...chosen.permissions.allowed,
    { applyTo: 'ds.act', type: 'method', execute: ['guest'] },
  ];
  const file: RolesFile = { ...chosen, permissions: { allowed } };
  const app = await rolesServerOf(checked(file), {}, actClass);
  try {
    const { datastore } = app as unknown as { datastore: ActingDatastore };
    for (const [dataclass, list] of entities) {
      for (const values of list) await codeOf(datastore, dataclass).new(values).save();
    }
    const naive = new NaiveRoles(file);
    for (let count = 0; count <= sessionsPerFile; count += 1) {
      const granted = count === 0 ? { privileges: [], roles: [] } : randomGrant(random, file);
      const client = count === 0 ? new Client(app) : await loggedIn(app, granted);
      const added = file.privileges
        .map(({ privilege }) => privilege)
        .filter((each) => !['guest', 'none'].includes(each.toLowerCase()) && random.chance(40));
      const held = naive.held(granted.privileges, granted.roles);
      const promoted = naive.held([...granted.privileges, ...added], granted.roles);
      const act = (ds: ActingDatastore): Promise<string[]> =>
        differences(ds, naive, held, promoted, added);
      const answer = await client.post('/rest/$catalog/act', [actNamed(act)]);
      expect(answer.json(), answer.body).toEqual({ result: [] });
    }
  } finally {
    await app.close();
  }
}

function checked(roles: RolesFile): Model {
  const { value, problems } = checkModel({
    file: 'model.yaml',
    text: `${servedModel}${actFunctions}roles: roles.json\n`,
    readBeside: () => JSON.stringify(roles),
  });
  if (value === undefined) throw new Error(JSON.stringify(problems));
  return value;
}

function codeOf(ds: ActingDatastore, dataclass: string): Code {
  return ds[dataclass] as Code;
}

/**
 * The deviations from the expectation, within a promotion and outside of it, both at the same time.
 */
async function differences(
  ds: ActingDatastore,
  naive: NaiveRoles,
  held: ReadonlySet<string>,
  promoted: ReadonlySet<string>,
  added: readonly string[],
): Promise<string[]> {
  const found = await Promise.all([
    new Trial(ds, naive, held).run('own'),
    ds.session.promote(added, () => new Trial(ds, naive, promoted).run('promoted')),
    new Trial(ds, naive, held).run('beside'),
  ]);
  return found.flat();
}

class UndoneError extends Error {}

/** Everything that code can do with each attribute, once. */
class Trial {
  readonly #wrong: string[] = [];
  #label = '';

  constructor(
    private readonly ds: ActingDatastore,
    private readonly naive: NaiveRoles,
    private readonly held: ReadonlySet<string>,
  ) {}

  async run(label: string): Promise<string[]> {
    this.#label = label;
    for (const [dataclass, own] of Object.entries(attributes)) {
      const code = codeOf(this.ds, dataclass);
      const mayRead = this.#may('read', dataclass);
      await this.#try(`${dataclass} count`, mayRead, () => code.all().count());
      for (const [name, target] of Object.entries(own)) await this.#read(dataclass, name, target);
      await this.#write(dataclass);
      if (mayRead) await this.#object(dataclass);
    }
    return this.#wrong;
  }

  async #read(dataclass: string, name: string, target: string): Promise<void> {
    const code = codeOf(this.ds, dataclass);
    const at = `${dataclass}.${name}`;
    const may = this.#isOpen(dataclass, name);
    if (target !== '') {
      await this.#try(`${at} followed`, may, () => (code.all()[name] as Selection).count());
      const path = `${name}.ID`;
      const isPathOpen = may && this.#isOpen(target, 'ID');
      await this.#try(`${path} in filter`, isPathOpen, () =>
        code.all().query(`${path} != null`).count(),
      );
    }
    if (name !== 'photo' && name !== 'place' && target === '') {
      await this.#try(`${at} in filter`, may, () => code.all().query(`${name} != null`).count());
    }
    if (['photo', 'place', 'facts'].includes(name) || target !== '') return;
    await this.#try(`${at} ordered`, may, () => code.all().orderBy(name).first());
    await this.#try(`${at} distinct`, may, () => code.all().distinct(name));
    await this.#try(`${at} min`, may, () => code.all().min(name));
  }

  async #object(dataclass: string): Promise<void> {
    const entity = await codeOf(this.ds, dataclass).get(keyOf(dataclass));
    const shown = Object.keys(entity.toObject());
    for (const [name, target] of Object.entries(attributes[dataclass] ?? {})) {
      const at = `${dataclass}.${name}`;
      const may = this.#isOpen(dataclass, name);
      await this.#try(`${at} property`, may, () =>
        Promise.resolve().then(() => propertyOf(entity, name)),
      );
      const isValue = target === '' || ['parent', 'firm', 'person'].includes(name);
      if (!isValue || name === 'photo') continue;
      if (shown.includes(name) !== may) this.#wrong.push(`${this.#label}: ${at} in toObject()`);
    }
  }

  async #write(dataclass: string): Promise<void> {
    const code = codeOf(this.ds, dataclass);
    await this.#undone(`${dataclass} created`, this.#may('create', dataclass), () =>
      code.new({}).save(),
    );
    for (const name of written[dataclass] ?? []) {
      const mayCreate = this.#may('create', dataclass) && this.#mayWith('create', dataclass, name);
      await this.#undone(`${dataclass}.${name} created`, mayCreate, () =>
        code.new({ [name]: 'x' }).save(),
      );
      if (!this.#may('read', dataclass)) continue;
      const mayUpdate =
        this.#may('update', dataclass) &&
        this.#mayWith('update', dataclass, name) &&
        this.#isOpen(dataclass, name);
      const change = (value: unknown) => async (): Promise<void> => {
        const entity = await code.get(keyOf(dataclass));
        entity[name] = value;
        await entity.save();
      };
      await this.#undone(`${dataclass}.${name} changed`, mayUpdate, change('changed'));
      // Clearing a value needs the privilege to update; the attribute itself can require more.
      if (!this.#may('drop', dataclass)) continue;
      const mayEmpty = mayUpdate && this.#mayWith('drop', dataclass, name);
      await this.#undone(`${dataclass}.${name} emptied`, mayEmpty, change(null));
    }
    if (dataclass !== 'Letter' || !this.#may('read', dataclass)) return;
    const mayDrop =
      this.#may('drop', dataclass) &&
      ['text', 'person', 'ID'].every((name) => this.#mayWith('drop', dataclass, name));
    await this.#undone('Letter dropped', mayDrop, async () =>
      (await code.get(keyOf('Letter'))).drop(),
    );
  }

  #undone(what: string, may: boolean, work: () => Promise<void>): Promise<void> {
    return this.#try(what, may, async () => {
      try {
        await this.ds.transaction(async () => {
          await work();
          throw new UndoneError();
        });
      } catch (error) {
        if (!(error instanceof UndoneError)) throw error;
      }
    });
  }

  async #try(what: string, may: boolean, work: () => Promise<unknown>): Promise<void> {
    let done = 'done';
    try {
      await work();
    } catch (error) {
      const { httpStatus, status = httpStatus } = error as { httpStatus?: number; status?: number };
      const denial = this.ds.session.isGuest ? 401 : 403;
      done = (httpStatus ?? status) === denial ? 'denied' : String(error);
    }
    if (done !== (may ? 'done' : 'denied')) this.#wrong.push(`${this.#label}: ${what}: ${done}`);
  }

  #may(action: DataAction, dataclass: string): boolean {
    return this.naive.mayDo(this.held, action, dataclass);
  }

  #mayWith(action: DataAction, dataclass: string, name: string): boolean {
    return this.naive.mayDoWith(this.held, action, dataclass, name);
  }

  #isOpen(dataclass: string, name: string): boolean {
    const target = attributes[dataclass]?.[name] ?? '';
    return this.#mayWith('read', dataclass, name) && (target === '' || this.#may('read', target));
  }
}

/** Texts, of which each may be given any value. */
const written: Readonly<Record<string, readonly string[]>> = {
  Firm: ['name'],
  Person: ['name', 'note'],
  Letter: ['text'],
};

function keyOf(dataclass: string): unknown {
  return dataclass === 'Letter' ? '00000000-0000-4000-8000-000000000001' : 1;
}

function propertyOf(entity: Entity, name: string): unknown {
  const value = entity[name] as { key?: unknown; size?: unknown; count?: () => Promise<number> };
  if (name === 'photo') return value.size;
  if (['parent', 'firm', 'person'].includes(name)) return value.key;
  return ['children', 'people', 'letters'].includes(name) ? value.count?.() : value;
}
