import type { CheckedModel } from '../../generator/check/check-model.js';
import type { Compiler } from '../../generator/cli/compiler.js';
import { run } from '../../generator/cli/program.js';
import type { World } from '../../generator/cli/world.js';
import type { EmittedFile } from '../../generator/emit/file.js';
import type { Model } from '../../generator/model/model.js';
import type { Diagnostic } from '../../generator/source/diagnostic.js';
import { memoryDisk, systemError, type MemoryDisk } from './memory-disk.js';

export interface FakeWorld extends World {
  readonly disk: MemoryDisk;
  /** Runs a command line, split at blanks, and returns what it printed. */
  run(line: string): Promise<{ code: number; out: string; err: string }>;
}

export interface FakeOptions {
  readonly files?: readonly EmittedFile[];
  readonly problems?: readonly Diagnostic[];
  readonly env?: World['env'];
  readonly isTTY?: boolean;
  readonly compiler?: Partial<Compiler>;
  readonly onInterrupt?: World['onInterrupt'];
  readonly disk?: MemoryDisk;
}

export const model: Model = {
  name: 'staff',
  databases: ['sqlite'],
  reportFormat: 'looker',
  limits: {
    pageSize: 100,
    maxPageSize: 10_000,
    entitySetTimeout: 7200,
    recreatedEntitySetTimeout: 600,
    maxEntitySetsPerSession: null,
    maxEntitySetTimeout: null,
    entitySetMemory: 268_435_456,
    sessionIdleTimeout: 3600,
    maxSessions: 1,
    maxGuestSessions: 1,
    maxLocksPerSession: 1,
    bodySize: 1,
    uploadSize: 1,
    uploadSpace: 1,
    uploadTimeout: 1,
    filterLength: 1,
    filterDepth: 1,
    expandDepth: 1,
    batchSize: 1000,
    queryTimeout: null,
  },
  protocol: { dateOnlyFormat: 'iso', accentInsensitive: false, wildcard: false },
  dataclasses: [],
  functions: [],
  singletons: [],
};

export const modelText = 'drs: 1\nname: staff\n';

/** A world in memory: `/home/model.yaml` exists, and compiles to the given files. */
export function fakeWorld(options: FakeOptions = {}): FakeWorld {
  const disk = options.disk ?? memoryDisk();
  disk.put('/home/model.yaml', modelText);
  const printed = { out: '', err: '' };
  const stream = (name: 'out' | 'err') => ({
    write: (text: string) => {
      printed[name] += text;
    },
    isTTY: options.isTTY ?? false,
  });
  const world: World = {
    cwd: '/home',
    env: options.env ?? {},
    stdout: stream('out'),
    stderr: stream('err'),
    host: { disk, pid: 10, isAlive: () => false, pause: () => Promise.resolve() },
    onInterrupt: options.onInterrupt ?? (() => () => undefined),
    readFile: (path) => readNow(disk, path),
    isFile: (path) => path.slice(1) in disk.tree(''),
    git: () => undefined,
    start: noPrograms,
    package: { root: '/package', version: '1.2.3' },
    compiler: { ...fakeCompiler(options), ...options.compiler },
  };
  return {
    ...world,
    disk,
    run: async (line) => {
      printed.out = '';
      printed.err = '';
      const code = await run(
        line.split(' ').filter((word) => word !== ''),
        world,
      );
      return { code, ...printed };
    },
  };
}

function noPrograms(): never {
  throw new Error('A world in memory runs no programs.');
}

const before = { problems: [], sources: new Map() };

function fakeCompiler({ files = [], problems = [] }: FakeOptions): Compiler {
  return {
    check: ({ file, text }): Promise<CheckedModel> => {
      const source = typeof text === 'string' ? text : new TextDecoder().decode(text);
      const hasError = problems.some((problem) => problem.severity === 'error');
      return Promise.resolve({
        value: hasError ? undefined : model,
        problems,
        sources: new Map([[file, source]]),
        places: new Map(),
      });
    },
    emit: () => Promise.resolve(files),
    emitClient: () => Promise.resolve(files),
    serialize: (value) => Promise.resolve(`${JSON.stringify(value)}\n`),
    reviewMigrations: () => Promise.resolve({ names: [], files: [], open: [], doubts: [] }),
    renameClasses: () => Promise.resolve({ edits: [], problems: [], sources: new Map(), before }),
    parse: () => Promise.resolve({ model }),
    openApi: () => Promise.resolve({ openapi: '3.1.0' }),
    compare: () => Promise.resolve({ data: [], clients: [], classCode: [] }),
    findClasses: () => Promise.resolve({ files: new Map(), problems: [], sources: new Map() }),
    reviewClasses: () => Promise.resolve({ edits: [], problems: [], sources: new Map() }),
    schema: () => Promise.resolve('{ "type": "object" }\n'),
  };
}

function readNow(disk: MemoryDisk, path: string): Uint8Array {
  const text = disk.tree('')[path.slice(1)];
  if (text === undefined) throw systemError('ENOENT', path);
  return new TextEncoder().encode(text);
}
