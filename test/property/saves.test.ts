import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { create, serverOf } from '../support/server.js';
import { Random } from '../support/random-model/random.js';
import { randomBody } from './saves/bodies.js';
import { type Body, groups, type Member, model, type Outcome, save } from './saves/memory.js';
import { sampled } from '../support/long.js';

/** `PROPERTY_MODELS=1000` looks further than the ordinary run. */
const sequences = Number(process.env['PROPERTY_MODELS'] ?? sampled(15));
const requestsPerSequence = 60;

vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-01-01T00:00:00.000Z') });
afterAll(() => {
  vi.useRealTimers();
});

let folder: string;
let app: FastifyInstance;
let database: Database.Database;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'drs-saves-'));
  const file = join(folder, 'data.sqlite');
  app = await serverOf(model, { databaseUrl: `sqlite:${file}` });
  await create(
    app,
    'Group',
    groups.map((code) => ({ code })),
  );
  database = new Database(file);
});
afterAll(async () => {
  database.close();
  await app.close();
  rmSync(folder, { recursive: true });
});

const outcomes = { created: 0, changed: 0, unchanged: 0, refused: 0 };

it('Saves have the results of an evaluation in memory', { timeout: 3_600_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.noShrink(fc.integer()), async (seed) => {
      database.exec(`delete from "Member"; delete from sqlite_sequence`);
      await new Sequence(new Random(seed)).run();
    }),
    { numRuns: sequences },
  );
  // Each must happen often, otherwise the random bodies are unsuitable.
  const all = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(all / 50);
});

interface Answered {
  readonly __KEY?: string;
  readonly __STAMP?: number;
  readonly __STATUS?: { readonly success: boolean; readonly status?: number };
  readonly __ERROR?: readonly { readonly errCode: number }[];
  readonly __ENTITIES?: readonly Answered[];
  readonly [name: string]: unknown;
}

class Sequence {
  #members = new Map<number, Member>();
  #stamp = globalStamp();

  constructor(private readonly random: Random) {}

  async run(): Promise<void> {
    for (let request = 0; request < requestsPerSequence; request += 1) await this.#request();
  }

  async #request(): Promise<void> {
    const { random } = this;
    vi.setSystemTime(Date.now() + 1000);
    const now = new Date().toISOString();
    const mode = random.pick([
      'update',
      'update',
      'update',
      'atomic',
      'atomic',
      'validate',
      'refresh',
    ]);
    const isList = random.chance(50);
    const count = isList ? random.int(0, 4) : 1;
    const bodies = Array.from({ length: count }, () => randomBody(random, this.#members));
    const after = new Map(this.#members);
    const wanted = bodies.map((body) => save(after, body, now, mode === 'refresh'));
    for (const { kind } of wanted) outcomes[kind] += 1;
    const isRefused = wanted.some(({ kind }) => kind === 'refused');
    const isKept = mode === 'update' || (mode === 'atomic' && !isRefused);
    const method = mode === 'validate' ? 'validate' : 'update';
    const query = { atomic: '&$atomic=true', refresh: '&$refresh=true' }[mode] ?? '';
    const response = await app.inject({
      method: 'POST',
      url: `/rest/Member?$method=${method}${query}`,
      payload: JSON.stringify(isList ? bodies : bodies[0]),
    });
    const what = `${mode} ${JSON.stringify(bodies)}\n${response.body}`;
    const json = response.json<Answered>();
    if (mode === 'validate') {
      expect(response.statusCode, what).toBe(200);
      checkValidated(json, wanted, what);
    } else {
      expect(response.statusCode, what).toBe(statusOf(wanted, isList, mode === 'atomic'));
      const answered = isList ? (json.__ENTITIES ?? []) : [json];
      expect(answered, what).toHaveLength(wanted.length);
      for (const [index, outcome] of wanted.entries()) {
        const answer = answered[index] as Answered;
        const isUndone = mode === 'atomic' && isRefused;
        if (outcome.kind === 'refused') this.#checkRefused(answer, outcome, mode, what);
        else if (isUndone) expect(answer, what).toEqual(sent(bodies[index] as Body));
        else checkSaved(answer, outcome, mode, what);
      }
    }
    if (isKept) {
      this.#members = after;
      this.#stamp += wanted.filter(({ kind }) => kind === 'created' || kind === 'changed').length;
    }
    expect(stored(), what).toEqual([...this.#members.values()].sort((a, b) => a.key - b.key));
    expect(globalStamp(), what).toBe(this.#stamp);
  }

  #checkRefused(
    answer: Answered,
    outcome: Outcome & { readonly kind: 'refused' },
    mode: string,
    what: string,
  ): void {
    const { codes, status, existing } = outcome;
    expect(answer.__STATUS, what).toMatchObject({ success: false, status });
    expect(sorted(answer), what).toEqual([...codes].sort());
    expect(answer['uri'], what).toBeUndefined();
    // If the body is rolled back, the effects of earlier entities of the body are undone, too.
    const current = existing === undefined ? undefined : this.#members.get(existing);
    if (mode === 'update') {
      expect(answer.__KEY, what).toBe(existing === undefined ? undefined : String(existing));
    } else if (current === undefined) {
      expect(Object.keys(answer), what).toEqual(['__STATUS', '__ERROR']);
    } else {
      const { key, stamp, note, timestamp } = current;
      const kept = { __KEY: String(key), __STAMP: stamp, __TIMESTAMP: timestamp, note };
      expect(answer, what).toMatchObject(kept);
    }
  }
}

function statusOf(wanted: readonly Outcome[], isList: boolean, isAtomic: boolean): number {
  const refused = wanted.flatMap((each) => (each.kind === 'refused' ? [each.http] : []));
  if (!isList) return refused[0] ?? 200;
  if (!isAtomic || refused.length === 0) return 200;
  return refused.every((http) => http === 409) ? 409 : 422;
}

function checkValidated(json: Answered, wanted: readonly Outcome[], what: string): void {
  const refused = wanted.flatMap((each) =>
    each.kind === 'refused' ? [[...each.codes].sort()] : [],
  );
  if (refused.length === 0) expect(json, what).toEqual({ ok: true });
  else expect(json.__ENTITIES?.map(sorted), what).toEqual(refused);
}

function checkSaved(
  answer: Answered,
  { kind, member }: Outcome & { readonly member: Member },
  mode: string,
  what: string,
): void {
  const { key, stamp, timestamp, name, note, rank, data, fixed, group, peer } = member;
  const isStored = mode !== 'refresh' || kind !== 'created';
  expect(answer, what).toMatchObject({
    __STATUS: { success: true },
    name,
    note,
    rank,
    data,
    fixed,
  });
  expect(answer, what).toMatchObject({ label: `${note ?? '-'}${String(rank)}` });
  expect(deferredKey(answer['group']), what).toBe(group);
  expect(deferredKey(answer['peer']), what).toBe(peer === null ? null : String(peer));
  const ofStored = {
    __KEY: String(key),
    __STAMP: stamp,
    uri: `/rest/Member(${String(key)})`,
    ID: key,
  };
  if (isStored) expect(answer, what).toMatchObject({ ...ofStored, __TIMESTAMP: timestamp });
  else
    for (const each of ['__KEY', '__STAMP', 'uri']) expect(answer, what).not.toHaveProperty(each);
}

function sorted(answer: Answered): number[] {
  return (answer.__ERROR ?? []).map(({ errCode }) => errCode).sort();
}

function sent(body: Body): Body {
  return Object.fromEntries(
    Object.entries(body).filter(([name]) => name !== 'uri' && name !== '__TIMESTAMP'),
  );
}

function deferredKey(json: unknown): string | null {
  return (
    (json as { readonly __deferred: { readonly __KEY: string } } | null)?.__deferred.__KEY ?? null
  );
}

interface Row {
  readonly name: string | null;
  readonly note: string | null;
  readonly data: string | null;
  readonly foldedName: string | null;
  readonly foldedNote: string | null;
}

function stored(): unknown[] {
  const rows = database
    .prepare<[], Row>(
      `select "ID" "key", "__STAMP" "stamp", "__TIMESTAMP" "timestamp", "name", "note", "rank", "data", "fixed", "group_id" "group", "peer_id" "peer", "__folded_name" "foldedName", "__folded_note" "foldedNote" from "Member" order by "ID"`,
    )
    .all();
  return rows.map(({ foldedName, foldedNote, ...row }) => {
    // The folded columns follow.
    expect(foldedName).toBe(row.name?.toLowerCase() ?? null);
    expect(foldedNote).toBe(row.note?.toLowerCase() ?? null);
    return { ...row, data: row.data === null ? null : (JSON.parse(row.data) as unknown) };
  });
}

function globalStamp(): number {
  return Number(
    database
      .prepare(`select "value" from "__datastore" where "name" = 'globalStamp'`)
      .pluck()
      .get(),
  );
}
