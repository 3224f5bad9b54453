import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { diagnosticsTable, withTable } from './diagnostics-table.js';

const file = fileURLToPath(new URL('../../CONTRIBUTING.md', import.meta.url));

it('CONTRIBUTING.md lists every problem (vitest -u writes the list)', async () => {
  const document = readFileSync(file, 'utf8');
  await expect(withTable(document, diagnosticsTable())).toMatchFileSnapshot(file);
});
