import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Model } from '../../generator/model/model.js';
import { describe } from 'vitest';
import { describePostgres, postgresDatabase, type TestDatabase } from './postgres.js';

/** A kind of database that a test runs on. */
export interface TestDatabases {
  readonly driver: Model['databases'][number];
  /** An empty database. */
  readonly create: () => Promise<TestDatabase>;
}

const sqlite: TestDatabases = {
  driver: 'sqlite',
  create: () => {
    const folder = mkdtempSync(join(tmpdir(), 'drs-property-'));
    const drop = (): Promise<void> => {
      rmSync(folder, { recursive: true });
      return Promise.resolve();
    };
    return Promise.resolve({ url: `sqlite:${join(folder, 'data.sqlite')}`, drop });
  },
};

const postgres: TestDatabases = { driver: 'postgres', create: postgresDatabase };

/** `describe` once for each kind of database. */
export function describeDatabases(name: string, tests: (databases: TestDatabases) => void): void {
  describe(`${name}, on SQLite`, () => {
    tests(sqlite);
  });
  describePostgres(`${name}, on PostgreSQL`, () => {
    tests(postgres);
  });
}
