/** Time, so that tests can have their own. */
export interface Clock {
  /** Milliseconds that never go back. */
  now(): number;
  /** Calls once after so many milliseconds; what comes back cancels the call. */
  after(milliseconds: number, call: () => void): () => void;
}

/** The time of day, kept from going back; a waiting call keeps no process alive. */
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
