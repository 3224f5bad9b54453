/** A point where code waits until the test lets it continue. */
export class Gate {
  readonly #reached = deferred();
  readonly #opened = deferred();

  /** Resolves when the code has reached the gate. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  open(): void {
    this.#opened.resolve();
  }

  /** Called by the code. */
  pass(): Promise<void> {
    this.#reached.resolve();
    return this.#opened.promise;
  }
}

interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function deferred(): Deferred {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/**
 * Whether a promise is settled already; checked after everything that can continue has continued.
 */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const note = (): void => {
    settled = true;
  };
  promise.then(note, note);
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  return settled;
}
