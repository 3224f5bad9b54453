/** A result that is there already, or comes later: a database in the same process answers at once. */
export type Pending<T> = T | Promise<T>;

/** Goes on where something fails, now or later. */
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

/** Goes on with a result, at once where it is there. */
export function whenThere<T, R>(pending: Pending<T>, next: (result: T) => Pending<R>): Pending<R> {
  return pending instanceof Promise ? pending.then(next) : next(pending);
}

/** Waits for work, but no longer than this; never fails. */
export async function settledWithin(work: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const overtime = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work.then(nothing, nothing), overtime]);
  clearTimeout(timer);
}

function nothing(): void {
  // Whoever began the work is told what became of it.
}
