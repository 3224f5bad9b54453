import {
  chmodSync,
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { spawnSync } from 'node:child_process';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { type Answer, Client, type Entity, saved } from '../support/processes/client.js';
import { expectUnavailable } from './support/expect-unavailable.js';
import { durabilityModel } from './support/model.js';
import { scratchOfEach } from '../support/processes/scratch.js';
import type { ServerProcess } from '../support/processes/server-process.js';
import { itLong } from '../support/long.js';

const scratch = scratchOfEach(durabilityModel);

function create(client: Client, value: number): Promise<Answer<Entity>> {
  return client.post<Entity>('/rest/Counter?$method=update', { owner: 'x', value });
}

async function count(client: Client): Promise<number> {
  return (await client.all('Counter', 'ID > 0')).__COUNT;
}

async function stop(server: ServerProcess): Promise<void> {
  server.child.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0 });
}

describe('A database that another process has locked', () => {
  it('makes changes wait while reads continue; then changes are refused until it is free', async () => {
    const client = new Client((await scratch().start()).origin);
    saved(await create(client, 1));
    const other = new Database(scratch().file);
    try {
      other.exec('begin immediate');
      const waiting = [create(client, 2), create(client, 3)] as const;
      let settled = 0;
      const settle = (): number => (settled += 1);
      for (const each of waiting) void each.then(settle, settle);
      for (let reads = 0; reads < 3; reads += 1) expect(await count(client)).toBe(1);
      expect(settled).toBe(0);
      other.exec('commit');
      for (const each of await Promise.all(waiting)) saved(each);

      other.exec('begin immediate');
      const locked = performance.now();
      expectUnavailable(await create(client, 4), /locked by another process\.$/);
      expect(performance.now() - locked).toBeGreaterThan(4_500);
      other.exec('commit');
      saved(await create(client, 5));
      expect(await count(client)).toBe(4);
    } finally {
      other.close();
    }
  });
});

it('A server that cannot record in the database that it runs continues to work', async () => {
  await stop(await scratch().start());
  const database = new Database(scratch().file);
  database.exec(`create trigger "refused" before insert on "__server"
    begin select raise(abort, 'refused'); end`);
  database.close();
  const server = await scratch().start();
  const client = new Client(server.origin);
  saved(await create(client, 1));
  expect(await count(client)).toBe(1);
  await stop(server);
});

describe('A database file that is removed while the server runs', () => {
  /** Longer than the interval in which the server checks the file. */
  const noticed = 200;

  it.each(['data.sqlite', 'data.sqlite-wal'])(
    'fails changes and no reads until it is back (%s)',
    async (name) => {
      const server = await scratch().start();
      const client = new Client(server.origin);
      saved(await create(client, 1));
      const file = `${scratch().folder}/${name}`;
      renameSync(file, `${file}.away`);
      await setTimeout(noticed);
      for (let each = 0; each < 5; each += 1) {
        expectUnavailable(await create(client, 2), /was moved, deleted or replaced\.$/);
        const read = count(client);
        // A read that was slow before may be offloaded, and no process can be started now.
        if (each === 0) expect(await read).toBe(1);
        else expect(String(await read.catch(String))).toMatch(/^1$|: 503 .*was moved, deleted/);
      }
      renameSync(`${file}.away`, file);
      saved(await create(client, 3));
      await stop(server);
      expect(await count(new Client((await scratch().start()).origin))).toBe(2);
    },
  );

  it('fails changes until the server is restarted when another file replaces it', async () => {
    const server = await scratch().start();
    const client = new Client(server.origin);
    saved(await create(client, 1));
    const copy = `${scratch().file}.copy`;
    copyFileSync(scratch().file, copy);
    renameSync(copy, scratch().file);
    await setTimeout(noticed);
    expectUnavailable(await create(client, 2), /was moved, deleted or replaced\.$/);
    expect(await count(client)).toBe(1);
    await stop(server);
  });

  itLong('fails changes when it was deleted: none is acknowledged and lost', async () => {
    const server = await scratch().start();
    const client = new Client(server.origin);
    saved(await create(client, 1));
    for (const suffix of ['', '-wal', '-shm']) rmSync(scratch().file + suffix);
    await setTimeout(noticed);
    expectUnavailable(await create(client, 2), /was moved, deleted or replaced\.$/);
    await stop(server);
    expect(await count(new Client((await scratch().start()).origin))).toBe(0);
  });
});

describe('A damaged database file', () => {
  it('stops the start, and is not changed', async () => {
    const content = 'This is a letter, and no database. '.repeat(300);
    writeFileSync(scratch().file, content);
    const { code, stderr } = await scratch().launch().ended;
    expect(code).toBe(1);
    expect(stderr).toBe('Cannot open the database ./data.sqlite: file is not a database\n');
    expect(readFileSync(scratch().file, 'utf8')).toBe(content);
  });

  it('stops the start when it was truncated', async () => {
    const server = await scratch().start();
    await stop(server);
    truncateSync(scratch().file, 6_000);
    const { code, stderr } = await scratch().launch().ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Cannot open the database \.\/data\.sqlite: .*malformed.*\n$/);
  });

  it('fails the requests that read the damaged part, and the rest is served', async () => {
    const server = await scratch().start();
    const client = new Client(server.origin);
    saved(await create(client, 1));
    const parts = Array.from({ length: 1_000 }, () => ({ tag: 1, filler: 'x'.repeat(200) }));
    for (let times = 0; times < 2; times += 1) {
      expect((await client.post('/rest/Part?$method=update', parts)).status).toBe(200);
    }
    await stop(server);
    damage('Part');
    const again = new Client((await scratch().start()).origin);
    const page = await again.get('/rest/Part?$filter=filler = "y@"&$top=10000');
    expectUnavailable(page, /the database is damaged\.$/);
    expect(await count(again)).toBe(1);
    saved(await create(again, 2));
  });
});

/** Overwrites the middle of a table. */
function damage(table: string): void {
  const database = new Database(scratch().file);
  const text = 'select "pageno" from dbstat where name = ? and pagetype = \'leaf\'';
  const pages = database.prepare(text).pluck().all(table) as number[];
  const size = Number(database.pragma('page_size', { simple: true }));
  database.close();
  const file = openSync(scratch().file, 'r+');
  for (const page of pages.slice(10, 20)) {
    writeSync(file, Buffer.alloc(size, 0xff), 0, size, (page - 1) * size);
  }
}

/** Permissions do not apply to root, so the server runs as a user without rights then. */
const user = process.getuid?.() === 0 ? { uid: 65_534 } : {};

/** That user may have no access to this folder at all. */
function canStart(): boolean {
  const { uid } = user;
  const { stderr } = spawnSync(process.execPath, [scratch().program], {
    ...(uid === undefined ? {} : { uid, gid: uid }),
    env: { PORT: 'none' },
    cwd: scratch().folder,
  });
  return stderr.includes('PORT is "none"');
}

describe('A file or folder without write permission', () => {
  it.for<readonly [string, () => void]>([
    [
      'the file',
      () => {
        chmodSync(scratch().file, 0o444);
      },
    ],
    [
      'the folder',
      () => {
        chmodSync(scratch().folder, 0o555);
      },
    ],
    [
      'the file beside it',
      () => {
        // The files that a killed server left.
        writeFileSync(`${scratch().file}-wal`, Buffer.alloc(100));
        chmodSync(`${scratch().file}-wal`, 0o444);
      },
    ],
  ])('stops the start: %s', async ([, forbid], context) => {
    if (!canStart()) context.skip('A user without rights cannot start the server here.');
    await stop(await scratch().start());
    forbid();
    const { code, stderr } = await scratch().launch(user).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Cannot open the database \.\/data\.sqlite: .+\n$/);
  });
});
