import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TooManyLocksError } from '../../../runtime/access/locks.js';
import type { NewSession, SessionRecord } from '../../../runtime/access/session-store.js';
import { keysOf, type Key, type KeyType } from '../../../runtime/entity-set/key-list.js';
import { EntitySetTooLargeError } from '../../../runtime/entity-set/entity-set-store.js';
import { DatabaseUploadStore } from '../../../runtime/media/database-uploads.js';
import type { RequestError } from '../../../runtime/protocol/errors.js';
import { fold } from '../../../runtime/protocol/fold.js';
import { DatabaseLockTable } from '../../../runtime/state/database-lock-table.js';
import { DatabaseSessionStore } from '../../../runtime/state/database-session-store.js';
import { DatabaseEntitySetStore } from '../../../runtime/state/database-set-store.js';
import type { StateDatabase, StateStatement } from '../../../runtime/dialect/state-database.js';
import { newUuid } from '../../../runtime/protocol/uuid.js';
import { png } from '../../support/media-samples.js';
import { age, describeState, type SharedState } from './state-databases.js';

/** What one server has open. */
interface Server {
  readonly state: StateDatabase;
  readonly sessions: DatabaseSessionStore;
  readonly locks: DatabaseLockTable;
  readonly sets: DatabaseEntitySetStore;
  readonly uploads: DatabaseUploadStore;
}

const mostBytes = 12_000;
const uploadLimits = { uploadSize: 3_000_000, uploadSpace: 8_000_000, uploadTimeout: 120 };

async function serverOf(shared: SharedState): Promise<Server> {
  const state = await shared.open();
  const sessions = new DatabaseSessionStore(state, 0);
  const stored = (session: string): ReturnType<typeof sessions.stored> => sessions.stored(session);
  return {
    state,
    sessions,
    locks: new DatabaseLockTable(state, 3, fold, stored),
    sets: new DatabaseEntitySetStore(state, mostBytes, mostBytes, stored),
    uploads: new DatabaseUploadStore(uploadLimits, state, stored),
  };
}

const newToken = (): string => newUuid();

function sessionOf(given: Partial<NewSession> = {}): NewSession {
  return {
    token: newToken(),
    userName: 'mia',
    privileges: new Set(['edit']),
    quotas: {},
    idleTimeout: 60,
    ends: Infinity,
    isForeign: false,
    address: '192.0.2.1',
    ...given,
  };
}

const guest = { userName: '', privileges: new Set<string>() };

describeState('The state of two servers', (make) => {
  let shared: SharedState;
  let one: Server;
  let other: Server;

  beforeEach(async () => {
    shared = await make();
    one = await serverOf(shared);
    other = await serverOf(shared);
  });
  afterEach(async () => {
    await shared.drop();
  });

  async function begun(given: Partial<NewSession> = {}): Promise<SessionRecord> {
    const record = one.sessions.begin(sessionOf(given));
    await one.sessions.flush(record, false);
    return record;
  }
  async function foundBy({ sessions }: Server, token: string): Promise<SessionRecord> {
    const found = await sessions.find(token);
    if (found === undefined) throw new Error('The session is not found.');
    return found;
  }
  const raw = async (text: string): Promise<readonly unknown[]> => one.state.run([text]);

  describe('sessions', () => {
    it('are as the database has them, also if it has lost what one of them has stored', async () => {
      const record = await begun();
      const { token } = record;
      const there = await foundBy(other, token);
      one.sessions.change(record, { privileges: new Set(['edit', 'administrate']) });
      await one.sessions.flush(record, false);
      // What a standby has that takes over.
      const lost = `update drs_state.session set version = 1, privileges = '["edit"]'`;
      await raw(lost);
      expect([...(await foundBy(one, token)).privileges]).toEqual(['edit']);
      one.sessions.change(record, { privileges: new Set(['administrate']) });
      await one.sessions.flush(record, false);
      await raw(lost);
      other.sessions.change(there, { privileges: new Set(['view']) });
      await other.sessions.flush(there, false);
      expect([...(await foundBy(one, token)).privileges]).toEqual(['view']);
    });

    it('are found by both with what either has changed, and end for both', async () => {
      const { token, id } = await begun({ ends: Date.now() + 1e9, isForeign: true });
      const there = await foundBy(other, token);
      expect(there).toMatchObject({ id, userName: 'mia', isForeign: true, address: '192.0.2.1' });
      other.sessions.change(there, { userName: 'bob', privileges: new Set(['view']) });
      other.sessions.setIdleTimeout(there, 600);
      other.sessions.change(there, { quotas: { nbRequestsPerMin: 5 } });
      await other.sessions.flush(there, false);
      const here = await foundBy(one, token);
      expect(here).toMatchObject({ userName: 'bob', idleTimeout: 600 });
      expect([...here.privileges]).toEqual(['view']);
      expect(here.quotas).toEqual({ nbRequestsPerMin: 5 });
      other.sessions.remove(there);
      expect(there.hasEnded).toBe(true);
      await other.sessions.flush(there, false);
      expect(await one.sessions.find(token)).toBeUndefined();
      // A change of the session that has ended elsewhere stores nothing.
      here.storage.set('a', 1);
      await one.sessions.flush(here, true);
      expect([here.hasEnded, here.wasReplaced]).toEqual([true, true]);
      expect(await raw('select * from drs_state.stored')).toEqual([]);
    });

    it('are not in the database before they are stored, and their tokens never are', async () => {
      const record = one.sessions.begin(sessionOf());
      expect(await other.sessions.find(record.token)).toBeUndefined();
      await one.sessions.flush(record, false);
      expect(await other.sessions.find(record.token)).toBeDefined();
      expect(JSON.stringify(await raw('select * from drs_state.session'))).not.toContain(
        record.token,
      );
    });

    it('open by their newest token alone; of two renewals at once the first one wins', async () => {
      const record = await begun();
      const old = record.token;
      const there = await foundBy(other, old);
      one.sessions.change(record, { token: newToken() });
      await one.sessions.flush(record, false);
      other.sessions.change(there, { token: newToken(), privileges: new Set(['view']) });
      await other.sessions.flush(there, false);
      expect(there.token).toBe('');
      expect(await other.sessions.find(old)).toBeUndefined();
      const found = await foundBy(other, record.token);
      expect([...found.privileges]).toEqual(['view']);
    });

    it('keep values as JSON, those that are changed inside too; two changes at once are merged', async () => {
      const { token } = await begun();
      const here = await foundBy(one, token);
      const there = await foundBy(other, token);
      here.storage.set('list', ['a']);
      here.storage.set('\0', { a: null, b: [1.5, true], c: undefined });
      await one.sessions.flush(here, true);
      there.storage.set('own', 'b');
      await other.sessions.flush(there, true);
      const again = await foundBy(other, token);
      const list = again.storage.get('list') as string[];
      list.push('b');
      await other.sessions.flush(again, true);
      const last = await foundBy(one, token);
      expect(last.storage.keys()).toEqual(['list', '\0', 'own']);
      expect(last.storage.get('list')).toEqual(['a', 'b']);
      expect(last.storage.get('\0')).toEqual({ a: null, b: [1.5, true] });
      expect([last.storage.delete('list'), last.storage.delete('list')]).toEqual([true, false]);
      await one.sessions.flush(last, true);
      expect((await foundBy(other, token)).storage.keys()).toEqual(['\0', 'own']);
    });

    it.each([
      ['a function', () => 1],
      ['a date', { at: new Date(0) }],
      ['a number beyond JSON', [NaN]],
      ['a map', new Map()],
      ['a bigint', 1n],
      ['nothing', undefined],
    ])('refuse to store %s', async (_what, value) => {
      const record = await begun();
      expect(() => {
        record.storage.set('work', value);
      }).toThrow('The value "work" of a session\'s storage cannot be stored as JSON');
      const held: Record<string, unknown> = {};
      record.storage.set('held', held);
      if (value === undefined) return;
      held['later'] = value;
      await expect(one.sessions.flush(record, true)).rejects.toThrow(TypeError);
    });

    it('are limited for users, for guests and for one address', async () => {
      const room = { users: 1, guests: 2, guestsOfAddress: 1 };
      const begin = async (given: Partial<NewSession>): Promise<number> => {
        const record = one.sessions.begin(sessionOf(given), room);
        try {
          await one.sessions.flush(record, false);
          return 200;
        } catch (error) {
          expect(record.hasEnded).toBe(true);
          return (error as RequestError).status;
        }
      };
      expect([await begin({}), await begin({})]).toEqual([200, 402]);
      expect([await begin(guest), await begin(guest)]).toEqual([200, 429]);
      expect(await begin({ ...guest, address: undefined })).toBe(200);
      expect(await begin({ ...guest, address: '192.0.2.9' })).toBe(402);
    });

    it('take over everything of a guest who becomes a user, in one step', async () => {
      const visitor = await begun(guest);
      visitor.storage.set('cart', [1]);
      await one.sessions.flush(visitor, true);
      await one.locks.lock('Item', 1, { session: visitor.id, origin: undefined });
      const keys = keysOf('integer', [1, 2]);
      const set = { dataclass: 'Item', keys, timeout: 60, isSorted: false };
      const mine = await one.sets.create({ ...set, owner: visitor.id });
      const moved: string[] = [];
      one.sessions.onMove((from, to) => moved.push(from, to));
      const user = one.sessions.replace(visitor, sessionOf(), undefined);
      expect([visitor.hasEnded, visitor.wasReplaced]).toEqual([true, true]);
      expect(user.storage.get('cart')).toEqual([1]);
      user.storage.set('more', 2);
      await one.sessions.flush(visitor, false);
      await one.sessions.flush(user, true);
      expect(moved).toEqual([visitor.id, user.id]);
      const there = await foundBy(other, user.token);
      expect(there.storage.keys()).toEqual(['cart', 'more']);
      expect(await other.sessions.find(visitor.token)).toBeUndefined();
      expect(await other.locks.holderOf('Item', 1)).toMatchObject({ session: user.id });
      expect(await other.sets.countOf(user.id)).toBe(1);
      expect(
        await other.sets.access(mine.id, { session: user.id, dataclass: 'Item' }),
      ).toBeDefined();
    });

    it('end after their idle time, with all that belongs to them, and each use prolongs it', async () => {
      const used = await begun({ idleTimeout: 60 });
      const idle = await begun({ idleTimeout: 60 });
      await one.locks.lock('Item', 1, { session: idle.id, origin: undefined });
      await age(one.state, 40_000);
      expect(await other.sessions.find(used.token)).toBeDefined();
      await age(one.state, 40_000);
      expect(await one.sessions.find(used.token)).toBeDefined();
      expect(await one.sessions.find(idle.token)).toBeUndefined();
      expect(await other.locks.holderOf('Item', 1)).toBeUndefined();
      expect(await other.locks.lock('Item', 1, { session: used.id, origin: undefined })).toBe(true);
      const ended: string[] = [];
      for (const { sessions } of [one, other]) {
        sessions.onEnd((id) => ended.push(id));
        await sessions.tick();
      }
      expect(ended).toEqual([idle.id]);
      expect((await one.sessions.list()).map(({ id }) => id)).toEqual([used.id]);
    });

    it('are begun once for a bearer token that two servers meet', async () => {
      const token = newToken();
      const ends = Date.now() + 1e6;
      const both = [one, other].map(({ sessions }) => {
        const record = sessions.begin(sessionOf({ token, isForeign: true, ends }));
        return { record, done: Promise.resolve(sessions.flush(record, false)) };
      });
      for (const { done } of both) await done;
      expect(both.filter(({ record }) => record.hasEnded)).toHaveLength(1);
      expect(await one.sessions.list()).toHaveLength(1);
    });

    it('begin again at once for a bearer token whose session has just expired', async () => {
      const token = newToken();
      const given = { token, isForeign: true, ends: Date.now() + 1e9 };
      const before = await begun(given);
      const ended: string[] = [];
      one.sessions.onEnd((id) => ended.push(id));
      await age(one.state, 80_000);
      const after = await begun(given);
      expect(after.hasEnded).toBe(false);
      expect((await other.sessions.find(token))?.id).toBe(after.id);
      expect(ended).toEqual([before.id]);
    });
  });

  describe('locks', () => {
    it('are given once, shown to others, ended by their holder, and no more than there may be', async () => {
      const [mia, bob] = [await begun(), await begun()];
      const origin = { host: 'h:1', address: 'h', userAgent: 'x' };
      const ofMia = { session: mia.id, origin };
      const ofBob = { session: bob.id, origin: undefined };
      expect(await one.locks.lock('Item', 'STRASSE', ofMia)).toBe(true);
      expect(await other.locks.lock('Item', 'strasse', ofMia)).toBe(true);
      expect(await other.locks.lock('Item', 'strasse', ofBob)).toEqual({
        key: fold('strasse'),
        session: mia.id,
        origin,
      });
      expect(await other.locks.refusal('Item', 'strasse', bob.id)).toMatchObject({
        session: mia.id,
      });
      expect(await other.locks.refusal('Item', 'strasse', mia.id)).toBeUndefined();
      expect(await other.locks.lock('Item', 1, ofBob)).toBe(true);
      expect(await other.locks.lock('Item', '1', ofMia)).toBe(true);
      expect(await other.locks.lock('Item', 2, ofMia)).toBe(true);
      await expect(Promise.resolve().then(() => one.locks.lock('Item', 3, ofMia))).rejects.toThrow(
        TooManyLocksError,
      );
      expect(await one.locks.unlock('Item', 2, bob.id)).toMatchObject({ session: mia.id });
      expect(await one.locks.unlock('Item', 2, mia.id)).toBe(true);
      await one.locks.forget('Item', ['1', 7]);
      expect((await other.locks.locksOf(['Item'])).map(({ key }) => key).sort()).toEqual(
        [1, fold('strasse')].sort(),
      );
      other.sessions.remove(await foundBy(other, mia.token));
      await one.state.run(['delete from drs_state.session where id = $1', mia.id]);
      expect(await one.locks.locksOf(['Item'])).toHaveLength(1);
      await expect(Promise.resolve().then(() => one.locks.lock('Item', 3, ofMia))).rejects.toThrow(
        'The session has ended',
      );
    });

    it('have one holder, even if several sessions ask at the same moment', async () => {
      const sessions = await Promise.all(Array.from({ length: 8 }, () => begun()));
      const given = await Promise.all(
        sessions.map(async ({ id }, at) =>
          (at % 2 === 0 ? one : other).locks.lock('Item', 1, { session: id, origin: undefined }),
        ),
      );
      expect(given.filter((each) => each === true)).toHaveLength(1);
    });

    it('store the session that holds them first', async () => {
      const record = one.sessions.begin(sessionOf());
      expect(await one.locks.lock('Item', 1, { session: record.id, origin: undefined })).toBe(true);
      expect(await other.sessions.find(record.token)).toBeDefined();
    });
  });

  describe('entity sets', () => {
    const ofEachKind: readonly (readonly [KeyType, readonly Key[]])[] = [
      ['integer', [3, 1, 4_294_967_295]],
      ['integer', [-5, 2 ** 53 - 1]],
      ['number', [0.5, -1e300]],
      ['number', []],
      ['uuid', ['00112233445566778899AABBCCDDEEFF', 'F'.repeat(32)]],
      ['string', ['', 'a, "b"', 'ü\u0000\n', '😀']],
    ];

    it('are read by both, and have an owner, a dataclass and a lifetime', async () => {
      const { id: owner } = await begun();
      const claim = { session: owner, dataclass: 'Part' };
      for (const [type, keys] of ofEachKind) {
        const list = keysOf(type, keys);
        const set = { dataclass: 'Part', keys: list, owner, timeout: 60, isSorted: true };
        const { id } = await one.sets.create(set);
        const found = await other.sets.access(id, claim);
        expect([...(found?.keys ?? [])]).toEqual([...list]);
        expect(found?.keys.byteLength).toBe(list.byteLength);
        expect(found).toMatchObject({ id, dataclass: 'Part', owner, maker: owner, isSorted: true });
        expect(await other.sets.access(id, { session: 'S', dataclass: 'Part' })).toBeUndefined();
        expect(await other.sets.access(id, { session: owner, dataclass: 'B' })).toBeUndefined();
        expect(await other.sets.release(id, { session: 'S', dataclass: 'Part' })).toBe(false);
      }
      expect(await other.sets.countOf(owner)).toBe(ofEachKind.length);
      const [first] = await other.sets.listOf(owner);
      if (first === undefined) throw new Error('There is none.');
      expect(await one.sets.release(first.id, claim)).toBe(true);
      expect(await other.sets.access(first.id, claim)).toBeUndefined();
      await age(one.state, 70_000);
      expect([await one.sets.countOf(owner), await one.sets.usedBytes()]).toEqual([0, 0]);
      await one.sets.tick();
      expect(await raw('select * from drs_state.entityset_keys')).toEqual([]);
    });

    it('are made again under their ID, with other keys, and once', async () => {
      const set = { dataclass: 'Part', owner: undefined, timeout: 60, isSorted: false };
      const claim = { session: undefined, dataclass: 'Part' };
      const first = await one.sets.create({ ...set, keys: keysOf('integer', [1]) });
      await other.sets.access(first.id, claim);
      await one.sets.release(first.id, claim);
      await one.sets.recreate(first.id, { ...set, keys: keysOf('integer', [2, 3]) });
      expect([...((await other.sets.access(first.id, claim))?.keys ?? [])]).toEqual([2, 3]);
      const again = await other.sets.recreate(first.id, { ...set, keys: keysOf('integer', [4]) });
      expect([...(again?.keys ?? [])]).toEqual([2, 3]);
      const longer = await one.sets.access(first.id, claim, 600);
      expect(longer?.timeout).toBe(600);
      await age(one.state, 500_000);
      expect(await other.sets.access(first.id, claim)).toBeDefined();
    });

    it('are read once by each server, also after two requests that read one at the same time', async () => {
      const reads: string[] = [];
      const state: StateDatabase = Object.create(other.state, {
        run: {
          value: (...all: readonly StateStatement[]) => {
            reads.push(...all.map(([text]) => text).filter((text) => text.includes('content')));
            return other.state.run(...all);
          },
        },
      }) as StateDatabase;
      const keys = keysOf('integer', [1, 2]);
      const set = { dataclass: 'Part', keys, owner: undefined, timeout: 60, isSorted: false };
      const claim = { session: undefined, dataclass: 'Part' };
      const ids = [await one.sets.create(set), await one.sets.create(set)].map(({ id }) => id);
      // Room for both.
      const sets = new DatabaseEntitySetStore(state, mostBytes, 2 * keys.byteLength, () =>
        Promise.resolve(),
      );
      const access = async (...of: number[]): Promise<unknown> =>
        Promise.all(of.map(async (at) => sets.access(ids[at] as string, claim)));
      await access(0, 0, 0);
      await access(1);
      reads.length = 0;
      await access(0, 1);
      expect(reads).toEqual([]);
    });

    it('make room for others: those of guests first, then what was not used for longest', async () => {
      const { id: owner } = await begun();
      const claim = { session: owner, dataclass: 'Part' };
      const create = async (of: string | undefined, length: number): Promise<string> => {
        const keys = keysOf(
          'integer',
          Array.from({ length }, (_, at) => at),
        );
        const set = { dataclass: 'Part', keys, owner: of, timeout: 60, isSorted: false };
        const { id } = await one.sets.create(set);
        await age(one.state, 1000);
        return id;
      };
      const ofUser = await create(owner, 500);
      const unused = await create(owner, 500);
      const ofGuest = await create(undefined, 500);
      await other.sets.access(ofUser, claim);
      const living = async (): Promise<readonly boolean[]> =>
        Promise.all(
          [ofUser, unused, ofGuest].map(
            async (id) => (await other.sets.access(id, claim)) !== undefined,
          ),
        );
      await create(owner, 500);
      expect(await raw('select id from drs_state.entityset')).toHaveLength(3);
      expect((await living())[2]).toBe(false);
      await age(one.state, 1000);
      await other.sets.access(ofUser, claim);
      await create(owner, 1500);
      expect((await living())[1]).toBe(false);
      expect(await one.sets.usedBytes()).toBeLessThanOrEqual(mostBytes);
      await expect(create(owner, 3000)).rejects.toThrow(EntitySetTooLargeError);
    });
  });

  describe('uploads', () => {
    async function* chunks(size: number): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(png);
      for (let sent = png.length; sent < size; sent += 100_000) {
        yield Buffer.alloc(Math.min(100_000, size - sent), 7);
      }
    }
    const receive = (
      { uploads }: Server,
      size: number,
      owner: string,
      sender = 'user:mia',
    ): Promise<string> =>
      uploads.receive(chunks(size), { timeout: undefined, mustBeImage: true, sender }, () => owner);

    it('arrive in parts, belong to a session, and share one limit of use on both servers', async () => {
      const { id: owner } = await begun();
      const id = await receive(one, 1_500_000, owner);
      const mine = other.uploads.of(owner);
      await mine.load([id.toLowerCase(), 'none']);
      const found = mine.find(id);
      expect(found?.type).toBe('png');
      const sent = Buffer.concat([png, Buffer.alloc(1_500_000 - png.length, 7)]);
      // A comparison by the test's own means takes seconds.
      expect(sent.equals(found?.read() ?? Buffer.alloc(0))).toBe(true);
      expect(mine.find('none')).toBeUndefined();
      const foreign = other.uploads.of('S');
      await foreign.load([id]);
      expect(foreign.find(id)).toBeUndefined();
      expect([found?.take(8_000_000), found?.take(8_000_000)]).toEqual([true, false]);
      await mine.settle();
      const later = one.uploads.of(owner);
      await later.load([id]);
      expect(later.find(id)?.take(8_000_000)).toBe(false);
      await age(one.state, 130_000);
      const gone = one.uploads.of(owner);
      await gone.load([id]);
      expect(gone.find(id)).toBeUndefined();
      await one.uploads.tick();
      expect(await raw('select position from drs_state.upload_part')).toEqual([]);
    });

    it('are read by as many requests at once as fit in memory, and by others after these', async () => {
      const { id: owner } = await begun();
      const id = await receive(one, 2_500_000, owner);
      const first = one.uploads.of(owner);
      await first.load([id]);
      const second = one.uploads.of(owner);
      await expect(second.load([id])).rejects.toMatchObject({ status: 503 });
      expect(second.find(id)).toBeUndefined();
      first.release();
      await second.load([id]);
      expect(second.find(id)).toBeDefined();
    });

    it('take the space of all, of guests and of a sender together, and leave nothing of a failed one', async () => {
      const { id: owner } = await begun();
      await receive(one, 2_500_000, owner);
      const refused = await receive(other, 2_500_000, owner).catch((error: unknown) => error);
      expect(refused).toMatchObject({ status: 429 });
      const { headers } = refused as RequestError;
      expect(Number(headers['retry-after'])).toBeGreaterThan(100);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(121);
      expect(await raw('select id from drs_state.upload')).toHaveLength(1);
      await receive(one, 2_500_000, owner, 'guest a');
      expect(
        await receive(other, 2_500_000, owner, 'guest b').catch((e: unknown) => e),
      ).toMatchObject({
        status: 429,
      });
      expect(await receive(other, 3_000_001, owner, 'x').catch((e: unknown) => e)).toMatchObject({
        status: 413,
      });
      const fails = other.uploads.receive(
        chunks(10),
        { timeout: undefined, mustBeImage: false, sender: 'x' },
        () => {
          throw new Error('no room');
        },
      );
      await expect(fails).rejects.toThrow('no room');
      expect(await raw('select id from drs_state.upload')).toHaveLength(2);
    });
  });
});
