import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { diagnosticsTable, withTable } from './diagnostics-table.js';

const file = fileURLToPath(new URL('../../generator/docs/diagnostics.md', import.meta.url));

it('generator/docs/diagnostics.md lists every problem (vitest -u writes the list)', async () => {
  const document = readFileSync(file, 'utf8');
  await expect(withTable(document, diagnosticsTable())).toMatchFileSnapshot(file);
});
