import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Random } from '../support/random-model/random.js';
import { describePostgres, postgresDatabase } from '../support/postgres.js';
import { modelOf, packageRoot } from '../support/server.js';
import { Client, ServerGone } from '../support/processes/client.js';
import { Contender, SharedCounter } from './support/contended.js';
import { Counters } from './support/counters.js';
import { durabilityModel } from './support/model.js';
import { Parts } from './support/parts.js';
import { Pictures } from './support/pictures.js';
import { compiledProgram } from '../support/processes/program.js';
import { Reader } from './support/reader.js';
import { kill, launch, start } from '../support/processes/server-process.js';
import { Sets } from './support/sets.js';
import { Trees } from './support/trees.js';
import { Drawn, type Worker } from './support/worker.js';
import { itLong, sampled } from '../support/long.js';

/** `DURABILITY_KILLS=500` looks further than the ordinary run. */
const kills = Number(process.env['DURABILITY_KILLS'] ?? sampled(6));
/** `DURABILITY_SEED=<number>` makes the same choices again; the moments of the kills differ all the same. */
const seed = Number(process.env['DURABILITY_SEED'] ?? Date.now() % 1_000_000);

let program: string;
let folder: string;

beforeAll(() => {
  program = compiledProgram(durabilityModel);
});

beforeEach(() => {
  mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
  folder = mkdtempSync(join(packageRoot, '.tmp', 'durability-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Clients with a ledger each, and how many steps they have made together. */
class Load {
  steps = 0;
  readonly #shared: SharedCounter;
  readonly #workers: readonly Worker[];

  constructor() {
    const drawn = new Drawn();
    this.#shared = new SharedCounter('shared', drawn);
    this.#workers = [
      new Counters('first', drawn),
      new Counters('second', drawn),
      new Contender(this.#shared),
      new Contender(this.#shared),
      new Contender(this.#shared),
      new Parts(0, 20, drawn),
      new Parts(2_000_000, 600, drawn),
      new Trees(0, drawn),
      new Trees(1_000_000, drawn),
      new Pictures(),
      new Sets(),
      new Reader(),
    ];
  }

  /** Lets all clients work until the server has ended. */
  async run(client: Client, random: Random): Promise<void> {
    await Promise.all(
      this.#workers.map((worker) =>
        this.#work(worker, new Client(client.origin), new Random(random.next())),
      ),
    );
  }

  /** Ends at a random time during the steps. Early steps are the first of the server, and slow. */
  async progress(random: Random): Promise<void> {
    const wanted = this.steps + random.int(0, 250);
    const latest = performance.now() + 5_000;
    while (this.steps < wanted && performance.now() < latest) await setTimeout(2);
    await setTimeout(random.int(0, 10));
  }

  async verify(client: Client): Promise<void> {
    if (this.#shared.key === undefined) await this.#shared.create(client);
    await this.#shared.verify(client);
    await Promise.all(this.#workers.map((worker) => worker.verify(client)));
  }

  async #work(worker: Worker, client: Client, random: Random): Promise<void> {
    try {
      for (;;) {
        await worker.step(client, random);
        this.steps += 1;
      }
    } catch (error) {
      if (!(error instanceof ServerGone)) throw error;
    }
  }
}

describe(`${kills} kills in the middle of load (DURABILITY_SEED=${seed})`, () => {
  it('lose no acknowledged change and leave no partial one', { timeout: 3_600_000 }, async () => {
    const random = new Random(seed);
    const load = new Load();
    for (let count = 1; count <= kills; count += 1) {
      if (random.chance(15)) {
        const starting = launch(program, { folder });
        await setTimeout(random.int(0, 500));
        await kill(starting);
      }
      const server = await start(program, { folder });
      try {
        const client = new Client(server.origin);
        inspectDatabase();
        expect(uploadFolders()).toEqual([]);
        await load.verify(client);
        const working = load.run(client, random);
        await Promise.race([working, load.progress(random)]);
        await kill(server);
        await working;
      } finally {
        await kill(server);
      }
      expect(server.stderr()).toBe('');
    }
    const last = await start(program, { folder });
    inspectDatabase();
    await load.verify(new Client(last.origin));
    last.child.kill('SIGTERM');
    expect(await last.ended).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(folder)).toEqual(['data.sqlite']);
    // Without any steps the test would prove nothing.
    expect(load.steps).toBeGreaterThan(kills * 12);
    console.info(`${kills} kills, ${load.steps} steps`);
  });
});

describe('Kills while the schema is created', () => {
  itLong('leave an empty database or a complete one', async () => {
    const random = new Random(seed);
    for (let count = 0; count < 5; count += 1) {
      const starting = launch(program, { folder });
      // The file appears, and the schema some milliseconds later.
      while (!existsSync(join(folder, 'data.sqlite')) && starting.child.exitCode === null) {
        await setTimeout(1);
      }
      await setTimeout(random.int(0, 12));
      await kill(starting);
      const server = await start(program, { folder });
      const client = new Client(server.origin);
      expect(await client.all('Counter', 'ID > 0')).toMatchObject({ __COUNT: 0, __GlobalStamp: 0 });
      inspectDatabase();
      await kill(server);
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
    }
  });
});

describePostgres('kills of a server on PostgreSQL', () => {
  itLong('leave a __GlobalStamp that counts what is stored, and never falls', async () => {
    const { url, drop } = await postgresDatabase();
    const served = compiledProgram({ ...modelOf(durabilityModel), databases: ['postgres'] });
    const environment = { DATABASE_URL: url };
    let seen = 0;
    const look = async (client: Client): Promise<number> => {
      const { __COUNT: count, __GlobalStamp: stamp } = await client.all('Counter', 'ID > 0');
      expect(stamp).toBeGreaterThanOrEqual(seen);
      seen = stamp;
      return count;
    };
    for (let round = 0; round < 5; round += 1) {
      const server = await start(served, { folder, environment });
      const client = new Client(server.origin);
      expect(await look(client)).toBe(seen);
      let acknowledged = 0;
      const writer = async (): Promise<void> => {
        for (;;) {
          await new Client(server.origin).post('/rest/Counter?$method=update', { owner: 'x' });
          acknowledged += 1;
        }
      };
      const gone = Promise.all(
        Array.from({ length: 8 }, () => expect(writer()).rejects.toThrow(ServerGone)),
      );
      while (acknowledged < 40) await look(client);
      await kill(server);
      await gone;
    }
    const last = await start(served, { folder, environment });
    expect(await look(new Client(last.origin))).toBe(seen);
    expect(seen).toBeGreaterThanOrEqual(5 * 40);
    await kill(last);
    await drop();
  });
});

function inspectDatabase(): void {
  const database = new Database(join(folder, 'data.sqlite'), { readonly: true });
  try {
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(database.pragma('foreign_key_check')).toEqual([]);
    const kept = database.prepare('select "definition" from "__entityset"').pluck().all();
    for (const definition of kept) expect(JSON.parse(String(definition))).toHaveProperty('filter');
  } finally {
    database.close();
  }
}

function uploadFolders(): readonly string[] {
  return readdirSync(folder).filter((name) => name.startsWith('drs-uploads-'));
}
