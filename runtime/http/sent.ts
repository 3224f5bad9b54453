import type { FastifyReply } from 'fastify';
import type { Pending } from '../dialect/pending.js';
import { sendJson } from './reply.js';

/** What a handler gives back: nothing where the answer is sent, or is sent by whoever was asked for it; or when it is. */
export type Sent = undefined | Promise<FastifyReply>;

/** An answer that is a text already. */
export interface StatusAndJson {
  /** Of HTTP. */
  readonly status: number;
  readonly json: string;
}

/** Sends an answer, at once where it is there. */
export function sendWhenThere(reply: FastifyReply, pending: Pending<StatusAndJson>): Sent {
  if (pending instanceof Promise) return pending.then((answer) => sendNow(reply, answer));
  sendNow(reply, pending);
  return undefined;
}

/** Has an answer sent by what may still have to be found. */
export function sentBy<T>(reply: FastifyReply, found: Pending<T>, send: (found: T) => Sent): Sent {
  if (!(found instanceof Promise)) return send(found);
  return found.then(async (sender) => {
    await send(sender);
    // Fastify waits for it: a read sends its answer later.
    return reply;
  });
}

function sendNow(reply: FastifyReply, { status, json }: StatusAndJson): FastifyReply {
  return sendJson(reply.code(status), json);
}
