import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { systemClock } from '../../../runtime/entity-set/clock.js';

it('the clock of the system tells the time of day', () => {
  expect(Math.abs(systemClock().now() - Date.now())).toBeLessThan(60_000);
});

it('the clock of the system calls once, unless the call is cancelled, and keeps no process alive', async () => {
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
