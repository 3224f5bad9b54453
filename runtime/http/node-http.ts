import { createRequire as requireOf } from 'node:module';
import type * as Http from 'node:http';
import type { Socket } from 'node:net';

/**
 * Node's HTTP, loaded by `require`: an `import` reads each of its names at once, and one of them
 * loads the client behind `fetch`, which takes time and memory at each start (since Node 22).
 */
export const http = requireOf(import.meta.url)('node:http') as typeof Http;

const calls = Symbol('calls');

interface Ended {
  [calls]?: Set<() => void>;
}

/**
 * Calls when a connection closes. An answer that waits behind another one of its connection gets no
 * event itself; many may wait, so there is one listener for all.
 * @returns removes the listener; call it when it is no longer needed
 */
export function whenClosed(socket: Socket & Ended, call: () => void): () => void {
  let known = socket[calls];
  if (known === undefined) {
    const made = new Set<() => void>();
    known = made;
    socket[calls] = made;
    socket.once('close', () => {
      for (const each of made) each();
    });
  }
  const all = known;
  all.add(call);
  return () => {
    all.delete(call);
  };
}
