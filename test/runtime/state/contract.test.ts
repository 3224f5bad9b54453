import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemSession } from '../../../runtime/access/grants.js';
import { TooManyLocksError } from '../../../runtime/access/locks.js';
import type {
  NewSession,
  SessionRecord,
  SessionRoom,
} from '../../../runtime/access/session-store.js';
import { keysOf } from '../../../runtime/entity-set/key-list.js';
import type { NewEntitySet } from '../../../runtime/entity-set/entity-set-store.js';
import { memoryStores, type ServerStores } from '../../../runtime/http/server-stores.js';
import type { RequestError } from '../../../runtime/protocol/errors.js';
import { fold } from '../../../runtime/protocol/fold.js';
import { newUuid } from '../../../runtime/protocol/uuid.js';
import { DatabaseLockTable } from '../../../runtime/state/database-lock-table.js';
import { DatabaseSessionStore } from '../../../runtime/state/database-session-store.js';
import { DatabaseEntitySetStore } from '../../../runtime/state/database-set-store.js';
import { FakeClock } from '../../support/fake-clock.js';
import { age, describeState, type SharedState } from './state-databases.js';

const limits = { entitySetMemory: 12_000, maxLocksPerSession: 2 };

/** The stores of one server, wherever they keep what they hold. */
interface Stores extends Pick<ServerStores, 'sessions' | 'locks' | 'sets'> {
  /** Lets time go by. */
  readonly pass: (milliseconds: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

function inMemory(): Promise<Stores> {
  const clock = new FakeClock();
  const stores = memoryStores(limits, fold, { clock });
  const pass = (milliseconds: number): Promise<void> => {
    clock.advance(milliseconds);
    return Promise.resolve();
  };
  return Promise.resolve({ ...stores, pass, close: () => stores.close() });
}

async function inDatabase(make: () => Promise<SharedState>): Promise<Stores> {
  const shared = await make();
  const state = await shared.open();
  const sessions = new DatabaseSessionStore(state, 0);
  const stored = (session: string): ReturnType<typeof sessions.stored> => sessions.stored(session);
  const { entitySetMemory, maxLocksPerSession } = limits;
  return {
    sessions,
    locks: new DatabaseLockTable(state, maxLocksPerSession, fold, stored),
    sets: new DatabaseEntitySetStore(state, entitySetMemory, entitySetMemory, stored),
    pass: (milliseconds) => age(state, milliseconds),
    close: () => shared.drop(),
  };
}

const guest = { userName: '', privileges: new Set<string>() };

function cases(make: () => Promise<Stores>): void {
  let stores: Stores;
  beforeEach(async () => {
    stores = await make();
  });
  afterEach(() => stores.close());

  async function begun(
    given: Partial<NewSession> = {},
    room?: SessionRoom,
  ): Promise<SessionRecord> {
    const session = {
      token: newUuid(),
      userName: 'mia',
      privileges: new Set(['edit']),
      quotas: {},
      idleTimeout: 600,
      ends: Infinity,
      isForeign: false,
      address: '192.0.2.1',
      ...given,
    };
    const record = stores.sessions.begin(session, room);
    await stores.sessions.flush(record, false);
    return record;
  }
  const found = async ({ token }: { readonly token: string }): Promise<SessionRecord | undefined> =>
    stores.sessions.find(token);
  const holder = ({ id }: SessionRecord) => ({ session: id, origin: undefined });
  const setOf = (given: Partial<NewEntitySet> = {}): NewEntitySet => ({
    dataclass: 'Part',
    keys: keysOf('integer', [3, 1, 2]),
    owner: undefined,
    timeout: 60,
    isSorted: false,
    ...given,
  });

  it('find a session by its newest token, with what was changed and stored', async () => {
    const record = await begun();
    const { token } = record;
    expect(await found(record)).toMatchObject({ id: record.id, userName: 'mia', idleTimeout: 600 });
    record.storage.set('list', ['a']);
    stores.sessions.change(record, { token: newUuid(), privileges: new Set(['view']) });
    stores.sessions.setIdleTimeout(record, 1200);
    await stores.sessions.flush(record, true);
    expect(await found({ token })).toBeUndefined();
    const again = await found(record);
    expect([...(again?.privileges ?? [])]).toEqual(['view']);
    expect(again?.idleTimeout).toBe(1200);
    expect(again?.storage.get('list')).toEqual(['a']);
    expect(again?.storage.keys()).toEqual(['list']);
    expect((await stores.sessions.list()).map(({ id }) => id)).toEqual([record.id]);
  });

  it('end a session that is removed, idle, or at its end, with its locks and sets', async () => {
    const ended: string[] = [];
    stores.sessions.onEnd((id) => ended.push(id));
    const removed = await begun();
    await stores.locks.lock('Item', 1, holder(removed));
    const own = await stores.sets.create(setOf({ owner: removed.id }));
    stores.sessions.remove(removed);
    await stores.sessions.flush(removed, false);
    expect([removed.hasEnded, await found(removed), ended]).toEqual([
      true,
      undefined,
      [removed.id],
    ]);
    expect(await stores.locks.holderOf('Item', 1)).toBeUndefined();
    const claim = { session: removed.id, dataclass: 'Part' };
    expect(await stores.sets.access(own.id, claim)).toBeUndefined();
    const [used, idle] = [await begun(), await begun()];
    await stores.pass(400_000);
    expect(await found(used)).toBeDefined();
    await stores.pass(400_000);
    expect(await found(used)).toBeDefined();
    expect(await found(idle)).toBeUndefined();
  });

  it('limit the sessions of users, of guests and of one address', async () => {
    const room = { users: 1, guests: 2, guestsOfAddress: 1 };
    const status = async (given: Partial<NewSession>): Promise<number> => {
      try {
        await begun(given, room);
        return 200;
      } catch (error) {
        return (error as RequestError).status;
      }
    };
    expect([await status({}), await status({})]).toEqual([200, 402]);
    expect([await status(guest), await status(guest)]).toEqual([200, 429]);
    expect(await status({ ...guest, address: '192.0.2.9' })).toBe(200);
    expect(await status({ ...guest, address: '192.0.2.8' })).toBe(402);
  });

  it('let a user take over everything of the guest who logs in', async () => {
    const visitor = await begun(guest);
    visitor.storage.set('cart', [1]);
    await stores.sessions.flush(visitor, true);
    await stores.locks.lock('Item', 1, holder(visitor));
    const moved: string[] = [];
    stores.sessions.onMove((from, to) => moved.push(from, to));
    const user = stores.sessions.replace(visitor, {
      token: newUuid(),
      userName: 'mia',
      privileges: new Set(['edit']),
      quotas: {},
      idleTimeout: 600,
      ends: Infinity,
      isForeign: false,
      address: '192.0.2.1',
    });
    await stores.sessions.flush(user, false);
    expect(moved).toEqual([visitor.id, user.id]);
    expect([visitor.hasEnded, visitor.wasReplaced, await found(visitor)]).toEqual([
      true,
      true,
      undefined,
    ]);
    expect((await found(user))?.storage.get('cart')).toEqual([1]);
    expect(await stores.locks.holderOf('Item', 1)).toMatchObject({ session: user.id });
  });

  it('give a lock to one session, and no more than a session may have', async () => {
    const [mia, bob] = [await begun(), await begun()];
    expect(await stores.locks.lock('Item', 'STRASSE', holder(mia))).toBe(true);
    expect(await stores.locks.lock('Item', 'strasse', holder(mia))).toBe(true);
    expect(await stores.locks.lock('Item', 'strasse', holder(bob))).toMatchObject({
      key: fold('strasse'),
      session: mia.id,
    });
    expect(await stores.locks.refusal('Item', 'Strasse', bob.id)).toMatchObject({
      session: mia.id,
    });
    expect(await stores.locks.refusal('Item', 'Strasse', mia.id)).toBeUndefined();
    expect(await stores.locks.lock('Other', 1, holder(mia))).toBe(true);
    const third = async (): Promise<unknown> => stores.locks.lock('Item', 3, holder(mia));
    await expect(third()).rejects.toThrow(TooManyLocksError);
    const held = await stores.locks.locksOf(['Item', 'Other']);
    expect(held.map(({ dataclass }) => dataclass).sort()).toEqual(['Item', 'Other']);
    expect(await stores.locks.unlock('Other', 1, bob.id)).toMatchObject({ session: mia.id });
    expect(await stores.locks.unlock('Other', 1, mia.id)).toBe(true);
    await stores.locks.forget('Item', ['strasse']);
    expect(await stores.locks.locksOf(['Item', 'Other'])).toEqual([]);
  });

  it('give locks to the server itself, whose code belongs to no session of a client', async () => {
    const server = { id: systemSession().keep() };
    const mia = await begun();
    const ofServer = { session: server.id, origin: undefined };
    expect(await stores.locks.lock('Item', 1, ofServer)).toBe(true);
    expect(await stores.locks.lock('Item', 1, holder(mia))).toMatchObject({ session: server.id });
    expect((await stores.sessions.list()).map(({ id }) => id)).toEqual([mia.id]);
    expect(await stores.locks.unlock('Item', 1, server.id)).toBe(true);
  });

  it('keep an entity set for its owner, its dataclass and its lifetime', async () => {
    const { id: owner } = await begun();
    const claim = { session: owner, dataclass: 'Part' };
    const { id } = await stores.sets.create(setOf({ owner, isSorted: true }));
    expect([...((await stores.sets.access(id, claim))?.keys ?? [])]).toEqual([3, 1, 2]);
    expect(await stores.sets.access(id, { ...claim, session: 'S' })).toBeUndefined();
    expect(await stores.sets.access(id, { ...claim, dataclass: 'B' })).toBeUndefined();
    expect(await stores.sets.release(id, { ...claim, session: 'S' })).toBe(false);
    expect([await stores.sets.countOf(owner), (await stores.sets.list()).length]).toEqual([1, 1]);
    expect(await stores.sets.access(id, claim, 600)).toMatchObject({ timeout: 600 });
    await stores.pass(500_000);
    expect(await stores.sets.access(id, claim)).toBeDefined();
    await stores.pass(700_000);
    expect(await stores.sets.access(id, claim)).toBeUndefined();
    expect(await stores.sets.recreate(id, setOf({ keys: keysOf('integer', [7]) }))).toMatchObject({
      id,
    });
    const ofGuests = { session: undefined, dataclass: 'Part' };
    expect([...((await stores.sets.access(id, ofGuests))?.keys ?? [])]).toEqual([7]);
    expect(await stores.sets.release(id, ofGuests)).toBe(true);
    expect(await stores.sets.usedBytes()).toBe(0);
  });
}

describe('The stores of a server, in memory,', () => {
  cases(inMemory);
});

describeState('The stores of a server', (make) => {
  cases(() => inDatabase(make));
});
