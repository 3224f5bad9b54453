import { describe, expect, it, vi } from 'vitest';
import { AbandonablePromise } from '../../../runtime/dialect/abandonable.js';
import { whenThere } from '../../../runtime/dialect/pending.js';

function work(): {
  readonly promise: AbandonablePromise<number>;
  readonly finish: (value: number) => void;
  readonly abandon: () => void;
} {
  let finish: (value: number) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const promise = new Promise<number>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  const abandon = vi.fn(() => {
    fail(new Error('abandoned'));
  });
  return { promise: AbandonablePromise.waitingFor({ abandon }, promise), finish, abandon };
}

describe('A promise that can be abandoned', () => {
  it('resolves with the result of the work', async () => {
    const { promise, finish } = work();
    finish(1);
    expect(await promise).toBe(1);
  });

  it('abandons the work', async () => {
    const { promise, abandon } = work();
    promise.abandon();
    await expect(promise).rejects.toThrow('abandoned');
    expect(abandon).toHaveBeenCalledOnce();
  });

  it('abandons the work through promises that are derived from it', async () => {
    const { promise, abandon } = work();
    const made = whenThere(
      whenThere(promise, (value) => value + 1),
      (value) => value + 1,
    );
    expect(made).toBeInstanceOf(AbandonablePromise);
    (made as AbandonablePromise<number>).abandon();
    await expect(made).rejects.toThrow('abandoned');
    expect(abandon).toHaveBeenCalledOnce();
  });

  it('abandons the work that followed from the first one', async () => {
    const [first, second] = [work(), work()];
    const made = whenThere(first.promise, () => second.promise) as AbandonablePromise<number>;
    first.finish(1);
    await first.promise;
    await Promise.resolve();
    made.abandon();
    await expect(made).rejects.toThrow('abandoned');
    expect(first.abandon).not.toHaveBeenCalled();
    expect(second.abandon).toHaveBeenCalledOnce();
  });

  it('abandons later work, too', async () => {
    const [first, second] = [work(), work()];
    const made = whenThere(first.promise, () => second.promise) as AbandonablePromise<number>;
    first.finish(1);
    made.abandon();
    await expect(made).rejects.toThrow('abandoned');
    expect(second.abandon).toHaveBeenCalledOnce();
  });

  it('can be awaited, caught and finished like any other', async () => {
    const { promise, finish } = work();
    const ended = vi.fn();
    const chain = promise.catch(() => 0).finally(ended);
    finish(3);
    expect(await chain).toBe(3);
    expect(ended).toHaveBeenCalledOnce();
    const failing = work();
    failing.promise.abandon();
    expect(await failing.promise.catch(() => 7)).toBe(7);
  });
});
