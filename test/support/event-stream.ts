import { request as httpRequest, type IncomingMessage } from 'node:http';

/** What a message of `$changes` says. */
export interface ChangesMessage {
  readonly __COUNT: number;
  readonly __ENTITIES?: readonly ListedRow[];
  readonly __JOINED?: readonly ListedRow[];
  readonly __CHANGED?: readonly ListedRow[];
  readonly __LEFT?: readonly string[];
}

export interface ListedRow {
  readonly __KEY: string;
  readonly __STAMP: number;
  readonly __AT?: number;
  readonly [attribute: string]: unknown;
}

/** A stream of server-sent events, read by Node, which adds nothing to what the server sends. */
export class EventStream {
  status = 0;
  headers: IncomingMessage['headers'] = {};
  /** The last ID that arrived. */
  last: string | undefined;
  /** The data of `event: end`, if it has arrived. */
  end: string | undefined;
  isClosed = false;
  readonly #messages: ChangesMessage[] = [];
  #text = '';
  #wake: () => void = () => undefined;
  #cut: () => void = () => undefined;

  /** @returns when the headers have arrived, or the whole of a refusal */
  static async open(
    url: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<EventStream> {
    const stream = new EventStream();
    await new Promise<void>((resolve, reject) => {
      const sent = httpRequest(url, { headers, agent: false }, (response) => {
        stream.status = response.statusCode ?? 0;
        stream.headers = response.headers;
        response.setEncoding('utf8');
        response.on('data', (text: string) => {
          stream.#take(text);
        });
        response.on('close', () => {
          stream.isClosed = true;
          stream.#wake();
        });
        response.on('error', () => undefined);
        if (stream.status === 200) resolve();
        else response.on('end', resolve);
      });
      sent.on('error', (error) => {
        stream.isClosed = true;
        stream.#wake();
        reject(error);
      });
      stream.#cut = () => {
        sent.destroy();
      };
      sent.end();
    });
    return stream;
  }

  /** What was sent and is no complete event: the body of a refusal. */
  get rest(): string {
    return this.#text;
  }

  /** The next message; `undefined` when the stream has ended, or nothing came for that long. */
  async next(milliseconds = 5000): Promise<ChangesMessage | undefined> {
    const late = Date.now() + milliseconds;
    while (this.#messages.length === 0 && !this.isClosed && Date.now() < late) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, late - Date.now());
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.#messages.shift();
  }

  /** Waits until the server has closed the stream. */
  async closed(): Promise<void> {
    while (!this.isClosed) await this.next();
  }

  /** Breaks the connection. */
  cut(): void {
    this.#cut();
  }

  #take(text: string): void {
    const events = (this.#text + text).split('\n\n');
    this.#text = events.pop() ?? '';
    for (const event of events) this.#event(event);
    this.#wake();
  }

  #event(text: string): void {
    const fields = new Map(
      text.split('\n').map((line) => {
        const [name = '', ...value] = line.split(': ');
        return [name, value.join(': ')] as const;
      }),
    );
    const data = fields.get('data');
    if (data === undefined) return;
    if (fields.get('event') === 'end') this.end = data;
    else {
      this.last = fields.get('id');
      this.#messages.push(JSON.parse(data) as ChangesMessage);
    }
  }
}

/** The rows that a client has, which takes messages as `live.md` says. */
export class ReplicaOfSet {
  rows: readonly ListedRow[] = [];

  take({ __ENTITIES, __JOINED = [], __CHANGED = [], __LEFT = [] }: ChangesMessage): void {
    if (__ENTITIES !== undefined) {
      this.rows = __ENTITIES;
      return;
    }
    const placed = [...__JOINED, ...__CHANGED].sort(
      (one, other) => Number(one.__AT) - Number(other.__AT),
    );
    const gone = new Set([...__LEFT, ...placed.map(({ __KEY }) => __KEY)]);
    const rows = this.rows.filter(({ __KEY }) => !gone.has(__KEY));
    for (const { __AT, ...row } of placed) rows.splice(Number(__AT), 0, row);
    this.rows = rows;
  }
}
