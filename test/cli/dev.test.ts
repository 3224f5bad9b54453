import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runIn } from '../import/importer.js';
import { packageRoot } from '../support/server.js';

const modelWith = (dataclass: string): string => `
drs: 1
name: dev
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true }
  ${dataclass}:
    attributes: { ID: { type: integer, key: true } }
roles: roles.json
`;

const rolesWith = (privilege: string): string =>
  JSON.stringify({
    restrictedByDefault: false,
    privileges: [{ privilege }],
    roles: [],
    permissions: { allowed: [] },
  });

const login = `export function login(userName: string) {
  return { userName };
}
`;

let folder: string;

beforeEach(() => {
  const scratch = join(packageRoot, '.tmp');
  mkdirSync(scratch, { recursive: true });
  folder = mkdtempSync(join(scratch, 'drs-gen-dev-'));
  put('model.yaml', modelWith('First'));
  put('roles.json', rolesWith('view'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** As many editors do: another file takes the name. */
function put(path: string, text: string): void {
  writeFileSync(join(folder, `${path}~`), text);
  renameSync(join(folder, `${path}~`), join(folder, path));
}

/** The text of a file; empty while a generation puts the new file in place of the old one. */
function text(path: string): string {
  try {
    return readFileSync(join(folder, path), 'utf8');
  } catch {
    return '';
  }
}

/** A run of the command line. */
class Command {
  out = '';
  err = '';
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  #isOver = false;

  constructor(...args: readonly string[]) {
    const entry = join(packageRoot, 'test/support/run-drs-gen.ts');
    this.#child = spawn(process.execPath, ['--import', 'tsx', entry, ...args], {
      cwd: folder,
      env: { ...process.env, PORT: '0', LOG_LEVEL: 'error', NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.on('data', (chunk: Buffer) => (this.out += chunk.toString()));
    this.#child.stderr?.on('data', (chunk: Buffer) => (this.err += chunk.toString()));
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code) => {
        this.#isOver = true;
        resolve(code);
      });
    });
  }

  get all(): string {
    return this.out + this.err;
  }

  interrupt(): void {
    this.#child.kill('SIGINT');
  }

  async until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isTrue())) {
      if (this.#isOver) throw new Error(`drs-gen has ended:\n${this.all}`);
      await setTimeout(50);
    }
  }

  get #address(): string | undefined {
    return [...this.out.matchAll(/listening on (\S+)/g)].at(-1)?.[1];
  }

  /** @returns the cookie of a session; empty if no server lets the user log in */
  async logIn(): Promise<string> {
    const address = this.#address ?? '';
    try {
      const body = '["mia","x"]';
      const request = { method: 'POST', body, headers: { connection: 'close' } };
      const answer = await fetch(`${address}/$directory/login`, request);
      return answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    } catch {
      return '';
    }
  }

  async userOf(cookie: string): Promise<string | undefined> {
    const headers = { cookie, connection: 'close' };
    const answer = await fetch(`${this.#address ?? ''}/$directory/currentUser`, { headers });
    const { result } = (await answer.json()) as { readonly result: { userName: string } | null };
    return result?.userName;
  }

  /** The status that the last server answers with; `undefined` while there is none. */
  async status(path: string): Promise<number | undefined> {
    const address = this.#address;
    if (address === undefined) return undefined;
    try {
      return (await fetch(`${address}/${path}`, { headers: { connection: 'close' } })).status;
    } catch {
      return undefined;
    }
  }

  /** The processes of servers that have started. */
  get pids(): readonly number[] {
    return [...this.out.matchAll(/process (\d+)/g)].map(([, pid]) => Number(pid));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('drs-gen dev', () => {
  it('runs the server, generates it after each change, shows all errors, and leaves no process behind', async () => {
    const command = new Command('dev', 'model.yaml', '-o', 'server');
    await command.until(async () => (await command.status('First')) === 200);

    put('server/src/login.ts', login);
    let cookie = '';
    await command.until(async () => (cookie = await command.logIn()) !== '');

    // An error of the model: the server stays.
    put('model.yaml', modelWith('First').replace('type: string', 'type: sting'));
    await command.until(() => command.err.includes('Waiting for a change'));
    expect(command.err).toMatch(/model\.yaml:8:\d+ .*error/);
    expect(await command.status('First')).toBe(200);

    put('model.yaml', modelWith('Second'));
    await command.until(async () => (await command.status('Second')) === 200);
    // Logins outlive restarts.
    expect(await command.userOf(cookie)).toBe('mia');

    // A file that the model includes.
    put('roles.json', rolesWith('other'));
    await command.until(() => text('server/src/generated/settings.ts').includes('other'));

    // An error of types, which does not keep the server from running.
    const main = 'server/src/main.ts';
    const added = 'const wrong: number = `process ${process.pid}`;\nconsole.log(wrong);\n';
    put(main, added + readFileSync(join(folder, main), 'utf8'));
    await command.until(() => /src\/main\.ts.*TS2322/.test(command.all));
    await command.until(() => command.pids.length > 0);
    await command.until(async () => (await command.status('Second')) === 200);

    command.interrupt();
    expect([await command.ended, command.all]).toEqual([0, command.all]);
    expect(command.pids.filter(isAlive)).toEqual([]);

    put('Item.csv', 'name\nLamp\nTable\n');
    const seeded = new Command('seed', 'server', 'Item.csv', '--upsert-by', 'name');
    expect([await seeded.ended, seeded.err]).toEqual([0, '']);
    expect(seeded.out).toContain('Item: 2 created\n');
    put('Item.csv', 'name\nLamp\nLamp\n');
    const refused = new Command('seed', 'server', 'Item.csv');
    expect(await refused.ended).toBe(1);
    expect(refused.err).toContain(`${join(folder, 'Item.csv')}:2: name must be unique`);
  });

  it('ends with the exit code of a run if no change of the model would help', async () => {
    const { code, err } = await runIn(folder, ['dev', 'none.yaml', '-o', 'server']);
    expect(code).toBe(2);
    expect(err).toContain('Cannot read none.yaml');
  });
});

describe('drs-gen seed', () => {
  it('needs the folder of a server', async () => {
    const { code, err } = await runIn(folder, ['seed', 'nowhere', 'Item.csv']);
    expect(code).toBe(2);
    expect(err).toContain('nowhere is not the folder of a server.');
  });
});
