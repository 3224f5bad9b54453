import { resolve } from 'node:path';
import { exitCode } from '../exit-code.js';
import { shellWord } from '../shell-word.js';
import { tell, type Session } from '../session.js';
import { tellFailure } from '../tell-failure.js';
import type { RunningProgram, World } from '../world.js';
import { generate } from './generate.js';

export interface DevOptions {
  readonly output: string;
}

/** Milliseconds between two looks at the files of the model. */
const interval = 100;

/**
 * `drs-gen dev <model> -o <dir>`: generates the server, runs it and the type checker, and generates
 * it again whenever the model changes, until the user interrupts it. Errors of the model are shown,
 * and the server of the last model without errors continues to run.
 */
export async function dev(
  session: Session,
  file: string,
  { output: folder }: DevOptions,
): Promise<number> {
  const { world } = session;
  const model = new ModelFiles(world);
  const programs = new DevelopedServer(world, resolve(world.cwd, folder));
  const release = world.onInterrupt(() => {
    programs.interrupt();
  });
  try {
    for (let isFirst = true; ; isFirst = false) {
      const code = await generated({ ...session, world: model.world }, file, folder);
      // Not an error of the model, so that no change of the model helps.
      if (isFirst && code !== exitCode.ok && code !== exitCode.failed) return code;
      programs.start();
      if (code !== exitCode.ok && !programs.isOver) {
        tell(
          session,
          `${programs.isRunning ? `${folder} stays as it is. ` : ''}Waiting for a change…`,
        );
      }
      while (!programs.isOver && !(await model.hasChanged())) {
        // Looks again.
      }
      if (programs.isInterrupted) return exitCode.ok;
      if (programs.isOver) {
        const install = `cd ${shellWord(folder)} && npm install`;
        tell(session, `npm run dev has ended. If its packages are not installed: ${install}`);
        return exitCode.failed;
      }
      tell(session, `\n${file} has changed.`);
    }
  } finally {
    await programs.stop();
    release();
  }
}

/** `npm run dev` and the type checker in the folder of a server. */
class DevelopedServer {
  isInterrupted = false;
  readonly #programs: RunningProgram[] = [];
  #hasEnded = false;

  constructor(
    private readonly world: World,
    private readonly folder: string,
  ) {}

  /** Whether nothing is to run any more. */
  get isOver(): boolean {
    return this.isInterrupted || this.#hasEnded;
  }

  get isRunning(): boolean {
    return this.#programs.length > 0;
  }

  /** Starts what does not run yet, if there is a server. */
  start(): void {
    const { world, folder } = this;
    if (this.isRunning || this.isOver || !world.isFile(resolve(folder, 'package.json'))) return;
    const environment = environmentOf(world);
    const program = { command: 'npm', args: ['run', '--silent', 'dev'], folder, environment };
    const server = world.start(program);
    void server.ended.then(() => {
      this.#hasEnded = true;
    });
    const types = ['tsc', '--noEmit', '--incremental', 'false', '--watch', '--preserveWatchOutput'];
    const args = ['exec', '--no', '--', ...types];
    this.#programs.push(server, world.start({ command: 'npm', args, folder }));
  }

  /** A second time, the programs end at once. */
  interrupt(): void {
    this.isInterrupted = true;
    for (const each of this.#programs) each.stop();
  }

  async stop(): Promise<void> {
    if (!this.isInterrupted) for (const each of this.#programs) each.stop();
    await Promise.all(this.#programs.map(({ ended }) => ended));
  }
}

/** Logins last while the server restarts, unless the user has chosen another place for the state. */
function environmentOf({ env }: World): Readonly<Record<string, string>> {
  const { STATE = '', DATABASE_URL } = env;
  return STATE !== '' || DATABASE_URL === 'sqlite::memory:' ? {} : { STATE: 'database' };
}

async function generated(session: Session, file: string, output: string): Promise<number> {
  try {
    return await generate(session, file, { output });
  } catch (error) {
    return tellFailure(session, error);
  }
}

/**
 * The files that the last run has read. They are read again and compared: unlike the notices of the
 * operating system, this also works for files that an editor replaces, for links, and for folders
 * that a container shares.
 */
class ModelFiles {
  /** Remembers what is read in it. */
  readonly world: World;
  /** The files by path, as texts that can be compared; `undefined` for a file that does not exist. */
  readonly #read = new Map<string, string | undefined>();

  constructor(private readonly base: World) {
    this.world = {
      ...base,
      readFile: (path) => {
        this.#read.set(path, undefined);
        const bytes = base.readFile(path);
        this.#read.set(path, textOf(bytes));
        return bytes;
      },
      isFile: (path) => {
        const isFile = base.isFile(path);
        if (!isFile) this.#read.set(path, undefined);
        return isFile;
      },
    };
  }

  /** Waits a moment. A file that is still being written has not changed yet. */
  async hasChanged(): Promise<boolean> {
    await this.base.host.pause(interval);
    const before = this.#now();
    if ([...this.#read].every(([path, text]) => before.get(path) === text)) return false;
    await this.base.host.pause(interval);
    const now = this.#now();
    return [...before].every(([path, text]) => now.get(path) === text);
  }

  #now(): ReadonlyMap<string, string | undefined> {
    return new Map([...this.#read.keys()].map((path) => [path, this.#textAt(path)]));
  }

  #textAt(path: string): string | undefined {
    try {
      return this.base.isFile(path) ? textOf(this.base.readFile(path)) : undefined;
    } catch {
      return undefined;
    }
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}
