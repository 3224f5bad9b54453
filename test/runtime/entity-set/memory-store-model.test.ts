import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  EntitySetTooLargeError,
  type EntitySet,
  type EntitySetStore,
  type NewEntitySet,
  type SetClaim,
} from '../../../runtime/entity-set/entity-set-store.js';
import { keysOf } from '../../../runtime/entity-set/key-list.js';
import { MemoryEntitySetStore } from '../../../runtime/entity-set/memory-store.js';
import { FakeClock } from '../../support/fake-clock.js';
import { sampled } from '../../support/long.js';

const bytesOfSet = 1024;
const maxBytes = 8000;

type Modelled = { -readonly [P in keyof EntitySet]: EntitySet[P] };

/**
 * A simple store without regard to speed: all sets in one list, with the last accessed one at the
 * end.
 */
class ModelStore {
  sets: Modelled[] = [];

  constructor(private readonly clock: FakeClock) {}

  store(id: string, given: NewEntitySet): EntitySet | undefined {
    if (bytesOfSet + given.keys.byteLength > maxBytes) return undefined;
    const refreshed = this.clock.now();
    const set = { ...given, id, refreshed, expires: refreshed + given.timeout * 1000 };
    const others = this.alive().filter((other) => other.id !== id);
    while (bytesOf([...others, set]) > maxBytes) {
      const ofGuest = others.findIndex(({ owner }) => owner === undefined);
      others.splice(Math.max(ofGuest, 0), 1);
    }
    this.sets = [...others, set];
    return set;
  }

  access(id: string, claim: SetClaim, timeout?: number): EntitySet | undefined {
    const set = this.open(id, claim);
    if (set === undefined) return undefined;
    set.timeout = timeout ?? set.timeout;
    set.refreshed = this.clock.now();
    set.expires = set.refreshed + set.timeout * 1000;
    this.sets = [...this.sets.filter((other) => other !== set), set];
    return set;
  }

  release(id: string, claim: SetClaim): boolean {
    const set = this.open(id, claim);
    this.sets = this.sets.filter((other) => other !== set);
    return set !== undefined;
  }

  open(id: string, { session, dataclass }: SetClaim): Modelled | undefined {
    const set = this.alive().find((each) => each.id === id);
    const isOpen = set?.owner === undefined || set.owner === session;
    return isOpen && (dataclass ?? set?.dataclass) === set?.dataclass ? set : undefined;
  }

  alive(): Modelled[] {
    return this.sets.filter((set) => set.expires > this.clock.now());
  }
}

function bytesOf(sets: readonly EntitySet[]): number {
  const lists = [...new Set(sets.map((set) => set.keys))];
  return sets.length * bytesOfSet + lists.reduce((bytes, list) => bytes + list.byteLength, 0);
}

/** Some lists are shared by the sets that hold them; the last is too large for any set. */
const lists = [0, 1, 100, 600, 1_200, 1_700, 2_000].map((length) =>
  keysOf(
    'integer',
    Array.from({ length }, (_, at) => at),
  ),
);

const session = fc.constantFrom(undefined, 'S1', 'S2');
const dataclass = fc.constantFrom('Employee', 'Employee', 'Company');
const timeout = fc.constantFrom(0.25, 1, 1.5, 10, 60, 7200);
const newSet = fc.record({
  dataclass,
  owner: session,
  timeout,
  isSorted: fc.boolean(),
  keys: fc.constantFrom(...lists),
});
const claim = fc.record({ session, dataclass: fc.option(dataclass, { nil: undefined }) });
/** The index of an ID among all that were ever returned. */
const which = fc.nat(30);

const steps = fc.oneof(
  fc.record({ does: fc.constant('create' as const), set: newSet }),
  fc.record({ does: fc.constant('recreate' as const), which, set: newSet }),
  fc.record({ does: fc.constant('access' as const), which, claim }),
  fc.record({ does: fc.constant('access' as const), which, claim, timeout }),
  fc.record({ does: fc.constant('release' as const), which, claim }),
  fc.record({ does: fc.constant('list' as const) }),
  fc.record({
    does: fc.constantFrom('advance' as const, 'freeze' as const),
    milliseconds: fc.constantFrom(1, 249, 250, 999, 1_000, 1_001, 9_999, 60_000, 8_000_000),
  }),
);
type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never;

it('The store answers every sequence of requests like a plain list of sets', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 60, size: 'max' }), async (sequence) => {
      const clock = new FakeClock();
      const store = new MemoryEntitySetStore(maxBytes, clock);
      const model = new ModelStore(clock);
      const ids: string[] = [];
      for (const step of sequence) {
        await run(step, { store, model, clock, ids });
        expect(await store.usedBytes()).toBeLessThanOrEqual(maxBytes);
        for (const owner of ['S1', 'S2']) {
          const owned = model.alive().filter((set) => set.owner === owner);
          expect(await store.countOf(owner)).toBe(owned.length);
        }
        expect(clock.waiting).toBe((await store.usedBytes()) === 0 ? 0 : 1);
      }
      expect(plain(await store.list())).toEqual(plain(model.alive()));
      expect(await store.usedBytes()).toBe(bytesOf(model.alive()));
      // When all have expired, no timer is left.
      clock.advance(20_000_000);
      expect([await store.usedBytes(), clock.waiting]).toEqual([0, 0]);
    }),
    { numRuns: sampled(1_500) },
  );
});

interface Both {
  readonly store: MemoryEntitySetStore & EntitySetStore;
  readonly model: ModelStore;
  readonly clock: FakeClock;
  readonly ids: string[];
}

async function run(step: Step, { store, model, clock, ids }: Both): Promise<void> {
  const id = 'which' in step ? (ids[step.which % ids.length] ?? 'F'.repeat(32)) : '';
  switch (step.does) {
    case 'create': {
      const set = await unlessTooLarge(store.create(step.set));
      expect(model.store(set?.id ?? '', step.set)?.expires).toBe(set?.expires);
      if (set !== undefined) ids.push(set.id);
      return;
    }
    case 'recreate': {
      const set = await unlessTooLarge(store.recreate(id, step.set));
      const claim = { session: step.set.owner, dataclass: step.set.dataclass };
      const isTaken = model.alive().some((each) => each.id === id);
      const expected = isTaken ? model.access(id, claim) : model.store(id, step.set);
      expect(shown(set)).toEqual(shown(expected));
      return;
    }
    case 'access': {
      const seconds = 'timeout' in step ? step.timeout : undefined;
      const expected = model.access(id, step.claim, seconds);
      expect(shown(await store.access(id, step.claim, seconds))).toEqual(shown(expected));
      return;
    }
    case 'release':
      expect(await store.release(id, step.claim)).toBe(model.release(id, step.claim));
      return;
    case 'list':
      expect(plain(await store.list())).toEqual(plain(model.alive()));
      return;
    case 'advance':
    case 'freeze':
      clock[step.does](step.milliseconds);
  }
}

async function unlessTooLarge(
  stored: Promise<EntitySet | undefined>,
): Promise<EntitySet | undefined> {
  try {
    return await stored;
  } catch (error) {
    if (error instanceof EntitySetTooLargeError) return undefined;
    throw error;
  }
}

function plain(sets: readonly EntitySet[]): readonly unknown[] {
  return sets.map(shown);
}

/** The documented part of a set. */
function shown(set: EntitySet | undefined): unknown {
  if (set === undefined) return undefined;
  const { id, dataclass, keys, owner, timeout, isSorted, refreshed, expires } = set;
  return { id, dataclass, keys: keys.length, owner, timeout, isSorted, refreshed, expires };
}
