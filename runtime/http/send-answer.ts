import type { FastifyReply } from 'fastify';
import { AbandonablePromise } from '../dialect/abandonable.js';
import type { JsonAnswer, PendingAnswer } from '../dialect/executor.js';
import { refuse, type RequestError } from '../protocol/errors.js';
import { sendJson } from './reply.js';
import { tellOwnBytes } from './spent-bytes.js';

/**
 * Sends an answer when it is there; none means that an entity of the dataclass is missing. A read is too short for what
 * Fastify does around a handler's promise.
 */
export function sendAnswer(reply: FastifyReply, dataclass: string, answer: PendingAnswer): void {
  if (!(answer instanceof Promise)) {
    sendFound(reply, dataclass, answer);
    return;
  }
  abandonWithClient(reply, answer);
  answer.then(
    (json) => {
      sendFound(reply, dataclass, json);
    },
    (error: unknown) => {
      reply.send(error);
    },
  );
}

/** A long read of a client that goes away is given up. */
function abandonWithClient(reply: FastifyReply, answer: Promise<unknown>): void {
  if (!(answer instanceof AbandonablePromise)) return;
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) answer.abandon();
  });
}

function sendFound(reply: FastifyReply, dataclass: string, json: JsonAnswer | undefined): void {
  if (json === undefined) reply.send(missingEntity(dataclass));
  else {
    if (typeof json !== 'string') tellOwnBytes(reply.raw, json);
    sendJson(reply, json);
  }
}

/** 404 with 1543. */
export function missingEntity(dataclass: string): RequestError {
  return refuse('entityMissing', `The entity cannot be found in the "${dataclass}" dataclass.`);
}
