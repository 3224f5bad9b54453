import type { FastifyReply, FastifyInstance, FastifyRequest } from 'fastify';
import { type RequestError, refuse } from '../protocol/errors.js';
import { contentTypeOf, type ImageType } from '../protocol/image-types.js';
import type { JsonAnswer } from '../dialect/executor.js';
import type { StatusAndJson } from '../write/answers.js';
import { TaggedAnswer } from '../query/tags.js';

/**
 * The headers of every answer in JSON; {@link sendJson} sets them one by one, which is faster than
 * a list of them.
 */
const jsonHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** Sends a text that is JSON. */
export function sendJson(
  reply: FastifyReply,
  json: string | Uint8Array,
  cacheControl: string = jsonHeaders['cache-control'],
): FastifyReply {
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', cacheControl)
    .header('x-content-type-options', 'nosniff')
    .send(json);
}

/** A client may keep a tagged answer for itself, and asks whether it still holds before it uses it. */
const revalidated = 'private, no-cache';

/** Sends an answer with its tag; only the tag with 304, if the client has the answer (protocol P1.13). */
export function sendTagged(reply: FastifyReply, { tag, json }: TaggedAnswer): FastifyReply {
  reply.header('etag', tag);
  if (json === undefined) return reply.code(304).header('cache-control', revalidated).send();
  return sendJson(reply, json, revalidated);
}

/** Bytes of clients and of class code must not run script in a browser in the name of this server. */
export const harmlessHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
} as const;

/** @param type `undefined` for bytes that are no image */
export function setBytesType(reply: FastifyReply, type: ImageType | undefined): void {
  reply.header('content-type', contentTypeOf(type));
  // An SVG may contain scripts, so a browser that opens it as a page offers to save it instead.
  if (type === undefined || type === 'svg') reply.header('content-disposition', 'attachment');
}

export function sendError(reply: FastifyReply, error: RequestError): FastifyReply {
  reply.code(error.status).headers(error.headers);
  return sendJson(reply, errorJson(error));
}

export function errorJson({ errors }: RequestError): string {
  return JSON.stringify({ __ERROR: errors });
}

/** The headers of an error that is sent without Fastify. */
export function errorHeaders({ headers }: RequestError): Readonly<Record<string, string>> {
  return { ...jsonHeaders, ...headers };
}

/**
 * What a request is answered with: JSON, with a tag or without; `undefined` if the entity that it names is missing; or what sends
 * the answer itself, and does not fail.
 */
export type Answer =
  JsonAnswer | TaggedAnswer | undefined | StatusAndJson | ((reply: FastifyReply) => unknown);

/** Sends an answer; 404 if there is none, because an entity of the dataclass is missing. */
export function sendAnswer(reply: FastifyReply, dataclass: string, answer: Answer): void {
  if (typeof answer === 'string' || answer instanceof Uint8Array) sendJson(reply, answer);
  else if (answer === undefined) reply.send(missingEntity(dataclass));
  else if (answer instanceof TaggedAnswer) sendTagged(reply, answer);
  else if (typeof answer === 'function') answer(reply);
  else sendJson(reply.code(answer.status), answer.json);
}

/** 404 with 1543. */
export function missingEntity(dataclass: string): RequestError {
  return refuse('entityMissing', `The entity cannot be found in the "${dataclass}" dataclass.`);
}

/**
 * An address that answers GET and POST alike (protocol P1.11). It has two routes, because POST has
 * additional guards.
 */
export function getAndPost(
  app: FastifyInstance,
  address: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  app.get(address, handler);
  app.post(address, handler);
}
