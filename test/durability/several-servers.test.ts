import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, it } from 'vitest';
import { describePostgres, postgresDatabase, type TestDatabase } from '../support/postgres.js';
import { modelOf, packageRoot } from '../support/server.js';
import { Cluster } from './support/cluster.js';
import { History, step } from './support/history.js';
import { compiledProgram } from '../support/processes/program.js';
import { severalClasses, severalModel } from '../support/processes/several.js';
import { sampled } from '../support/long.js';

/** How many random histories are tried: `DURABILITY_HISTORIES=500` for many. */
const histories = Number(process.env['DURABILITY_HISTORIES'] ?? sampled(6));

describePostgres('Three servers behind a proxy', () => {
  let program: string;
  let folder: string;
  let database: TestDatabase;
  let cluster: Cluster;

  beforeAll(async () => {
    program = compiledProgram(
      { ...modelOf(severalModel), databases: ['postgres'] },
      severalClasses,
    );
    mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
    folder = mkdtempSync(join(packageRoot, '.tmp', 'servers-'));
    database = await postgresDatabase();
    cluster = await Cluster.start(program, 3, { folder, databaseUrl: database.url });
  });
  afterAll(async () => {
    await cluster.close();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('answer as one server does, in random histories', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), (steps) =>
        new History(cluster.origin).run(steps),
      ),
      { numRuns: histories },
    );
  });
});
