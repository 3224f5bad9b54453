import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** All modules that are loaded before the command is known, found by following `import … from`. */
async function loadedAtStart(url: URL, seen = new Set<string>()): Promise<ReadonlySet<string>> {
  if (seen.has(url.href)) return seen;
  seen.add(url.href);
  const text = await readFile(url, 'utf8');
  for (const [, target = ''] of text.matchAll(
    /^(?:import|export) (?!type )[^;]*?from '([^']+)';$/gms,
  )) {
    if (!target.startsWith('.')) seen.add(target);
    else await loadedAtStart(new URL(target.replace(/\.js$/, '.ts'), url), seen);
  }
  return seen;
}

it('A start of drs-gen loads no stage of the generator and no large package before it is needed', async () => {
  const loaded = [
    ...(await loadedAtStart(new URL('../../generator/cli/main.ts', import.meta.url))),
  ];
  const packages = loaded.filter((name) => !name.startsWith('file:') && !name.startsWith('node:'));
  expect(packages.sort()).toEqual(['commander', 'get-east-asian-width', 'picocolors']);
  const root = fileURLToPath(new URL('../../generator/', import.meta.url));
  const stages = loaded
    .filter((name) => name.startsWith('file:'))
    .map((name) => fileURLToPath(name).slice(root.length).split('/')[0]);
  expect([...new Set(stages)].sort()).toEqual(['cli', 'output', 'source']);
});
