import { createHash } from 'node:crypto';
import { mkdirSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compiledProgram } from '../support/processes/program.js';
import { Scratch } from '../support/processes/scratch.js';
import { type Ended, kill, type Launched } from '../support/processes/server-process.js';
import { itLong } from '../support/long.js';

/** A table is rebuilt for the larger limit, with all kinds of failures during the rebuild. */
const model = (more: string): string => `
drs: 1
name: growing
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, indexed: true, ${more} }
      parent: { to: Item }
`;
const rows = 60_000;

let former: string;
let later: string;
let scratch: Scratch;

beforeAll(() => {
  former = compiledProgram(model('maxLength: 100'));
  later = compiledProgram(model('maxLength: 200'));
});
beforeEach(async () => {
  scratch = new Scratch(later);
  const first = new Scratch(former);
  const server = await first.start({ environment: { DATABASE_URL: `sqlite:${scratch.file}` } });
  server.child.kill('SIGTERM');
  await server.ended;
  await first.remove();
  edit((database) =>
    database.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
        INSERT INTO "Item" ("__TIMESTAMP", "name", "__folded_name", "parent_id")
        SELECT '2026-01-01T00:00:00.000Z', 'N' || i, 'n' || i, (i + 1) / 2 FROM n`,
    ),
  );
});
afterEach(async () => {
  await scratch.remove();
});

function edit<T>(work: (database: Database.Database) => T): T {
  const database = new Database(scratch.file);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** The table's definition, and a hash of all its rows. */
function content(): { readonly definition: string; readonly rows: string } {
  return edit((database) => {
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(database.pragma('foreign_key_check')).toEqual([]);
    const names = database.prepare('select name from sqlite_schema').pluck().all() as string[];
    expect(names.filter((each) => each.startsWith('__new_'))).toEqual([]);
    const hash = createHash('sha256');
    for (const row of database.prepare('select * from "Item" order by "ID"').raw().iterate()) {
      hash.update(JSON.stringify(row));
    }
    const definition = database
      .prepare(`select sql from sqlite_schema where name = 'Item'`)
      .pluck()
      .get() as string;
    return { definition, rows: hash.digest('hex') };
  });
}

/** The end of a server that must not listen. */
function refused({ ended, listening }: Launched): Promise<Ended> {
  const listens = listening.then(
    (origin) => Promise.reject(new Error(`The server listens on ${origin}`)),
    () => ended,
  );
  return Promise.race([ended, listens]);
}

/** These files grow while a process writes the new table. */
function logBytes(): number {
  try {
    return statSync(`${scratch.file}-wal`).size;
  } catch {
    return 0;
  }
}

describe('A start that rebuilds a table', () => {
  it('leaves the old table or the new one when it is killed at any moment, and the next start finishes', async () => {
    const before = content();
    let old = 0;
    for (let round = 0; round < 6; round += 1) {
      const launched = scratch.launch();
      const wanted = round * 1_200_000;
      const ended = launched.ended.then(() => true);
      while (logBytes() <= wanted) {
        const isOver = await Promise.race([
          ended,
          launched.listening.then(
            () => true,
            () => true,
          ),
          new Promise<false>((resolve) => setTimeout(resolve, 2, false)),
        ]);
        if (isOver) break;
      }
      await kill(launched);
      const after = content();
      expect(after.rows).toBe(before.rows);
      if (after.definition === before.definition) old += 1;
      else expect(after.definition).toContain('<= 200');
    }
    expect(old).toBeGreaterThan(0);
    const server = await scratch.start();
    const answer = await fetch(`${server.origin}/rest/Item?$top=1`);
    expect(await answer.json()).toMatchObject({ __COUNT: rows });
    await kill(server);
    expect(content().rows).toBe(before.rows);
    expect(content().definition).toContain('<= 200');
  }, 600_000);

  itLong(
    'leaves the old table when the disk is full',
    async () => {
      const before = content();
      // No file may grow beyond that, for any user.
      const wrapper = ['prlimit', '--fsize=2000000:unlimited'];
      const { code, stderr } = await refused(scratch.launch({ wrapper }));
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /Cannot open the database .*: (?:disk I\/O error|database or disk is full)/,
      );
      expect(content()).toEqual(before);
      const server = await scratch.start();
      await kill(server);
      expect(content().rows).toBe(before.rows);
      expect(content().definition).toContain('<= 200');
    },
    300_000,
  );

  it('is refused before it begins when the disk has too little room', async () => {
    const wrapper = [
      'unshare',
      '--user',
      '--map-root-user',
      '--mount',
      'sh',
      '-c',
      'mount -t tmpfs -o size=10m tmpfs "$TMPDIR/disk" && cp "$TMPDIR/data.sqlite" "$TMPDIR/disk" && exec "$@"',
      'sh',
    ];
    mkdirSync(`${scratch.folder}/disk`);
    const environment = { DATABASE_URL: 'sqlite:disk/data.sqlite' };
    const { code, stderr } = await refused(scratch.launch({ wrapper, environment }));
    // Some systems allow no user to create a disk.
    if (/unshare|mount/.test(stderr)) return;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /the tables "Item" have to be rebuilt, which needs up to \d+ MB beside the database, and \d+ MB are free/,
    );
  }, 300_000);

  it('is done by one of several servers that start at once, and the others wait', async () => {
    const before = content();
    const servers = await Promise.all(
      Array.from({ length: 3 }, () => scratch.start({ environment: { LOG_LEVEL: 'info' } })),
    );
    const logs = servers.map(({ stdout, stderr }) => stdout() + stderr());
    for (const each of servers) await kill(each);
    expect(logs.filter((each) => each.includes('In the database'))).toHaveLength(1);
    expect(content().rows).toBe(before.rows);
  }, 300_000);
});
