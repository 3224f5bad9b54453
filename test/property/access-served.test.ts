import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import type { Model } from '../../generator/model/model.js';
import { Client } from '../support/cookies.js';
import { type Granted, loggedIn, rolesServerOf } from '../support/roles-server.js';
import { create, serverOf } from '../support/server.js';
import { NaiveRoles, type RolesFile } from './access/naive-roles.js';
import { placesBehind, placesOf, type Probe, wideReads } from './access/probes.js';
import { randomGrant, randomRoles } from './access/random-roles.js';
import {
  attributes,
  entities,
  marks,
  servedModel,
  servedResources,
} from './access/served-model.js';
import { Random } from '../support/random-model/random.js';
import { sampled } from '../support/long.js';

/** `PROPERTY_ROLES=200` looks further than the ordinary run; `PROPERTY_SEED=<counterexample>` runs one file again. */
const files = Number(process.env['PROPERTY_ROLES'] ?? sampled(3));
const onlySeed = process.env['PROPERTY_SEED'];
const sessionsPerFile = 4;

describe('A server with roles, compared with a simple evaluation of the roles,', () => {
  it('shows only what may be read', { timeout: 3_600_000 }, async () => {
    const seeds = onlySeed === undefined ? fc.integer() : fc.constant(Number(onlySeed));
    await fc.assert(fc.asyncProperty(fc.noShrink(seeds), tryOneFile), {
      numRuns: onlySeed === undefined ? files : 1,
    });
  });
});

async function tryOneFile(seed: number): Promise<void> {
  const random = new Random(seed);
  const file = randomRoles(random, servedResources);
  const folder = mkdtempSync(join(tmpdir(), 'drs-roles-'));
  const databaseUrl = `sqlite:${join(folder, 'data.sqlite')}`;
  try {
    const open = await serverOf(checked(undefined), { databaseUrl });
    for (const [dataclass, list] of entities) await create(open, dataclass, list);
    await open.close();
    const app = await rolesServerOf(checked(file), { databaseUrl });
    try {
      await new Trial(file, new Client(app), { privileges: [], roles: [] }).run();
      for (let count = 0; count < sessionsPerFile; count += 1) {
        const granted = randomGrant(random, file);
        await new Trial(file, await loggedIn(app, granted), granted).run();
      }
    } finally {
      await app.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function checked(roles: RolesFile | undefined): Model {
  const text = roles === undefined ? servedModel : `${servedModel}roles: roles.json\n`;
  const { value, problems } = checkModel({
    file: 'model.yaml',
    text,
    readBeside: () => JSON.stringify(roles),
  });
  if (value === undefined) throw new Error(JSON.stringify(problems));
  return value;
}

/** One session's requests. */
class Trial {
  readonly #naive: NaiveRoles;
  readonly #held: ReadonlySet<string>;
  readonly #isGuest: boolean;
  /** Readable attributes, without relations to unreadable dataclasses. */
  readonly #open: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(
    private readonly file: RolesFile,
    private readonly client: Client,
    private readonly granted: Required<Granted>,
  ) {
    this.#naive = new NaiveRoles(file);
    this.#held = this.#naive.held(granted.privileges, granted.roles);
    this.#isGuest = client.cookie === undefined;
    this.#open = new Map(
      Object.entries(attributes).map(([dataclass, own]) => [
        dataclass,
        new Set(
          Object.entries(own)
            .filter(
              ([name, target]) =>
                this.#naive.mayDoWith(this.#held, 'read', dataclass, name) &&
                (target === '' || this.#mayRead(target)),
            )
            .map(([name]) => name),
        ),
      ]),
    );
  }

  async run(): Promise<void> {
    for (const [dataclass, own] of Object.entries(attributes)) {
      const key = dataclass === 'Letter' ? '00000000-0000-4000-8000-000000000001' : '1';
      await this.#tryMarks([...wideReads(dataclass, key, Object.keys(own))]);
      if (!this.#mayRead(dataclass)) {
        await this.#tryClosed(dataclass, key);
        continue;
      }
      await this.#tryNames(dataclass, key);
      for (const [name, target] of Object.entries(own)) {
        if (this.#names(dataclass).has(name)) {
          if (target !== '') await this.#tryHidden(target, placesBehind(dataclass, name));
        } else {
          await this.#tryUnknown(name, placesOf(dataclass, key));
        }
      }
    }
  }

  #mayRead(dataclass: string): boolean {
    return this.#naive.mayDo(this.#held, 'read', dataclass);
  }

  #names(dataclass: string): ReadonlySet<string> {
    return this.#open.get(dataclass) ?? new Set();
  }

  /** An unreadable dataclass is answered as such, or has no address if nobody may read it. */
  async #tryClosed(dataclass: string, key: string): Promise<void> {
    for (const probe of wideReads(dataclass, key, ['ID'])) {
      if (probe.url.startsWith('/rest/$catalog/$all')) continue;
      const { statusCode, body } = await this.#ask(probe);
      const allowed = probe.url.includes('$catalog') ? [404] : [404, this.#isGuest ? 401 : 403];
      expect(allowed, this.#told(probe, body)).toContain(statusCode);
      if (statusCode !== 404) expect(body, this.#told(probe, body)).toContain('"errCode":1556');
    }
  }

  /** An entity has the attributes that may be read, and no others. */
  async #tryNames(dataclass: string, key: string): Promise<void> {
    const probe: Probe = { method: 'GET', url: `/rest/${dataclass}(${key})` };
    const { body } = await this.#ask(probe);
    const entity: Record<string, unknown> = JSON.parse(body) as Record<string, unknown>;
    const found = Object.keys(entity).filter((name) => !name.startsWith('__') && name !== 'uri');
    expect(new Set(found), this.#told(probe, body)).toEqual(this.#names(dataclass));
    const catalog = await this.#ask({ method: 'GET', url: `/rest/$catalog/${dataclass}` });
    const { attributes: listed } = JSON.parse(catalog.body) as { attributes: { name: string }[] };
    expect(new Set(listed.map((each) => each.name)), this.#told(probe, body)).toEqual(
      this.#names(dataclass),
    );
  }

  /** All attributes of an unreadable dataclass, over a relation. */
  async #tryHidden(dataclass: string, places: readonly ((name: string) => Probe)[]): Promise<void> {
    for (const name of Object.keys(attributes[dataclass] ?? {})) {
      if (!this.#names(dataclass).has(name)) await this.#tryUnknown(name, places);
    }
  }

  /** What may not be read answers like what does not exist. */
  async #tryUnknown(name: string, places: readonly ((name: string) => Probe)[]): Promise<void> {
    const unknown = 'q'.repeat(name.length);
    for (const place of places) {
      const probe = place(name);
      const hidden = await this.#ask(probe);
      const other = await this.#ask(place(unknown));
      const message = this.#told(probe, `${hidden.body}\n${other.body}`);
      expect(hidden.statusCode, message).toBe(other.statusCode);
      expect(hidden.statusCode, message).toBeGreaterThanOrEqual(400);
      expect(hidden.statusCode, message).toBeLessThan(500);
      expect(hidden.body, message).toBe(other.body.replaceAll(unknown, name));
    }
  }

  /** Texts in unreadable attributes are in no answer. */
  async #tryMarks(probes: readonly Probe[]): Promise<void> {
    for (const probe of probes) {
      const { body, statusCode } = await this.#ask(probe);
      expect(statusCode, this.#told(probe, body)).toBeLessThan(500);
      for (const { mark, readBy } of marks) {
        const isKnown = readBy.some(([dataclass, name]) => this.#names(dataclass).has(name));
        if (!isKnown) expect(body, this.#told(probe, mark)).not.toContain(mark);
      }
    }
  }

  async #ask({ method, url, body }: Probe): Promise<{ statusCode: number; body: string }> {
    return method === 'GET' ? this.client.get(url) : this.client.post(url, body);
  }

  #told(probe: Probe, found: string): string {
    const who = JSON.stringify(this.granted);
    return `${JSON.stringify(probe)}\n${who}\n${JSON.stringify(this.file)}\n${found}`;
  }
}
