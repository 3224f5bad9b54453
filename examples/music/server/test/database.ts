import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An empty place for the tables of a test. */
export interface TestDatabase {
  readonly url: string;
  remove(): Promise<void>;
}

/** Creates a file in a separate folder. */
export async function testDatabase(): Promise<TestDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'test-'));
  return {
    url: `sqlite:${join(folder, 'data.sqlite')}`,
    remove: () => rm(folder, { recursive: true }),
  };
}
