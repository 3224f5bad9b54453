import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemorySessionStore } from '../../../runtime/access/memory-session-store.js';
import type {
  NewSession,
  SessionRecord,
  SessionStore,
} from '../../../runtime/access/session-store.js';
import { SharedSessionStore } from '../../../runtime/shared-state/shared-session-store.js';
import { FakeClock } from '../entity-set/fake-clock.js';
import { openTwo, type TwoProcesses } from './two-processes.js';

let clock: FakeClock;
let two: TwoProcesses;

beforeEach(async () => {
  clock = new FakeClock();
  two = await openTwo(clock);
});

afterEach(() => {
  two.close();
});

const user = fc.constantFrom('', '', 'mia', 'bob');
const privileges = fc.constantFrom<readonly string[]>([], [], ['edit'], ['view', 'edit']);
const address = fc.constantFrom(undefined, '1.2.3.4', '1.2.3.5', '2001:db8::1', '2001:db8::2');
const seconds = fc.constantFrom(1, 60, 3600);
const which = fc.nat(20);
const name = fc.constantFrom('a', 'b', '');
const steps = fc.oneof(
  fc.record({
    does: fc.constant('begin' as const),
    user,
    privileges,
    address,
    seconds,
    life: fc.constantFrom(500, 5_000, Infinity),
  }),
  fc.record({ does: fc.constant('find' as const), which }),
  fc.record({ does: fc.constant('change' as const), which, user, privileges }),
  fc.record({ does: fc.constant('renew' as const), which }),
  fc.record({ does: fc.constant('limit' as const), which, most: fc.constantFrom(1, 5) }),
  fc.record({ does: fc.constant('setIdleTimeout' as const), which, seconds }),
  fc.record({ does: fc.constant('remove' as const), which }),
  fc.record({ does: fc.constant('store' as const), which, name, value: fc.jsonValue() }),
  fc.record({ does: fc.constant('forget' as const), which, name }),
  fc.record({ does: fc.constant('moveOf' as const), which, to: which }),
  fc.record({
    does: fc.constant('advance' as const),
    milliseconds: fc.constantFrom(1, 999, 1_000, 2_000, 59_999, 60_000, 4_000_000),
  }),
);
type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never;

it('Two processes answer every sequence of requests like one process', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(steps, fc.nat(1)), { maxLength: 50, size: 'max' }),
      (sequence) => {
        two.clear();
        const stores = two.sharings.map((each) => new SharedSessionStore(each)) as [
          SharedSessionStore,
          SharedSessionStore,
        ];
        const memory = new MemorySessionStore(clock);
        const tokens: string[] = [];
        const next = (): string => tokens.length.toString(16).padStart(4, '0').padEnd(32, 'A');
        for (const [step, process] of sequence) {
          const given = run(step, stores[process] as SessionStore, tokens, next);
          expect(given).toEqual(run(step, memory, tokens, next));
          if (step.does === 'begin' || step.does === 'renew') tokens.push(next());
          // The other one knows at once.
          for (const token of tokens.slice(-5)) {
            const known = (stores[1 - process] as SessionStore).find(token) as SessionRecord;
            expect(shown(known)).toEqual(shown(memory.find(token)));
          }
        }
        // Expired ones end a second later at most.
        for (let living = NaN; living !== memory.list().length;) {
          living = memory.list().length;
          clock.advance(1_001);
        }
        for (const store of stores) {
          expect(store.counts).toEqual(memory.counts);
          for (const each of ['1.2.3.4', '1.2.3.5', '2001:db8::9']) {
            expect(store.guestsFrom(each)).toBe(memory.guestsFrom(each));
          }
          const found = store.list().map(({ token }) => token);
          expect(found.sort()).toEqual(
            memory
              .list()
              .map(({ token }) => token)
              .sort(),
          );
        }
        for (const store of [...stores, memory]) store.close();
      },
    ),
    { numRuns: 150 },
  );
});

/** Both stores get the requests one after the other, with the same tokens. */
function run(
  step: Step,
  store: SessionStore,
  tokens: readonly string[],
  next: () => string,
): unknown {
  const find = (at: number): SessionRecord | undefined =>
    store.find(tokens[at % tokens.length] ?? '') as SessionRecord | undefined;
  if (step.does === 'begin') {
    const { user: userName, seconds: idleTimeout, life } = step;
    const session: NewSession = {
      token: next(),
      userName,
      privileges: new Set(step.privileges),
      quotas: {},
      idleTimeout,
      ends: clock.now() + life,
      isForeign: false,
      address: step.address,
    };
    return shown(store.begin(session));
  }
  if (step.does === 'advance') {
    // Once for both stores.
    if (store instanceof MemorySessionStore) clock.advance(step.milliseconds);
    return undefined;
  }
  const record = find(step.which);
  if (record === undefined) return undefined;
  switch (step.does) {
    case 'find':
      break;
    case 'change':
      store.change(record, { userName: step.user, privileges: new Set(step.privileges) });
      break;
    case 'renew':
      store.change(record, { token: next() });
      break;
    case 'limit':
      store.change(record, { quotas: { nbRequestsPerMin: step.most } });
      record.rates?.count(record.quotas, 'nbRequests', 1, clock.now());
      return record.rates?.current(record.quotas, clock.now());
    case 'setIdleTimeout':
      store.setIdleTimeout(record, step.seconds);
      break;
    case 'remove':
      store.remove(record, step.which % 2 === 0);
      return [record.hasEnded, record.wasReplaced];
    case 'store':
      record.storage.set(step.name, structuredClone(step.value));
      break;
    case 'forget':
      return record.storage.delete(step.name);
    case 'moveOf': {
      const to = find(step.to);
      // Like a guest who becomes a user: moves everything to a new session.
      if (to === undefined || to.token === record.token || to.storage.size > 0) return undefined;
      if (to.rates !== undefined || record.rates !== undefined) return undefined;
      store.moveOf(record, to);
      const moved = contents(to);
      store.remove(record, true);
      return moved;
    }
  }
  return shown(record);
}

function shown(record: SessionRecord | undefined): unknown {
  if (record === undefined) return undefined;
  const { token, userName, idleTimeout, expires, isForeign, hasEnded } = record;
  const held = [...record.privileges].sort();
  const { address: from, quotas } = record;
  const head = { token, userName, held, quotas, idleTimeout, expires, isForeign, hasEnded, from };
  return { ...head, stored: contents(record) };
}

function contents({ storage }: SessionRecord): unknown {
  return storage.keys().map((each) => [each, storage.get(each), storage.has(each)]);
}

describe('A session that another process has changed', () => {
  const begun: NewSession = {
    token: 'A'.repeat(32),
    userName: 'mia',
    privileges: new Set(['edit']),
    quotas: {},
    idleTimeout: 60,
    ends: Infinity,
    isForeign: false,
    address: undefined,
  };

  it('has its new state for a request that has run for a while', () => {
    const [one, other] = two.sharings.map((each) => new SharedSessionStore(each)) as [
      SharedSessionStore,
      SharedSessionStore,
    ];
    one.begin(begun);
    const held = other.find(begun.token);
    const same = one.find(begun.token);
    if (held === undefined || same === undefined) throw new Error('It is not found.');
    one.change(same, { privileges: new Set() });
    clock.advance(5);
    expect([held.hasEnded, held.privileges.size]).toEqual([false, 0]);
    one.remove(same, true);
    clock.advance(5);
    expect([held.hasEnded, held.wasReplaced]).toEqual([true, true]);
  });

  it('has its former state after a change was rolled back', () => {
    const [one, other] = two.sharings.map((each) => new SharedSessionStore(each)) as [
      SharedSessionStore,
      SharedSessionStore,
    ];
    const record = one.begin(begun);
    expect(() =>
      one.together(() => {
        one.change(record, { userName: 'bob', token: 'B'.repeat(32) });
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(one.find(begun.token)?.userName).toBe('mia');
    expect(one.find('B'.repeat(32))).toBe(undefined);
    expect(other.find(begun.token)?.userName).toBe('mia');
  });

  it('ends once when it is found to have expired', () => {
    const stores = two.sharings.map((each) => new SharedSessionStore(each));
    const ended: string[] = [];
    for (const store of stores) store.onEnd((id) => ended.push(id));
    const { id } = stores[0]?.begin(begun) ?? { id: '' };
    clock.advance(70_000);
    expect(ended).toEqual([id]);
  });

  it('refuses to store a value that another process could not read', () => {
    const [store] = two.sharings.map((each) => new SharedSessionStore(each));
    const record = store?.begin(begun);
    expect(() => {
      record?.storage.set('work', () => 1);
    }).toThrow('The value "work" of a session\'s storage cannot be shared');
  });
});
