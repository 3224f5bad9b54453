import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { run } from './command.js';
import { compiler, root, typescript, work } from './places.js';
import { password, soak, type Soaked } from './soak-acts.js';

/**
 * Sends mixed load to the server of `examples/staff` for some minutes, and prints its memory once a
 * minute. It collects garbage first, so a number that grows from line to line is a leak. Limits are
 * low, so that all of them are reached early.
 *
 *     node .tmp/bench/dist/soak.js [minutes] [clients]
 */
const minutes = Number(process.argv[2] ?? 60);
const clients = Number(process.argv[3] ?? 16);

const project = join(work, 'soak');
const limits = {
  ENTITY_SET_TIMEOUT: '60',
  ENTITY_SET_MEMORY: '4000000',
  SESSION_IDLE_TIMEOUT: '60',
  UPLOAD_TIMEOUT: '30',
  MAX_GUEST_SESSIONS: '500',
};

/** Runs in the server: answers SIGUSR2 with a line about its memory, in bytes. */
const teller = `
process.on('SIGUSR2', () => {
  gc();
  setTimeout(() => {
    gc();
    console.log('held ' + JSON.stringify(process.memoryUsage()));
  }, 100);
});
`;

interface Memory {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
}

class Server {
  readonly #child: ChildProcess;
  #printed = '';

  constructor(script: string, folder: string) {
    const preloaded = `data:text/javascript,${encodeURIComponent(teller)}`;
    this.#child = spawn(process.execPath, ['--expose-gc', '--import', preloaded, script], {
      cwd: folder,
      env: { PATH: process.env['PATH'], PORT: '0', LOG_LEVEL: 'fatal', ...limits },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child.stdout?.on('data', (chunk: Buffer) => (this.#printed += chunk.toString()));
  }

  async port(): Promise<number> {
    return Number((await this.#line(/listening on \S+:(\d+)\/rest/))[1]);
  }

  async memory(): Promise<Memory> {
    this.#printed = '';
    this.#child.kill('SIGUSR2');
    return JSON.parse((await this.#line(/^held (.*)$/m))[1] ?? '') as Memory;
  }

  stop(): void {
    this.#child.kill('SIGTERM');
  }

  async #line(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#printed);
      if (found !== null) return found;
      if (this.#child.exitCode !== null) throw new Error('The server has ended.');
      await setTimeout(20);
    }
  }
}

/** Generates and compiles the server of the example with its class code, and creates its user. */
function prepare(): string {
  rmSync(project, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const example = join(root, 'examples/staff');
  run(process.execPath, [compiler, join(example, 'model.yaml'), '-o', project], { cwd: root });
  cpSync(join(example, 'server/src/classes'), join(project, 'src/classes'), { recursive: true });
  run(process.execPath, [typescript, '-p', project], { cwd: root });
  const user = [join(project, 'dist/src/generated/users.js'), 'add', 'mia', '--role', 'HR'];
  const made = spawnSync(process.execPath, user, { cwd: project, input: `${password}\n` });
  if (made.status !== 0) throw new Error(made.stderr.toString());
  return join(project, 'dist/src/main.js');
}

async function fill({ port }: Soaked): Promise<void> {
  const companies = Array.from({ length: 500 }, (_, index) => ({
    name: `company ${index}`,
    city: `city ${index % 40}`,
    revenue: index * 1000,
  }));
  await fetch(`http://127.0.0.1:${port}/rest/Company?$method=update`, {
    method: 'POST',
    body: JSON.stringify(companies),
  });
}

function line(minute: number, requests: number, { rss, heapUsed, external }: Memory): string {
  const megabytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1).padStart(7);
  const cells = [rss, heapUsed, external].map(megabytes).join(' ');
  return `${String(minute).padStart(4)} ${String(requests).padStart(9)} ${cells}`;
}

const server = new Server(prepare(), project);
const port = await server.port();
const all = Array.from({ length: clients }, (): Soaked => {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  return { port, agent, cookie: undefined, made: [], count: 0 };
});
const [first] = all;
if (first !== undefined) await fill(first);
const start = performance.now();
const isOver = (): boolean => performance.now() - start > minutes * 60_000;
console.log(' min  requests     rss    heap external (MB, after a collection of garbage)');
const soaking = Promise.all(all.map((each) => soak(each, isOver)));
for (let minute = 0; minute <= minutes; minute += 1) {
  await setTimeout(Math.max(0, start + minute * 60_000 - performance.now()));
  const requests = all.reduce((sum, { count }) => sum + count, 0);
  console.log(line(minute, requests, await server.memory()));
}
await soaking;
for (const { agent } of all) agent.destroy();
// The memory after all timeouts have passed.
await setTimeout(70_000);
console.log(line(minutes + 1, 0, await server.memory()));
server.stop();
