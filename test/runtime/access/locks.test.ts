import { beforeEach, describe, expect, it } from 'vitest';
import {
  type LockHolder,
  MemoryLockTable,
  TooManyLocksError,
} from '../../../runtime/access/locks.js';
import { fold, foldWithoutAccents } from '../../../runtime/protocol/fold.js';

const one: LockHolder = { session: 'one', origin: undefined };
const two: LockHolder = { session: 'two', origin: undefined };

let locks: MemoryLockTable;

beforeEach(() => {
  locks = new MemoryLockTable(3, fold);
});

describe('A lock', () => {
  it('belongs to its first holder, who can request it again', async () => {
    expect(await locks.lock('A', 1, one)).toBe(true);
    expect(await locks.lock('A', 1, one)).toBe(true);
    expect(locks.size).toBe(1);
    expect(await locks.lock('A', 1, two)).toMatchObject({ session: 'one', key: 1 });
    expect(await locks.holderOf('A', 1)).toMatchObject({ session: 'one' });
  });

  it('covers one entity of one dataclass', async () => {
    await locks.lock('A', 1, one);
    expect(await locks.lock('B', 1, two)).toBe(true);
    expect(await locks.lock('A', 2, two)).toBe(true);
    expect(await locks.lock('A', '1', two)).toBe(true);
  });

  it.each([
    ['STRASSE', 'strasse', fold],
    ['\u00c4rger', 'a\u0308rger', fold],
    ['Ärger', 'arger', foldWithoutAccents],
  ])('of the key %s is the same as that of %s', async (key, same, form) => {
    const folded = new MemoryLockTable(3, form);
    await folded.lock('A', key, one);
    expect(await folded.refusal('A', same, 'two')).toMatchObject({ key: form(key) });
    expect(await folded.unlock('A', same, 'one')).toBe(true);
    expect(folded.size).toBe(0);
  });

  it('is released only by its holder', async () => {
    await locks.lock('A', 1, one);
    expect(await locks.unlock('A', 1, 'two')).toMatchObject({ session: 'one' });
    expect(await locks.unlock('A', 1, undefined)).toMatchObject({ session: 'one' });
    expect(await locks.unlock('A', 1, 'one')).toBe(true);
    expect(await locks.unlock('A', 1, 'one')).toBe(true);
    expect(await locks.lock('A', 1, two)).toBe(true);
  });

  it('keeps other sessions and guests from writing', async () => {
    expect(await locks.refusal('A', 1, undefined)).toBeUndefined();
    await locks.lock('A', 1, one);
    expect(await locks.refusal('A', 1, 'one')).toBeUndefined();
    expect(await locks.refusal('A', 1, 'two')).toMatchObject({ session: 'one' });
    expect(await locks.refusal('A', 1, undefined)).toMatchObject({ session: 'one' });
    expect(await locks.refusal('A', 2, 'two')).toBeUndefined();
  });
});

it('A session has a limited number of locks', async () => {
  for (const key of [1, 2, 3]) await locks.lock('A', key, one);
  await expect(locks.lock('A', 4, one)).rejects.toThrow(TooManyLocksError);
  expect(await locks.lock('A', 3, one)).toBe(true);
  expect(await locks.lock('A', 4, two)).toBe(true);
  await locks.unlock('A', 1, 'one');
  expect(await locks.lock('A', 5, one)).toBe(true);
});

it('Locks end with their session, and with their entity', async () => {
  await locks.lock('A', 1, one);
  await locks.lock('B', 'x', one);
  await locks.lock('A', 2, two);
  await locks.forget('A', [2, 7]);
  expect((await locks.locksOf(['A'])).map(({ key }) => key)).toEqual([1]);
  locks.releaseAll('one');
  locks.releaseAll('one');
  expect(locks.size).toBe(0);
  expect(await locks.locksOf(['B'])).toEqual([]);
  for (const key of [1, 2, 3]) expect(await locks.lock('C', key, one)).toBe(true);
});

it('A lock moves with its holder to another session', async () => {
  await locks.lock('A', 1, one);
  await locks.lock('B', 'x', one);
  await locks.lock('A', 2, two);
  locks.moveAll('one', 'three');
  expect(locks.size).toBe(3);
  expect(await locks.refusal('A', 1, 'one')).toMatchObject({ session: 'three' });
  expect(await locks.refusal('B', 'x', 'three')).toBeUndefined();
  locks.releaseAll('one');
  expect(locks.size).toBe(3);
  locks.releaseAll('three');
  expect(locks.size).toBe(1);
  locks.moveAll('nobody', 'three');
  expect(await locks.unlock('A', 2, 'two')).toBe(true);
});
