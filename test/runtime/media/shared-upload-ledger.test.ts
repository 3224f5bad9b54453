import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  accountsOf,
  type KeptUpload,
  MemoryUploadLedger,
} from '../../../runtime/media/upload-ledger.js';
import { SharedUploadLedger } from '../../../runtime/media/shared-upload-ledger.js';
import { FakeClock } from '../entity-set/fake-clock.js';
import { openTwo, type TwoProcesses } from '../shared-state/two-processes.js';

let clock: FakeClock;
let two: TwoProcesses;

beforeAll(async () => {
  clock = new FakeClock();
  two = await openTwo(clock);
});
afterAll(() => {
  two.close();
});
beforeEach(() => {
  two.clear();
});

const upload = (sender: string, expires: number): KeptUpload => ({
  owner: 'S',
  path: '/nowhere',
  type: undefined,
  space: 4096,
  sender,
  expires,
});

it('Two processes count the space of every account, and what entities use, like one process', () => {
  const shared = two.sharings.map((each, index) => new SharedUploadLedger(each, index + 1));
  const memory = new MemoryUploadLedger();
  for (const [index, ledger] of [shared[0], memory].entries()) {
    const other = index === 0 ? shared[1] : memory;
    if (ledger === undefined || other === undefined) throw new Error('There are not two.');
    const now = clock.now();
    const shares = (sender: string, most: number): { account: string; most: number }[] =>
      accountsOf(sender).map((account) => ({ account, most }));
    const keep = (id: string, sender: string, expires: number): void => {
      expect(ledger.reserve(4096, shares(sender, 9000))).toBeUndefined();
      ledger.keep(id, upload(sender, expires));
    };
    keep('A', 'guest a', now + 10_000);
    keep('B', 'user:b', now + 20_000);
    expect(other.reserve(4096, shares('guest a', 9000))).toEqual({ account: 'all', most: 9000 });
    expect(['all', 'guests', 'guest a', 'user:b', 'user:c'].map((n) => other.spaceOf(n))).toEqual([
      8192, 4096, 4096, 4096, 0,
    ]);
    expect(other.expiryOf(4096, 'all')).toBe(now + 10_000);
    expect(other.expiryOf(4097, 'all')).toBe(now + 20_000);
    expect(other.expiryOf(4096, 'user:b')).toBe(now + 20_000);
    expect(other.expiryOf(4097, 'guests')).toBeUndefined();
    expect([ledger.write('A', 6, 10), other.write('A', 5, 10)]).toEqual([true, false]);
    expect([ledger.write('A', -6, 10), other.write('A', 10, 10)]).toEqual([true, true]);
    expect(other.write('none', 1, 10)).toBe(false);
    const forgotten = other.forget('A');
    expect(forgotten).toMatchObject({ sender: 'guest a', space: 4096 });
    expect(ledger.spaceOf('guests')).toBe(4096);
    if (forgotten !== undefined) other.removed(forgotten);
    expect(['all', 'guests', 'guest a'].map((n) => ledger.spaceOf(n))).toEqual([4096, 0, 0]);
  }
  for (const each of shared) each.close();
});
