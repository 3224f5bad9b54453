// Generates, installs, builds and starts an example server, gives it users and sample data, and prints what to try with curl.
// The example `web` is a page with a typed client: it is served on another origin, and uses the server of `staff`.
// The example `music` has so many rows that its server stores them itself: a million invoice lines with --rows 1000000.
// usage: npm run example [staff | web | music [-- --rows <number>]]
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string' } },
});
const [wanted = 'staff'] = positionals;
const { rows } = values;
const isWeb = wanted === 'web';
const name = isWeb ? 'staff' : wanted;
const pagePort = 8081;
const folder = join(root, 'examples', name);
const server = join(folder, 'server');
const seeds = join(folder, 'seed');
const database = rows === undefined ? 'data.sqlite' : `data-${rows}.sqlite`;
if (!existsSync(join(folder, 'model.yaml'))) {
  console.error(`There is no example ${name}.`);
  process.exit(2);
}
if (rows !== undefined && !(existsSync(seeds) && /^[1-9]\d*$/.test(rows))) {
  console.error('--rows is a number of invoice lines of the example music.');
  process.exit(2);
}

run('build drs-gen', root, 'npm', ['run', '--silent', 'build']);
// The manifest is not kept in git, so that drs-gen knows none of the files; with --force, class code stays as it is all the same.
run('generate the server', root, process.execPath, [
  'dist/generator/cli/main.js',
  join('examples', name, 'model.yaml'),
  '-o',
  join('examples', name, 'server'),
  '--force',
]);
if (isWeb) {
  run('generate the client', root, process.execPath, [
    'dist/generator/cli/main.js',
    'client',
    join('examples', name, 'model.yaml'),
    '-o',
    'examples/web/client',
    '--force',
  ]);
}
if (!existsSync(join(server, 'node_modules'))) {
  run('install its dependencies', server, 'npm', ['install', '--no-audit', '--no-fund']);
}
run('build the server', server, 'npm', ['run', '--silent', 'build']);
if (existsSync(seeds)) seed();

/** Who can log in: `{"mia": ["--role", "HR"]}`. All of them have the same password, which is no secret here. */
const users = readJson('users.json') ?? {};
const password = 'example';
const usersCommand = join('dist', 'src', 'generated', 'users.js');
const { stdout } = spawnSync(process.execPath, [usersCommand, 'list'], { cwd: server });
const existing = String(stdout)
  .split('\n')
  .map((line) => line.split('\t')[0]);
for (const [user, granted] of Object.entries(users)) {
  if (existing.includes(user)) continue;
  const args = [usersCommand, 'add', user, ...granted];
  run(`add the user ${user}`, server, process.execPath, args, `${password}\n`);
}
start();

/** Fills a database for each number of rows, once. It gets its name at the end, so that none is half full. */
function seed() {
  const unfinished = `unfinished-${database}`;
  if (!existsSync(join(server, database))) {
    process.env.DATABASE_URL = `sqlite:${unfinished}`;
    for (const end of ['', '-wal', '-shm']) rmSync(join(server, unfinished + end), { force: true });
    const data = mkdtempSync(join(tmpdir(), 'drs-gen-'));
    run('write the data', root, process.execPath, [join(seeds, 'write.mjs'), data]);
    run('store the data', server, 'npm', ['run', '--silent', 'seed', '--', data, seeds]);
    rmSync(data, { recursive: true });
    if (rows !== undefined) {
      const script = join('dist', 'src', 'scripts', 'multiply.js');
      run('multiply the invoices', server, process.execPath, [script, rows]);
    }
    renameSync(join(server, unfinished), join(server, database));
  }
  process.env.DATABASE_URL = `sqlite:${database}`;
}

/** @param input what the command reads */
function run(what, cwd, command, args, input) {
  console.error(`> ${what}`);
  const stdin = input === undefined ? 'inherit' : 'pipe';
  const { status, error } = spawnSync(command, args, {
    cwd,
    input,
    stdio: [stdin, 'inherit', 'inherit'],
  });
  if (status !== 0) {
    console.error(`Could not ${what}${error === undefined ? '' : `: ${error.message}`}.`);
    process.exit(1);
  }
}

function start() {
  console.error('> start it');
  const child = spawn(process.execPath, ['dist/src/main.js'], {
    cwd: server,
    // The page may use the server, although it is served on another port.
    env: { ...process.env, EXPLORER: 'on', ...(isWeb ? { ORIGINS: pageOrigin() } : {}) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.setEncoding('utf8');
  child.stdout.once('data', (line) => {
    process.stdout.write(line);
    const base = line.trim().split(' ').at(-1);
    load(base).then(
      () => (isWeb ? servePage(base) : printAddresses(base)),
      (error) => {
        console.error(error.message);
        child.kill();
      },
    );
  });
  child.once('exit', (code) => process.exit(code ?? 0));
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill('SIGTERM'));
}

/** The first of the users stores the sample data. */
async function load(base) {
  const [user] = Object.keys(users);
  const headers = user === undefined ? {} : { cookie: await logIn(base, user) };
  for (const [dataclass, entities] of Object.entries(readJson('data.json') ?? {})) {
    const counted = await fetch(`${base}/${dataclass}?$top=0`, { headers });
    const { __COUNT: count } = await counted.json();
    if (count > 0) continue;
    const response = await fetch(`${base}/${dataclass}?$method=update`, {
      method: 'POST',
      headers,
      body: JSON.stringify(entities),
    });
    const answer = await response.json();
    const refused = (answer.__ENTITIES ?? [answer]).filter((each) => each.__ERROR !== undefined);
    if (refused.length > 0) throw new Error(`${dataclass}: ${JSON.stringify(refused[0])}`);
  }
}

/** @returns the session's cookie */
async function logIn(base, user) {
  const response = await fetch(`${base}/$directory/login`, {
    method: 'POST',
    body: JSON.stringify([user, password]),
  });
  if (!response.ok) throw new Error(`${user} cannot log in: ${await response.text()}`);
  return response.headers.getSetCookie()[0].split(';')[0];
}

function readJson(file) {
  const path = join(folder, file);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

function pageOrigin() {
  return `http://127.0.0.1:${pagePort}`;
}

/** Serves the files of the page, as any web server would. */
function servePage(base) {
  const files = ['index.html', 'page.js', 'client/client.js'];
  const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8' };
  createServer(({ url }, response) => {
    const path = new URL(url, pageOrigin()).pathname.slice(1);
    const file = files.find((each) => each === (path === '' ? 'index.html' : path));
    if (file === undefined) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': types[extname(file)] });
    return response.end(readFileSync(join(root, 'examples/web', file)));
  }).listen(pagePort, '127.0.0.1', () => {
    const server = encodeURIComponent(base.replace(/\/rest$/, ''));
    console.log(`\nOpen ${pageOrigin()}/?server=${server}`);
    console.log(`Log in as mia or tom, with the password ${password}. Ctrl-C stops the servers.`);
  });
}

function printAddresses(base) {
  const tries = readFileSync(join(folder, 'try.txt'), 'utf8');
  console.log(`\n${tries.replaceAll('{base}', base).replaceAll('{password}', password)}`);
  const explorer = base.replace(/rest$/, 'explorer');
  const names = Object.keys(users).join(' or ');
  console.log(`The data in a browser: ${explorer} (log in as ${names}, password ${password})`);
  console.log(`Ctrl-C stops the server; its data stays in server/${database}.`);
}
