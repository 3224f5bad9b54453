import type { FastifyInstance } from 'fastify';
import { expect } from 'vitest';

/** The address that guides show. */
const base = 'http://127.0.0.1:8080';

/** A command of curl, and how it stores cookies. */
export interface Command {
  readonly url: string;
  readonly body?: string;
  readonly jar?: string;
  readonly savesJar: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** The files into which the entity tag goes, or from which it comes. */
  readonly tag?: { readonly saved?: string; readonly compared?: string };
  /** Whether the status is written behind the answer. */
  readonly showsStatus?: boolean;
}

/** What a line of a shell asks, as far as guides use curl. */
export function commandOf(line: string): Command {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? '',
  );
  expect(words.shift()).toBe('curl');
  let command: Command = { url: '', savesJar: false };
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const options = /^-([a-zH]+)$/.exec(word)?.[1] ?? '';
    if (word === '--etag-save') command = { ...command, tag: { saved: words.shift() ?? '' } };
    else if (word === '--etag-compare') {
      command = { ...command, tag: { compared: words.shift() ?? '' } };
    } else if (options === '') command = { ...command, url: word.replace(base, '') };
    for (const option of options) {
      if (option === 'w') {
        expect(words.shift()).toBe('%{http_code}');
        command = { ...command, showsStatus: true };
      } else if (option === 'd') command = { ...command, body: words.shift() ?? '' };
      else if (option === 'b') command = { ...command, jar: words.shift() ?? '' };
      else if (option === 'c') command = { ...command, jar: words.shift() ?? '', savesJar: true };
      else if (option === 'H') {
        const [name = '', value = ''] = (words.shift() ?? '').split(': ');
        command = { ...command, headers: { ...command.headers, [name]: value } };
      } else expect(option).toBe('g');
    }
  }
  return command;
}

/** A server, and a client with its jars of cookies. */
export class Tour {
  readonly #app: FastifyInstance;
  readonly #jars = new Map<string, string>();
  readonly #tags = new Map<string, string>();

  constructor(app: FastifyInstance) {
    this.#app = app;
  }

  async ask({ url, body, jar = '', savesJar, headers = {}, ...given }: Command): Promise<string> {
    const { tag = {}, showsStatus = false } = given;
    const known = this.#tags.get(tag.compared ?? '');
    const response = await this.#app.inject({
      method: body === undefined ? 'GET' : 'POST',
      url,
      headers: {
        ...headers,
        cookie: this.#jars.get(jar) ?? '',
        ...(known === undefined ? {} : { 'if-none-match': known }),
      },
      ...(body === undefined ? {} : { payload: body }),
    });
    const [cookie] = response.cookies;
    if (savesJar && cookie !== undefined) this.#jars.set(jar, `${cookie.name}=${cookie.value}`);
    if (tag.saved !== undefined) this.#tags.set(tag.saved, String(response.headers['etag']));
    return response.body + (showsStatus ? String(response.statusCode) : '');
  }

  close(): Promise<void> {
    return this.#app.close();
  }
}
