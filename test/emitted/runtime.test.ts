import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire, SourceMap, type SourceMapPayload } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { firstModel } from '../../generator/cli/commands/init.js';
import { emitServer } from '../../generator/emit/emit-server.js';
import { typedRuntime } from '../support/built-runtime.js';
import { modelOf, packageRoot, writeServer } from '../support/server.js';

const model = `
drs: 1
name: packed
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
    functions:
      dataclass:
        fail: { exposed: true, onHTTPGet: true, returns: number }
  Unasked:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
`;

const withVectors = `${model}      place: { type: vector, dimensions: 2 }
`;

/** Its sixth line throws. */
const failing = `import { ItemBase } from '../generated/api.js';

export class Item extends ItemBase {
  async fail(): Promise<number> {
    await Promise.resolve();
    throw new TypeError('as the test wants');
  }
}
`;

/** Paths of the files that the server of a model has. */
async function filesOf(yaml: string): Promise<readonly string[]> {
  const runtimeFolder = await typedRuntime();
  return emitServer(modelOf(yaml), { packageRoot, runtimeFolder, modelFileName: 'model.yaml' })
    .map(({ path }) => path)
    .filter((path) => path !== 'runtime/inside.js');
}

async function readmeOf(yaml: string): Promise<string> {
  const runtimeFolder = await typedRuntime();
  const files = emitServer(modelOf(yaml), {
    packageRoot,
    runtimeFolder,
    modelFileName: 'model.yaml',
  });
  return files.find(({ path }) => path === 'runtime/README.md')?.text ?? '';
}

async function modulesOf(yaml: string): Promise<readonly string[]> {
  const files = await filesOf(yaml);
  return files.flatMap((path) => /^runtime\/([^/]*)\.js$/.exec(path)?.[1] ?? []).sort();
}

describe('The runtime of a server', () => {
  it('has at most 45 files for a first model, which its README lists, and the server has at most 42 others', async () => {
    const files = await filesOf(firstModel('staff'));
    const own = files.filter((path) => path.startsWith('runtime/'));
    expect(own.length).toBeLessThanOrEqual(45);
    const [, ...rows] = (await readmeOf(firstModel('staff'))).split('|---|---|\n');
    const listed = rows.join('').match(/(?<=^\| `)[\w-]+/gm);
    const named = own.map((path) => path.replace('runtime/', '').replace(/[./].*/, ''));
    expect(new Set(listed)).toEqual(new Set(named.filter((name) => name !== 'README')));
    expect(files.length - own.length).toBeLessThanOrEqual(42);
  });

  it('has the parts that the model needs, and no others', async () => {
    const first = firstModel('staff');
    const commands = ['import-data', 'migrate', 'seed'];
    const loadedLater = [
      'explorer',
      'metrics',
      'openapi-document',
      'processes',
      'query-plan',
      'schema-changes',
      'state',
      'tracing',
    ];
    const sqlite = ['reader-process', 'sqlite', 'sqlite-migration', 'sqlite-readers'];
    const parts = (...more: readonly string[]): readonly string[] =>
      ['core', 'http', ...commands, ...loadedLater, ...more].sort();
    expect(await modulesOf(first)).toEqual(parts(...sqlite));
    const onPostgres = first.replace('drs: 1', 'drs: 1\ndatabase: postgres');
    expect(await modulesOf(onPostgres)).toEqual(parts('postgres', 'postgres-migration'));
    expect(await modulesOf(model)).toEqual(parts('class', 'functions', ...sqlite));
    const compatible = 'drs: 1\nprotocol: { compatibility: wakanda }';
    expect(await modulesOf(first.replace('drs: 1', compatible))).toEqual(
      parts('compatibility', ...sqlite),
    );
    const withRoles = `${first}\nroles:\n  restrictedByDefault: false\n  privileges: [{ privilege: view }]\n  roles: []\n`;
    expect(await modulesOf(withRoles)).toEqual(
      parts('access', 'class', 'permissions', ...sqlite, 'testing', 'users'),
    );
  });

  it('contains the code for images, BLOBs and uploads only if clients read or send some', async () => {
    const first = firstModel('staff');
    expect(await modulesOf(first)).not.toContain('media');
    for (const type of ['image', 'blob']) {
      const attribute = `${model}      data: ${type}\n`;
      expect(await modulesOf(attribute)).toContain('media');
      for (const given of [type, `'${type}[]'`]) {
        const returned = `params: { data: ${given} }, returns: number`;
        const functionOf = (exposed: string): string =>
          model.replace(
            '{ exposed: true, onHTTPGet: true, returns: number }',
            `{ ${exposed}${returned} }`,
          );
        expect(await modulesOf(functionOf('exposed: true, '))).toContain('media');
        expect(await modulesOf(functionOf(''))).not.toContain('media');
      }
    }
  });

  it('contains the recording of changes only if the model has audit', async () => {
    const first = firstModel('staff');
    expect(await modulesOf(first)).not.toContain('audit');
    const audited = first.replace('  Company:\n', '  Company:\n    audit: true\n');
    expect(await modulesOf(audited)).toContain('audit');
  });

  it('contains the comparison of vectors only if the model has some', async () => {
    expect(await modulesOf(model)).not.toContain('vectors');
    expect(await modulesOf(withVectors)).toContain('vectors');
  });

  it('contains the streams of changes only if clients can follow a dataclass', async () => {
    const first = firstModel('staff');
    expect(await modulesOf(first)).not.toContain('live');
    const followed = first.replace('  Company:\n', '  Company:\n    live: true\n');
    expect(await modulesOf(followed)).toContain('live');
    const hidden = followed.replace('    live: true\n', '    live: true\n    exposed: false\n');
    expect(await modulesOf(hidden)).not.toContain('live');
  });

  it('contains the code for permissions only if the model has roles or restrict', async () => {
    expect(await modulesOf(model)).not.toContain('permissions');
    const restricted = model.replace('  Unasked:\n', '  Unasked:\n    restrict: true\n');
    expect(await modulesOf(restricted)).toContain('permissions');
    expect(await modulesOf(restricted)).not.toContain('access');
  });

  it.each([
    {
      module: 'media',
      parts: ['@fastify/busboy', 'UploadStore = class', '"sharp"'],
      source: 'media/multipart.ts',
    },
    {
      module: 'live',
      parts: ['LiveList = class', 'ChangeStreams = class', 'text/event-stream'],
      source: 'live/live-list.ts',
    },
    {
      module: 'class',
      parts: ['ClassLifecycle = class', 'RequestResolver = class', 'Restrictions = class'],
      source: 'class/hooks/events.ts',
    },
    {
      module: 'permissions',
      parts: ['Logins = class', 'Tokens = class'],
      source: 'permissions/logins.ts',
    },
    {
      module: 'vectors',
      parts: ['vec_distance_L2(', 'drs_similarity_rank(${', 'expected cosine, dot or euclidean'],
      source: 'vectors/sqlite.ts',
    },
  ])('has all of $module in one file', async ({ module, parts, source }) => {
    const folder = await typedRuntime();
    const names = readdirSync(folder).flatMap((name) => /^(.*)\.js$/.exec(name)?.[1] ?? []);
    const partsIn = (name: string): readonly string[] => {
      const code = readFileSync(join(folder, `${name}.js`), 'utf8');
      return parts.filter((part) => code.includes(part));
    };
    expect(partsIn(module)).toEqual(parts);
    for (const name of names.filter((each) => each !== module)) expect(partsIn(name)).toEqual([]);
    const { sources } = mapOf(join(folder, `${module}.js.map`));
    expect(sources).toContain(`drs-gen:///runtime/${source}`);
  });

  it.each([
    { name: 'nothing', yaml: firstModel('staff') },
    { name: 'functions', yaml: model },
    { name: 'restrict', yaml: model.replace('  Unasked:\n', '  Unasked:\n    restrict: true\n') },
    { name: 'vectors', yaml: withVectors },
    { name: 'images', yaml: `${model}      data: image\n` },
    {
      name: 'roles',
      yaml: `${firstModel('staff')}\nroles:\n  restrictedByDefault: false\n  privileges: [{ privilege: view }]\n`,
    },
  ])('imports no missing file in a server of a model with $name', async ({ yaml }) => {
    const folder = await typedRuntime();
    const own = (await filesOf(yaml)).filter((path) => path.startsWith('runtime/'));
    const texts = own
      .filter((path) => /\.(?:js|d\.ts)$/.test(path))
      .map((path) => [path, readFileSync(join(folder, path.slice('runtime/'.length)), 'utf8')]);
    const missing = texts.flatMap(([path = '', text = '']) =>
      [...text.matchAll(/ from ['"]\.\/([^'"]+)\.js['"]/g)]
        .map(([, name = '']) => `runtime/${name}${path.endsWith('.d.ts') ? '.d.ts' : '.js'}`)
        .filter((name) => !own.includes(name))
        .map((name) => `${path} imports ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it('imports the packages that the server installs, and bundles none of them', async () => {
    const folder = await typedRuntime();
    const maps = readdirSync(folder).filter((name) => name.endsWith('.js.map'));
    const sources = maps.flatMap((name) => mapOf(join(folder, name)).sources);
    expect(sources.length).toBeGreaterThan(250);
    expect(sources.filter((source) => !source.startsWith('drs-gen:///runtime/'))).toEqual([]);
  });

  it('has source maps that lead a debugger to its sources', async () => {
    const folder = await typedRuntime();
    for (const [module, text, source] of [
      ['http', 'function createServer(', 'http/create-server.ts'],
      ['core', 'function parseFilter(', 'filter/parser.ts'],
      ['sqlite', 'function sqliteDialect(', 'dialect/sqlite/dialect.ts'],
    ] as const) {
      const code = readFileSync(join(folder, `${module}.js`), 'utf8');
      expect(code).toContain(`//# sourceMappingURL=${module}.js.map`);
      const lines = code.slice(0, code.indexOf(text)).split('\n');
      const payload = mapOf(join(folder, `${module}.js.map`));
      const entry = new SourceMap(payload).findEntry(lines.length - 1, lines.at(-1)?.length ?? 0);
      if (!('originalSource' in entry)) throw new Error(`${text} is not in the map.`);
      expect(entry.originalSource).toBe(`drs-gen:///runtime/${source}`);
      const held = payload.sourcesContent[payload.sources.indexOf(entry.originalSource)];
      expect(held).toBe(readFileSync(join(packageRoot, 'runtime', source), 'utf8'));
      expect(held?.split('\n')[entry.originalLine]).toContain(text);
    }
  });

  it('has the same types and doc comments as its sources', async () => {
    const types = readFileSync(join(await typedRuntime(), 'core.d.ts'), 'utf8');
    expect(types).toMatch(/\*\/\n(?:export )?(?:declare )?interface DataclassDefinition /);
  });
});

function mapOf(file: string): SourceMapPayload {
  return JSON.parse(readFileSync(file, 'utf8')) as SourceMapPayload;
}

describe('A compiled server', () => {
  let server: string;
  let folder: string;
  let child: ChildProcess;
  let origin: string;
  let logged = '';

  beforeAll(async () => {
    server = writeServer(modelOf(model), {}, await typedRuntime());
    mkdirSync(join(server, 'src/classes'), { recursive: true });
    writeFileSync(join(server, 'src/classes/Item.ts'), failing);
    const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-p', server, '--outDir', join(server, 'dist')]);
    mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
    folder = mkdtempSync(join(packageRoot, '.tmp', 'runtime-'));
    const env = {
      PATH: process.env['PATH'],
      HOST: '127.0.0.1',
      PORT: '0',
      DATABASE_URL: `sqlite:${join(folder, 'data.sqlite')}`,
    };
    child = spawn(process.execPath, [join(server, 'dist/src/main.js')], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stderr?.on('data', (chunk) => (logged += String(chunk)));
    const [line] = (await once(child.stdout ?? child, 'data')) as [unknown];
    origin = /http:\/\/[^/\s]+/.exec(String(line))?.[0] ?? '';
  });

  afterAll(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  });

  it('contains the code of the user and of the model, and imports the runtime in its place', () => {
    expect(readdirSync(join(server, 'dist')).sort()).toEqual([
      'src',
      'test',
      'tsconfig.tsbuildinfo',
    ]);
    expect(readdirSync(join(server, 'dist/src'))).not.toContain('runtime');
  });

  it('answers requests', async () => {
    const body = JSON.stringify({ name: 'one' });
    const url = `${origin}/rest/Item?$method=update`;
    expect((await fetch(url, { method: 'POST', body })).status).toBe(200);
    expect(await (await fetch(`${origin}/rest/Item(1)/name`)).json()).toMatchObject({
      name: 'one',
    });
  });

  it('logs stacks with the lines of the TypeScript sources, and with the lines of the runtime as installed', async () => {
    const response = await fetch(`${origin}/rest/Item/fail`);
    expect(response.status).toBe(500);
    await expect.poll(() => logged).toContain('as the test wants');
    expect(logged).toMatch(/src\/classes\/Item\.ts:6:\d+/);
    expect(logged).toMatch(/\/(?:core|http)\.js:\d+:\d+/);
    expect(logged).not.toContain('dist/src/classes/Item.js');
  });
});
