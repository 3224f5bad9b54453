import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterAll, describe, expect, it } from 'vitest';
import type { LoginModule } from '../../runtime/access/login-module.js';
import { errorCodes } from '../../runtime/protocol/errors.js';
import { modelOf, packageRoot, serverOf } from '../support/server.js';
import { blocksOf, documents, placeOf, readDocument, shown, type Block } from './guides.js';

const example = join(packageRoot, 'examples/staff');
const base = 'http://127.0.0.1:8080';

/** The users that `npm run example` creates. */
const login: LoginModule = {
  login: (user, password) => {
    const granted = { mia: { roles: ['HR'] }, tom: { privileges: ['viewStaff'] } }[user];
    if (granted === undefined || password !== 'example') return null;
    return { userName: user, ...granted };
  },
};

/** A command of curl, and how it stores cookies. */
interface Command {
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

function commandOf(line: string): Command {
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

/** The example's server with its data, and a client with its jars of cookies. */
class Tour {
  readonly #app: FastifyInstance;
  readonly #jars = new Map<string, string>();
  readonly #tags = new Map<string, string>();

  constructor(app: FastifyInstance) {
    this.#app = app;
  }

  /** Starts the server of a model, which is that of the example with some lines more. */
  static async start(more: string): Promise<Tour> {
    const classes = readdirSync(join(example, 'server/src/classes')).map(
      (name) => `src/classes/${name}`,
    );
    const written = Object.fromEntries(
      classes.map((path) => [path, readFileSync(join(example, 'server', path), 'utf8')]),
    );
    const model = modelOf(`${readFileSync(join(example, 'model.yaml'), 'utf8')}${more}`);
    const app = await serverOf(model, { login }, written);
    const tour = new Tour(app);
    await tour.ask({
      url: '/rest/$directory/login',
      body: '["mia","example"]',
      jar: 'mia',
      savesJar: true,
    });
    const data = JSON.parse(readFileSync(join(example, 'data.json'), 'utf8')) as Readonly<
      Record<string, readonly object[]>
    >;
    for (const [dataclass, entities] of Object.entries(data)) {
      await tour.store(dataclass, entities);
    }
    return tour;
  }

  async store(dataclass: string, entities: readonly object[]): Promise<void> {
    const url = `/rest/${dataclass}?$method=update&$atomic=true`;
    const answer = await this.ask({
      url,
      body: JSON.stringify(entities),
      jar: 'mia',
      savesJar: false,
    });
    expect(answer).not.toContain('__ERROR');
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

const tours: Tour[] = [];
afterAll(() => Promise.all(tours.map((tour) => tour.close())));

/** What the words of a block add to the model of its server. */
const models: Readonly<Record<string, string>> = {
  '': '',
  wakanda: 'protocol: { compatibility: wakanda }\n',
};

/** The requests of a document to a server, in their order, each with the answer that it shows. */
function requestsOf(
  path: string,
  server: string,
): readonly (readonly [place: string, line: string, answer: string])[] {
  return blocksOf('console', path)
    .filter(({ text, words }) => text.startsWith('$ curl') && words.join(' ') === server)
    .flatMap(requestsIn);
}

function requestsIn(block: Block): readonly (readonly [string, string, string])[] {
  return block.text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [line = '', ...answer] = part.trimEnd().split('\n');
      return [placeOf(block), line, answer.join('\n')];
    });
}

/** The ID of the entity set or of the upload in an answer, for which `<id>` stands in later requests. */
function idIn(answer: string): string | undefined {
  return /(?:\$entityset\/|^\{"ID":")([0-9A-F]{32})"/.exec(answer)?.[1];
}

describe('A request in a guide', () => {
  const withRequests = documents.filter((path) => requestsOf(path, '').length > 0);
  const servers = [
    ...withRequests.map((path) => [path, ''] as const),
    ['runtime/docs/protocol.md', 'wakanda'] as const,
  ];

  it.each(servers)('has the answer that is printed below it: %s %s', async (path, server) => {
    const tour = await Tour.start(models[server] ?? '');
    tours.push(tour);
    let id = '';
    for (const [place, line, answer] of requestsOf(path, server)) {
      const found = (await tour.ask(commandOf(line.replace('<id>', id)))).trimEnd();
      expect(found, `${place}: ${line}`).toMatch(shown(answer));
      id = idIn(found) ?? id;
    }
  });

  it('exists in the README and in the guides of the protocol and of filters', () => {
    expect(withRequests).toEqual(
      expect.arrayContaining(['README.md', 'runtime/docs/filters.md', 'runtime/docs/protocol.md']),
    );
  });
});

it('The guide of the protocol lists every error with its status', () => {
  const [, table = ''] =
    /<!-- errors -->([\s\S]*)<!-- \/errors -->/.exec(readDocument('runtime/docs/protocol.md')) ??
    [];
  const rows = [...table.matchAll(/^\| (\d+) \| (\d+) \|/gm)].map(([, code, status]) => ({
    code: Number(code),
    status: Number(status),
  }));
  expect(rows).toEqual(Object.values(errorCodes).toSorted((a, b) => a.code - b.code));
});

it('The quotas in the guide are accepted by a server', async () => {
  const [quotas = ''] = blocksOf('sh', 'runtime/docs/access.md')
    .map(({ text }) => /QUOTAS='(.*)'/.exec(text)?.[1])
    .filter((text) => text !== undefined);
  expect(quotas).toContain('PerSession');
  const model = modelOf(readFileSync(join(example, 'model.yaml'), 'utf8'));
  const app = await serverOf(model, { login, environment: { QUOTAS: quotas } });
  await app.close();
  const misspelt = { QUOTAS: quotas.replace('nbRequests', 'nbRequest') };
  await expect(serverOf(model, { login, environment: misspelt })).rejects.toThrow('QUOTAS');
});

it('The guide of operations names every setting of a server', () => {
  const listed = ['examples/staff/server', 'test/golden/both-databases/expected'].flatMap(
    (server) =>
      [...readDocument(`${server}/.env.example`).matchAll(/^(?:# )?([A-Z_]+)=/gm)].map(
        ([, variable = '']) => variable,
      ),
  );
  expect(listed).toContain('DATABASE_POOL');
  const guide = readDocument('runtime/docs/operations.md');
  expect(listed.filter((variable) => !guide.includes(`\`${variable}\``))).toEqual([]);
});
