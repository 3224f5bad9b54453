import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Key } from '../../../runtime/entity-set/key-list.js';
import { LiveList, movedKeys } from '../../../runtime/live/live-list.js';
import { sampled } from '../../support/long.js';

type Row = readonly [key: Key, stamp: number, time: string];

/** What a client has, which takes messages as `live.md` says. */
class Replica {
  rows: Row[] = [];
  version = 0;

  take(list: LiveList): void {
    const changes = list.since(this.version);
    this.version = list.version;
    if (changes === undefined) {
      this.rows = list.members.map(({ key, stamp }) => [key, stamp, '']);
      return;
    }
    const placed = [...changes.joined, ...changes.changed];
    const gone = new Set([...changes.left, ...placed.map(({ key }) => key)]);
    this.rows = this.rows.filter(([key]) => !gone.has(key));
    for (const { key, stamp, at } of placed.sort((one, other) => one.at - other.at)) {
      this.rows.splice(at, 0, [key, stamp, '']);
    }
  }
}

const rows = fc.uniqueArray(fc.tuple(fc.nat({ max: 12 }), fc.nat({ max: 3 }), fc.constant('')), {
  selector: ([key]) => key,
  maxLength: 12,
});

/** How many changes to wait before each message. */
const history = fc.array(
  fc.record({ rows, reads: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }) }),
  {
    maxLength: 12,
  },
);

describe('A live list', () => {
  it('tells each client exactly what it lacks, however long it was away', () => {
    fc.assert(
      fc.property(history, fc.nat({ max: 20 }), (steps, mostLeft) => {
        const list = new LiveList(mostLeft);
        const replicas = [new Replica(), new Replica(), new Replica()];
        for (const { rows: now, reads } of steps) {
          list.update(now);
          for (const [index, replica] of replicas.entries()) {
            if (reads[index] !== true) continue;
            replica.take(list);
            expect(replica.rows).toEqual(now);
          }
        }
      }),
      { numRuns: sampled(20_000) },
    );
  });

  it('keeps its version while nothing differs', () => {
    const list = new LiveList(10);
    expect(list.update([])).toBe(true);
    expect(list.update([])).toBe(false);
    expect(list.update([['a', 1, '']])).toBe(true);
    expect(list.update([['a', 1, '']])).toBe(false);
    expect(list.version).toBe(2);
    expect(list.since(2)).toEqual({ joined: [], changed: [], left: [] });
  });

  it('tells an entity that was deleted and made again with the same key and stamp', () => {
    const list = new LiveList(10);
    list.update([[7, 1, '2026-01-01T00:00:00.000Z']]);
    list.update([[7, 1, '2026-01-02T00:00:00.000Z']]);
    expect(list.since(1)?.changed).toEqual([{ key: 7, at: 0, stamp: 1 }]);
  });

  it('does not know versions whose former members it has forgotten', () => {
    const list = new LiveList(1);
    list.update([
      ['a', 1, ''],
      ['b', 1, ''],
    ]);
    list.update([]);
    expect(list.since(1)).toBeUndefined();
    expect(list.since(3)).toBeUndefined();
    expect(list.since(2)).toEqual({ joined: [], changed: [], left: [] });
  });
});

describe('movedKeys', () => {
  it('moves no more keys than it must', () => {
    expect(movedKeys(['a', 'b', 'c', 'd'], ['d', 'a', 'b', 'c'])).toEqual(['d']);
    expect(movedKeys(['a', 'b', 'c'], ['a', 'x', 'c'])).toEqual([]);
    expect(movedKeys([1, 2, 3], [3, 2, 1])).toHaveLength(2);
  });
});
