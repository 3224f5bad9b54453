import { beforeEach, describe, expect, it } from 'vitest';
import {
  EntitySetTooLargeError,
  type EntitySet,
  type NewEntitySet,
} from '../../../runtime/entity-set/entity-set-store.js';
import { keysOf } from '../../../runtime/entity-set/key-list.js';
import { MemoryEntitySetStore } from '../../../runtime/entity-set/memory-store.js';
import { FakeClock } from '../../support/fake-clock.js';

const overhead = 1024;
const guest = { session: undefined, dataclass: 'Employee' };

let clock: FakeClock;
let store: MemoryEntitySetStore;
beforeEach(() => {
  clock = new FakeClock();
  store = new MemoryEntitySetStore(5 * overhead, clock);
});

function newSet(given: Partial<NewEntitySet> = {}): NewEntitySet {
  const keys = keysOf('integer', [3, 1, 2]);
  return { dataclass: 'Employee', keys, owner: undefined, timeout: 60, isSorted: false, ...given };
}

async function isAlive(set: EntitySet): Promise<boolean> {
  return (await store.list()).includes(set);
}

describe('A set', () => {
  it('is returned as it was stored, under an ID of 32 upper-case hexadecimal digits', async () => {
    const given = newSet({ isSorted: true });
    const set = await store.create(given);
    expect(set.id).toMatch(/^[0-9A-F]{32}$/);
    expect(await store.access(set.id, guest)).toMatchObject({ ...given, id: set.id });
    expect((await store.access(set.id, guest))?.keys).toBe(given.keys);
  });

  it('has an ID of its own, even if it equals another set', async () => {
    const given = newSet();
    expect((await store.create(given)).id).not.toBe((await store.create(given)).id);
  });

  it('of a guest is readable for all sessions', async () => {
    const { id } = await store.create(newSet());
    expect((await store.access(id, { ...guest, session: 'S1' }))?.id).toBe(id);
  });

  it('of a session is readable only for that session', async () => {
    const { id } = await store.create(newSet({ owner: 'S1' }));
    expect((await store.access(id, { ...guest, session: 'S1' }))?.id).toBe(id);
    for (const session of ['S2', undefined]) {
      expect(await store.access(id, { ...guest, session })).toBeUndefined();
      expect(await store.release(id, { ...guest, session })).toBe(false);
    }
    expect((await store.access(id, { ...guest, session: 'S1' }))?.id).toBe(id);
  });

  it('belongs to its dataclass; a request without a dataclass finds it', async () => {
    const { id } = await store.create(newSet());
    expect(await store.access(id, { ...guest, dataclass: 'Company' })).toBeUndefined();
    expect(await store.release(id, { ...guest, dataclass: 'Company' })).toBe(false);
    expect(await store.release(id, { ...guest, dataclass: undefined })).toBe(true);
  });

  it('can be released once', async () => {
    const { id } = await store.create(newSet());
    expect(await store.release(id, guest)).toBe(true);
    expect(await store.release(id, guest)).toBe(false);
    expect(await store.access(id, guest)).toBeUndefined();
    expect(await store.usedBytes()).toBe(0);
  });
});

describe('The lifetime of a set', () => {
  it('ends at exactly its millisecond', async () => {
    const one = await store.create(newSet());
    const other = await store.create(newSet());
    clock.advance(59_999);
    expect(await store.access(one.id, guest)).toBe(one);
    clock.advance(1);
    expect(await store.access(other.id, guest)).toBeUndefined();
    expect(await store.release(other.id, guest)).toBe(false);
    expect(await store.list()).toEqual([one]);
  });

  it('starts anew with each access, with the timeout of the set', async () => {
    const { id } = await store.create(newSet({ timeout: 10 }));
    for (let access = 0; access < 5; access += 1) {
      clock.advance(9_999);
      const set = await store.access(id, guest);
      expect(set).toMatchObject({ refreshed: clock.now(), expires: clock.now() + 10_000 });
    }
    clock.advance(10_000);
    expect(await store.access(id, guest)).toBeUndefined();
  });

  it('does not start anew by a session that may not read the set', async () => {
    const { id } = await store.create(newSet({ owner: 'S1', timeout: 10 }));
    clock.advance(9_000);
    expect(await store.access(id, { ...guest, session: 'S2' }, 1_000)).toBeUndefined();
    expect(await store.access(id, { session: 'S1', dataclass: 'Company' }, 1_000)).toBeUndefined();
    clock.advance(1_000);
    expect(await store.access(id, { ...guest, session: 'S1' })).toBeUndefined();
  });

  it('does not start anew when sets are listed or counted', async () => {
    await store.create(newSet({ owner: 'S1', timeout: 10 }));
    clock.advance(9_000);
    expect([(await store.list()).length, await store.countOf('S1')]).toEqual([1, 1]);
    clock.advance(1_000);
    expect([(await store.list()).length, await store.countOf('S1')]).toEqual([0, 0]);
  });

  it.each([
    ['longer', 100],
    ['shorter', 2.5],
  ])('can be made %s', async (_, timeout) => {
    const { id } = await store.create(newSet({ timeout: 10 }));
    expect((await store.access(id, guest, timeout))?.timeout).toBe(timeout);
    for (let access = 0; access < 2; access += 1) {
      clock.advance(timeout * 1000 - 1);
      expect((await store.access(id, guest))?.timeout).toBe(timeout);
    }
    clock.advance(timeout * 1000 + 1000);
    expect(await store.usedBytes()).toBe(0);
  });

  it('frees the memory of the set at most a second later, without any request', async () => {
    await store.create(newSet({ timeout: 10.001 }));
    await store.create(newSet({ timeout: 7200 }));
    clock.advance(11_001);
    expect(await store.usedBytes()).toBe(overhead + 12);
    clock.advance(7_200_000);
    expect(await store.usedBytes()).toBe(0);
  });

  it('ends even if the process was suspended meanwhile', async () => {
    const set = await store.create(newSet());
    await store.create(newSet({ timeout: 7200 }));
    clock.freeze(7_199_000);
    expect(await isAlive(set)).toBe(false);
    clock.freeze(10_000_000);
    clock.advance(0);
    expect(await store.usedBytes()).toBe(0);
  });
});

describe('The timer of the store', () => {
  it('runs only while there are sets', async () => {
    expect(clock.waiting).toBe(0);
    const { id } = await store.create(newSet({ timeout: 5 }));
    await store.create(newSet({ timeout: 5 }));
    expect(clock.waiting).toBe(1);
    clock.advance(4_000);
    expect(clock.waiting).toBe(1);
    await store.release(id, guest);
    expect(clock.waiting).toBe(1);
    clock.advance(2_000);
    expect(clock.waiting).toBe(0);
    await store.release((await store.create(newSet())).id, guest);
    expect(clock.waiting).toBe(0);
  });

  it('stops when the store is closed, for good', async () => {
    const { id } = await store.create(newSet({ owner: 'S1' }));
    await store.create(newSet());
    store.close();
    expect([clock.waiting, await store.usedBytes(), await store.countOf('S1')]).toEqual([0, 0, 0]);
    expect(await store.access(id, { ...guest, session: 'S1' })).toBeUndefined();
    await store.create(newSet());
    expect(clock.waiting).toBe(0);
  });
});

describe('The bytes of a store', () => {
  it('are limited: a new set replaces the least recently used one', async () => {
    store = new MemoryEntitySetStore(3 * (overhead + 12), clock);
    const first = await store.create(newSet());
    const second = await store.create(newSet());
    const third = await store.create(newSet());
    clock.advance(1);
    await store.access(first.id, guest);
    const fourth = await store.create(newSet());
    expect(await store.list()).toEqual([third, first, fourth]);
    expect(await store.access(second.id, guest)).toBeUndefined();
    expect(await store.usedBytes()).toBe(3 * (overhead + 12));
  });

  it('are taken from sets of guests before sets of users', async () => {
    store = new MemoryEntitySetStore(3 * (overhead + 12), clock);
    const [first, second] = [
      await store.create(newSet({ owner: 'S1' })),
      await store.create(newSet({ owner: 'S2' })),
    ];
    for (let round = 0; round < 5; round += 1) {
      const ofGuest = await store.create(newSet());
      await store.access(ofGuest.id, guest);
      expect(await store.list()).toEqual([first, second, ofGuest]);
    }
    const third = await store.create(newSet({ owner: 'S3' }));
    expect(await store.list()).toEqual([first, second, third]);
    // If all sets belong to users, the least recently used one is evicted.
    const ofGuest = await store.create(newSet());
    expect(await store.list()).toEqual([second, third, ofGuest]);
  });

  it('are taken from as few sets as possible', async () => {
    const sets = await Promise.all(Array.from({ length: 4 }, () => store.create(newSet())));
    const keys = keysOf(
      'integer',
      Array.from({ length: overhead / 4 }, (_, at) => at),
    );
    const large = await store.create(newSet({ keys }));
    expect(await store.list()).toEqual([...sets.slice(2), large]);
  });

  it('are taken from expired sets before live ones', async () => {
    const long = await store.create(newSet({ timeout: 100 }));
    const short = await store.create(newSet({ timeout: 10.5 }));
    const others = [await store.create(newSet()), await store.create(newSet())];
    clock.advance(10_500);
    const fifth = await store.create(newSet());
    expect(await store.list()).toEqual([long, ...others, fifth]);
    expect(await isAlive(short)).toBe(false);
  });

  it('do not suffice for a set larger than the limit, which is refused and removes no other', async () => {
    const set = await store.create(newSet());
    const keys = keysOf(
      'integer',
      Array.from({ length: overhead + 1 }, (_, at) => at),
    );
    const refused = new EntitySetTooLargeError(5 * overhead + 4, 5 * overhead);
    await expect(store.create(newSet({ keys }))).rejects.toThrow(refused);
    await expect(store.recreate('A'.repeat(32), newSet({ keys }))).rejects.toThrow(
      EntitySetTooLargeError,
    );
    expect(await store.list()).toEqual([set]);
  });

  it('include shared keys once, as long as one of the sets exists', async () => {
    const keys = keysOf('integer', [1, 2, 3, 4]);
    const first = await store.create(newSet({ keys }));
    const second = await store.create(newSet({ keys }));
    expect(await store.usedBytes()).toBe(2 * overhead + 16);
    await store.release(first.id, guest);
    expect(await store.usedBytes()).toBe(overhead + 16);
    await store.release(second.id, guest);
    expect(await store.usedBytes()).toBe(0);
  });

  it('include shared keys again after the sets that shared them were removed', async () => {
    const keys = keysOf(
      'integer',
      Array.from({ length: overhead }, (_, at) => at),
    );
    store = new MemoryEntitySetStore(5 * overhead, clock);
    const first = await store.create(newSet({ keys }));
    const second = await store.create(newSet({ keys: keysOf('integer', [...keys].reverse()) }));
    expect(await store.list()).toEqual([second]);
    expect(await isAlive(first)).toBe(false);
    expect(await store.usedBytes()).toBe(5 * overhead);
    const third = await store.create(newSet({ keys: second.keys }));
    expect(await store.list()).toEqual([third]);
    expect(await store.usedBytes()).toBe(5 * overhead);
  });
});

describe('A set that is created again', () => {
  const id = '0123456789ABCDEF'.repeat(2);

  it('has the ID that it had', async () => {
    expect((await store.recreate(id, newSet()))?.id).toBe(id);
    expect((await store.access(id, guest))?.id).toBe(id);
  });

  it('replaces an expired one', async () => {
    await store.recreate(id, newSet({ timeout: 1, owner: 'S1', dataclass: 'Company' }));
    clock.advance(1_000);
    const set = await store.recreate(id, newSet());
    expect(await store.list()).toEqual([set]);
    expect([await store.usedBytes(), await store.countOf('S1')]).toEqual([overhead + 12, 0]);
  });

  it('is the stored one when two requests create it at the same time', async () => {
    const first = await store.recreate(id, newSet({ owner: 'S1', timeout: 10 }));
    clock.advance(9_999);
    expect(await store.recreate(id, newSet({ owner: 'S1' }))).toBe(first);
    expect(first?.expires).toBe(clock.now() + 10_000);
  });

  it('never replaces a set of another session or another dataclass', async () => {
    const held = await store.recreate(id, newSet({ owner: 'S1' }));
    expect(await store.recreate(id, newSet({ owner: 'S2' }))).toBeUndefined();
    expect(await store.recreate(id, newSet())).toBeUndefined();
    expect(await store.recreate(id, newSet({ owner: 'S1', dataclass: 'Company' }))).toBeUndefined();
    expect(await store.list()).toEqual([held]);
  });
});

it('A session gets no more sets than it may have from requests that counted them together', async () => {
  const set = newSet({ owner: 'S1', mostOfMaker: 2 });
  const created = await Promise.allSettled([1, 2, 3].map(() => store.create(set)));
  expect(created.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  await expect(store.recreate('A'.repeat(32), set)).rejects.toMatchObject({ status: 429 });
  expect(await store.countOf('S1')).toBe(2);
});

it('The sets of a session are counted', async () => {
  const first = await store.create(newSet({ owner: 'S1' }));
  await store.create(newSet({ owner: 'S1', timeout: 10 }));
  await store.create(newSet({ owner: 'S2' }));
  await store.create(newSet());
  expect([await store.countOf('S1'), await store.countOf('S2'), await store.countOf('S3')]).toEqual(
    [2, 1, 0],
  );
  await store.release(first.id, { ...guest, session: 'S1' });
  expect(await store.countOf('S1')).toBe(1);
  clock.advance(10_000);
  expect([await store.countOf('S1'), await store.countOf('S2')]).toEqual([0, 1]);
});
