import { describe, expect, it } from 'vitest';
import { TurnWatch } from '../../../runtime/http/request-gate.js';

/** The number of accepted requests, each of which works for some milliseconds. */
function takenOf(watch: TurnWatch, count: number, work: number, start = 0): number {
  let taken = 0;
  for (let index = 0; index < count; index += 1) {
    if (watch.takes(start + index * work)) taken += 1;
  }
  return taken;
}

describe('The waiting time before a request', () => {
  it('is the work of the requests that arrived at the same time', () => {
    expect(takenOf(new TurnWatch(1000), 500, 10)).toBe(101);
    expect(takenOf(new TurnWatch(1000), 90, 10)).toBe(90);
  });

  it('starts anew with each turn of the event loop', () => {
    const watch = new TurnWatch(1000);
    takenOf(watch, 500, 10);
    expect(watch.takes(5000)).toBe(false);
    watch.begin(5000);
    expect(watch.takes(5010)).toBe(true);
    expect(takenOf(watch, 500, 10, 5020)).toBe(99);
  });

  it('is not longer for a single slow request', () => {
    const watch = new TurnWatch(1000);
    expect(watch.takes(0)).toBe(true);
    expect(watch.takes(60_000)).toBe(true);
    expect(takenOf(watch, 50, 1, 60_001)).toBe(50);
  });

  it('is too long after a second slow request', () => {
    expect(takenOf(new TurnWatch(1000), 50, 60_000)).toBe(2);
    expect(takenOf(new TurnWatch(1000), 50, 400)).toBe(4);
  });

  it('does not include idle time', () => {
    const watch = new TurnWatch(1000);
    watch.begin(60_000);
    expect(watch.takes(60_010)).toBe(true);
    expect(watch.takes(61_510)).toBe(true);
    expect(watch.takes(62_300)).toBe(true);
    expect(watch.takes(62_500)).toBe(false);
  });
});
