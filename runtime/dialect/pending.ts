/**
 * A result that is available now or later: a database in the same process answers synchronously.
 *
 * Code that must stay synchronous with such a database, or whose reads can be abandoned, is written
 * as {@link Steps}. What each save runs uses {@link whenThere}: generators would cost a change of
 * one entity a twentieth of its time. All other code is async.
 */
export type Pending<T> = T | Promise<T>;

/**
 * Straight code that may have to wait: a generator, which yields the promises that it waits for. It
 * does nothing before {@link drive} runs it, or `yield*` in other steps.
 */
export type Steps<T> = Generator<Promise<unknown>, T, unknown>;

/**
 * Runs steps, synchronously up to the first promise. Each further step is a `then` of the promise
 * before it, so that the result can be abandoned as its reads can.
 */
export function drive<T>(steps: Steps<T>): Pending<T> {
  return driven(steps, steps.next());
}

function driven<T>(
  steps: Steps<T>,
  { done, value }: IteratorResult<Promise<unknown>, T>,
): Pending<T> {
  if (done === true) return value;
  return value.then(
    (result) => driven(steps, steps.next(result)),
    (error: unknown) => driven(steps, steps.throw(error)),
  );
}

/** Waits in steps, if it has to: `yield* awaited(pending)`. */
export function* awaited<T>(pending: Pending<T>): Steps<T> {
  return pending instanceof Promise ? ((yield pending) as T) : pending;
}

/** Handles an error, synchronous or not. */
export function caught<T>(
  work: () => Pending<T>,
  handle: (error: unknown) => Pending<T>,
): Pending<T> {
  let pending: Pending<T>;
  try {
    pending = work();
  } catch (error) {
    return handle(error);
  }
  return pending instanceof Promise ? pending.catch(handle) : pending;
}

/** Calls a function when work has ended, synchronous or not, with its error. */
export function atEnd<T>(work: () => Pending<T>, end: (error?: unknown) => void): Pending<T> {
  return caught(
    () =>
      whenThere(work(), (result) => {
        end();
        return result;
      }),
    (error) => {
      end(error);
      throw error;
    },
  );
}

/** Continues with a result, synchronously if it is available. */
export function whenThere<T, R>(pending: Pending<T>, next: (result: T) => Pending<R>): Pending<R> {
  return pending instanceof Promise ? pending.then(next) : next(pending);
}

/** Waits for work, at most for this time; never rejects. */
export async function settledWithin(work: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const overtime = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work.then(nothing, nothing), overtime]);
  clearTimeout(timer);
}

function nothing(): void {
  // The caller that started the work handles its errors.
}
