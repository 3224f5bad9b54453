import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { WriterLine } from '../../../runtime/dialect/writer-line.js';

/** Work that ends on demand. */
function slow(): { readonly work: () => Promise<void>; readonly end: () => void } {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { work: () => ended, end };
}

function refused(reason: string): object {
  const message = `${reason} This one was not made.`;
  return { status: 503, headers: { 'retry-after': '1' }, errors: [{ errCode: 1836, message }] };
}

describe('The queue of transactions', () => {
  it('runs one after the other, in order, whether they fail or not', async () => {
    const line = new WriterLine();
    const events: string[] = [];
    const step = (name: string) => async (): Promise<string> => {
      events.push(`${name} begins`);
      await setTimeout(1);
      events.push(`${name} ends`);
      if (name === 'b') throw new Error('b fails');
      return name;
    };
    const results = ['a', 'b', 'c'].map(async (name) => line.run(step(name)));
    const settled = await Promise.allSettled(results);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(events.join()).toBe('a begins,a ends,b begins,b ends,c begins,c ends');
  });

  it('refuses a transaction at once when too many wait, and accepts more when there is room', async () => {
    const line = new WriterLine({ most: 3, longestMilliseconds: 60_000 });
    const { work, end } = slow();
    const first = line.run(work);
    await setTimeout(1);
    const waiting = [1, 2, 3].map(async (each) => line.run(() => Promise.resolve(each)));
    await expect(line.run(() => Promise.resolve(4))).rejects.toMatchObject(
      refused('Too many changes wait for their turn.'),
    );
    end();
    await first;
    expect(await Promise.all(waiting)).toEqual([1, 2, 3]);
    expect(await line.run(() => Promise.resolve(5))).toBe(5);
  });

  it('refuses a transaction that has waited too long, never runs it, and keeps the order', async () => {
    const line = new WriterLine({ most: 3, longestMilliseconds: 20 });
    const { work, end } = slow();
    const first = line.run(work);
    let ran = 0;
    const late = line.run(() => Promise.resolve((ran += 1)));
    await expect(late).rejects.toMatchObject(
      refused('This change has waited 0.02 s for the changes before it to end.'),
    );
    const next = line.run(() => Promise.resolve((ran += 1)));
    await setTimeout(5);
    expect(ran).toBe(0);
    end();
    await Promise.all([first, next]);
    expect(ran).toBe(1);
  });

  it('is idle when every requested transaction has ended', async () => {
    const line = new WriterLine();
    const { work, end } = slow();
    void line.run(work);
    let isIdle = false;
    const idle = line.idle().then(() => (isIdle = true));
    await setTimeout(5);
    expect(isIdle).toBe(false);
    end();
    await idle;
  });

  it('is idle only when the last of those that run at once, and of those that wait, has ended', async () => {
    const line = new WriterLine(undefined, 2);
    const [first, second, waiting] = [slow(), slow(), slow()];
    const all = [first, second, waiting].map(({ work }) => line.run(work));
    let isIdle = false;
    const idle = line.idle().then(() => (isIdle = true));
    second.end();
    first.end();
    await Promise.all(all.slice(0, 2));
    await setTimeout(5);
    expect(isIdle).toBe(false);
    waiting.end();
    await idle;
  });
});

it('The queue runs each transaction in the async context of its caller', async () => {
  const line = new WriterLine();
  const asker = new AsyncLocalStorage<string>();
  const seen = ['a', 'b', 'c'].map((name) =>
    asker.run(name, async () =>
      line.run(async () => {
        await Promise.resolve();
        return asker.getStore();
      }),
    ),
  );
  expect(await Promise.all(seen)).toEqual(['a', 'b', 'c']);
});
