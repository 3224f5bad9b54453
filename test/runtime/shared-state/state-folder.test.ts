import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Generations } from '../../../runtime/shared-state/generations.js';
import { StateDatabase } from '../../../runtime/shared-state/state-database.js';
import { keepFresh } from '../../../runtime/shared-state/state-folder.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drs-state-folder-'));
});

afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

it('The state folder has a fresh time stamp as long as it exists', () => {
  vi.useFakeTimers();
  const shared = join(folder, 'shared');
  mkdirSync(shared);
  const end = keepFresh(shared);
  const before = statSync(shared).mtimeMs;
  vi.setSystemTime(Date.now() + 3_600_000);
  vi.advanceTimersByTime(3_600_000);
  expect(statSync(shared).mtimeMs).toBeGreaterThan(before);
  rmSync(shared, { recursive: true });
  expect(() => vi.advanceTimersByTime(3_600_000)).not.toThrow();
  end();
});

it('The state folder reserves space for all generation numbers, before a disk is full', () => {
  const path = join(folder, 'generations');
  const one = new Generations(path, 1);
  const { size } = statSync(path);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  one.raise('lock', 'ffff');
  one.raise('session', '0000');
  // A later process does not undo this.
  const other = new Generations(path, 2);
  expect(other.of('lock', 'ffff')).toBe(one.of('lock', 'ffff'));
  expect(other.of('lock', 'ffff')).toBeGreaterThan(0);
  expect(statSync(path).size).toBe(size);
  one.close();
  other.close();
});

it('The state folder announces a change to all processes, even if the disk refuses one of them', async () => {
  const state = await StateDatabase.open(join(folder, 'state.sqlite'));
  const told: string[] = [];
  const change = (): void => {
    state.change(() => {
      state.afterwards(() => {
        throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      });
      state.afterwards(() => told.push('second'));
    });
  };
  expect(change).toThrow(expect.objectContaining({ status: 503 }));
  expect(told).toEqual(['second']);
  expect(state.isChanging).toBe(false);
  state.close();
});
