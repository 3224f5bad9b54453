/** A result that is available now or later: a database in the same process answers synchronously. */
export type Pending<T> = T | Promise<T>;

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
