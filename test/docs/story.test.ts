import { cpSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { launch, type Launched } from '../support/processes/server-process.js';
import { compiledServer } from '../support/compiled-server.js';
import { Project } from '../support/project.js';
import { type Block, blocksOf, placeOf, shown } from './guides.js';

const guide = 'generator/docs/evolution.md';
const base = 'http://127.0.0.1:8080';

/** The actions of a reader of the story: one project, one database, one server at a time. */
class Reader {
  #model = '';
  #server: { readonly process: Launched; readonly origin: string } | undefined;
  #builds = 0;

  constructor(private readonly project: Project) {}

  writeModel(text: string): void {
    this.#model = text;
  }

  /** Writes a migration, with the `from` and `to` of the one that drs-gen wrote. */
  writeMigration(path: string, text: string): void {
    const written = this.project.read(path);
    const span = (name: string): string => new RegExp(`${name}: '\\w+'`).exec(written)?.[0] ?? '';
    expect(span('from')).not.toBe('');
    this.project.write(
      path,
      text.replace("from: '…'", span('from')).replace("to: '…'", span('to')),
    );
    expect(this.project.errors).toEqual([]);
  }

  async run(command: string): Promise<string> {
    const [program = '', ...words] = [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
      ([, doubly, quoted, bare]) => doubly ?? quoted ?? bare ?? '',
    );
    switch (program) {
      case 'drs-gen': {
        const args = words.map((word) => (word === 'club.yaml' ? 'model.yaml' : word));
        const { code, out, err } = await this.project.run(this.#model, ...args);
        expect([code, err]).toEqual([0, err]);
        return (err + out).replaceAll('model.yaml', 'club.yaml');
      }
      case 'npm':
        expect(words).toEqual(['start']);
        await this.#start();
        return '';
      case 'node': {
        await this.stop();
        const [file = '', ...args] = words;
        const ended = spawnSync(process.execPath, [join(this.#built(), file), ...args], {
          env: { ...process.env, ...this.#environment },
          encoding: 'utf8',
        });
        expect([ended.status, ended.stderr]).toEqual([0, '']);
        return ended.stdout;
      }
      case 'sed': {
        const [, from = '', to = ''] = /^s\/(.*)\/(.*)\/$/.exec(words[1] ?? '') ?? [];
        const path = inServer(words[2] ?? '');
        const text = this.project.read(path);
        expect(text).toContain(from);
        this.project.write(path, text.replace(from, to));
        return '';
      }
      case 'curl': {
        const body = words[0] === '-d' ? words[1] : undefined;
        const url = (words.at(-1) ?? '').replace(base, this.#server?.origin ?? '');
        const method = body === undefined ? 'GET' : 'POST';
        const response = await fetch(url, { method, ...(body === undefined ? {} : { body }) });
        const text = await response.text();
        expect([response.status, text]).toEqual([200, text]);
        return `${text}\n`;
      }
      default:
        throw new Error(`The story cannot run ${command}.`);
    }
  }

  async stop(): Promise<void> {
    this.#server?.process.child.kill('SIGTERM');
    await this.#server?.process.ended;
    this.#server = undefined;
  }

  async #start(): Promise<void> {
    await this.stop();
    const program = join(this.#built(), 'dist/src/main.js');
    const process = launch(program, { folder: this.project.home, environment: this.#environment });
    this.#server = { process, origin: await process.listening };
  }

  /** Compiles the present server. */
  #built(): string {
    this.#builds += 1;
    const copy = join(this.project.home, `build-${String(this.#builds)}`);
    cpSync(this.project.folder, copy, { recursive: true });
    return compiledServer(copy);
  }

  get #environment(): Readonly<Record<string, string>> {
    // A server on a busy machine may be late, and would refuse requests.
    return {
      DATABASE_URL: `sqlite:${join(this.project.home, 'data.sqlite')}`,
      MAX_WAIT: '600000',
    };
  }
}

function inServer(path: string): string {
  return path.replace(/^server\//, '');
}

const blocks = ['yaml', 'console', 'typescript']
  .flatMap((language) => blocksOf(language, guide))
  .filter(({ words: [first] }) => first === 'story')
  .sort((a, b) => a.line - b.line);

let reader: Reader | undefined;
let project: Project | undefined;
afterAll(async () => {
  await reader?.stop();
  project?.delete();
});

async function tell(told: Reader, block: Block): Promise<void> {
  const { language, text, words } = block;
  if (language === 'yaml') told.writeModel(text);
  else if (language === 'typescript') told.writeMigration(inServer(words[1] ?? ''), text);
  else {
    for (const part of text.split(/^\$ /m).slice(1)) {
      const [command = '', ...lines] = part.split('\n');
      expect(await told.run(command), `${placeOf(block)}: ${command}`).toMatch(
        shown(lines.join('\n')),
      );
    }
  }
}

it('The example of one model over five versions works as the guide describes it', async () => {
  expect(blocks.filter(({ language }) => language === 'yaml')).toHaveLength(5);
  project = await Project.create();
  reader = new Reader(project);
  for (const block of blocks) await tell(reader, block);
});
