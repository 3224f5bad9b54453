import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Answer, Client, type Entity, saved } from '../support/processes/client.js';
import { expectUnavailable } from './support/expect-unavailable.js';
import { durabilityModel } from './support/model.js';
import { scratchOfEach } from '../support/processes/scratch.js';
import type { ServerProcess } from '../support/processes/server-process.js';

const scratch = scratchOfEach(durabilityModel);

const megabyte = 1024 * 1024;
const filler = 'x'.repeat(50_000);

/** A limit that prevents a server from writing more than some megabytes, until it is removed. */
interface Shortage {
  readonly wrapper: readonly string[];
  begin(server: ServerProcess): void;
  end(server: ServerProcess): void;
  readonly reason: RegExp;
}

/** No file may grow. This works for every user. */
const fileLimit: Shortage = {
  wrapper: [],
  begin: ({ child }) => {
    execFileSync('prlimit', ['--pid', String(child.pid), '--fsize=200000:unlimited']);
  },
  end: ({ child }) => {
    execFileSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited:unlimited']);
  },
  reason: /The data cannot be reached now: the database cannot be read or written\./,
};

/** A small disk in a separate namespace, which some systems allow no user to create. */
const smallDisk: Shortage = {
  wrapper: [
    'unshare',
    '--user',
    '--map-root-user',
    '--mount',
    'sh',
    '-c',
    'mount -t tmpfs -o size=32m tmpfs "$TMPDIR" && cd "$TMPDIR" && exec "$@"',
    'sh',
  ],
  begin: (server) => {
    const ballast = openSync(ballastOf(server), 'w');
    try {
      for (let size = megabyte; size >= 512; size /= 2) fill(ballast, Buffer.alloc(size));
    } finally {
      closeSync(ballast);
    }
  },
  end: (server) => {
    rmSync(ballastOf(server));
  },
  reason: /The data cannot be reached now: the disk is full\./,
};

function ballastOf(server: ServerProcess): string {
  return join(folderOf(server), 'ballast');
}

/** The folder as the server sees it. */
function folderOf({ child }: ServerProcess): string {
  return join(`/proc/${child.pid}/root`, scratch().folder);
}

function uploadedFiles(server: ServerProcess): readonly string[] {
  const folder = folderOf(server);
  const names = readdirSync(folder).filter((name) => name.startsWith('drs-uploads-'));
  return names.flatMap((name) => readdirSync(join(folder, name)));
}

function fill(file: number, bytes: Buffer): void {
  try {
    for (;;) if (writeSync(file, bytes) < bytes.length) return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

function isPossible(command: string, ...rest: readonly string[]): boolean {
  return spawnSync(command, rest).status === 0;
}

const shortages = [
  ['a limit on files', fileLimit, () => isPossible('prlimit', '--fsize')],
  [
    'a small disk',
    smallDisk,
    () => isPossible('unshare', '-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp'),
  ],
] as const;

function create(client: Client, tag: number): Promise<Answer<Entity>> {
  return client.post<Entity>('/rest/Part?$method=update', { tag, filler });
}

describe.each(shortages)('A full disk (%s)', (_name, shortage, isThere) => {
  it('refuses changes and no reads, and refuses nothing once there is room', async (context) => {
    if (!isThere()) context.skip('This machine lets this user make no such shortage.');
    const server = await scratch().start({ wrapper: shortage.wrapper });
    const client = new Client(server.origin);
    const first = saved(await create(client, 1));
    shortage.begin(server);
    let stored = 1;
    let refused: Answer<Entity> | undefined;
    while (refused === undefined) {
      const answer = await create(client, 1);
      if (answer.status === 200) stored += 1;
      else refused = answer;
      expect(stored).toBeLessThan(500);
    }
    for (let count = 0; count < 20; count += 1) {
      expectUnavailable(refused, shortage.reason);
      expect(await client.all('Part', 'tag = 1')).toMatchObject({ __COUNT: stored });
      const update = { __KEY: first.__KEY, __STAMP: 1, filler: `y${filler}` };
      expectUnavailable(await client.post('/rest/Part?$method=update', update), shortage.reason);
      const both = [
        { tag: 2, filler },
        { tag: 2, filler },
      ];
      refused = await client.post('/rest/Part?$method=update&$atomic=true', both);
    }
    expect(server.stderr().includes('DatabaseUnavailableError')).toBe(true);
    shortage.end(server);
    expect(saved(await create(client, 3))).toMatchObject({ __STAMP: 1, tag: 3 });
    expect(await client.all('Part', 'tag = 2')).toMatchObject({ __COUNT: 0 });
    expect(await client.all('Part', 'tag in :1', [1, 3])).toMatchObject({ __COUNT: stored + 1 });
    const { body } = await client.get<Entity>(`/rest/Part(${first.__KEY})`);
    expect(body).toMatchObject({ __STAMP: 1 });
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0 });
  });

  it('refuses uploads, and keeps no part of them', async (context) => {
    if (!isThere()) context.skip('This machine lets this user make no such shortage.');
    const server = await scratch().start({ wrapper: shortage.wrapper });
    const client = new Client(server.origin);
    const upload = (): Promise<Answer<{ readonly ID: string }>> =>
      client.post('/rest/$upload?$binary=true', randomBytes(2 * megabyte));
    const { body: early } = await upload();
    shortage.begin(server);
    for (let count = 0; count < 10; count += 1) {
      expectUnavailable(await upload(), /^The upload cannot be stored now \((?:ENOSPC|EFBIG)\)\.$/);
    }
    expect(uploadedFiles(server)).toHaveLength(1);
    shortage.end(server);
    const { status, body } = await upload();
    expect(status).toBe(200);
    for (const { ID } of [early, body]) {
      const entity = saved(await client.post('/rest/Picture?$method=update', { file: { ID } }));
      const bytes = await client.bytes(
        `/rest/Picture(${entity.__KEY})/file?$binary=true&$expand=file`,
      );
      expect(bytes).toHaveLength(2 * megabyte);
    }
  });
});

it('A full disk at the start is reported', async (context) => {
  if (!isPossible('prlimit', '--fsize')) context.skip('There is no prlimit here.');
  const { ended } = scratch().launch({ wrapper: ['prlimit', '--fsize=2000:unlimited'] });
  const { code, stderr } = await ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Cannot open the database \.\/data\.sqlite: .+\n$/);
  const again = await scratch().start();
  expect(await new Client(again.origin).all('Part', 'tag = 1')).toMatchObject({ __COUNT: 0 });
});
