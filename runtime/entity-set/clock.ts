/** The time, which tests replace. */
export interface Clock {
  /** Milliseconds that never go back. */
  now(): number;
  /** Calls once after that many milliseconds; the returned function cancels the call. */
  after(milliseconds: number, call: () => void): () => void;
}

/** The time of day, kept from going back; a pending call does not keep the process alive. */
export function systemClock(): Clock {
  const start = Date.now() - performance.now();
  return {
    now: () => start + performance.now(),
    after: (milliseconds, call) => {
      const timer = setTimeout(call, milliseconds).unref();
      return () => {
        clearTimeout(timer);
      };
    },
  };
}
