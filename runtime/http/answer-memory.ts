import type { ServerResponse } from 'node:http';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { FastifyInstance } from 'fastify';

/** For fewer bytes, releasing memory costs more than the memory. */
const fewBytes = 4_096;

const ofAnswer = Symbol('bytes');

interface MarkedResponse {
  [ofAnswer]?: Uint8Array;
}

/** Marks the bytes of an answer as made for it alone. */
export function markOwnBytes(answer: ServerResponse, bytes: Uint8Array): void {
  // If the buffer is larger than the bytes, it is shared.
  const isWhole = bytes.byteLength === bytes.buffer.byteLength;
  if (isWhole && bytes.byteLength >= fewBytes) (answer as MarkedResponse)[ofAnswer] = bytes;
}

/**
 * Releases the memory of answers after they are sent. The garbage collector would release it with
 * the young generation, which rarely fills up apart from these bytes: until then each answer would
 * use memory that no cache of the processor holds, tens of megabytes in turn, which costs a page of
 * 100 entities up to a third of its time.
 */
export class AnswerMemory {
  #last: ArrayBufferLike | undefined;
  #isHooked: boolean | undefined;
  #nowhere: MessagePort | undefined;

  /**
   * @param isSendHooked whether somebody else sees what is sent; called once, when there are bytes
   * to release
   */
  constructor(private readonly isSendHooked = (): boolean => false) {}

  /** Releases nothing from now on. */
  #stop(): void {
    this.#isHooked = true;
    this.#last = undefined;
  }

  /**
   * Call it when the system has taken all of an answer. Its bytes are released with the next one:
   * listeners of the response see its end in between.
   * @param chunk what was written
   */
  written(answer: ServerResponse, chunk: unknown): void {
    if (this.#last !== undefined) this.#release(this.#last);
    const { [ofAnswer]: bytes } = answer as MarkedResponse;
    const isOwn =
      bytes !== undefined && bytes === chunk && !(this.#isHooked ??= this.isSendHooked());
    this.#last = isOwn ? bytes.buffer : undefined;
  }

  /** Posting a buffer to a port detaches it, and without a listener nothing arrives. */
  #release(buffer: ArrayBufferLike): void {
    if (!(buffer instanceof ArrayBuffer)) return;
    try {
      (this.#nowhere ??= nowhere()).postMessage(null, [buffer]);
    } catch {
      // The database's driver makes bytes that cannot be transferred.
      this.#stop();
    }
  }
}

function nowhere(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port2.close();
  return port1;
}

/** Hooks of the server itself, which keep nothing of what is sent. */
const ownHooks: ReadonlySet<string> = new Set([
  'drsCountBytes',
  'drsLimitAnswer',
  'drsMeasureAnswer',
  'drsSynchronizeSession',
]);

/** Whether a hook of the user, or of a plugin, sees what is sent. The server must be ready: no hook can be added after that. */
export function isSendHooked(app: FastifyInstance): boolean {
  return ['GET', 'POST'].some((method) => {
    const routes = app.printRoutes({ method: method as 'GET', includeHooks: true });
    const hooks = [...routes.matchAll(/\(onSend\) (\[.*\])/g)].flatMap(([, names = '[]']) =>
      names.split(','),
    );
    return hooks.some((each) => !ownHooks.has(each.replace(/[^\w]/g, '')));
  });
}
