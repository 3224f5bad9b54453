import { afterEach, expect, it, vi } from 'vitest';
import { nowText } from '../../../runtime/protocol/dates.js';

afterEach(() => {
  vi.useRealTimers();
});

it('nowText returns the time as JSON does, however the clock is changed', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const start = Date.UTC(2026, 11, 31, 23, 59, 59, 998);
  const steps = [0, 0, 1, 1, 1, 998, 1, 7, -1, -3_000, 90_000_000, -9, -1_000, 999, 1];
  let moment = start;
  for (const step of steps) {
    moment += step;
    vi.setSystemTime(moment);
    expect(nowText()).toBe(new Date(moment).toISOString());
  }
  for (const moment of [0, -1, 5, Date.UTC(9999, 11, 31, 23, 59, 59, 999)]) {
    vi.setSystemTime(moment);
    expect(nowText()).toBe(new Date(moment).toISOString());
  }
});
