import type { ReadableStream } from 'node:stream/web';
import type { Readable } from 'node:stream';

/**
 * The body of a message: a text, bytes, a stream or an async iterable of bytes, nothing, or
 * anything else that is JSON.
 */
export type MessageBody =
  string | Uint8Array | Readable | ReadableStream | object | number | boolean | null;

interface MessageInit {
  /** 200 if left out. */
  readonly status?: number;
  /** Names in any case; a list sends the header several times. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: MessageBody;
}

/**
 * The answer of a function in its own words: body, status and headers are sent as they are
 * (protocol P11.19). Without a `content-type` among the headers, a text is `text/plain`, bytes and
 * streams are `application/octet-stream`, anything else is JSON.
 */
export class OutgoingMessage {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: ReadonlyMap<string, string | readonly string[]>;
  readonly body: MessageBody;

  /**
   * @throws TypeError for a status, a header's name or a header's value that HTTP does not allow
   */
  constructor({ status = 200, headers = {}, body = null }: MessageInit = {}) {
    if (!Number.isInteger(status) || status < 200 || status > 599) {
      throw new TypeError(`The status of a message is a number from 200 to 599, not ${status}.`);
    }
    this.status = status;
    this.headers = new Map(Object.entries(headers).map(checkedHeader));
    this.body = body;
  }
}

const token = /^[!#$%&'*+.^_`|~\w-]+$/;
/** Visible characters of Latin-1, blanks and tabs: a line break would begin another header. */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Only the server sets the headers that frame the answer on its connection. */
const framing = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

function checkedHeader([name, value]: [string, string | readonly string[]]): [
  string,
  string | readonly string[],
] {
  const lower = name.toLowerCase();
  if (!token.test(name)) throw new TypeError(`${JSON.stringify(name)} is no name of a header.`);
  if (framing.has(lower)) throw new TypeError(`The header ${lower} is set by the server itself.`);
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!values.every((each) => typeof each === 'string' && headerValue.test(each))) {
    throw new TypeError(`The header ${lower} holds what no header can hold.`);
  }
  return [lower, value];
}
