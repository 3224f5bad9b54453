// Generates, installs, builds and starts an example server, fills it with sample data over HTTP, and prints addresses to try.
// usage: npm run example [name]
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const name = process.argv[2] ?? 'staff';
const folder = join(root, 'examples', name);
const server = join(folder, 'server');
if (!existsSync(join(folder, 'model.yaml'))) {
  console.error(`There is no example ${name}.`);
  process.exit(2);
}

run('build drs-gen', root, 'npm', ['run', '--silent', 'build']);
run('generate the server', root, process.execPath, [
  'dist/generator/cli/main.js',
  join('examples', name, 'model.yaml'),
  '-o',
  join('examples', name, 'server'),
]);
if (!existsSync(join(server, 'node_modules'))) {
  run('install its dependencies', server, 'npm', ['install', '--no-audit', '--no-fund']);
}
run('build the server', server, 'npm', ['run', '--silent', 'build']);
start();

function run(what, cwd, command, args) {
  console.error(`> ${what}`);
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (status !== 0) {
    console.error(`Could not ${what}${error === undefined ? '' : `: ${error.message}`}.`);
    process.exit(1);
  }
}

function start() {
  console.error('> start it');
  const child = spawn(process.execPath, ['--enable-source-maps', 'dist/src/main.js'], {
    cwd: server,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.setEncoding('utf8');
  child.stdout.once('data', (line) => {
    process.stdout.write(line);
    const base = line.trim().split(' ').at(-1);
    load(base).then(
      () => printAddresses(base),
      (error) => {
        console.error(error.message);
        child.kill();
      },
    );
  });
  child.once('exit', (code) => process.exit(code ?? 0));
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill('SIGTERM'));
}

async function load(base) {
  const data = JSON.parse(readFileSync(join(folder, 'data.json'), 'utf8'));
  for (const [dataclass, entities] of Object.entries(data)) {
    const { __COUNT: count } = await (await fetch(`${base}/${dataclass}?$top=0`)).json();
    if (count > 0) continue;
    const response = await fetch(`${base}/${dataclass}?$method=update`, {
      method: 'POST',
      body: JSON.stringify(entities),
    });
    const answer = await response.json();
    const refused = (answer.__ENTITIES ?? [answer]).filter((each) => each.__ERROR !== undefined);
    if (refused.length > 0) throw new Error(`${dataclass}: ${JSON.stringify(refused[0])}`);
  }
}

function printAddresses(base) {
  const tries = readFileSync(join(folder, 'try.txt'), 'utf8').trim().split('\n');
  console.log('\nTry:');
  for (const path of tries) console.log(`  curl -g '${base}${path}'`);
  console.log('\nCtrl-C stops the server; its data stays in server/data.sqlite.');
}
