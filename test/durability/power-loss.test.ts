import { copyFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { Random } from '../support/random-model/random.js';
import { allSaved, Client, type Collection } from '../support/processes/client.js';
import { durabilityModel } from './support/model.js';
import { scratchOfEach } from '../support/processes/scratch.js';
import { kill } from '../support/processes/server-process.js';

/** The part that the disk had not written at the power failure: an end of the write-ahead log. */
const cuts = 40;
const batches = 40;
const size = 50;

const scratch = scratchOfEach(durabilityModel);

it('A loss of power undoes only the last changes, each of them completely', async () => {
  const server = await scratch().start();
  const client = new Client(server.origin);
  for (let tag = 1; tag <= batches; tag += 1) {
    const batch = Array.from({ length: size }, () => ({ tag }));
    const path = '/rest/Part?$method=update&$atomic=true';
    allSaved(await client.post<Collection>(path, batch));
  }
  await kill(server);
  const random = new Random(7);
  const length = statSync(`${scratch().file}-wal`).size;
  const found = Array.from({ length: cuts }, (_, index) => {
    const at = index === 0 ? length : random.int(0, length);
    return { at, stored: storedBatches(at) };
  }).sort((a, b) => a.at - b.at);
  expect(found.at(-1)).toEqual({ at: length, stored: batches });
  // The longer the log, the more changes are stored.
  for (const [index, { stored }] of found.entries()) {
    expect(stored).toBeGreaterThanOrEqual(found[index - 1]?.stored ?? 0);
  }
  expect(new Set(found.map(({ stored }) => stored)).size).toBeGreaterThan(10);
});

/**
 * The number of batches that exist when only this many bytes were written; each must be complete.
 */
function storedBatches(bytes: number): number {
  const copy = join(scratch().folder, 'cut.sqlite');
  copyFileSync(scratch().file, copy);
  copyFileSync(`${scratch().file}-wal`, `${copy}-wal`);
  truncateSync(`${copy}-wal`, bytes);
  const database = new Database(copy);
  try {
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
    const counts = database.prepare('select count(*) from "Part" group by "tag"').pluck().all();
    expect(counts).toEqual(counts.map(() => size));
    const valueOf = database.prepare('select "value" from "__datastore" where "name" = ?').pluck();
    expect(valueOf.get('globalStamp')).toBe(counts.length * size);
    expect(valueOf.get('sequence Part.serial') ?? 0).toBe(counts.length * size);
    return counts.length;
  } finally {
    database.close();
  }
}
