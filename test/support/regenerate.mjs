// Generates the examples and the golden cases again. With --check it writes nothing, and ends with
// 1 if there is a difference. A golden case is a folder with a model, `case.json` (`{ "args":
// [...], "exit": 0 }`), and what is expected of the run: `expected/` and `stderr.txt`, both without
// the runtime, which is compiled.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const isCheck = process.argv.includes('--check');
const differences = [];
const scratch = mkdtempSync(join(tmpdir(), 'drs-gen-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

for (const name of foldersIn('examples')) {
  if (existsSync(join(root, 'examples', name, 'model.yaml'))) regenerateExample(name);
}
regenerateClient();
for (const name of foldersIn('test/golden')) regenerateCase(name);
if (differences.length > 0) {
  console.error(
    `Not as generated (npm run regenerate writes them anew):\n${differences.map((each) => `  ${each}`).join('\n')}`,
  );
  process.exit(1);
}

function foldersIn(path) {
  return readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

function drsGen(cwd, args) {
  return spawnSync(process.execPath, [join(root, 'dist/generator/cli/main.js'), ...args], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
}

function regenerateExample(name) {
  const folder = join('examples', name);
  const fresh = mkdtempSync(join(scratch, 'fresh-'));
  // Class code and scripts of an example are written by hand. An addition by the generator counts as
  // a difference.
  for (const own of ['src/classes', 'src/scripts']) {
    const written = join(root, folder, 'server', own);
    if (existsSync(written)) cpSync(written, join(fresh, own), { recursive: true });
  }
  const { status, stderr } = drsGen(root, [join(folder, 'model.yaml'), '-o', fresh, '--force']);
  if (status !== 0) throw new Error(`${name}: ${stderr}`);
  compare(join(root, folder, 'server'), fresh);
}

/** The example of a web page uses the server of the first example. */
function regenerateClient() {
  const fresh = mkdtempSync(join(scratch, 'fresh-'));
  const { status, stderr } = drsGen(root, ['client', 'examples/staff/model.yaml', '-o', fresh]);
  if (status !== 0) throw new Error(`The client: ${stderr}`);
  compare(join(root, 'examples/web/client'), fresh);
}

function regenerateCase(name) {
  const folder = join(root, 'test/golden', name);
  const { args, exit } = JSON.parse(readFileSync(join(folder, 'case.json'), 'utf8'));
  const work = mkdtempSync(join(scratch, 'work-'));
  cpSync(folder, work, { recursive: true, filter: (path) => !path.includes(`${sep}expected`) });
  const { status, stderr } = drsGen(work, args);
  if (status !== exit)
    differences.push(`test/golden/${name}: ended with ${status}, not ${exit}\n${stderr}`);
  compareText(join(folder, 'stderr.txt'), countedWithoutRuntime(stderr, join(work, 'server')));
  compare(join(folder, 'expected'), join(work, 'server'));
}

/**
 * A new file of the runtime changes no golden case, neither the trees nor the printed number of
 * files.
 */
function countedWithoutRuntime(stderr, server) {
  const runtime = join(server, 'runtime');
  if (!existsSync(runtime)) return stderr;
  const files = readdirSync(runtime, { recursive: true, withFileTypes: true });
  const count = files.filter((entry) => entry.isFile()).length;
  return stderr.replace(/(?<=: )\d+(?= created$)/m, (created) => String(Number(created) - count));
}

/** In both directions: missing files and additional files are differences. */
function compare(kept, fresh) {
  const wanted = filesBelow(fresh);
  for (const file of filesBelow(kept)) {
    if (wanted.includes(file)) continue;
    differ(join(kept, file), () => rmSync(join(kept, file)));
  }
  for (const file of wanted) compareText(join(kept, file), readFileSync(join(fresh, file), 'utf8'));
}

/** Committed files only: no installed or built ones, and no runtime. */
function filesBelow(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter(
      (path) => !/^(node_modules|dist|runtime|\.drs-gen)\/|^package-lock|\.sqlite/.test(path),
    );
}

function compareText(file, text) {
  const kept = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  if (kept === text) return;
  differ(file, () => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  });
}

function differ(file, write) {
  if (isCheck) differences.push(relative(root, file));
  else write();
}
