import { connect, type Socket } from 'node:net';
import type { SentRequest } from './load-job.js';

/** Timeout of an answer, in milliseconds. */
const patience = 60_000;

const endOfHead = '\r\n\r\n';

/**
 * A keep-alive connection with one pending request. It costs so little that it hardly disturbs the
 * measurement.
 */
export class RawConnection {
  #received: Buffer[] = [];
  #waiting:
    | { readonly resolve: (body: Buffer) => void; readonly reject: (error: Error) => void }
    | undefined;

  private constructor(
    private readonly socket: Socket,
    private readonly headers: string,
  ) {
    socket.setNoDelay(true);
    socket.setTimeout(patience, () => {
      socket.destroy(new Error(`There is no answer for ${patience / 1_000} s.`));
    });
    socket.on('data', (chunk) => {
      this.#received.push(chunk);
      this.#answer();
    });
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () =>
      this.#waiting?.reject(new Error('The server has closed a connection.')),
    );
  }

  static open(origin: string, headers: Readonly<Record<string, string>>): Promise<RawConnection> {
    const { hostname, port, host } = new URL(origin);
    const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}`);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.off('error', reject);
        resolve(new RawConnection(socket, lines.join('\r\n')));
      });
      socket.once('error', reject);
    });
  }

  /**
   * @returns the body
   * @throws Error if the answer is not 200
   */
  ask({ path, body }: SentRequest): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (this.socket.destroyed) throw new Error('The server has closed a connection.');
      this.#waiting = { resolve, reject };
      if (body === undefined) {
        this.socket.write(`GET ${path} HTTP/1.1\r\n${this.headers}${endOfHead}`);
        return;
      }
      const length = `content-length: ${Buffer.byteLength(body)}`;
      this.socket.write(`POST ${path} HTTP/1.1\r\n${this.headers}\r\n${length}${endOfHead}${body}`);
    });
  }

  close(): void {
    this.#waiting = undefined;
    this.socket.destroy();
  }

  /** The servers of the bench send Content-Length. */
  #answer(): void {
    const [first] = this.#received;
    if (first === undefined) return;
    const end = first.indexOf(endOfHead);
    if (end < 0) {
      if (this.#received.length > 1) this.#received = [Buffer.concat(this.#received)];
      return;
    }
    const head = first.toString('latin1', 0, end);
    const start = end + endOfHead.length;
    const length = start + Number(/content-length: (\d+)/i.exec(head)?.[1]);
    const there = this.#received.reduce((sum, each) => sum + each.length, 0);
    if (there < length) return;
    const body = Buffer.concat(this.#received).subarray(start);
    this.#received = [];
    if (head.startsWith('HTTP/1.1 200')) this.#waiting?.resolve(body);
    else this.#waiting?.reject(new Error(`${head}\n${body.toString()}`.slice(0, 500)));
  }
}
