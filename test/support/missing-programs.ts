import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import { hasPgBouncer } from '../durability/support/pgbouncer.js';
import { hasChromium } from './chromium.js';
import { hasPostgres } from './postgres.js';

interface Program {
  readonly name: string;
  readonly isThere: boolean;
  /** In the text of the test files that need it. */
  readonly users: RegExp;
  readonly remedy: string;
}

const programs: readonly Program[] = [
  {
    name: 'Chromium',
    isThere: hasChromium,
    users: /\bhasChromium\b/,
    remedy: 'apt-get install chromium, or set CHROMIUM to its path',
  },
  {
    name: 'PostgreSQL',
    isThere: hasPostgres,
    users: /\b(?:describeDatabases|describePostgres|hasPostgres|installedPostgres)\b/,
    remedy: 'apt-get install postgresql, and set POSTGRES_TEST_URL to the URL of a superuser',
  },
  {
    name: 'PgBouncer',
    isThere: hasPgBouncer,
    users: /\bhasPgBouncer\b/,
    remedy: 'apt-get install pgbouncer',
  },
];

/** Names the test files of which tests were skipped because a program is missing. */
export class MissingPrograms implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const { name, isThere, users, remedy } of programs) {
      const files = modules
        .map(({ moduleId }) => moduleId)
        .filter((path) => !isThere && users.test(readFileSync(path, 'utf8')))
        .map((path) => relative(process.cwd(), path));
      if (files.length > 0) {
        console.log(
          `Skipped without ${name}: tests in ${files.join(', ')}. To run them: ${remedy}.`,
        );
      }
    }
  }
}
