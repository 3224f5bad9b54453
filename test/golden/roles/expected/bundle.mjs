// Puts the compiled server, and the packages that it loads at each start, into few files: a start costs more by the number of
// files than by their size. Other packages stay in node_modules: those with binaries, and those that you add.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const bundled = ['@fastify/busboy', 'fast-querystring', 'fastify', 'jose', 'kysely'];
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
// What the server starts as processes of their own.
const processes = readdirSync('dist/src/runtime', { recursive: true })
  .filter((file) => file.endsWith('-process.js'))
  .map((file) => `dist/src/runtime/${file}`);

rmSync('dist/server', { recursive: true, force: true });
await build({
  // The dataclasses come as a file of their own: one file of everything takes more memory to compile, which the process keeps.
  entryPoints: ['dist/src/main.js', 'dist/src/generated/definitions.js', ...processes],
  outdir: 'dist/server',
  entryNames: '[name]',
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  minifyWhitespace: true,
  lineLimit: 200,
  // In the main file they would be all that is not ASCII, and double its size in memory.
  legalComments: 'external',
  sourcemap: true,
  sourcesContent: false,
  external: Object.keys(dependencies).filter((name) => !bundled.includes(name)),
  // Packages that are no ES modules ask for others with it. The bundled code may import the same name, so it has another one here.
  banner: {
    js: "import { createRequire as __requireOf } from 'node:module';\nconst require = __requireOf(import.meta.url);",
  },
  logLevel: 'warning',
});
