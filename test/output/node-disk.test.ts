import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { heal } from '../../generator/output/heal.js';
import { nodeDisk } from '../../generator/output/node-disk.js';
import { host, ours, request, theirs, writeOutput } from '../support/output-request.js';

let temporary = '';
beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'drs-gen-output-'));
});
afterAll(() => rm(temporary, { recursive: true }));

describe('A run on a real disk', () => {
  it('writes, updates and deletes', async () => {
    const folder = join(temporary, 'plain', 'server');
    await writeOutput(request([ours('a.ts'), ours('b/c.ts')], { folder }), host(nodeDisk));
    await writeOutput(request([ours('a.ts', 'new'), theirs('d.ts')], { folder }), host(nodeDisk));
    expect(await filesIn(folder)).toEqual(['.drs-gen/manifest.json', 'a.ts', 'd.ts']);
    expect(await readFile(join(folder, 'a.ts'), 'utf8')).toBe('new');
    expect(await readdir(folder)).not.toContain('b');
  });

  it('keeps the time stamps when nothing changes', async () => {
    const folder = join(temporary, 'still');
    const same = request([ours('a.ts'), ours('b/c.ts'), theirs('d.ts')], { folder });
    await writeOutput(same, host(nodeDisk));
    const paths = ['.', '.drs-gen', '.drs-gen/manifest.json', 'a.ts', 'b', 'b/c.ts', 'd.ts'];
    const times = () =>
      Promise.all(paths.map(async (path) => (await stat(join(folder, path))).mtimeMs));
    const before = await times();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await writeOutput(same, host(nodeDisk));
    expect(await times()).toEqual(before);
  });

  it('does not write through links', async () => {
    const [folder, elsewhere] = [join(temporary, 'linked'), join(temporary, 'elsewhere')];
    await mkdir(folder);
    await mkdir(elsewhere);
    await symlink(elsewhere, join(folder, 'gen'));
    const through = request([ours('gen/a.ts')], { folder, force: true });
    await expect(writeOutput(through, host(nodeDisk))).rejects.toThrow('symbolic link');
    expect(await readdir(elsewhere)).toEqual([]);
  });

  it('follows an output folder that is a link', async () => {
    const [folder, real] = [join(temporary, 'link'), join(temporary, 'real')];
    await mkdir(real);
    await symlink(real, folder);
    await writeOutput(request([ours('a.ts')], { folder }), host(nodeDisk));
    expect(await filesIn(real)).toEqual(['.drs-gen/manifest.json', 'a.ts']);
  });
});

it('The output folder holds a complete tree after every kill', async () => {
  const script = await compiledWriter();
  const folder = join(temporary, 'killed');
  await writeOutput(request(files('A'), { folder }), host(nodeDisk));
  for (let round = 0; round < 12; round += 1) {
    const child = spawn(process.execPath, [script, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    await new Promise((resolve) => setTimeout(resolve, 5 + ((round * 37) % 60)));
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    await heal(nodeDisk, folder);
    expect(['A', 'B'].map(textsOf)).toContain(await textsIn(folder));
  }
});

it('The output folder holds a complete tree when several processes write at once', async () => {
  const script = await compiledWriter();
  const folder = join(temporary, 'crowded');
  await writeOutput(request(files('A'), { folder }), host(nodeDisk));
  const children = [1, 2, 3].map(() =>
    spawn(process.execPath, [script, folder], { stdio: 'pipe' }),
  );
  const exits = children.map((child) => new Promise((resolve) => child.once('exit', resolve)));
  const complaints: string[] = [];
  for (const child of children) {
    child.stderr.on('data', (data: Buffer) => complaints.push(data.toString()));
  }
  await new Promise((resolve) => setTimeout(resolve, 1500));
  for (const child of children) child.kill('SIGKILL');
  await Promise.all(exits);
  await heal(nodeDisk, folder);
  expect(complaints).toEqual([]);
  expect(['A', 'B'].map(textsOf)).toContain(await textsIn(folder));
});

/** Two trees that share names and differ in every text. */
function files(name: string) {
  const common = Array.from({ length: 20 }, (_, at) => ours(`gen/f${at}.ts`, `${name}${at}`));
  return [
    ...common,
    ...Array.from({ length: 5 }, (_, at) => ours(`${name}/g${at}.ts`, `${name}g${at}`)),
  ];
}

function textsOf(name: string): string {
  return files(name)
    .map((file) => file.text)
    .sort()
    .join('|');
}

async function textsIn(folder: string): Promise<string> {
  const paths = (await filesIn(folder)).filter((path) => path.endsWith('.ts'));
  const texts = await Promise.all(paths.map((path) => readFile(join(folder, path), 'utf8')));
  return texts.sort().join('|');
}

/**
 * Compiles only the output modules, with a script that writes both trees alternately until it is
 * killed.
 */
async function compiledWriter(): Promise<string> {
  const target = join(temporary, 'compiled');
  const source = fileURLToPath(new URL('../../generator', import.meta.url));
  const names = (await readdir(join(source, 'output'))).map((name) => `output/${name}`);
  for (const name of [...names, 'emit/file.ts']) {
    const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 };
    const text = await readFile(join(source, name), 'utf8');
    const { outputText } = ts.transpileModule(text, { compilerOptions: options });
    const path = join(target, name.replace(/ts$/, 'js'));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, outputText);
  }
  await writeFile(join(target, 'package.json'), '{ "type": "module" }');
  const script = join(target, 'writer.mjs');
  const url = (name: string) => JSON.stringify(pathToFileURL(join(target, name)).href);
  await writeFile(
    script,
    `import { nodeDisk } from ${url('output/node-disk.js')};
     import { planFiles } from ${url('output/plan-files.js')};
     import { openOutput, writeOutput } from ${url('output/write-output.js')};
     const trees = ${JSON.stringify([files('B'), files('A')])};
     const isAlive = (pid) => { try { process.kill(pid, 0); return true; } catch { return false; } };
     const host = { disk: nodeDisk, pid: process.pid, isAlive, pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)), signal: new AbortController().signal };
     console.log('ready');
     for (let turn = 0; ; turn += 1) {
       const wanted = { files: trees[turn % 2], edits: [], generatorVersion: '1.0.0', force: false };
       try {
         const folder = await openOutput(process.argv[2], host, { isDry: false });
         await writeOutput(await planFiles(folder, wanted), folder, wanted, host);
       } catch (error) {
         if (!error.message.includes('is writing into this folder')) throw error;
       }
     }`,
  );
  return script;
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}
