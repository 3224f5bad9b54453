import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { lazyCompiler } from '../../generator/cli/compiler.js';
import { run } from '../../generator/cli/program.js';
import type { World } from '../../generator/cli/world.js';
import { nodeDisk } from '../../generator/output/node-disk.js';
import { typeErrors } from './type-errors.js';
import { builtClient } from './built-client.js';
import { typedRuntime } from './built-runtime.js';
import { packageRoot } from './server.js';

/** Inside the repository, so that servers find its packages. */
const scratch = join(packageRoot, '.tmp', 'projects');

/** The output of a run of drs-gen. */
export interface Printed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A model and its server on the disk; `server` is the server's folder. */
export class Project {
  readonly home: string;

  private constructor(private readonly runtimeFolder: string) {
    mkdirSync(scratch, { recursive: true });
    this.home = mkdtempSync(join(scratch, 'project-'));
  }

  static async create(): Promise<Project> {
    return new Project(await typedRuntime());
  }

  get folder(): string {
    return join(this.home, 'server');
  }

  /** Writes `model.yaml` and generates its server. */
  generate(model: string, ...options: readonly string[]): Promise<Printed> {
    return this.run(model, 'model.yaml', '-o', 'server', ...options);
  }

  /** Writes `model.yaml` and runs drs-gen in its folder. */
  run(model: string, ...args: readonly string[]): Promise<Printed> {
    writeFileSync(join(this.home, 'model.yaml'), model);
    return this.drsGen(args);
  }

  async drsGen(args: readonly string[]): Promise<Printed> {
    const printed = { out: '', err: '' };
    const stream = (name: 'out' | 'err'): World['stdout'] => ({
      write: (text) => {
        printed[name] += text;
      },
      isTTY: false,
    });
    const { runtimeFolder } = this;
    const world: World = {
      cwd: this.home,
      env: {},
      stdout: stream('out'),
      stderr: stream('err'),
      host: { disk: nodeDisk, pid: 10, isAlive: () => false, pause: () => Promise.resolve() },
      onInterrupt: () => () => undefined,
      readFile: (path) => readFileSync(path),
      git: () => undefined,
      start: () => {
        throw new Error('This world runs no programs.');
      },
      isFile: (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true,
      package: { root: packageRoot, version: '1.0.0' },
      compiler: {
        ...lazyCompiler,
        emit: (value, input) => lazyCompiler.emit(value, { ...input, runtimeFolder }),
        emitClient: async (value, input) =>
          lazyCompiler.emitClient(value, { ...input, clientFolder: await builtClient() }),
      },
    };
    const code = await run([...args], world);
    return { code, ...printed };
  }

  /** @param path in the server */
  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  remove(path: string): void {
    rmSync(join(this.folder, path), { recursive: true });
  }

  /** The texts of all files below a folder of the server, by path. */
  tree(folder = ''): Readonly<Record<string, string>> {
    const root = join(this.folder, folder);
    const files = readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name));
    return Object.fromEntries(
      files.sort().map((file) => [file.slice(root.length), readFileSync(file, 'utf8')]),
    );
  }

  /** The messages of the compiler about the server, without its routes: `emitted/projects.test.ts` checks those. */
  get errors(): readonly string[] {
    return typeErrors(this.folder, {}, (file) => !file.includes('/generated/routes/'));
  }

  delete(): void {
    rmSync(this.home, { recursive: true, force: true });
  }
}
