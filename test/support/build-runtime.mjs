// Compiles the runtime to what servers carry: for each public entry a module, its types and its source map, all of it readable,
// and `core`, which they share. Names say what is in a file, so that an upgrade is a small diff.
import { readdirSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const runtime = join(root, 'runtime');
const tsconfig = join(root, 'tsconfig.json');
const banner = '// Part of the runtime of drs-gen, the same for every model. Edits here are lost.';

/** What runs in a process of its own, by the name of its file. It is whole by itself: it starts quickly and takes little memory. */
const programs = { 'reader-process': 'dialect/sqlite/readers/reader-process.ts' };

/** How the paths of modules begin that stand in the file of the public entry of that name; the first that fits counts. */
const ownModules = {
  access: ['access/password'],
  class: ['class-code/', 'http/class-plugin'],
  functions: ['function/', 'http/function-'],
  permissions: ['permissions/', 'http/permissions-'],
  vectors: ['vectors/'],
  media: ['media/', 'http/media-'],
  http: ['http/'],
  sqlite: ['dialect/sqlite/'],
  postgres: ['dialect/postgres/'],
};

/**
 * @param folder gets the modules and their source maps
 * @param changed texts in the place of those of sources, by their paths in `runtime/`
 * @param added further entries for tests: name → path from the repository's folder
 */
export async function buildRuntime(folder, { changed = {}, added = {} } = {}) {
  const texts = new Map(Object.entries(changed).map(([path, text]) => [join(runtime, path), text]));
  const more = Object.entries(added).map(([name, path]) => [name, join(root, path)]);
  await bundle({ ...publicEntries('js'), ...Object.fromEntries(more) }, chunkOf);
  for (const [name, path] of Object.entries(programs)) {
    await bundle({ [name]: join(runtime, path) });
  }

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
        // A module that is asked for late comes with the file that asks for it.
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
      // No files: debuggers show the sources that the map holds.
      sourcemapPathTransform: (path, map) => `drs-gen:///${fromRoot(resolve(dirname(map), path))}`,
    });
    await bundled.close();
    // What core imports of an entry's folder would move there: what hashes a password would load Fastify.
    const core = output.find(({ fileName }) => fileName === 'core.js');
    const strangers = core?.moduleIds.filter((id) => chunkOf(id) !== 'core') ?? [];
    if (strangers.length > 0) {
      throw new Error(`What all entries share needs ${strangers.map(fromRoot).join(', ')}.`);
    }
    // Every server has `http`, and not what it imports beside `core`.
    const http = output.find(({ fileName }) => fileName === 'http.js');
    const needed = http?.imports.filter((name) => name.endsWith('.js') && name !== 'core.js') ?? [];
    if (needed.length > 0) throw new Error(`http.js needs ${needed.join(', ')}.`);
  }
}

/** @param folder gets the types of the public entries */
export async function buildTypes(folder) {
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
    manualChunks: chunkOf,
    hoistTransitiveImports: false,
    minifyInternalExports: false,
  });
  await rolled.close();
}

/** Name → file of what emitted code and users may import; those of types alone have no module. */
function publicEntries(kind) {
  const folder = join(runtime, 'public');
  const typesOnly = ['definition.ts'];
  return Object.fromEntries(
    readdirSync(folder)
      .filter((file) => kind === 'types' || !typesOnly.includes(file))
      .map((file) => [file.replace(/\.ts$/, ''), join(folder, file)]),
  );
}

/** The file that holds a module, without its extension; an entry without code of its own has a file that only names what it exports. */
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
