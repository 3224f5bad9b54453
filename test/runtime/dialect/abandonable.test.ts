import { describe, expect, it, vi } from 'vitest';
import { AbandonablePromise } from '../../../runtime/dialect/abandonable.js';
import { awaited, drive, type Steps, whenThere } from '../../../runtime/dialect/pending.js';

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

function* sum(...parts: readonly (number | Promise<number>)[]): Steps<number> {
  let result = 0;
  for (const each of parts) result += yield* awaited(each);
  return result;
}

describe('Steps', () => {
  it('are synchronous if nothing has to wait', () => {
    expect(drive(sum(1, 2))).toBe(3);
  });

  it('continue when a promise resolves', async () => {
    expect(await drive(sum(1, Promise.resolve(2), 3, Promise.resolve(4)))).toBe(10);
  });

  it('get the error of a promise, and can handle it', async () => {
    function* handling(): Steps<string> {
      try {
        yield* awaited(Promise.reject(new Error('refused')));
        return 'none';
      } catch (error) {
        return (error as Error).message;
      }
    }
    expect(await drive(handling())).toBe('refused');
    await expect(drive(sum(Promise.reject(new Error('refused'))))).rejects.toThrow('refused');
  });
});

describe.each<[string, (first: Promise<number>, second: Promise<number>) => unknown]>([
  ['A promise that follows another one', (first, second) => whenThere(first, () => second)],
  ['A promise of steps', (first, second) => drive(sum(first, second))],
])('%s', (_title, both) => {
  it('abandons the work that it waits for', async () => {
    const [first, second] = [work(), work()];
    const made = both(first.promise, second.promise) as AbandonablePromise<number>;
    expect(made).toBeInstanceOf(AbandonablePromise);
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
    const made = both(first.promise, second.promise) as AbandonablePromise<number>;
    first.finish(1);
    made.abandon();
    await expect(made).rejects.toThrow('abandoned');
    expect(second.abandon).toHaveBeenCalledOnce();
  });
});
