import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { modelOf, serverOf, writeServer } from '../support/server.js';
import { deletion } from './deletion/evaluate.js';
import {
  type Dataclass,
  type Entity,
  randomDataclasses,
  randomEntities,
  yamlOf,
} from './deletion/graph.js';
import { globalStamp, read, wanted, write } from './deletion/tables.js';
import { Random } from '../support/random-model/random.js';
import { sampled } from '../support/long.js';

/** `PROPERTY_MODELS=1000` looks further than the ordinary run. */
const models = Number(process.env['PROPERTY_MODELS'] ?? sampled(7));
const graphsPerModel = 20;

vi.useFakeTimers({ toFake: ['Date'] });
afterAll(() => {
  vi.useRealTimers();
});

describe('A deletion, compared with an evaluation in memory,', () => {
  it(
    'leaves the same entities, or is refused for the same ones',
    { timeout: 3_600_000 },
    async () => {
      const seeds = fc.noShrink(fc.integer());
      let refused = 0;
      let served = 0;
      await fc.assert(
        fc.asyncProperty(seeds, async (seed) => {
          const counts = await compareOneModel(new Random(seed));
          refused += counts.refused;
          served += counts.served;
        }),
        { numRuns: models },
      );
      // Both must happen, otherwise the random models are unsuitable.
      expect(Math.min(refused, served)).toBeGreaterThan(0);
    },
  );
});

async function compareOneModel(
  random: Random,
): Promise<{ readonly refused: number; readonly served: number }> {
  const dataclasses = randomDataclasses(random);
  const model = modelOf(yamlOf(dataclasses));
  const folder = mkdtempSync(join(tmpdir(), 'drs-delete-'));
  const file = join(folder, 'data.sqlite');
  const app = await serverOf(model, { databaseUrl: `sqlite:${file}` });
  const database = new Database(file);
  const counts = { refused: 0, served: 0 };
  try {
    for (let graph = 0; graph < graphsPerModel; graph += 1) {
      let entities: readonly Entity[] = randomEntities(random, dataclasses);
      database.pragma('foreign_keys = OFF');
      for (const { name } of dataclasses) database.exec(`delete from "${name}"`);
      write(database, dataclasses, entities);
      for (let request = 0; request < 6 && entities.length > 0; request += 1) {
        const left = await new Deletion(app, database, dataclasses, entities).compare(random);
        if (left === undefined) counts.refused += 1;
        else counts.served += 1;
        entities = left ?? entities;
      }
    }
  } finally {
    await app.close();
    database.close();
    rmSync(folder, { recursive: true });
    rmSync(writeServer(model), { recursive: true });
  }
  return counts;
}

class Deletion {
  constructor(
    private readonly app: FastifyInstance,
    private readonly database: Database.Database,
    private readonly dataclasses: readonly Dataclass[],
    private readonly entities: readonly Entity[],
  ) {}

  /** Sends one request; answers the entities that are left, or nothing when it is refused. */
  async compare(random: Random): Promise<readonly Entity[] | undefined> {
    const { entities, dataclasses, database } = this;
    const now = new Date(Date.now() + 1000);
    vi.setSystemTime(now);
    const { path, chosen } = this.#choose(random);
    const outcome = deletion(dataclasses, entities, chosen, now.toISOString());
    const stamp = globalStamp(database);
    const url = `/rest/${path}${path.includes('?') ? '&' : '?'}$method=delete`;
    const response = await this.app.inject({ method: 'POST', url });
    const what = `${yamlOf(dataclasses)}\n${url}\n${response.body}`;
    const after = read(database, dataclasses);
    if ('restrictions' in outcome) {
      expect(response.statusCode, what).toBe(409);
      const body = response.json<{
        readonly ok: boolean;
        readonly __ERROR: readonly { readonly message: string }[];
      }>();
      expect(body.ok, what).toBe(false);
      const told = body.__ERROR.map(({ message }) => toldBy(message));
      expect(Object.fromEntries(told), what).toEqual(Object.fromEntries(outcome.restrictions));
      expect(after, what).toEqual(wanted(dataclasses, entities));
      expect(globalStamp(database), what).toBe(stamp);
      return undefined;
    }
    expect(response.statusCode, what).toBe(200);
    expect(response.body, what).toBe('{"ok":true}');
    expect(after, what).toEqual(wanted(dataclasses, outcome.entities));
    expect(globalStamp(database), what).toBe(stamp + outcome.changes);
    return outcome.entities;
  }

  #choose(random: Random): { readonly path: string; readonly chosen: ReadonlySet<Entity> } {
    const one = random.pick(this.entities);
    const { name, keyType } = this.dataclasses[one.dataclass] as Dataclass;
    const alike = this.entities.filter((each) => each.dataclass === one.dataclass);
    if (random.chance(50)) {
      const text = random.pick([String(one.key), String(one.key).toLowerCase()]);
      const literal = keyType === 'string' ? `'${text}'` : text;
      return { path: `${name}(${encodeURIComponent(literal)})`, chosen: new Set([one]) };
    }
    const limit = random.int(0, 4);
    const filter = random.pick([
      { text: `tag < ${limit}`, chosen: alike.filter(({ tag }) => tag < limit) },
      { text: 'tag >= 0', chosen: alike },
      { text: `tag = ${one.tag} or tag = 99`, chosen: alike.filter(({ tag }) => tag === one.tag) },
    ]);
    return {
      path: `${name}?$filter=${encodeURIComponent(filter.text)}`,
      chosen: new Set(filter.chosen),
    };
  }
}

/** The relation that a message names, and how many entities refer by it. */
function toldBy(message: string): readonly [relation: string, count: number] {
  const found = /: (\d+) entit\S+ of the "(\w+)" dataclass .* refers? by "(\w+)"/su.exec(message);
  return [`${String(found?.[2])}.${String(found?.[3])}`, Number(found?.[1])];
}
