import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const execute = promisify(execFile);

/** Test runners and npx enable colours in the processes that they start. */
const environment = { ...process.env, NO_COLOR: '1' };

interface Finished {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** All files of the test are in this folder. */
let temporary = '';
/** A copy of the repository, because packing builds, and other tests may use the built files. */
let copy = '';
/** A user's folder. */
let folder = '';
const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];

async function start(cwd: string, command: string, ...args: readonly string[]): Promise<Finished> {
  try {
    const { stdout, stderr } = await execute(command, args, {
      cwd,
      env: environment,
      maxBuffer: 1e8,
    });
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
    if (typeof code !== 'number') throw error;
    return { code, out: stdout, err: stderr };
  }
}

const drsGen = (...args: readonly string[]) =>
  start(folder, 'npx', '--no-install', 'drs-gen', ...args);

async function mustWork(work: Promise<Finished>): Promise<Finished> {
  const result = await work;
  expect(result.code, result.err + result.out).toBe(0);
  return result;
}

async function copyRepository(): Promise<void> {
  const names = ['package.json', 'tsconfig.json', 'generator', 'templates', 'runtime', 'examples'];
  for (const name of [...names, 'test/support', 'test/tsconfig.build.json']) {
    await cp(join(repository, name), join(copy, name), {
      recursive: true,
      filter: (path) => !path.endsWith('node_modules'),
    });
  }
  await symlink(join(repository, 'node_modules'), join(copy, 'node_modules'));
}

/** Packs the package, and installs it in an empty folder as a user would. */
beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'drs-gen-pack-'));
  [copy, folder] = [join(temporary, 'copy'), join(temporary, 'user')];
  await mkdir(folder);
  await copyRepository();
  await mustWork(start(copy, 'npm', 'pack', '--loglevel=error', '--pack-destination', folder));
  const [tarball = ''] = await readdir(folder);
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  // Compiling better-sqlite3 takes a minute, so the compiled one of this repository is used. Newer
  // versions contain their binary.
  await mustWork(start(folder, 'npm', 'install', '--ignore-scripts', ...quiet, `./${tarball}`));
  const addition = join('node_modules', 'better-sqlite3', 'build');
  if (!existsSync(join(repository, addition))) return;
  await mkdir(join(folder, addition), { recursive: true });
  await cp(join(repository, addition), join(folder, addition), { recursive: true });
});
afterAll(() => rm(temporary, { recursive: true, force: true }));

describe('The npm package', () => {
  it('contains what it needs and no more', async () => {
    const root = join(folder, 'node_modules', 'drs-gen');
    expect((await readdir(root)).sort()).toEqual(
      expect.arrayContaining(['dist', 'package.json', 'templates']),
    );
    const files = await readdir(root, { recursive: true });
    const own = files.filter((path) => !path.startsWith('node_modules'));
    expect(
      own.filter((path) =>
        /\.test\.ts$|^test|^dist\/test|^(generator|runtime)\/(?!docs(\/([a-z-]+\.md|pictures(\/[a-z-]+\.png)?))?$)|^dist\/generator\/.*\.d\.ts$/.test(
          path,
        ),
      ),
    ).toEqual([]);
    const main = join(root, 'dist', 'generator', 'cli', 'main.js');
    expect((await stat(main)).mode & 0o111).not.toBe(0);
  });

  it('answers --help and --version', async () => {
    expect((await mustWork(drsGen('--help'))).out).toContain('drs-gen <model> -o <dir>');
    const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect((await mustWork(drsGen('--version'))).out).toBe(`${version}\n`);
  });

  it('creates a first model, whose schema works offline, and a server from it', async () => {
    await mustWork(drsGen('init', 'shop'));
    const schema: unknown = JSON.parse(
      await readFile(join(folder, 'shop', 'model.schema.json'), 'utf8'),
    );
    expect(schema).toHaveProperty('properties.dataclasses');
    await mustWork(drsGen('check', 'shop/model.yaml'));
    await mustWork(drsGen('client', 'shop/model.yaml', '-o', 'shop/client'));
    const first = await mustWork(drsGen('shop/model.yaml', '-o', 'shop/server'));
    expect(first.out).toBe('');
    expect(first.err).toMatch(/\d+ created\nNext: cd shop\/server && npm install/);
    const files = await readdir(join(folder, 'shop', 'server'), { recursive: true });
    expect(files).toEqual(
      expect.arrayContaining([
        '.drs-gen/manifest.json',
        '.drs-gen/model.lock.json',
        'package.json',
        'src/main.ts',
        'src/generated/app.ts',
        'runtime/http.d.ts',
        'runtime/http.js',
        'runtime/http.js.map',
      ]),
    );
    const second = await mustWork(drsGen('shop/model.yaml', '-o', 'shop/server'));
    expect(second.err).not.toMatch(/created|updated|deleted/);
    await mustWork(drsGen('shop/model.yaml', '-o', 'shop/server', '--check'));
    // npm omits some files and renames others: the packed version must emit the same as the
    // sources.
    const main = join(copy, 'dist', 'generator', 'cli', 'main.js');
    await mustWork(start(folder, process.execPath, main, 'shop/model.yaml', '-o', 'shop/other'));
    const others = await readdir(join(folder, 'shop', 'other'), { recursive: true });
    expect(files.sort()).toEqual(others.sort());
  });

  it('reports the place of an error', async () => {
    await writeFile(join(folder, 'bad.yaml'), 'drs: 1\nname: bad\ndataclasses: 7\n');
    const { code, err } = await drsGen('bad.yaml', '-o', 'bad');
    expect(code).toBe(1);
    expect(err).toMatch(/^bad\.yaml:3:\d+ {2}error/m);
    expect(await readdir(folder)).not.toContain('bad');
  });

  it('leaves a complete server or none when it is interrupted', async () => {
    const main = join(copy, 'dist', 'generator', 'cli', 'main.js');
    await writeFile(join(folder, 'model.yaml'), await readFile(join(folder, 'shop/model.yaml')));
    const whole = (await readdir(join(folder, 'shop', 'other'), { recursive: true })).length;
    for (let round = 0; round < 10; round += 1) {
      const target = join(folder, `interrupted-${round}`);
      const child = spawn(process.execPath, [main, 'model.yaml', '-o', target], {
        cwd: folder,
        env: environment,
      });
      const exit = new Promise((resolve) => child.once('exit', resolve));
      await new Promise((resolve) => setTimeout(resolve, 150 + round * 20));
      child.kill(round % 2 === 0 ? 'SIGINT' : 'SIGTERM');
      // Before it writes, a signal ends it at once; afterwards there is nothing to stop.
      expect([null, 0, 130, 143]).toContain(await exit);
      expect([0, whole]).toContain(await countIn(target));
    }
  });
});

async function countIn(target: string): Promise<number> {
  return (await readdir(target, { recursive: true }).catch(() => [])).length;
}
