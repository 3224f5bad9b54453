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

function isAlive(set: EntitySet): boolean {
  return store.list().includes(set);
}

describe('A set', () => {
  it('is returned as it was stored, under an ID of 32 upper-case hexadecimal digits', () => {
    const given = newSet({ isSorted: true });
    const set = store.create(given);
    expect(set.id).toMatch(/^[0-9A-F]{32}$/);
    expect(store.access(set.id, guest)).toMatchObject({ ...given, id: set.id });
    expect(store.access(set.id, guest)?.keys).toBe(given.keys);
  });

  it('has an ID of its own, even if it equals another set', () => {
    const given = newSet();
    expect(store.create(given).id).not.toBe(store.create(given).id);
  });

  it('of a guest is readable for all sessions', () => {
    const { id } = store.create(newSet());
    expect(store.access(id, { ...guest, session: 'S1' })?.id).toBe(id);
  });

  it('of a session is readable only for that session', () => {
    const { id } = store.create(newSet({ owner: 'S1' }));
    expect(store.access(id, { ...guest, session: 'S1' })?.id).toBe(id);
    for (const session of ['S2', undefined]) {
      expect(store.access(id, { ...guest, session })).toBeUndefined();
      expect(store.release(id, { ...guest, session })).toBe(false);
    }
    expect(store.access(id, { ...guest, session: 'S1' })?.id).toBe(id);
  });

  it('belongs to its dataclass; a request without a dataclass finds it', () => {
    const { id } = store.create(newSet());
    expect(store.access(id, { ...guest, dataclass: 'Company' })).toBeUndefined();
    expect(store.release(id, { ...guest, dataclass: 'Company' })).toBe(false);
    expect(store.release(id, { ...guest, dataclass: undefined })).toBe(true);
  });

  it('can be released once', () => {
    const { id } = store.create(newSet());
    expect(store.release(id, guest)).toBe(true);
    expect(store.release(id, guest)).toBe(false);
    expect(store.access(id, guest)).toBeUndefined();
    expect(store.usedBytes()).toBe(0);
  });
});

describe('The lifetime of a set', () => {
  it('ends at exactly its millisecond', () => {
    const one = store.create(newSet());
    const other = store.create(newSet());
    clock.advance(59_999);
    expect(store.access(one.id, guest)).toBe(one);
    clock.advance(1);
    expect(store.access(other.id, guest)).toBeUndefined();
    expect(store.release(other.id, guest)).toBe(false);
    expect(store.list()).toEqual([one]);
  });

  it('starts anew with each access, with the timeout of the set', () => {
    const { id } = store.create(newSet({ timeout: 10 }));
    for (let access = 0; access < 5; access += 1) {
      clock.advance(9_999);
      const set = store.access(id, guest);
      expect(set).toMatchObject({ refreshed: clock.now(), expires: clock.now() + 10_000 });
    }
    clock.advance(10_000);
    expect(store.access(id, guest)).toBeUndefined();
  });

  it('does not start anew by a session that may not read the set', () => {
    const { id } = store.create(newSet({ owner: 'S1', timeout: 10 }));
    clock.advance(9_000);
    expect(store.access(id, { ...guest, session: 'S2' }, 1_000)).toBeUndefined();
    expect(store.access(id, { session: 'S1', dataclass: 'Company' }, 1_000)).toBeUndefined();
    clock.advance(1_000);
    expect(store.access(id, { ...guest, session: 'S1' })).toBeUndefined();
  });

  it('does not start anew when sets are listed or counted', () => {
    store.create(newSet({ owner: 'S1', timeout: 10 }));
    clock.advance(9_000);
    expect([store.list().length, store.countOf('S1')]).toEqual([1, 1]);
    clock.advance(1_000);
    expect([store.list().length, store.countOf('S1')]).toEqual([0, 0]);
  });

  it.each([
    ['longer', 100],
    ['shorter', 2.5],
  ])('can be made %s', (_, timeout) => {
    const { id } = store.create(newSet({ timeout: 10 }));
    expect(store.access(id, guest, timeout)?.timeout).toBe(timeout);
    for (let access = 0; access < 2; access += 1) {
      clock.advance(timeout * 1000 - 1);
      expect(store.access(id, guest)?.timeout).toBe(timeout);
    }
    clock.advance(timeout * 1000 + 1000);
    expect(store.usedBytes()).toBe(0);
  });

  it('frees the memory of the set at most a second later, without any request', () => {
    store.create(newSet({ timeout: 10.001 }));
    store.create(newSet({ timeout: 7200 }));
    clock.advance(11_001);
    expect(store.usedBytes()).toBe(overhead + 12);
    clock.advance(7_200_000);
    expect(store.usedBytes()).toBe(0);
  });

  it('ends even if the process was suspended meanwhile', () => {
    const set = store.create(newSet());
    store.create(newSet({ timeout: 7200 }));
    clock.freeze(7_199_000);
    expect(isAlive(set)).toBe(false);
    clock.freeze(10_000_000);
    clock.advance(0);
    expect(store.usedBytes()).toBe(0);
  });
});

describe('The timer of the store', () => {
  it('runs only while there are sets', () => {
    expect(clock.waiting).toBe(0);
    const { id } = store.create(newSet({ timeout: 5 }));
    store.create(newSet({ timeout: 5 }));
    expect(clock.waiting).toBe(1);
    clock.advance(4_000);
    expect(clock.waiting).toBe(1);
    store.release(id, guest);
    expect(clock.waiting).toBe(1);
    clock.advance(2_000);
    expect(clock.waiting).toBe(0);
    store.release(store.create(newSet()).id, guest);
    expect(clock.waiting).toBe(0);
  });

  it('stops when the store is closed, for good', () => {
    const { id } = store.create(newSet({ owner: 'S1' }));
    store.create(newSet());
    store.close();
    expect([clock.waiting, store.usedBytes(), store.countOf('S1')]).toEqual([0, 0, 0]);
    expect(store.access(id, { ...guest, session: 'S1' })).toBeUndefined();
    store.create(newSet());
    expect(clock.waiting).toBe(0);
  });
});

describe('The bytes of a store', () => {
  it('are limited: a new set replaces the least recently used one', () => {
    store = new MemoryEntitySetStore(3 * (overhead + 12), clock);
    const first = store.create(newSet());
    const second = store.create(newSet());
    const third = store.create(newSet());
    clock.advance(1);
    store.access(first.id, guest);
    const fourth = store.create(newSet());
    expect(store.list()).toEqual([third, first, fourth]);
    expect(store.access(second.id, guest)).toBeUndefined();
    expect(store.usedBytes()).toBe(3 * (overhead + 12));
  });

  it('are taken from sets of guests before sets of users', () => {
    store = new MemoryEntitySetStore(3 * (overhead + 12), clock);
    const [first, second] = [
      store.create(newSet({ owner: 'S1' })),
      store.create(newSet({ owner: 'S2' })),
    ];
    for (let round = 0; round < 5; round += 1) {
      const ofGuest = store.create(newSet());
      store.access(ofGuest.id, guest);
      expect(store.list()).toEqual([first, second, ofGuest]);
    }
    const third = store.create(newSet({ owner: 'S3' }));
    expect(store.list()).toEqual([first, second, third]);
    // If all sets belong to users, the least recently used one is evicted.
    const ofGuest = store.create(newSet());
    expect(store.list()).toEqual([second, third, ofGuest]);
  });

  it('are taken from as few sets as possible', () => {
    const sets = Array.from({ length: 4 }, () => store.create(newSet()));
    const keys = keysOf(
      'integer',
      Array.from({ length: overhead / 4 }, (_, at) => at),
    );
    const large = store.create(newSet({ keys }));
    expect(store.list()).toEqual([...sets.slice(2), large]);
  });

  it('are taken from expired sets before live ones', () => {
    const long = store.create(newSet({ timeout: 100 }));
    const short = store.create(newSet({ timeout: 10.5 }));
    const others = [store.create(newSet()), store.create(newSet())];
    clock.advance(10_500);
    const fifth = store.create(newSet());
    expect(store.list()).toEqual([long, ...others, fifth]);
    expect(isAlive(short)).toBe(false);
  });

  it('do not suffice for a set larger than the limit, which is refused and removes no other', () => {
    const set = store.create(newSet());
    const keys = keysOf(
      'integer',
      Array.from({ length: overhead + 1 }, (_, at) => at),
    );
    const refused = new EntitySetTooLargeError(5 * overhead + 4, 5 * overhead);
    expect(() => store.create(newSet({ keys }))).toThrow(refused);
    expect(() => store.recreate('A'.repeat(32), newSet({ keys }))).toThrow(EntitySetTooLargeError);
    expect(store.list()).toEqual([set]);
  });

  it('include shared keys once, as long as one of the sets exists', () => {
    const keys = keysOf('integer', [1, 2, 3, 4]);
    const first = store.create(newSet({ keys }));
    const second = store.create(newSet({ keys }));
    expect(store.usedBytes()).toBe(2 * overhead + 16);
    store.release(first.id, guest);
    expect(store.usedBytes()).toBe(overhead + 16);
    store.release(second.id, guest);
    expect(store.usedBytes()).toBe(0);
  });

  it('include shared keys again after the sets that shared them were removed', () => {
    const keys = keysOf(
      'integer',
      Array.from({ length: overhead }, (_, at) => at),
    );
    store = new MemoryEntitySetStore(5 * overhead, clock);
    const first = store.create(newSet({ keys }));
    const second = store.create(newSet({ keys: keysOf('integer', [...keys].reverse()) }));
    expect(store.list()).toEqual([second]);
    expect(isAlive(first)).toBe(false);
    expect(store.usedBytes()).toBe(5 * overhead);
    const third = store.create(newSet({ keys: second.keys }));
    expect(store.list()).toEqual([third]);
    expect(store.usedBytes()).toBe(5 * overhead);
  });
});

describe('A set that is created again', () => {
  const id = '0123456789ABCDEF'.repeat(2);

  it('has the ID that it had', () => {
    expect(store.recreate(id, newSet())?.id).toBe(id);
    expect(store.access(id, guest)?.id).toBe(id);
  });

  it('replaces an expired one', () => {
    store.recreate(id, newSet({ timeout: 1, owner: 'S1', dataclass: 'Company' }));
    clock.advance(1_000);
    const set = store.recreate(id, newSet());
    expect(store.list()).toEqual([set]);
    expect([store.usedBytes(), store.countOf('S1')]).toEqual([overhead + 12, 0]);
  });

  it('is the stored one when two requests create it at the same time', () => {
    const first = store.recreate(id, newSet({ owner: 'S1', timeout: 10 }));
    clock.advance(9_999);
    expect(store.recreate(id, newSet({ owner: 'S1' }))).toBe(first);
    expect(first?.expires).toBe(clock.now() + 10_000);
  });

  it('never replaces a set of another session or another dataclass', () => {
    const held = store.recreate(id, newSet({ owner: 'S1' }));
    expect(store.recreate(id, newSet({ owner: 'S2' }))).toBeUndefined();
    expect(store.recreate(id, newSet())).toBeUndefined();
    expect(store.recreate(id, newSet({ owner: 'S1', dataclass: 'Company' }))).toBeUndefined();
    expect(store.list()).toEqual([held]);
  });
});

it('The sets of a session are counted', () => {
  const first = store.create(newSet({ owner: 'S1' }));
  store.create(newSet({ owner: 'S1', timeout: 10 }));
  store.create(newSet({ owner: 'S2' }));
  store.create(newSet());
  expect([store.countOf('S1'), store.countOf('S2'), store.countOf('S3')]).toEqual([2, 1, 0]);
  store.release(first.id, { ...guest, session: 'S1' });
  expect(store.countOf('S1')).toBe(1);
  clock.advance(10_000);
  expect([store.countOf('S1'), store.countOf('S2')]).toEqual([0, 1]);
});
