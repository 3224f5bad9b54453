import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { systemClock } from '../../../runtime/entity-set/clock.js';

it('The system clock returns the time of day', () => {
  expect(Math.abs(systemClock().now() - Date.now())).toBeLessThan(60_000);
});

it('The system clock calls back once, unless cancelled, and keeps no process alive', async () => {
  const clock = systemClock();
  const called: string[] = [];
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  clock.after(1, () => called.push('kept'));
  const cancel = clock.after(1, () => called.push('cancelled'));
  expect(timers()).toBe(before);
  cancel();
  await wait(50);
  expect(called).toEqual(['kept']);
});
