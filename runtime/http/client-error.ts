import type { Socket } from 'node:net';
import { type ErrorName, protocolError } from '../protocol/errors.js';

/** What Node's HTTP parser finds wrong, before there is a request that Fastify could answer. */
const parserErrors: Readonly<
  Record<string, { readonly status: string; readonly name: ErrorName; readonly message: string }>
> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    name: 'uriTooLong',
    message: 'The address and the headers are too long.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    name: 'malformedUrl',
    message: 'The request did not arrive in time.',
  },
};

const malformed = {
  status: '400 Bad Request',
  name: 'malformedUrl',
  message:
    'This is no HTTP request: characters of an address that are not ASCII are percent-encoded.',
} as const;

/** Answers a broken request with an `__ERROR` body as well, and closes the connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return;
  const { status, name, message } = parserErrors[error.code ?? ''] ?? malformed;
  const body = JSON.stringify({ __ERROR: [protocolError(name, message)] });
  socket.end(
    [
      `HTTP/1.1 ${status}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
