import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RestError } from '../../../runtime/protocol/errors.js';
import type { SaveError } from '../../../runtime/class/objects/failure.js';
import { type Answer, EventedClient, type Json } from '../../support/evented-requests.js';
import { type EventedServer, eventedServer, type Row } from '../../support/evented-server.js';
import { itLong } from '../../support/long.js';

let server: EventedServer;
let client: EventedClient;
beforeAll(async () => {
  server = await eventedServer();
  client = new EventedClient(server);
});
afterAll(() => server.close());
beforeEach(() => client.empty());

async function log(entity: Row, text: string): Promise<void> {
  await entity.ds.Log.new({ text }).save();
}

async function texts(): Promise<readonly unknown[]> {
  return (await client.stored('Log')).map(({ text }) => text);
}

async function names(dataclass: string): Promise<readonly unknown[]> {
  return (await client.stored(dataclass)).map(({ name }) => name);
}

/** Companies a, b, c; a and b have two people each, named after the company with a number. */
async function staffed(): Promise<readonly number[]> {
  const companies = await client.create('Company', [{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
  const keys = companies.map(({ __KEY }) => Number(__KEY));
  const people = ['a', 'b'].flatMap((name, index) =>
    [1, 2].map((n) => ({ ID: `${name}${n}`, name: `${name}${n}`, employer: keys[index] })),
  );
  await client.create('Person', people);
  return keys;
}

/** Logs the events of deletions of both dataclasses. */
function noted(): string[] {
  const kinds: string[] = [];
  const note = (entity: Row, { kind }: { readonly kind: string }): void =>
    void kinds.push(`${kind} ${String(entity['name'])}`);
  for (const name of ['Company', 'Person'] as const) {
    server.handlers[name] = { validateDrop: note, dropping: note, afterDrop: note };
  }
  return kinds;
}

describe('The order of the events of a deletion', () => {
  it('is validateDrop of all, dropping of all, the deletion, afterDrop of all; cascades have theirs', async () => {
    const [a] = await staffed();
    const kinds = noted();
    expect(await client.post(`Company(${a})?$method=delete`)).toEqual({
      status: 200,
      json: { ok: true },
    });
    const each = ['a', 'a1', 'a2'];
    expect(kinds).toEqual([
      ...each.map((name) => `validateDrop ${name}`),
      ...each.map((name) => `dropping ${name}`),
      ...each.map((name) => `afterDrop ${name}`),
    ]);
    expect(await names('Company')).toEqual(['b', 'c']);
    expect(await names('Person')).toEqual(['b1', 'b2']);
  });

  it('is that of the keys: integers by value, others by text', async () => {
    const numbers = Array.from({ length: 11 }, (_, index) => String(index + 1));
    const ids = ['b', '10', '9', 'a', '-1', '100', 'ab'];
    const companies = numbers.map((name) => ({ name }));
    await client.create('Company', [...companies, { ID: -2, name: '-2' }, { ID: 0, name: '0' }]);
    await client.create(
      'Person',
      ids.map((ID) => ({ ID, name: ID })),
    );
    const kinds = noted();
    await client.remove('Company', 'ID > -10');
    await client.remove('Person', 'ID != null');
    const order = ['-2', '0', ...numbers, ...[...ids].sort()];
    for (const kind of ['validateDrop', 'dropping', 'afterDrop']) {
      const found = kinds.filter((each) => each.startsWith(kind));
      expect(found).toEqual(order.map((name) => `${kind} ${name}`));
    }
  });

  it('gives each event the object of its entity', async () => {
    const [a] = await staffed();
    const seen: unknown[] = [];
    server.handlers.Company = {
      validateDrop: (_, event) => void seen.push(event),
      dropping: (_, event) => void seen.push(event),
      afterDrop: (_, event) => void seen.push(event),
    };
    await client.post(`Company(${a})?$method=delete`);
    expect(seen).toEqual([
      { kind: 'validateDrop', dataClassName: 'Company' },
      { kind: 'dropping', dataClassName: 'Company' },
      { kind: 'afterDrop', dataClassName: 'Company', dropStatus: 'success' },
    ]);
  });

  it('has the same object in all events, that of the class code if it deletes', async () => {
    const [, , c] = await staffed();
    const seen = new Set<Row>();
    const note = (entity: Row): void => void seen.add(entity);
    server.handlers.Company = { validateDrop: note, dropping: note, afterDrop: note };
    const entity = await server.ds.Company.get(c as number);
    await entity?.drop();
    expect([...seen]).toEqual([entity]);
  });

  it('has the deletion done before afterDrop, which raises the global stamp for each entity', async () => {
    const [a] = await staffed();
    const before = await client.globalStamp();
    const found: unknown[] = [];
    server.handlers.Company = {
      dropping: async ({ ds, key }) => void found.push(await ds.Company.get(key as number)),
      afterDrop: async ({ ds, key }) => void found.push(await ds.Company.get(key as number)),
    };
    await client.post(`Company(${a})?$method=delete`);
    expect(found.map((each) => each === null)).toEqual([false, true]);
    expect(await client.globalStamp()).toBe(before + 3);
  });

  it('has no events for entities whose relation becomes null', async () => {
    const [a] = await staffed();
    await client.create('Company', [{ name: 'd', partner: a }]);
    const kinds = noted();
    server.handlers.Company.saving = () => void kinds.push('saving');
    await client.post(`Company(${a})?$method=delete`);
    expect(kinds.filter((each) => /saving| d/.test(each))).toEqual([]);
    expect((await client.stored('Company')).at(-1)).toMatchObject({ partner: null, __STAMP: 2 });
  });
});

const ways: readonly (readonly [string, (keys: readonly number[]) => Promise<Answer>])[] = [
  ['by its key', ([, b]) => client.post(`Company(${b})?$method=delete`)],
  ['by a filter', () => client.remove('Company', `name = 'a' or name = 'b'`)],
  [
    'by an entity set',
    async () => {
      const made = await server.app.inject('/rest/Company?$method=entityset');
      const { __ENTITYSET: uri } = made.json<{ readonly __ENTITYSET: string }>();
      return client.post(`${uri.slice('/rest/'.length)}?$method=delete`);
    },
  ],
];

const refusals = [
  ['validateDrop', { seriousError: true }, 8],
  ['validateDrop', {}, 7],
  ['dropping', {}, 4],
] as const;

describe.each(refusals)('%s refuses with %j', (kind, extra, status) => {
  const error = { errCode: 78, message: 'must stay', ...extra };
  const told = { message: 'must stay', componentSignature: 'DBEV', errCode: 78 };
  const refusing =
    (name: string) =>
    async (entity: Row): Promise<object | undefined> => {
      await log(entity, 'tried');
      return entity['name'] === name ? error : undefined;
    };

  it.each(ways)('for an entity that is deleted %s', async (_, remove) => {
    const keys = await staffed();
    server.handlers.Company = { [kind]: refusing('b') };
    const before = await client.globalStamp();
    expect(await remove(keys)).toEqual({ status: 422, json: { ok: false, __ERROR: [told] } });
    expect(await names('Company')).toEqual(['a', 'b', 'c']);
    expect(await names('Person')).toEqual(['a1', 'a2', 'b1', 'b2']);
    expect(await texts()).toEqual([]);
    expect(await client.globalStamp()).toBe(before);
  });

  it('for an entity that is deleted with another one', async () => {
    const [, b] = await staffed();
    server.handlers.Person = { [kind]: refusing('b2') };
    expect(await client.post(`Company(${b})?$method=delete`)).toEqual({
      status: 422,
      json: { ok: false, __ERROR: [told] },
    });
    expect(await names('Company')).toEqual(['a', 'b', 'c']);
    expect((await client.stored('Person')).length).toBe(4);
    expect(await texts()).toEqual([]);
  });

  it('for a deletion by class code', async () => {
    const [, b] = await staffed();
    server.handlers.Company = { [kind]: refusing('b') };
    const entity = await server.ds.Company.get(b as number);
    await expect(entity?.drop()).rejects.toMatchObject({
      status,
      httpStatus: 422,
      errors: [told],
    } satisfies Partial<SaveError>);
    await expect(server.ds.Company.query('ID > 0').drop()).rejects.toMatchObject({ status });
    expect(await names('Company')).toEqual(['a', 'b', 'c']);
    expect(await texts()).toEqual([]);
  });
});

describe.each(['validateDrop', 'dropping', 'afterDrop'] as const)('%s throws', (kind) => {
  const thrown = new Error('a secret');

  it('any error: 500 without its message, and nothing is deleted', async () => {
    await staffed();
    server.handlers.Person = {
      [kind]: async (entity: Row) => {
        await log(entity, 'tried');
        if (entity['name'] === 'b1') throw thrown;
      },
    };
    const { status, json } = await client.remove('Company', 'ID > 0');
    expect(status).toBe(500);
    expect(JSON.stringify(json)).not.toContain('secret');
    expect(server.logged).toEqual([expect.stringContaining('a secret')]);
    expect(await names('Company')).toEqual(['a', 'b', 'c']);
    expect(await texts()).toEqual([]);
  });

  it('a RestError: its own status', async () => {
    const [, b] = await staffed();
    server.handlers.Company = {
      [kind]: () => {
        throw new RestError(451, 9, 'by law');
      },
    };
    const answer = await client.post(`Company(${b})?$method=delete`);
    expect(answer).toMatchObject({ status: 451, json: { __ERROR: [{ errCode: 9 }] } });
    expect(await names('Company')).toEqual(['a', 'b', 'c']);
  });

  it('with class code as the caller: the caller gets the same error', async () => {
    const [, b] = await staffed();
    server.handlers.Company = {
      [kind]: () => {
        throw thrown;
      },
    };
    const entity = await server.ds.Company.get(b as number);
    await expect(entity?.drop()).rejects.toBe(thrown);
    expect(await names('Company')).toEqual(['a', 'b', 'c']);
  });
});

describe('afterDrop', () => {
  it('cannot refuse', async () => {
    const [, b] = await staffed();
    server.handlers.Company = { afterDrop: () => ({ errCode: 1, message: 'no' }) };
    expect(await client.post(`Company(${b})?$method=delete`)).toMatchObject({ status: 200 });
  });

  it('runs with the failure when the deletion fails after dropping, and nothing of it is stored', async () => {
    await client.create('Person', [{ ID: 'x', name: 'x' }]);
    await client.create('Person', [{ ID: 'y', name: 'y', boss: 'x' }]);
    const seen: unknown[] = [];
    server.handlers.Person = {
      afterDrop: async (entity, { dropStatus }) => {
        await log(entity, 'after');
        seen.push([entity['name'], dropStatus]);
      },
    };
    expect(await client.post("Person('x')?$method=delete")).toMatchObject({ status: 409 });
    expect(seen).toEqual([['x', 'failed']]);
    expect([await names('Person'), await texts()]).toEqual([['x', 'y'], []]);
  });
});

describe('Events that change the entities of a deletion', () => {
  it('may delete another entity of it', async () => {
    const [a] = await staffed();
    const kinds = noted();
    server.handlers.Company.validateDrop = async (entity) => {
      kinds.push(`validateDrop ${String(entity['name'])}`);
      if (entity.key !== a) return;
      const [other] = await entity.ds.Company.query(`name = 'b'`).toArray();
      await other?.drop();
    };
    expect(await client.remove('Company', 'ID > 0')).toMatchObject({ status: 200 });
    expect([await names('Company'), await names('Person')]).toEqual([[], []]);
    const counts = kinds.filter((each) => /afterDrop/.test(each)).sort();
    expect(counts).toEqual(
      ['a', 'a1', 'a2', 'b', 'b1', 'b2', 'c'].map((each) => `afterDrop ${each}`),
    );
  });

  it('may delete the dependents that would forbid it', async () => {
    await client.create('Person', [{ ID: 'x', name: 'x' }]);
    await client.create('Person', [{ ID: 'y', name: 'y', boss: 'x' }]);
    server.handlers.Person.dropping = async (entity) => {
      const people = await entity.ds.Person.query('boss.ID = :1', entity.key).toArray();
      for (const each of people) await each.drop();
    };
    expect(await client.post("Person('x')?$method=delete")).toMatchObject({ status: 200 });
    expect(await names('Person')).toEqual([]);
  });

  it('may add a dependent entity, whose events run too', async () => {
    const [a] = await staffed();
    const kinds = noted();
    let hasAdded = false;
    server.handlers.Person.dropping = async (entity) => {
      kinds.push(`dropping ${String(entity['name'])}`);
      if (hasAdded) return;
      hasAdded = true;
      await entity.ds.Person.new({ ID: 'new', name: 'new', employer: a }).save();
    };
    expect(await client.post(`Company(${a})?$method=delete`)).toMatchObject({ status: 200 });
    expect(await names('Person')).toEqual(['b1', 'b2']);
    expect(kinds.filter((each) => each.endsWith('new'))).toEqual([
      'validateDrop new',
      'dropping new',
      'afterDrop new',
    ]);
  });

  it('may relate an entity to one that is not deleted, which keeps it', async () => {
    const [a, b] = await staffed();
    const kinds = noted();
    server.handlers.Company.validateDrop = async (entity) => {
      const [person] = await entity.ds.Person.query(`name = 'a2'`).toArray();
      if (person === undefined) throw new Error('missing');
      person.fromObject({ employer: b });
      await person.save();
    };
    expect(await client.post(`Company(${a})?$method=delete`)).toMatchObject({ status: 200 });
    expect(await names('Person')).toEqual(['a2', 'b1', 'b2']);
    expect(kinds.filter((each) => each.endsWith('a2'))).toEqual([]);
  });

  it('may forbid it by an entity that they add', async () => {
    await client.create('Person', [{ ID: 'x', name: 'x' }]);
    server.handlers.Person.dropping = async (entity) => {
      await entity.ds.Person.new({ ID: 'y', name: 'y', boss: 'x' }).save();
    };
    expect(await client.post("Person('x')?$method=delete")).toMatchObject({ status: 409 });
    expect(await names('Person')).toEqual(['x']);
  });

  it('may save the entity that is deleted', async () => {
    const [a] = await staffed();
    server.handlers.Company.validateDrop = async (entity) => {
      entity['size'] = 99;
      await entity.save();
    };
    const entity = await server.ds.Company.get(a as number);
    await entity?.drop();
    expect(await names('Company')).toEqual(['b', 'c']);
  });

  it('may delete that entity themselves', async () => {
    const [a] = await staffed();
    let isWithin = false;
    server.handlers.Company.dropping = async (entity) => {
      if (isWithin) return;
      isWithin = true;
      await entity.drop();
    };
    expect(await client.post(`Company(${a})?$method=delete`)).toMatchObject({ status: 200 });
    expect([await names('Company'), await names('Person')]).toEqual([
      ['b', 'c'],
      ['b1', 'b2'],
    ]);
  });

  it('may start deletions that nobody awaits, each of which deletes only its own entities', async () => {
    const companies = await staffed();
    const [a] = companies;
    const started: Promise<void>[] = [];
    const dropLogs = async ({ ds }: Row): Promise<void> => {
      for (let round = 0; round < 20; round += 1) {
        // Logs with the keys of companies.
        for (const ID of companies) await ds.Log.new({ ID, text: 'x' }).save();
        await ds.Log.query('ID > 0').drop();
      }
    };
    // The transaction may end before the last of them.
    server.handlers.Company = {
      dropping: (entity) => void started.push(dropLogs(entity).catch(() => undefined)),
    };
    expect(await client.post(`Company(${a})?$method=delete`)).toMatchObject({ status: 200 });
    await Promise.all(started);
    expect(await names('Company')).toEqual(['b', 'c']);
    expect(await names('Person')).toEqual(['b1', 'b2']);
  });

  it('that add entities for ever end with an error, and nothing is deleted', async () => {
    const [a] = await staffed();
    let added = 0;
    server.handlers.Person.validateDrop = async (entity) => {
      added += 1;
      await entity.ds.Person.new({ ID: `new ${added}`, employer: a }).save();
    };
    expect(await client.post(`Company(${a})?$method=delete`)).toMatchObject({ status: 500 });
    expect(server.logged).toEqual([expect.stringContaining('repeatedly')]);
    expect((await client.stored('Person')).length).toBe(4);
  });

  it('that delete within each other for ever end with an error, and nothing is deleted', async () => {
    await staffed();
    let runs = 0;
    server.handlers.Person.dropping = async (entity) => {
      runs += 1;
      const [company] = await entity.ds.Company.query('staff.ID = :1', entity.key).toArray();
      await company?.drop();
    };
    expect(await client.post("Person('a1')?$method=delete")).toMatchObject({ status: 500 });
    expect(runs).toBeLessThan(200);
    expect(server.logged).toEqual([expect.stringContaining('more than 100 saves')]);
    expect([(await names('Company')).length, (await names('Person')).length]).toEqual([3, 4]);
  });

  it('may be refused themselves, and continue', async () => {
    const [a, b] = await staffed();
    server.handlers.Company.dropping = async (entity) => {
      if (entity.key === b) return { errCode: 1, message: 'no' };
      const other = await entity.ds.Company.get(b as number);
      await other?.drop().catch(() => undefined);
      return undefined;
    };
    expect(await client.post(`Company(${a})?$method=delete`)).toMatchObject({ status: 200 });
    expect([await names('Company'), await names('Person')]).toEqual([
      ['b', 'c'],
      ['b1', 'b2'],
    ]);
  });

  it('may delete during a save', async () => {
    const [a, b] = await staffed();
    server.handlers.Company.afterSave = async (entity) => {
      await entity.ds.Company.query('ID = :1', b).drop();
    };
    const body = { __KEY: a, __STAMP: 1, size: 9 };
    expect(await client.post('Company?$method=update', body)).toMatchObject({ status: 200 });
    expect(await names('Company')).toEqual(['a', 'c']);
    expect(await names('Person')).toEqual(['a1', 'a2']);
  });

  it('leave the foreign keys checked for later statements', async () => {
    const [, b] = await staffed();
    server.handlers.Company.saving = async (entity) => {
      if (entity['name'] === 'first') await entity.ds.Company.query('ID = :1', b).drop();
    };
    const bodies = [{ name: 'first' }, { name: 'second', partner: 4711 }, { name: 'third' }];
    const { status, json } = await client.post('Company?$method=update', bodies);
    expect(status).toBe(200);
    expect(json['__ENTITIES']).toMatchObject([
      { name: 'first' },
      { __STATUS: { status: 4 } },
      { name: 'third' },
    ]);
    expect(await names('Company')).toEqual(['a', 'c', 'first', 'third']);
  });
});

describe('Class code that deletes an entity which was changed since it was read', () => {
  it('is refused by its stamp, validateDrop first', async () => {
    const [a] = await staffed();
    const entity = await server.ds.Company.get(a as number);
    await client.post('Company?$method=update', { __KEY: a, __STAMP: 1, size: 9 });
    const kinds = noted();
    await expect(entity?.drop()).rejects.toMatchObject({ status: 2, httpStatus: 409 });
    expect(kinds).toEqual(['validateDrop a', 'validateDrop a1', 'validateDrop a2']);
    expect(await names('Company')).toEqual(['a', 'b', 'c']);
    server.handlers.Company = { validateDrop: () => ({ errCode: 1, message: 'no' }) };
    await expect(entity?.drop()).rejects.toMatchObject({ status: 7 });
  });
});

describe('More entities than fit into one batch', () => {
  const many = 2600;

  it('have each event once, and are deleted', async () => {
    const [company] = await client.create('Company', [{ name: 'big' }]);
    const people: Json[] = Array.from({ length: many }, (_, index) => ({
      ID: `p${index}`,
      name: `n${index}`,
      employer: company?.['__KEY'],
    }));
    await client.create('Person', people);
    const runs = new Map<string, number>();
    const note = (entity: Row, { kind }: { readonly kind: string }): void => {
      const run = `${kind} ${String(entity['name'])} ${String(entity.key)}`;
      runs.set(run, (runs.get(run) ?? 0) + 1);
    };
    server.handlers.Person = { validateDrop: note, dropping: note, afterDrop: note };
    expect(await client.remove('Company', 'ID > 0')).toMatchObject({ status: 200 });
    expect(runs.size).toBe(3 * many);
    expect(new Set(runs.values())).toEqual(new Set([1]));
    expect(runs.get('afterDrop n2599 p2599')).toBe(1);
    expect(await client.count('Person')).toBe(0);
  });
});

describe('A deletion whose events need more memory than a server keeps for it', () => {
  itLong('is refused with 413, and all that its events stored is undone', async () => {
    const small = Array.from({ length: 1000 }, (_, index) => ({ name: `${index}` }));
    const companies = await client.create('Company', small);
    const last = Number(companies.at(-1)?.__KEY);
    const large = Array.from({ length: 34 }, () => ({ name: 'x'.repeat(1_000_000) }));
    await client.create('Company', large);
    await client.create('Company', large);
    const dropped: unknown[] = [];
    server.handlers.Company = {
      dropping: (entity) => (entity['ID'] === last ? log(entity, 'dropping') : undefined),
      afterDrop: (entity) => void dropped.push(entity['ID']),
    };
    const refused = await client.remove('Company', 'ID > 0');
    expect(refused).toMatchObject({ status: 413, json: { __ERROR: [{ errCode: 1834 }] } });
    expect(JSON.stringify(refused.json)).toContain('more than 134217728 bytes');
    expect([await client.count('Company'), dropped, await texts()]).toEqual([1068, [], []]);
    // In two parts it has room.
    expect(await client.remove('Company', `ID <= ${last + 34}`)).toMatchObject({ status: 200 });
    expect(await client.remove('Company', 'ID > 0')).toMatchObject({ status: 200 });
    expect([await client.count('Company'), dropped.length]).toEqual([0, 1068]);
  });
});
