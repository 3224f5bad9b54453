import { describe, expect, it, vi } from 'vitest';
import { Placement } from '../../../../runtime/dialect/sqlite/readers/placement.js';
import { WaitingLine, ReadJob } from '../../../../runtime/dialect/sqlite/readers/reader-pool.js';

function job(name: string, isShort: boolean, values: readonly string[] = []): ReadJob {
  const placement = new Placement(1);
  if (isShort) placement.record(1);
  const made = new ReadJob({ kind: 'value', sql: name, values }, placement);
  made.promise.catch(() => undefined);
  return made;
}

function names(line: WaitingLine, isShortOnly = false): string[] {
  const taken: string[] = [];
  for (let each = line.take(isShortOnly); each !== undefined; each = line.take(isShortOnly)) {
    taken.push(each.question.sql);
  }
  return taken;
}

const refused = expect.objectContaining({ status: 503, headers: { 'retry-after': '1' } }) as Error;

describe('Waiting reads', () => {
  it('run in their order, short or not', () => {
    const line = new WaitingLine();
    for (const [name, isShort] of Object.entries({ a: false, b: true, c: true, d: false })) {
      line.add(job(name, isShort));
    }
    expect(names(line)).toEqual(['a', 'b', 'c', 'd']);
    expect(line.length).toBe(0);
  });

  it('are overtaken by reads known to be short when only those may run', () => {
    const line = new WaitingLine();
    for (const [name, isShort] of Object.entries({ a: false, b: true, c: true, d: false })) {
      line.add(job(name, isShort));
    }
    expect(names(line, true)).toEqual(['b', 'c']);
    expect(names(line)).toEqual(['a', 'd']);
  });

  it('are refused when too many wait', () => {
    const line = new WaitingLine({ most: 2, mostBytes: 100, longestMilliseconds: 30_000 });
    line.add(job('a', true));
    line.add(job('b', false));
    expect(() => {
      line.add(job('c', true));
    }).toThrow(refused);
    expect(names(line)).toEqual(['a', 'b']);
  });

  it('are refused when their values are too large together, but never a single one', () => {
    const line = new WaitingLine({ most: 9, mostBytes: 100, longestMilliseconds: 30_000 });
    line.add(job('a', true, ['x'.repeat(300)]));
    expect(() => {
      line.add(job('b', true, ['x']));
    }).toThrow(refused);
    expect(names(line)).toEqual(['a']);
    line.add(job('c', true, ['x']));
    expect(names(line)).toEqual(['c']);
  });

  it('leave the queue when they are abandoned', () => {
    const line = new WaitingLine();
    const [one, two] = [job('a', true), job('b', false)];
    line.add(one);
    line.add(two);
    expect(line.remove(two)).toBe(true);
    expect(line.remove(two)).toBe(false);
    expect(names(line)).toEqual(['a']);
  });

  it('are refused when they have waited too long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const line = new WaitingLine({ most: 9, mostBytes: 100, longestMilliseconds: 8_000 });
      const first = job('a', false);
      line.add(first);
      vi.advanceTimersByTime(4_500);
      const second = job('b', false);
      line.add(second);
      vi.advanceTimersByTime(4_500);
      await expect(first.promise).rejects.toThrow(refused);
      expect(second.isSettled).toBe(false);
      expect(line.length).toBe(1);
      vi.advanceTimersByTime(4_500);
      await expect(second.promise).rejects.toThrow(refused);
    } finally {
      vi.useRealTimers();
    }
  });
});
