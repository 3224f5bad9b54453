import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** The number of bytes below which releasing memory costs more than the memory. */
const fewBytes = 16 * 1024;

/** Per HTTP server: whether other code sees what is sent. */
const hooked = new WeakMap<object, boolean>();

/** The buffer of the answer that was sent last. */
let last: ArrayBuffer | undefined;

/**
 * Releases the memory of an answer when it and the next one are sent, unless a hook of the user may
 * have kept it. The garbage collector would release it with the young generation, which rarely
 * fills up apart from these bytes: until then each answer would use memory that no cache of the
 * processor holds, up to hundreds of megabytes in turn. Released at once, it would go back to the
 * system, which takes longer than to keep it.
 * @param bytes made for this answer alone
 */
export function releaseWhenSent({ raw, server }: FastifyReply, bytes: Uint8Array): void {
  const { buffer, byteLength } = bytes;
  // If the buffer is larger than the bytes, it is shared.
  if (byteLength < fewBytes || byteLength !== buffer.byteLength) return;
  raw.once('finish', () => {
    // The system may still read what was to be sent over a connection that is cut.
    if (raw.req.socket.destroyed || Object.hasOwn(raw, 'end') || isSendHooked(server)) return;
    const released = last;
    last = buffer as ArrayBuffer;
    if (released === undefined) return;
    try {
      // Posting a buffer to a port detaches it, and without a listener nothing arrives.
      (nowhere ??= deadEnd()).postMessage(null, [released]);
    } catch {
      // The database's driver makes bytes that cannot be transferred.
      hooked.set(server.server, true);
    }
  });
}

let nowhere: MessagePort | undefined;

function deadEnd(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port2.close();
  return port1;
}

/** The server's own hooks, whose names begin with `drs`, keep nothing of what is sent. */
const foreignHook = /\(onSend\) \[(?:"(?:drs\w+|headRouteOnSendHandler)\(\)",?)*"(?!drs|headRoute)/;

/**
 * Whether a hook of the user, or of a plugin, sees what is sent. No hook can be added once the
 * server answers requests.
 */
function isSendHooked(app: FastifyInstance): boolean {
  const known = hooked.get(app.server);
  if (known !== undefined) return known;
  const found = foreignHook.test(app.printRoutes({ includeHooks: true }));
  hooked.set(app.server, found);
  return found;
}
