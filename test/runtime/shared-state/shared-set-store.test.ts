import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  type EntitySet,
  type EntitySetStore,
  EntitySetTooLargeError,
  type NewEntitySet,
} from '../../../runtime/entity-set/entity-set-store.js';
import { type Key, keysOf, type KeyType } from '../../../runtime/entity-set/key-list.js';
import { MemoryEntitySetStore } from '../../../runtime/entity-set/memory-store.js';
import { SharedEntitySetStore } from '../../../runtime/shared-state/shared-set-store.js';
import { FakeClock } from '../entity-set/fake-clock.js';
import { openTwo, type TwoProcesses } from './two-processes.js';

const maxBytes = 12_000;

let clock: FakeClock;
let two: TwoProcesses;

beforeEach(async () => {
  clock = new FakeClock();
  two = await openTwo(clock);
});

afterEach(() => {
  two.close();
});

const session = fc.constantFrom(undefined, 'S1', 'S2');
const dataclass = fc.constantFrom('Employee', 'Employee', 'Company');
const timeout = fc.constantFrom(0.25, 1, 1.5, 10, 60, 7200);
const newSet = fc.record({
  dataclass,
  owner: session,
  maker: session,
  timeout,
  isSorted: fc.boolean(),
  length: fc.constantFrom(0, 1, 100, 600, 1_200, 1_700, 3_000),
});
const claim = fc.record({ session, dataclass: fc.option(dataclass, { nil: undefined }) });
const which = fc.nat(30);
const steps = fc.oneof(
  fc.record({ does: fc.constant('create' as const), set: newSet }),
  fc.record({ does: fc.constant('recreate' as const), which, set: newSet }),
  fc.record({ does: fc.constant('access' as const), which, claim }),
  fc.record({ does: fc.constant('access' as const), which, claim, timeout }),
  fc.record({ does: fc.constant('release' as const), which, claim }),
  fc.record({ does: fc.constant('releaseOf' as const), session: fc.constantFrom('S1', 'S2') }),
  fc.record({ does: fc.constant('moveOf' as const) }),
  fc.record({
    does: fc.constant('advance' as const),
    milliseconds: fc.constantFrom(1, 249, 250, 999, 1_000, 1_001, 9_999, 60_000, 8_000_000),
  }),
);
type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never;
type Given = typeof newSet extends fc.Arbitrary<infer S> ? S : never;

/** A separate list for each store; another test covers shared lists. */
function setOf({ length, owner, maker, ...rest }: Given): NewEntitySet {
  const keys = Array.from({ length }, (_, at) => at);
  // A set of a session was created by that session.
  return { ...rest, owner, maker: owner ?? maker, keys: keysOf('integer', keys) };
}

it('Two processes answer every sequence of requests like one process', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(steps, fc.nat(1)), { maxLength: 50, size: 'max' }),
      (sequence) => {
        two.clear();
        const stores = two.sharings.map((each) => new SharedEntitySetStore(each, maxBytes, 2));
        const memory = new MemoryEntitySetStore(maxBytes, clock);
        /** IDs of the shared stores, and of the one in memory. */
        const ids: (readonly [string, string])[] = [];
        for (const [step, process] of sequence) {
          run(step, { shared: stores[process] as SharedEntitySetStore, memory, ids });
          expect((stores[process] as SharedEntitySetStore).usedBytes()).toBeLessThanOrEqual(
            maxBytes,
          );
          for (const owner of ['S1', 'S2']) {
            expect(stores[1 - process]?.countOf(owner)).toBe(memory.countOf(owner));
          }
        }
        for (const store of stores) {
          expect(store.list().map(listed)).toEqual(memory.list().map(listed));
          expect(store.listOf('S1')).toHaveLength(memory.listOf('S1').length);
        }
        clock.advance(20_000_000);
        expect(stores.map((store) => store.usedBytes())).toEqual([0, 0]);
        for (const store of [...stores, memory]) store.close();
      },
    ),
    { numRuns: 80 },
  );
});

interface Stores {
  readonly shared: SharedEntitySetStore;
  readonly memory: MemoryEntitySetStore;
  readonly ids: (readonly [string, string])[];
}

function run(step: Step, { shared, memory, ids }: Stores): void {
  const [id, other] = ('which' in step ? ids[step.which % ids.length] : undefined) ?? [
    'F'.repeat(32),
    'F'.repeat(32),
  ];
  switch (step.does) {
    case 'create': {
      const made = unlessTooLarge(() => shared.create(setOf(step.set)));
      const expected = unlessTooLarge(() => memory.create(setOf(step.set)));
      expect(shown(made)).toEqual(shown(expected));
      if (made !== undefined && expected !== undefined) ids.push([made.id, expected.id]);
      return;
    }
    case 'recreate': {
      const storedAs = step.which % 2 === 0 ? undefined : 'E'.repeat(32);
      const made = unlessTooLarge(() => shared.recreate(id, setOf(step.set), storedAs));
      expect(shown(made)).toEqual(
        shown(unlessTooLarge(() => memory.recreate(other, setOf(step.set), storedAs))),
      );
      return;
    }
    case 'access': {
      const seconds = 'timeout' in step ? step.timeout : undefined;
      expect(shown(shared.access(id, step.claim, seconds))).toEqual(
        shown(memory.access(other, step.claim, seconds)),
      );
      return;
    }
    case 'release':
      expect(shared.release(id, step.claim)).toBe(memory.release(other, step.claim));
      return;
    case 'releaseOf':
      shared.releaseOf(step.session);
      memory.releaseOf(step.session);
      return;
    case 'moveOf': {
      // The other session has created none.
      if (memory.countOf('S2') > 0) return;
      memory.releaseOf('S2');
      shared.moveOf('S1', 'S2');
      memory.moveOf('S1', 'S2');
      return;
    }
    case 'advance':
      clock.advance(step.milliseconds);
  }
}

function unlessTooLarge<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof EntitySetTooLargeError) return undefined;
    throw error;
  }
}

function shown(set: EntitySet | undefined): unknown {
  if (set === undefined) return undefined;
  const { dataclass, owner, timeout, isSorted, refreshed, expires, keys } = set;
  return { dataclass, owner, timeout, isSorted, refreshed, expires, keys: [...keys] };
}

function listed({
  dataclass,
  owner,
  maker,
  keys,
  expires,
}: ReturnType<SharedEntitySetStore['list']>[number]): unknown {
  return { dataclass, owner, maker, length: keys.length, bytes: keys.byteLength, expires };
}

const ofEachKind: readonly (readonly [KeyType, readonly Key[]])[] = [
  ['integer', [3, 1, 4_294_967_295]],
  ['integer', [-5, 2 ** 53 - 1]],
  ['number', [0.5, -1e300]],
  ['number', []],
  ['uuid', ['00112233445566778899AABBCCDDEEFF', 'F'.repeat(32)]],
  ['string', ['', 'a, "b"', 'ü\u0000\n', '😀']],
  ['string', []],
];

it.each(ofEachKind)('Keys of type %s are the same in both processes', (type, keys) => {
  const [one, other] = two.sharings.map((each) => new SharedEntitySetStore(each, 10_000, 2)) as [
    EntitySetStore,
    SharedEntitySetStore,
  ];
  const list = keysOf(type, keys);
  const set = { dataclass: 'Part', keys: list, owner: undefined, timeout: 60, isSorted: false };
  const { id } = one.create(set) as EntitySet;
  const found = other.access(id, { session: undefined, dataclass: 'Part' });
  expect([...(found?.keys ?? [])]).toEqual([...list]);
  expect(found?.keys.page(0, 10)).toBe(list.page(0, 10));
  expect(found?.keys.byteLength).toBe(list.byteLength);
  void one.close();
  other.close();
});

it('A list that several sets share counts once, and exists until the last of them is removed', () => {
  const stores = two.sharings.map((each) => new SharedEntitySetStore(each, 10_000, 2));
  const [one, other] = stores as [SharedEntitySetStore, SharedEntitySetStore];
  const claim = { session: undefined, dataclass: 'Part' };
  const keys = keysOf(
    'integer',
    Array.from({ length: 1_000 }, (_, at) => at),
  );
  const set = { dataclass: 'Part', keys, owner: undefined, timeout: 60, isSorted: false };
  const first = one.create(set);
  const taken = other.access(first.id, claim)?.keys ?? keys;
  const second = other.create({ ...set, keys: taken });
  expect(one.usedBytes()).toBe(2 * 1024 + 4_000);
  one.release(first.id, claim);
  expect(one.access(second.id, claim)?.keys.length).toBe(1_000);
  other.release(second.id, claim);
  expect(one.usedBytes()).toBe(0);
  // The list is in memory, and no longer in the shared state.
  const third = other.create({ ...set, keys: taken });
  expect(one.access(third.id, claim)?.keys.length).toBe(1_000);
  for (const store of stores) store.close();
});
