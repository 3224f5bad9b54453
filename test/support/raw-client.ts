import { connect, type Socket } from 'node:net';

/** One answer, as received. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: string;
  readonly body: string;
}

/** A connection that sends bytes as they are, and reports every answer. */
export class RawClient {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  readonly #answers: RawAnswer[] = [];
  readonly #waiting: ((answer: RawAnswer | undefined) => void)[] = [];
  #bytes = Buffer.alloc(0);
  #isClosed = false;

  private constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1' });
    this.socket.on('error', () => undefined);
    this.socket.on('data', (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      while (this.#take());
    });
    this.closed = new Promise((resolve) => {
      this.socket.once('close', () => {
        this.#isClosed = true;
        for (const each of this.#waiting.splice(0)) each(undefined);
        resolve();
      });
    });
  }

  static async open(port: number): Promise<RawClient> {
    const client = new RawClient(port);
    await new Promise((resolve) => {
      client.socket.once('connect', resolve);
      client.socket.once('close', resolve);
    });
    return client;
  }

  send(text: string): this {
    this.socket.write(text);
    return this;
  }

  /** The next answer; `undefined` when the connection closes without one. */
  next(): Promise<RawAnswer | undefined> {
    const answer = this.#answers.shift();
    if (answer !== undefined) return Promise.resolve(answer);
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async ask(text: string): Promise<RawAnswer | undefined> {
    return this.send(text).next();
  }

  #take(): boolean {
    const end = this.#bytes.indexOf('\r\n\r\n');
    if (end === -1) return false;
    const headers = this.#bytes.subarray(0, end).toString();
    const length = Number(/^content-length: (\d+)$/im.exec(headers)?.[1] ?? 0);
    const whole = end + 4 + length;
    if (this.#bytes.length < whole) return false;
    const body = this.#bytes.subarray(end + 4, whole).toString();
    this.#bytes = this.#bytes.subarray(whole);
    const answer = { status: Number(headers.split(' ')[1]), headers, body };
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#answers.push(answer);
    else waiting(answer);
    return true;
  }
}

/** The text of a request without a body. */
export function getText(target: string): string {
  return `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;
}

/** The text of a request with a body that has a length. */
export function postText(target: string, body: string): string {
  return `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
