import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { packageRoot } from '../../../support/server.js';

function urlOf(path: string): string {
  return pathToFileURL(join(packageRoot, path)).href;
}

it('A server that runs from its TypeScript sources has reader processes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'drs-typescript-'));
  try {
    const script = join(folder, 'script.ts');
    const readers = urlOf('runtime/dialect/sqlite/readers');
    writeFileSync(
      script,
      `
      import { createRequire } from 'node:module';
      import { ReaderPool } from '${readers}/reader-pool.js';
      const Database = createRequire('${urlOf('package.json')}')('better-sqlite3');
      const file: string = process.argv[2];
      new Database(file).close();
      const settings = { file, isFoldedWithoutAccents: false, hasVectors: false };
      const placement = { isShort: true, record: () => undefined };
      const log = { bytes: 0, empty: () => true };
      const limits = { processes: 1, longest: Infinity };
      const pool = new ReaderPool(settings, limits, { check: () => undefined }, log);
      const question = { kind: 'value', sql: 'select 6 * 7', values: [] };
      console.log(await pool.ask(question, placement));
      process.exit(0);
      `,
    );
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [
        '--import',
        urlOf('test/support/typescript-loader.mjs'),
        script,
        join(folder, 'data.sqlite'),
      ],
      { encoding: 'utf8', timeout: 600_000 },
    );
    expect(stdout, stderr).toBe('42\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
