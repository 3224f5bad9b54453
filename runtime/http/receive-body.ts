import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { refuseBusy } from '../protocol/busy.js';
import { refuse, type RequestError } from '../protocol/errors.js';
import { countedBody, noRoom } from './body-memory.js';

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Reads the body of a request as bytes. It may be as large as its route allows, and all bodies together as large as they may be.
 * @param usual bytes that every route allows
 */
export function receiveBody(
  request: FastifyRequest,
  payload: Readable,
  usual: number,
  done: Done,
): void {
  const isTooLarge = (bytes: number): boolean =>
    bytes > usual && bytes > request.routeOptions.bodyLimit;
  const tooLarge = (): Error => bodyTooLarge(Math.max(usual, request.routeOptions.bodyLimit));
  const declared = request.headers['content-length'];
  if (isTooLarge(Number(declared ?? 0))) {
    done(tooLarge());
    return;
  }
  const counted = countedBody(request.raw);
  const chunks: Buffer[] = [];
  let length = 0;

  const end = (error: Error | null): void => {
    payload.removeListener('data', onData);
    payload.removeListener('end', onEnd);
    payload.removeListener('error', onError);
    if (error !== null) done(error);
    // A chunk has its own memory: nothing else that was read is kept with it.
    else done(null, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length));
  };
  const onData = (chunk: Buffer): void => {
    length += chunk.length;
    if (isTooLarge(length)) end(tooLarge());
    else if (counted?.grow(chunk.length) === false) end(refuseBusy(noRoom));
    else chunks.push(chunk);
  };
  const onEnd = (): void => {
    // A connection ends with its length; a request that is injected may say what it wants.
    const isWhole = declared === undefined || length === Number(declared);
    end(isWhole ? null : refuse('badBody', 'The body has not the length that its request says.'));
  };
  const onError = (error: Error): void => {
    end(Object.assign(error, { statusCode: 400 }));
  };
  payload.on('data', onData);
  payload.on('end', onEnd);
  payload.on('error', onError);
  payload.resume();
}

/** 413. */
export function bodyTooLarge(most: number): RequestError {
  return refuse('tooLarge', `The body has at most ${most} bytes.`);
}
