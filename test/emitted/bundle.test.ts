import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelOf, packageRoot, writeServer } from '../support/server.js';

const model = `
drs: 1
name: bundled
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

/** It asks for a package as the bundle itself does, and throws in its ninth line. */
const failing = `import { createRequire } from 'node:module';
import { ItemBase } from '../generated/api.js';

const require = createRequire(import.meta.url);

export class Item extends ItemBase {
  async fail(): Promise<number> {
    await Promise.resolve();
    throw new TypeError('as ' + (require('node:path') as typeof import('node:path')).join('the', 'test wants'));
  }
}
`;

let server: string;
let folder: string;
let child: ChildProcess;
let origin: string;
let logged = '';

beforeAll(async () => {
  server = writeServer(modelOf(model));
  mkdirSync(join(server, 'src/classes'), { recursive: true });
  writeFileSync(join(server, 'src/classes/Item.ts'), failing);
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', server, '--outDir', join(server, 'dist')]);
  execFileSync(process.execPath, ['bundle.mjs'], { cwd: server });
  mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
  folder = mkdtempSync(join(packageRoot, '.tmp', 'bundle-'));
  const env = {
    PATH: process.env['PATH'],
    HOST: '127.0.0.1',
    PORT: '0',
    DATABASE_URL: `sqlite:${join(folder, 'data.sqlite')}`,
  };
  child = spawn(process.execPath, [join(server, 'dist/server/main.js')], {
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

describe('a bundled server', () => {
  it('serves as the compiled one does', async () => {
    const body = JSON.stringify({ name: 'one' });
    const url = `${origin}/rest/Item?$method=update`;
    expect((await fetch(url, { method: 'POST', body })).status).toBe(200);
    expect(await (await fetch(`${origin}/rest/Item(1)/name`)).json()).toMatchObject({
      name: 'one',
    });
  });

  it('holds what runs in processes of their own beside it', () => {
    expect(existsSync(join(server, 'dist/server/reader-process.js'))).toBe(true);
  });

  it('logs stacks with the lines of the TypeScript', async () => {
    const response = await fetch(`${origin}/rest/Item/fail`);
    expect(response.status).toBe(500);
    await expect.poll(() => logged).toContain('as the/test wants');
    expect(logged).toMatch(/src\/classes\/Item\.ts:9:\d+/);
    expect(logged).toMatch(/src\/runtime\/http\/[\w-]+\.ts:\d+:\d+/);
    expect(logged).not.toMatch(/dist\/server\/main\.js:\d+/);
  });
});
