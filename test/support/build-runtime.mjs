// Compiles the runtime to the files of a server: a readable module with types and a source map for
// each public entry, and `core`, which they share. Names say what is in a file, so that an upgrade
// is a small diff.
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const runtime = join(root, 'runtime');
const tsconfig = join(root, 'tsconfig.json');
const banner = '// Part of the runtime of drs-gen, the same for every model. Edits here are lost.';

/**
 * What runs outside of a server, by the name of its file: a separate process. Each bundle is
 * complete, so it starts quickly and needs little memory.
 */
const programs = {
  'reader-process': 'dialect/sqlite/readers/reader-process.ts',
};

/** What a server loads when a setting, a command or a request asks for it, by the name of its file. */
const loadedLater = {
  explorer: 'http/explorer.ts',
  metrics: 'http/metrics.ts',
  migrate: 'migration/command.ts',
  'openapi-document': 'http/openapi-document.ts',
  'postgres-migration': 'dialect/postgres/migration/adapt.ts',
  processes: 'http/server-processes.ts',
  'query-plan': 'query/explanation.ts',
  'sqlite-migration': 'dialect/sqlite/migration/adapt.ts',
  'sqlite-readers': 'dialect/sqlite/readers/reader-pool.ts',
  state: 'state/database-stores.ts',
  tracing: 'http/tracing.ts',
};

/** The file with the types of what is loaded later, where those who load it share types with it. */
const typesWith = {
  'schema-changes': 'core',
  'sqlite-migration': 'sqlite',
  'postgres-migration': 'postgres',
};

/** For each public entry, the beginnings of the paths of its modules. The first match counts. */
const ownModules = {
  access: ['access/password'],
  audit: ['audit/', 'http/audit-'],
  class: ['class/hooks/', 'write/drop-events', 'http/class-plugin'],
  compatibility: ['compatibility/'],
  functions: ['class/calls/', 'http/function-'],
  permissions: ['permissions/', 'http/permissions-'],
  vectors: ['vectors/'],
  media: ['media/', 'http/media-'],
  live: ['live/', 'http/live-'],
  'import-data': ['load/', 'protocol/load-messages', 'protocol/storing-order'],
  seed: ['seed/'],
  explorer: ['http/explorer'],
  metrics: ['http/metrics'],
  migrate: ['migration/command'],
  'query-plan': ['query/explanation'],
  'openapi-document': ['http/openapi-', 'protocol/opened-document'],
  processes: ['http/server-processes'],
  state: ['state/'],
  tracing: ['http/tracing'],
  migrations: ['migration/'],
  http: ['http/'],
  'schema-changes': ['dialect/schema/'],
  'postgres-migration': ['dialect/postgres/migration/'],
  'sqlite-migration': ['dialect/sqlite/migration/'],
  'sqlite-readers': ['dialect/sqlite/readers/reader-pool'],
  sqlite: ['dialect/sqlite/'],
  postgres: ['dialect/postgres/'],
  users: ['users/'],
  jobs: ['jobs/'],
};

/**
 * @param folder gets the modules and their source maps
 * @param changed texts in the place of those of sources, by their paths in `runtime/`
 * @param added further entries for tests: name → path from the repository's folder
 */
export async function buildRuntime(folder, { changed = {}, added = {} } = {}) {
  const texts = new Map(Object.entries(changed).map(([path, text]) => [join(runtime, path), text]));
  const more = [
    ...Object.entries(loadedLater).map(([name, path]) => [name, join(runtime, path)]),
    ...Object.entries(added).map(([name, path]) => [name, join(root, path)]),
  ];
  await bundle({ ...publicEntries('js'), ...Object.fromEntries(more) }, chunkOf);
  for (const [name, path] of Object.entries(programs)) {
    await bundle({ [name]: join(runtime, path) });
  }
  await buildExplorer(join(folder, 'explorer'));

  async function bundle(input, chunk) {
    const bundled = await rolldown({
      cwd: root,
      input,
      platform: 'node',
      tsconfig,
      external: isPackage,
      resolve: { extensionAlias: { '.js': ['.ts'] } },
      preserveEntrySignatures: 'allow-extension',
      plugins: [{ name: 'changed', load: (id) => texts.get(id) }],
      onLog: (level, log) => {
        // A module with a dynamic import is in the file that imports it.
        if (level === 'warn' && log.code !== 'INEFFECTIVE_DYNAMIC_IMPORT') {
          throw new Error(log.message);
        }
      },
    });
    const { output } = await bundled.write({
      dir: folder,
      format: 'es',
      banner,
      entryFileNames: '[name].js',
      chunkFileNames: '[name].js',
      codeSplitting:
        chunk === undefined
          ? false
          : { includeDependenciesRecursively: false, groups: [{ name: chunk, debugName: 'file' }] },
      minify: false,
      minifyInternalExports: false,
      sourcemap: true,
      // These are not files: debuggers show the sources in the map.
      sourcemapPathTransform: (path, map) => `drs-gen:///${fromRoot(resolve(dirname(map), path))}`,
    });
    await bundled.close();
    // A module that core imports from the folder of an entry would move there: the hash of a
    // password would load Fastify.
    const core = output.find(({ fileName }) => fileName === 'core.js');
    const strangers = core?.moduleIds.filter((id) => chunkOf(id) !== 'core') ?? [];
    if (strangers.length > 0) {
      throw new Error(`What all entries share needs ${strangers.map(fromRoot).join(', ')}.`);
    }
    // Every server has these, but not their other imports besides `core`.
    for (const name of ['core', 'http', 'sqlite', 'postgres']) {
      const file = output.find(({ fileName }) => fileName === `${name}.js`);
      const needed = file?.imports.filter((each) => /^(?!core).*\.js$/.test(each)) ?? [];
      if (needed.length > 0) throw new Error(`${name}.js needs ${needed.join(', ')}.`);
    }
  }
}

/**
 * Compiles the explorer for browsers.
 * @param folder gets the files of the page
 */
async function buildExplorer(folder) {
  const sources = join(runtime, 'explorer');
  // Each is a file of its own: who may not open the explorer gets nothing of it.
  for (const [name, source] of Object.entries({ explorer: 'main.tsx', login: 'login-page.tsx' })) {
    const bundled = await rolldown({
      cwd: root,
      input: { [name]: join(sources, source) },
      platform: 'browser',
      tsconfig: join(sources, 'tsconfig.json'),
      resolve: { extensionAlias: { '.js': ['.ts', '.tsx'] } },
      onLog: (level, log) => {
        if (level === 'warn') throw new Error(log.message);
      },
    });
    await bundled.write({ dir: folder, format: 'es', entryFileNames: '[name].js', minify: true });
    await bundled.close();
  }
  cpSync(join(sources, 'index.html'), join(folder, 'index.html'));
  cpSync(join(sources, 'style.css'), join(folder, 'explorer.css'));
}

/**
 * Compiles the types once for the same sources, because this takes longer than most tests.
 * @param folder gets the types of the public entries
 */
export async function buildTypes(folder) {
  const kept = join(root, '.tmp/runtime-types', sourcesHash());
  if (!existsSync(kept)) {
    const staging = `${kept}-${process.pid}`;
    await writeTypes(staging);
    try {
      renameSync(staging, kept);
    } catch (error) {
      // Another process was faster.
      rmSync(staging, { recursive: true });
      if (!existsSync(kept)) throw error;
    }
  }
  cpSync(kept, folder, { recursive: true });
}

/** A hash of all that the compiled runtime depends on. */
export function sourcesHash() {
  const packages = join(root, 'package-lock.json');
  const sources = readdirSync(runtime, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const hash = createHash('sha256');
  for (const file of [fileURLToPath(import.meta.url), tsconfig, packages, ...sources]) {
    // The package that a test packs has no lock file.
    if (existsSync(file)) hash.update(fromRoot(file)).update('\0').update(readFileSync(file));
  }
  return hash.digest('hex').slice(0, 24);
}

async function writeTypes(folder) {
  const rolled = await rollup({
    input: publicEntries('types'),
    external: isPackage,
    plugins: [dts({ tsconfig })],
    preserveEntrySignatures: 'allow-extension',
    onwarn: ({ message }) => {
      throw new Error(message);
    },
  });
  await rolled.write({
    dir: folder,
    format: 'es',
    banner,
    entryFileNames: '[name].d.ts',
    chunkFileNames: '[name].d.ts',
    manualChunks: (id) => typesWith[chunkOf(id)] ?? chunkOf(id),
    hoistTransitiveImports: false,
    minifyInternalExports: false,
  });
  await rolled.close();
}

/**
 * Compiles the part of clients that is the same for every model: `client.js`, to which the generator
 * appends a table of the model, and `client.d.ts`, to which it appends the model's types.
 * @param folder gets the two files
 */
export async function buildClient(folder) {
  const banner = '// Generated by drs-gen. Edits here are lost.';
  const bundled = await rolldown({
    cwd: root,
    input: { client: join(runtime, 'client/open.ts') },
    platform: 'browser',
    tsconfig,
    resolve: { extensionAlias: { '.js': ['.ts'] } },
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(log.message);
    },
  });
  await bundled.write({ dir: folder, format: 'es', banner, entryFileNames: '[name].js' });
  await bundled.close();
  const rolled = await rollup({
    input: { client: join(runtime, 'client/public.ts') },
    plugins: [dts({ tsconfig })],
    onwarn: ({ message }) => {
      throw new Error(message);
    },
  });
  await rolled.write({ dir: folder, format: 'es', banner, entryFileNames: '[name].d.ts' });
  await rolled.close();
  // `open` is for the appended part.
  const module = join(folder, 'client.js');
  const text = readFileSync(module, 'utf8');
  const exported = text.replace(/^export \{ RestError, open \};$/m, 'export { RestError };');
  if (exported === text) throw new Error('client.js exports something else.');
  writeFileSync(module, exported);
}

/**
 * Name → file of the modules that emitted code and users may import; entries with only types have
 * no module.
 */
function publicEntries(kind) {
  const folder = join(runtime, 'public');
  const typesOnly = ['definition.ts'];
  return Object.fromEntries(
    readdirSync(folder)
      .filter((file) => kind === 'types' || !typesOnly.includes(file))
      .map((file) => [file.replace(/\.ts$/, ''), join(folder, file)]),
  );
}

/**
 * The file that contains a module, without its extension. An entry without code of its own has a
 * file that only re-exports.
 */
function chunkOf(id) {
  const path = relative(runtime, id).split(sep).join('/');
  if (path.startsWith('..')) return null;
  const own = Object.entries(ownModules).find(
    ([name, starts]) =>
      path === `public/${name}.ts` || starts.some((start) => path.startsWith(start)),
  );
  if (own !== undefined) return own[0];
  return path.startsWith('public/') ? null : 'core';
}

function isPackage(specifier) {
  return !specifier.startsWith('.') && !specifier.startsWith(root);
}

function fromRoot(path) {
  return relative(root, path).split(sep).join('/');
}
